//! A document of Markdown: blocks with a blank line between them.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::super::screen::printable;
use super::inline::{Inline, longest_run};

/// A document that is being written.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    text: String,
}

/// An item of a list, with the items below it.
#[derive(Clone, Debug, Default)]
pub(super) struct Item {
    text: Inline,
    below: Vec<Inline>,
}

impl Item {
    /// Makes an item that has others below it.
    pub(super) fn with(text: Inline, below: Vec<Inline>) -> Self {
        Self { text, below }
    }
}

impl From<Inline> for Item {
    fn from(text: Inline) -> Self {
        Self {
            text,
            below: Vec::new(),
        }
    }
}

impl Page {
    fn block(&mut self, block: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(block);
        self.text.push('\n');
    }

    /// Adds the heading of the document, which is the answer.
    pub(super) fn title(&mut self, text: &Inline) {
        self.block(&format!("## {}", text.as_str()));
    }

    /// Adds the heading of a part.
    pub(super) fn heading(&mut self, text: &Inline) {
        self.block(&format!("### {}", text.as_str()));
    }

    /// Adds a paragraph; nothing for an empty one.
    pub(super) fn paragraph(&mut self, text: &Inline) {
        if !text.is_empty() {
            self.block(text.as_str());
        }
    }

    /// Adds a list; nothing for an empty one.
    pub(super) fn list<I: Into<Item>>(&mut self, items: impl IntoIterator<Item = I>) {
        let lines: Vec<String> = items
            .into_iter()
            .map(Into::into)
            .flat_map(|item: Item| {
                std::iter::once(format!("- {}", item.text.as_str())).chain(
                    item.below
                        .into_iter()
                        .map(|below| format!("  - {}", below.as_str())),
                )
            })
            .collect();
        if !lines.is_empty() {
            self.block(&lines.join("\n"));
        }
    }

    /// Adds a command in a block of its own: it will be pasted.
    pub(super) fn command(&mut self, command: &str) {
        let command = printable(command);
        let fence = "`".repeat(longest_run(&command).max(2) + 1);
        self.block(&format!("{fence}sh\n{command}\n{fence}"));
    }

    /// Adds a table; nothing for one without rows.
    pub(super) fn table<const N: usize>(
        &mut self,
        header: &[&'static str; N],
        rows: impl IntoIterator<Item = [Inline; N]>,
    ) {
        let mut text = String::new();
        for row in rows {
            let cells: Vec<String> = row.iter().map(Inline::cell).collect();
            // Writing to a String cannot fail.
            let _written = write!(text, "\n| {} |", cells.join(" | "));
        }
        if !text.is_empty() {
            let rule = vec!["---"; N].join(" | ");
            self.block(&format!("| {} |\n| {rule} |{text}", header.join(" | ")));
        }
    }

    /// Writes the document.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_a_blank_line_between_them() {
        let mut page = Page::default();
        page.title(&Inline::own("a"));
        page.paragraph(&Inline::default());
        page.list([Item::with(Inline::own("b"), vec![Inline::own("c")])]);
        page.table(&["N"], [[Inline::code("x|y")]]);
        page.command("echo '```'");
        assert_eq!(
            page.text,
            "## a\n\n- b\n  - c\n\n| N |\n| --- |\n| `x\\|y` |\n\n````sh\necho '```'\n````\n"
        );
    }
}
