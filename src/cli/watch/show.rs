//! Where the answers go: a screen that is drawn again, frames one after the other, lines for programs, or the last
//! answer alone.

use std::io;

use jiff::Timestamp;

use super::super::answer::Answer;
use super::super::args::{OutputArgs, OutputFormat};
use super::super::error::Error;
use super::super::ui::{TerminalEnvironment, Ui, terminal};
use super::args::Shown;
use super::foot::Foot;
use crate::render::{Window, frame, last_frame, make_room, one_line, timeless};

/// How answers are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// A window in which each answer takes the place of the one before.
    Screen,
    /// Answers for people, a line between them.
    Frames,
    /// JSON documents, one on each line.
    JsonLines,
    /// YAML documents.
    YamlDocuments,
    /// As they are.
    Plain,
    /// Nothing until the end.
    Last,
}

/// Where the answers go.
pub(super) struct Show {
    output: OutputArgs,
    way: Way,
    answer: Option<Answer>,
    printed: Option<Printed>,
    /// The size for which the screen was drawn.
    size: Option<Window>,
}

/// What was printed last.
struct Printed {
    text: String,
    facts: Facts,
}

/// From what an answer was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// Changes of the cluster, counted.
    pub(super) changes: u64,
    /// Readings of logs and metrics, counted.
    pub(super) traces: u64,
    /// The time that counted as now.
    pub(super) now: Option<Timestamp>,
}

impl Show {
    /// Decides by the format and the terminal.
    pub(super) fn new(output: OutputArgs, shown: Shown) -> Self {
        Self {
            output,
            way: way(
                output.output,
                shown,
                &TerminalEnvironment::of_process(),
                window(),
            ),
            answer: None,
            printed: None,
            size: None,
        }
    }

    /// Returns whether a window is drawn.
    pub(super) fn is_screen(&self) -> bool {
        self.way == Way::Screen
    }

    /// Returns whether there was an answer.
    pub(super) const fn has_answer(&self) -> bool {
        self.answer.is_some()
    }

    /// Returns whether the window has the size for which it was drawn.
    pub(super) fn has_its_size(&self) -> bool {
        self.size == window()
    }

    /// Draws an answer.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(super) fn draw(
        &mut self,
        answer: Answer,
        foot: &Foot,
        ui: &mut Ui<'_>,
    ) -> Result<(), Error> {
        self.answer = Some(answer);
        self.redraw(foot, ui)
    }

    /// Draws the same answer again.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(super) fn redraw(&mut self, foot: &Foot, ui: &mut Ui<'_>) -> Result<(), Error> {
        let Some(answer) = &self.answer else {
            return Ok(());
        };
        let terminal = terminal(self.output, &TerminalEnvironment::of_process());
        let text = self.text(answer)?;
        let mut lines = foot.lines(terminal.marks);
        let warnings = answer.warnings.iter();
        lines.extend(warnings.map(|warning| terminal.marks.printable(warning)));
        let size = window();
        let mut drawn = String::new();
        let window = size.unwrap_or(Window {
            rows: 24,
            columns: terminal.width,
        });
        if self.size.is_none() {
            drawn.push_str(&make_room(window));
        }
        self.size = size;
        drawn.push_str(&frame(&text, &lines, window, terminal.marks));
        write(ui, &drawn)
    }

    /// Takes an answer, and prints it if it says something new. `then` makes the same answer for the time of the one
    /// printed last: what differs from that has changed, and did not only become older.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(super) fn print(
        &mut self,
        answer: Answer,
        facts: Facts,
        then: impl FnOnce(Option<Timestamp>) -> Option<Answer>,
        ui: &mut Ui<'_>,
    ) -> Result<(), Error> {
        if self.way == Way::Last {
            self.answer = Some(answer);
            return Ok(());
        }
        let text = self.text(&answer)?;
        self.answer = Some(answer);
        if let Some(printed) = &self.printed {
            let is_same_but_older = timeless(&text) == timeless(&printed.text);
            let has_news =
                printed.facts.changes != facts.changes || printed.facts.traces != facts.traces;
            let is_old = is_same_but_older
                && (!has_news
                    || match then(printed.facts.now) {
                        Some(answer) => self.text(&answer)? == printed.text,
                        None => false,
                    });
            if is_old {
                return Ok(());
            }
        }
        let drawn = match self.way {
            Way::Screen | Way::Last => String::new(),
            Way::Frames if self.printed.is_some() => format!("---\n{text}"),
            Way::Frames | Way::Plain => text.clone(),
            Way::JsonLines => one_line(&text),
            Way::YamlDocuments => format!("---\n{text}"),
        };
        self.printed = Some(Printed { text, facts });
        write(ui, &drawn)
    }

    /// Leaves the last answer, whole.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(super) fn end(&mut self, foot: &Foot, ui: &mut Ui<'_>) -> Result<(), Error> {
        let Some(answer) = &self.answer else {
            return Ok(());
        };
        match self.way {
            Way::Screen => {
                let marks = terminal(self.output, &TerminalEnvironment::of_process()).marks;
                write(
                    ui,
                    &last_frame(&self.text(answer)?, &foot.last_lines(marks)),
                )
            }
            Way::Last => {
                let text = self.text(answer)?;
                write(ui, &text)
            }
            Way::Frames | Way::JsonLines | Way::YamlDocuments | Way::Plain => Ok(()),
        }
    }

    fn text(&self, answer: &Answer) -> Result<String, Error> {
        let terminal = terminal(self.output, &TerminalEnvironment::of_process());
        let mut bytes = Vec::new();
        (answer.render)(&mut bytes, self.output.output.into(), &terminal).map_err(Error::output)?;
        String::from_utf8(bytes).map_err(|error| Error::output(io::Error::other(error)))
    }
}

fn way(
    format: OutputFormat,
    shown: Shown,
    environment: &TerminalEnvironment,
    window: Option<Window>,
) -> Way {
    match (shown, format) {
        (Shown::Last, _) => Way::Last,
        (Shown::Each, OutputFormat::Json) => Way::JsonLines,
        (Shown::Each, OutputFormat::Yaml) => Way::YamlDocuments,
        // The last line of a text of metrics says that it is whole.
        (Shown::Each, OutputFormat::Name | OutputFormat::OpenMetrics) => Way::Plain,
        // For a file or a chat, and not for a window.
        (Shown::Each, OutputFormat::Markdown) => Way::Frames,
        (Shown::Each, OutputFormat::Table | OutputFormat::Wide) => {
            let is_dumb = environment
                .term
                .as_deref()
                .is_none_or(|term| term == "dumb");
            // Consoles of Windows set no $TERM and know the sequences all the same.
            let knows_sequences = cfg!(windows) || !is_dumb;
            if environment.stdout_is_terminal && knows_sequences && window.is_some() {
                Way::Screen
            } else {
                Way::Frames
            }
        }
    }
}

/// Returns the size of the window, if there is one.
fn window() -> Option<Window> {
    let (width, height) = terminal_size::terminal_size()?;
    Some(Window {
        rows: usize::from(height.0),
        columns: usize::from(width.0),
    })
}

fn write(ui: &mut Ui<'_>, text: &str) -> Result<(), Error> {
    ui.answer(|out| {
        out.write_all(text.as_bytes())?;
        out.flush()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::super::answer::Reached;
    use super::super::super::exit::Exit;
    use super::*;

    const WINDOW: Option<Window> = Some(Window {
        rows: 24,
        columns: 80,
    });

    fn environment(term: &str) -> TerminalEnvironment {
        TerminalEnvironment {
            stdout_is_terminal: true,
            term: Some(term.to_owned()),
            ..TerminalEnvironment::default()
        }
    }

    #[test]
    fn only_a_terminal_that_knows_sequences_is_drawn_on() {
        let of = |format, environment: &TerminalEnvironment, window| {
            way(format, Shown::Each, environment, window)
        };
        let xterm = environment("xterm");
        assert_eq!(of(OutputFormat::Table, &xterm, WINDOW), Way::Screen);
        assert_eq!(of(OutputFormat::Wide, &xterm, WINDOW), Way::Screen);
        assert_eq!(of(OutputFormat::Table, &xterm, None), Way::Frames);
        let pipe = TerminalEnvironment {
            stdout_is_terminal: false,
            ..xterm.clone()
        };
        assert_eq!(of(OutputFormat::Table, &pipe, WINDOW), Way::Frames);
        if !cfg!(windows) {
            let dumb = environment("dumb");
            assert_eq!(of(OutputFormat::Table, &dumb, WINDOW), Way::Frames);
        }
        assert_eq!(of(OutputFormat::Json, &xterm, WINDOW), Way::JsonLines);
        assert_eq!(of(OutputFormat::Yaml, &pipe, None), Way::YamlDocuments);
        assert_eq!(
            way(OutputFormat::Table, Shown::Last, &xterm, WINDOW),
            Way::Last
        );
    }

    fn answer(text: &'static str) -> Answer {
        Answer {
            render: Box::new(move |out, _, _| out.write_all(text.as_bytes())),
            exit: Exit::Answered,
            warnings: Vec::new(),
            marks: BTreeMap::new(),
            idle: Reached::No,
            unstuck: Reached::No,
        }
    }

    const fn facts(changes: u64) -> Facts {
        Facts {
            changes,
            traces: 0,
            now: None,
        }
    }

    /// Prints answers one after the other: each as it is, and as it would be at the time of the one printed last.
    fn printed(way: Way, answers: &[(u64, &'static str, &'static str)]) -> String {
        let mut show = Show {
            output: OutputArgs::default(),
            way,
            answer: None,
            printed: None,
            size: None,
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut ui = Ui::new(&mut out, &mut err);
        for (changes, text, then) in answers {
            show.print(
                answer(text),
                facts(*changes),
                |_| Some(answer(then)),
                &mut ui,
            )
            .unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_only_became_older_is_not_printed_again() {
        let out = printed(
            Way::Frames,
            &[
                (1, "waits 5s\n", ""),
                (1, "waits 6s\n", ""),
                (2, "waits 7s\n", "waits 5s\n"),
                (3, "waits 8s\n", "waits 4s\n"),
                (3, "stuck 9s\n", ""),
            ],
        );
        assert_eq!(out, "waits 5s\n---\nwaits 8s\n---\nstuck 9s\n");
    }

    #[test]
    fn documents_are_lines_in_json_and_marked_off_in_yaml() {
        let out = printed(
            Way::JsonLines,
            &[(1, "{\n  \"a\": 1\n}\n", ""), (2, "{\n  \"b\": 1\n}\n", "")],
        );
        assert_eq!(out, "{\"a\":1}\n{\"b\":1}\n");
        let out = printed(Way::YamlDocuments, &[(1, "a: 1\n", ""), (2, "b: 1\n", "")]);
        assert_eq!(out, "---\na: 1\n---\nb: 1\n");
    }

    #[test]
    fn without_watch_nothing_is_printed_before_the_end() {
        assert_eq!(printed(Way::Last, &[(1, "a\n", ""), (2, "b\n", "")]), "");
    }
}
