//! Tables as kubectl prints them: no borders, three blanks between columns, upper-case headers.
//!
//! Every decision about columns is made here. Where a table is wider than the terminal, whole columns go,
//! in the order that each view states; where it is still wider, its rows are folded between columns, if a
//! terminal reads them. A name is never cut, since it may have to be pasted; what is longer than any name can
//! be is.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell as ComfyCell, ContentArrangement, Table as ComfyTable};

use super::screen::{LONGEST, Line, Span, Style, wrap};
use super::{Headers, Lines, Terminal};

/// Blanks between two columns, as kubectl has them.
const GAP: usize = 3;
/// Blanks before what a row goes on with on its next lines.
const FOLD: usize = 2;

/// One column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    header: &'static str,
    keep: Keep,
}

/// When a column may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    Always,
    /// The lowest number goes first.
    Until(u8),
}

impl Column {
    /// A column that is always shown.
    pub(super) const fn always(header: &'static str) -> Self {
        Self {
            header,
            keep: Keep::Always,
        }
    }

    /// A column that goes where the table is too wide, the lowest number first.
    pub(super) const fn until(header: &'static str, turn: u8) -> Self {
        Self {
            header,
            keep: Keep::Until(turn),
        }
    }
}

/// How wide a table may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// As wide as the terminal.
    Terminal,
    /// As wide as it is: `-o wide`.
    Any,
}

/// A table under construction.
#[derive(Clone, Debug)]
pub(super) struct Table<'c> {
    columns: &'c [Column],
    rows: Vec<Vec<Span>>,
}

impl<'c> Table<'c> {
    /// Begins a table.
    pub(super) const fn new(columns: &'c [Column]) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a row: one cell for each column, in their order.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = Span>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Lays the table out.
    pub(super) fn lines(&self, terminal: &Terminal, room: Room) -> Vec<Line> {
        let rows = self.cells(terminal);
        let widths = self.widths(&rows);
        let shown = self.shown_columns(&widths, terminal, room);
        let parts = match terminal.lines {
            Lines::Whole => vec![shown],
            Lines::Folded => folded(&widths, &shown, terminal.width),
        };
        let parts: Vec<Vec<Vec<Line>>> = parts
            .iter()
            .enumerate()
            .map(|(index, columns)| {
                let indent = if index == 0 { 0 } else { FOLD };
                laid_out(&rows, columns, indent, terminal)
            })
            .collect();
        (0..rows.len())
            .flat_map(|row| parts.iter().filter_map(move |part| part.get(row)))
            .flatten()
            .cloned()
            .collect()
    }

    /// Returns the header, if it is shown, and the rows, in the characters that the terminal can show.
    fn cells(&self, terminal: &Terminal) -> Vec<Vec<Span>> {
        let header = match terminal.headers {
            Headers::Shown => Some(
                self.columns
                    .iter()
                    .map(|column| Span::new(column.header, Style::Plain))
                    .collect(),
            ),
            Headers::Hidden => None,
        };
        let rows = self.rows.iter().map(|row| {
            row.iter()
                .map(|cell| cell.clone().cut(LONGEST, terminal.marks))
                .collect()
        });
        header.into_iter().chain(rows).collect()
    }

    fn shown_columns(&self, widths: &[usize], terminal: &Terminal, room: Room) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        if room == Room::Any {
            return shown;
        }
        while total(widths, &shown) > terminal.width {
            let next = shown
                .iter()
                .filter_map(|index| match self.columns.get(*index)?.keep {
                    Keep::Until(turn) => Some((turn, *index)),
                    Keep::Always => None,
                })
                .min();
            let Some((_, going)) = next else { break };
            shown.retain(|index| *index != going);
        }
        shown
    }

    fn widths(&self, rows: &[Vec<Span>]) -> Vec<usize> {
        (0..self.columns.len())
            .map(|index| {
                rows.iter()
                    .filter_map(|row| row.get(index).map(Span::width))
                    .max()
                    .unwrap_or(0)
            })
            .collect()
    }
}

/// Parts the columns so that each part fits, in their order.
fn folded(widths: &[usize], shown: &[usize], width: usize) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for column in shown {
        let indent = if parts.len() > 1 { FOLD } else { 0 };
        match parts.last_mut() {
            Some(part)
                if indent + total(widths, &[part.as_slice(), &[*column]].concat()) <= width =>
            {
                part.push(*column);
            }
            Some(_) | None => parts.push(vec![*column]),
        }
    }
    parts
}

/// Lays some columns of all rows out: for each row its lines, more than one only where the words of a column
/// that stands alone have no room.
fn laid_out(
    rows: &[Vec<Span>],
    columns: &[usize],
    indent: usize,
    terminal: &Terminal,
) -> Vec<Vec<Line>> {
    let rows: Vec<Vec<&Span>> = rows.iter().map(|row| pick(row, columns)).collect();
    let before = Line::new(&" ".repeat(indent), Style::Plain);
    if let ([_], Lines::Folded) = (columns, terminal.lines) {
        return rows
            .iter()
            .map(|row| {
                row.iter()
                    .flat_map(|cell| wrap(&before, cell.text(), cell.style(), terminal))
                    .collect()
            })
            .collect();
    }
    let mut table = ComfyTable::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    for row in &rows {
        table.add_row(row.iter().map(|cell| ComfyCell::new(cell.text())));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, u16::try_from(GAP).unwrap_or(u16::MAX)));
    }
    table
        .lines()
        .zip(&rows)
        .map(|(line, cells)| vec![before.clone().and(styled(line.trim_end(), cells))])
        .collect()
}

fn pick<'r>(row: &'r [Span], shown: &[usize]) -> Vec<&'r Span> {
    shown.iter().filter_map(|index| row.get(*index)).collect()
}

fn total(widths: &[usize], shown: &[usize]) -> usize {
    let cells: usize = shown.iter().filter_map(|index| widths.get(*index)).sum();
    cells + GAP * shown.len().saturating_sub(1)
}

/// Gives the cells of a laid-out line their styles back: the layout only added blanks between them.
fn styled(line: &str, cells: &[&Span]) -> Line {
    let mut styled = Line::default();
    let mut rest = line;
    for cell in cells {
        let text = cell.text().trim_end();
        let Some(at) = rest.find(text) else { break };
        let (blanks, from) = rest.split_at(at);
        styled.push(Span::new(blanks, Style::Plain));
        styled.push(Span::new(text, cell.style()));
        rest = from.get(text.len()..).unwrap_or_default();
    }
    styled.push(Span::new(rest, Style::Plain));
    styled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::screen::write_lines;

    const COLUMNS: [Column; 3] = [
        Column::always("NODE"),
        Column::until("OLDEST", 1),
        Column::until("HELD BY", 0),
    ];

    fn table() -> Table<'static> {
        let mut table = Table::new(&COLUMNS);
        table.row([
            Span::new("worker-a", Style::Plain),
            Span::new("47m", Style::Bad),
            Span::new("du-1", Style::Plain),
        ]);
        table.row([
            Span::new("b", Style::Plain),
            Span::new("<none>", Style::Plain),
            Span::new("du-2", Style::Plain),
        ]);
        table
    }

    fn shown(table: &Table<'_>, terminal: &Terminal, room: Room) -> String {
        let mut out = Vec::new();
        write_lines(&mut out, &table.lines(terminal, room), terminal).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_padded_as_kubectl_pads_them() {
        insta::assert_snapshot!(shown(&table(), &Terminal::default(), Room::Terminal), @r"
        NODE       OLDEST   HELD BY
        worker-a   47m      du-1
        b          <none>   du-2
        ");
    }

    #[test]
    fn columns_go_in_the_stated_order_and_names_stay() {
        let narrow = Terminal {
            width: 20,
            ..Terminal::default()
        };
        insta::assert_snapshot!(shown(&table(), &narrow, Room::Terminal), @r"
        NODE       OLDEST
        worker-a   47m
        b          <none>
        ");
        let tiny = Terminal {
            width: 3,
            ..Terminal::default()
        };
        insta::assert_snapshot!(shown(&table(), &tiny, Room::Terminal), @r"
        NODE
        worker-a
        b
        ");
    }

    #[test]
    fn at_a_terminal_rows_are_folded_between_columns_and_words() {
        let mut table = table();
        table.row([
            Span::new("a-node-with-a-long-name", Style::Plain),
            Span::new("3h", Style::Plain),
            Span::new("a word and many more words than fit", Style::Plain),
        ]);
        let narrow = Terminal {
            width: 24,
            lines: Lines::Folded,
            ..Terminal::default()
        };
        insta::assert_snapshot!(shown(&table, &narrow, Room::Any), @r"
        NODE
          OLDEST
          HELD BY
        worker-a
          47m
          du-1
        b
          <none>
          du-2
        a-node-with-a-long-name
          3h
          a word and many more
          words than fit
        ");
        let wider = Terminal {
            width: 25,
            ..narrow
        };
        insta::assert_snapshot!(shown(&self::table(), &wider, Room::Any), @r"
        NODE       OLDEST
          HELD BY
        worker-a   47m
          du-1
        b          <none>
          du-2
        ");
    }

    #[test]
    fn wide_tables_keep_every_column() {
        let tiny = Terminal {
            width: 3,
            ..Terminal::default()
        };
        assert!(shown(&table(), &tiny, Room::Any).contains("HELD BY"));
    }

    #[test]
    fn without_headers_only_rows_are_left() {
        let bare = Terminal {
            headers: Headers::Hidden,
            ..Terminal::default()
        };
        assert!(!shown(&table(), &bare, Room::Terminal).contains("NODE"));
    }

    #[test]
    fn an_empty_cell_does_not_shift_the_styles_of_the_others() {
        let mut table = Table::new(&COLUMNS);
        table.row([
            Span::new("a", Style::Bad),
            Span::new("", Style::Plain),
            Span::new("a", Style::Good),
        ]);
        let lines = table.lines(&Terminal::default(), Room::Any);
        assert_eq!(lines.len(), 2);
        // NODE and its gap, OLDEST and its gap, one letter.
        assert_eq!(lines[1].width(), 4 + 3 + 6 + 3 + 1);
    }
}
