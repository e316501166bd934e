//! Where the answer goes, where everything else goes, and what the terminal can show.

use std::io::{self, IsTerminal as _, Write};

use super::args::{ColorChoice, OutputArgs};
use super::error::Error;
use crate::render::{Color, Headers, Lines, Marks, Terminal};
use crate::report::Head;

/// The two writers. Standard output carries the answer and nothing else.
pub(crate) struct Ui<'w> {
    out: &'w mut dyn Write,
    err: &'w mut dyn Write,
}

impl<'w> Ui<'w> {
    /// Wraps the two writers.
    pub(crate) fn new(out: &'w mut dyn Write, err: &'w mut dyn Write) -> Self {
        Self { out, err }
    }

    /// Writes the answer.
    ///
    /// # Errors
    ///
    /// When it cannot be written; a broken pipe is told apart.
    pub(crate) fn answer(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Error> {
        write(self.out).map_err(Error::output)
    }

    /// Writes a line to standard error.
    pub(crate) fn say(&mut self, line: &str) {
        // With standard error gone there is nobody left to tell.
        let _told = writeln!(self.err, "{}", shown(line));
    }

    /// Tells which filters name what occurs nowhere.
    pub(crate) fn say_unmatched(&mut self, head: &Head) {
        for sentence in head.unmatched_filters() {
            self.say(&format!("warning: {sentence}: nothing is shown for it"));
        }
    }

    /// Tells an error and its hints.
    pub(crate) fn error(&mut self, error: &Error) {
        for line in error.lines() {
            self.say(&line);
        }
    }

    /// Hands the last bytes of the answer over.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        self.out.flush().map_err(Error::output)
    }
}

/// What the environment says about the terminal.
#[derive(Clone, Debug, Default)]
pub(crate) struct TerminalEnvironment {
    /// Whether standard output is a terminal.
    pub(crate) stdout_is_terminal: bool,
    /// The width that the terminal reports.
    pub(crate) reported_width: Option<usize>,
    /// `$NO_COLOR`.
    pub(crate) no_color: Option<String>,
    /// `$CLICOLOR_FORCE`.
    pub(crate) clicolor_force: Option<String>,
    /// `$TERM`.
    pub(crate) term: Option<String>,
    /// `$COLUMNS`.
    pub(crate) columns: Option<String>,
    /// `$LC_ALL`, else `$LC_CTYPE`, else `$LANG`; the first that is not empty.
    pub(crate) locale: Option<String>,
}

impl TerminalEnvironment {
    /// Reads the environment of this process.
    pub(crate) fn of_process() -> Self {
        Self {
            stdout_is_terminal: io::stdout().is_terminal(),
            reported_width: terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)),
            no_color: variable("NO_COLOR"),
            clicolor_force: variable("CLICOLOR_FORCE"),
            term: variable("TERM"),
            columns: variable("COLUMNS"),
            locale: variable("LC_ALL")
                .or_else(|| variable("LC_CTYPE"))
                .or_else(|| variable("LANG")),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the command line is the edge that may read the environment"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Decides what the terminal is told: `--color` first, then `$NO_COLOR`, `$CLICOLOR_FORCE`, `$TERM`, and
/// whether standard output is a terminal.
pub(crate) fn terminal(output: OutputArgs, environment: &TerminalEnvironment) -> Terminal {
    Terminal {
        width: width(environment),
        color: color(output.color, environment),
        marks: marks(environment),
        headers: if output.no_headers {
            Headers::Hidden
        } else {
            Headers::Shown
        },
        lines: if environment.stdout_is_terminal {
            Lines::Folded
        } else {
            Lines::Whole
        },
    }
}

/// Makes a message safe for the terminal, in the characters of the locale.
pub(crate) fn shown(message: &str) -> String {
    marks(&TerminalEnvironment::of_process()).printable(message)
}

fn color(choice: ColorChoice, environment: &TerminalEnvironment) -> Color {
    let on = match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            let forced = environment
                .clicolor_force
                .as_deref()
                .is_some_and(|value| value != "0");
            let dumb = environment.term.as_deref() == Some("dumb");
            environment.no_color.is_none() && (forced || (environment.stdout_is_terminal && !dumb))
        }
    };
    if on { Color::On } else { Color::Off }
}

fn width(environment: &TerminalEnvironment) -> usize {
    // A pipe has no width; 80 columns are what a mail or a chat shows without wrapping.
    let asked = environment
        .columns
        .as_deref()
        .and_then(|columns| columns.parse().ok());
    let known = if environment.stdout_is_terminal {
        environment.reported_width.or(asked)
    } else {
        asked
    };
    known.unwrap_or(80).clamp(60, 200)
}

fn marks(environment: &TerminalEnvironment) -> Marks {
    let utf8 = environment.locale.as_deref().is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    // On Windows the locale variables are not set, and its consoles show Unicode.
    if utf8 || cfg!(windows) {
        Marks::Unicode
    } else {
        Marks::Ascii
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_terminal() -> TerminalEnvironment {
        TerminalEnvironment {
            stdout_is_terminal: true,
            reported_width: Some(120),
            term: Some("xterm".to_owned()),
            locale: Some("C.UTF-8".to_owned()),
            ..TerminalEnvironment::default()
        }
    }

    #[test]
    fn a_terminal_gets_colour_and_a_pipe_does_not() {
        assert_eq!(color(ColorChoice::Auto, &a_terminal()), Color::On);
        let pipe = TerminalEnvironment {
            stdout_is_terminal: false,
            ..a_terminal()
        };
        assert_eq!(color(ColorChoice::Auto, &pipe), Color::Off);
    }

    #[test]
    fn no_color_wins_over_force_and_the_flag_wins_over_both() {
        let environment = TerminalEnvironment {
            no_color: Some("1".to_owned()),
            clicolor_force: Some("1".to_owned()),
            ..a_terminal()
        };
        assert_eq!(color(ColorChoice::Auto, &environment), Color::Off);
        assert_eq!(color(ColorChoice::Always, &environment), Color::On);
        assert_eq!(color(ColorChoice::Never, &a_terminal()), Color::Off);
    }

    #[test]
    fn a_dumb_terminal_gets_no_colour_unless_forced() {
        let dumb = TerminalEnvironment {
            term: Some("dumb".to_owned()),
            ..a_terminal()
        };
        assert_eq!(color(ColorChoice::Auto, &dumb), Color::Off);
        let forced = TerminalEnvironment {
            clicolor_force: Some("1".to_owned()),
            ..dumb
        };
        assert_eq!(color(ColorChoice::Auto, &forced), Color::On);
    }

    #[test]
    fn without_a_utf8_locale_marks_are_ascii() {
        assert_eq!(marks(&a_terminal()), Marks::Unicode);
        let latin = TerminalEnvironment {
            locale: Some("de_DE.ISO-8859-1".to_owned()),
            ..a_terminal()
        };
        if !cfg!(windows) {
            assert_eq!(marks(&latin), Marks::Ascii);
        }
    }

    #[test]
    fn a_pipe_is_80_columns_wide_unless_columns_says_otherwise() {
        let pipe = TerminalEnvironment {
            stdout_is_terminal: false,
            ..a_terminal()
        };
        assert_eq!(width(&pipe), 80);
        let told = TerminalEnvironment {
            columns: Some("100".to_owned()),
            ..pipe
        };
        assert_eq!(width(&told), 100);
        assert_eq!(width(&a_terminal()), 120);
    }
}
