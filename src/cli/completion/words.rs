//! Reads the words before the cursor by the definition of the command line, and finds what the cursor is at.
//!
//! clap's own parser stops at the first word that it does not understand, and a line that is being typed is rarely
//! right as a whole. This one never stops.

use clap::{Arg, ArgAction, Command};

/// A line that is being typed.
pub(super) struct Line<'a> {
    /// The innermost command.
    pub(super) command: &'a Command,
    /// The arguments before the cursor, in order.
    pub(super) typed: Vec<Typed<'a>>,
    /// What the cursor is at.
    pub(super) cursor: Cursor<'a>,
}

/// An argument that was typed.
pub(super) struct Typed<'a> {
    /// Which.
    pub(super) arg: &'a Arg,
    /// Its value, if it has one.
    pub(super) value: Option<&'a str>,
}

/// What the cursor is at, and what was typed of it.
pub(super) enum Cursor<'a> {
    /// The name of a command.
    Command {
        /// What was typed.
        word: &'a str,
    },
    /// The name of a flag.
    Flag {
        /// What was typed, dashes included.
        word: &'a str,
    },
    /// The value of an argument.
    Value {
        /// Which argument.
        arg: &'a Arg,
        /// What stands before the value in the same word, and is no part of what the shell replaces: nothing, or a
        /// short flag.
        before: &'a str,
        /// What was typed of the value.
        word: &'a str,
    },
    /// Nothing that could be completed.
    Nothing,
}

impl<'a> Line<'a> {
    /// Reads the words; the last one is under the cursor.
    pub(super) fn read(app: &'a Command, words: &'a [String]) -> Self {
        let (last, before) = words
            .split_last()
            .map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
        let mut reader = Reader {
            command: app,
            typed: Vec::new(),
            wants_value: None,
            positionals: 0,
            flags: Flags::Taken,
        };
        for word in before {
            reader.take(word);
        }
        let cursor = reader.cursor(last);
        Self {
            command: reader.command,
            typed: reader.typed,
            cursor,
        }
    }

    /// Returns the values that were typed of an argument.
    pub(super) fn values_of(&self, arg: &Arg) -> impl Iterator<Item = &'a str> {
        self.typed
            .iter()
            .filter(move |typed| typed.arg.get_id() == arg.get_id())
            .filter_map(|typed| typed.value)
    }

    /// Returns whether an argument was typed.
    pub(super) fn has(&self, arg: &Arg) -> bool {
        self.typed
            .iter()
            .any(|typed| typed.arg.get_id() == arg.get_id())
    }
}

/// Returns whether an argument can be given several times.
pub(super) fn is_repeatable(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append | ArgAction::Count)
}

/// Whether words with a dash are flags.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flags {
    /// They are.
    Taken,
    /// A word `--` ended them.
    Ended,
}

struct Reader<'a> {
    command: &'a Command,
    typed: Vec<Typed<'a>>,
    wants_value: Option<&'a Arg>,
    positionals: usize,
    flags: Flags,
}

impl<'a> Reader<'a> {
    fn take(&mut self, word: &'a str) {
        if let Some(arg) = self.wants_value.take() {
            self.push(arg, Some(word));
        } else if self.flags == Flags::Taken && word == "--" {
            self.flags = Flags::Ended;
        } else if self.flags == Flags::Taken && word.len() > 1 && word.starts_with('-') {
            match word.strip_prefix("--") {
                Some(long) => self.take_long(long),
                None => self.take_short(word.get(1..).unwrap_or_default()),
            }
        } else if let Some(command) = self.command.find_subcommand(word) {
            self.command = command;
            self.positionals = 0;
        } else if let Some(arg) = self.positional() {
            self.push(arg, Some(word));
            self.positionals += 1;
        }
    }

    fn take_long(&mut self, text: &'a str) {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let Some(arg) = long(self.command, name) else {
            return;
        };
        if value.is_none() && wants_next_word(arg) {
            self.wants_value = Some(arg);
        } else {
            self.push(arg, value);
        }
    }

    /// Takes `-n`, `-nVALUE`, `-n=VALUE`, and several letters in one word.
    fn take_short(&mut self, letters: &'a str) {
        for (at, letter) in letters.char_indices() {
            let Some(arg) = short(self.command, letter) else {
                return;
            };
            let rest = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            if !arg.get_action().takes_values() {
                self.push(arg, None);
            } else if let Some(value) = rest.strip_prefix('=') {
                self.push(arg, Some(value));
                return;
            } else if !wants_next_word(arg) {
                self.push(arg, None);
            } else if rest.is_empty() {
                self.wants_value = Some(arg);
                return;
            } else {
                self.push(arg, Some(rest));
                return;
            }
        }
    }

    fn push(&mut self, arg: &'a Arg, value: Option<&'a str>) {
        self.typed.push(Typed { arg, value });
    }

    /// Returns the argument that the next word without a dash is a value of.
    fn positional(&self) -> Option<&'a Arg> {
        let mut last = None;
        for (at, arg) in self.command.get_positionals().enumerate() {
            if at == self.positionals {
                return Some(arg);
            }
            last = Some(arg);
        }
        last.filter(|arg| is_repeatable(arg))
    }

    fn cursor(&self, word: &'a str) -> Cursor<'a> {
        let value = |arg, before, word| Cursor::Value { arg, before, word };
        if let Some(arg) = self.wants_value {
            return value(arg, "", word);
        }
        if self.flags == Flags::Taken && word.starts_with('-') {
            return self.flag_at_cursor(word);
        }
        if self.command.has_subcommands() {
            return Cursor::Command { word };
        }
        match self.positional() {
            Some(arg) => value(arg, "", word),
            // There is nothing but flags to go on with.
            None if word.is_empty() && self.flags == Flags::Taken => Cursor::Flag { word },
            None => Cursor::Nothing,
        }
    }

    fn flag_at_cursor(&self, word: &'a str) -> Cursor<'a> {
        if let Some(text) = word.strip_prefix("--") {
            // Shells and cobra's scripts replace only what is behind the sign.
            return match text.split_once('=') {
                None => Cursor::Flag { word },
                Some((name, value)) => {
                    long(self.command, name).map_or(Cursor::Nothing, |arg| Cursor::Value {
                        arg,
                        before: "",
                        word: value,
                    })
                }
            };
        }
        let mut letters = word.strip_prefix('-').unwrap_or_default().chars();
        let Some(arg) = letters
            .next()
            .and_then(|letter| short(self.command, letter))
            .filter(|arg| arg.get_action().takes_values())
        else {
            return Cursor::Flag { word };
        };
        let rest = letters.as_str();
        match rest.strip_prefix('=') {
            Some(value) => Cursor::Value {
                arg,
                before: "",
                word: value,
            },
            // `-o` alone is a whole flag.
            None if rest.is_empty() => Cursor::Flag { word },
            None => Cursor::Value {
                arg,
                before: word.get(..word.len() - rest.len()).unwrap_or_default(),
                word: rest,
            },
        }
    }
}

/// Returns whether a flag without `=` takes the next word.
fn wants_next_word(arg: &Arg) -> bool {
    arg.get_action().takes_values() && !arg.is_require_equals_set()
}

fn long<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|arg| {
        arg.get_long() == Some(name)
            || arg
                .get_all_aliases()
                .is_some_and(|aliases| aliases.contains(&name))
    })
}

fn short(command: &Command, letter: char) -> Option<&Arg> {
    command.get_arguments().find(|arg| {
        arg.get_short() == Some(letter)
            || arg
                .get_all_short_aliases()
                .is_some_and(|aliases| aliases.contains(&letter))
    })
}
