//! A place in a text, as editors count it.

use std::fmt;

/// A line and a column, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    line: usize,
    column: usize,
}

impl Place {
    /// The beginning of a text.
    pub(super) const START: Self = Self { line: 1, column: 1 };

    /// Returns the place right after `text`. Columns are bytes, as `serde_json` counts them.
    pub(super) fn after(text: &str) -> Self {
        let newlines = text.bytes().filter(|byte| *byte == b'\n').count();
        let last_line = text.rsplit('\n').next().unwrap_or_default();
        Self {
            line: newlines.saturating_add(1),
            column: last_line.len().saturating_add(1),
        }
    }

    /// Returns this place, counted from `base` on.
    pub(super) const fn within(self, base: Self) -> Self {
        base.then(self.line, self.column)
    }

    /// Returns the place that a parser calls `line` and `column` if it was started here.
    pub(super) const fn then(self, line: usize, column: usize) -> Self {
        if line <= 1 {
            Self {
                line: self.line,
                column: self.column.saturating_add(column.saturating_sub(1)),
            }
        } else {
            Self {
                line: self.line.saturating_add(line.saturating_sub(1)),
                column,
            }
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn a_place_counts_on_from_where_the_parser_was_started() {
        let base = Place::after("one\ntwo\n  ");
        assert_eq!(base.to_string(), "line 3, column 3");
        assert_eq!(base.then(1, 4).to_string(), "line 3, column 6");
        assert_eq!(base.then(2, 4).to_string(), "line 4, column 4");
        assert_eq!(Place::START.then(5, 6).to_string(), "line 5, column 6");
    }
}
