//! The text of `OpenMetrics` 1.0, and no more of it than Prometheus' older text format takes too.
//!
//! The textfile collector of `node_exporter` and the Pushgateway read the older format. To it `# UNIT` and `# EOF`
//! are comments, but a type that it does not know (`info`, `stateset`) makes it refuse the whole text. So
//! every family is a gauge; a state set has its series, and an info its name and its value 1. No sample has
//! a timestamp of its own: the collector refuses those.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::super::screen::printable;

/// What is said of a metric before its series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Family {
    /// Its name.
    pub(super) name: &'static str,
    /// What it tells, beginning with how it is known: Observed, Configured or Derived.
    pub(super) help: &'static str,
}

impl Family {
    /// Returns the unit, with which the name ends.
    fn unit(self) -> Option<&'static str> {
        self.name.ends_with("_seconds").then_some("seconds")
    }
}

/// The labels and the value of a series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sample {
    labels: Vec<(&'static str, String)>,
    value: i64,
}

impl Sample {
    /// Makes a series; labels are written in the order given.
    pub(super) fn new<const N: usize>(labels: [(&'static str, &str); N], value: i64) -> Self {
        Self {
            labels: labels
                .into_iter()
                .map(|(name, value)| (name, value.to_owned()))
                .collect(),
            value,
        }
    }

    /// Makes the series of something that is counted.
    pub(super) fn count<const N: usize>(labels: [(&'static str, &str); N], number: usize) -> Self {
        Self::new(labels, i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// A text that is being written.
#[derive(Clone, Debug, Default)]
pub(super) struct Exposition {
    text: String,
}

impl Exposition {
    /// Adds a family with its series; nothing for one without any.
    pub(super) fn family(&mut self, family: Family, samples: impl IntoIterator<Item = Sample>) {
        let mut lines = String::new();
        for sample in samples {
            lines.push_str(family.name);
            write_labels(&mut lines, &sample.labels);
            // Writing to a String cannot fail.
            let _written = writeln!(lines, " {}", sample.value);
        }
        if lines.is_empty() {
            return;
        }
        let Family { name, help } = family;
        let _written = writeln!(self.text, "# TYPE {name} gauge");
        if let Some(unit) = family.unit() {
            let _written = writeln!(self.text, "# UNIT {name} {unit}");
        }
        let _written = writeln!(self.text, "# HELP {name} {help}");
        self.text.push_str(&lines);
    }

    /// Adds the states that something can be in: 1 for the one it is in, 0 for the others. As in a state set
    /// the label has the name of the metric.
    pub(super) fn states<'a>(
        &mut self,
        family: Family,
        all: &[&'static str],
        things: impl IntoIterator<Item = (Option<(&'static str, &'a str)>, &'static str)>,
    ) {
        let mut samples = Vec::new();
        for (whose, is) in things {
            for state in all {
                let value = i64::from(*state == is);
                let label = (family.name, *state);
                samples.push(match whose {
                    Some(whose) => Sample::new([whose, label], value),
                    None => Sample::new([label], value),
                });
            }
        }
        self.family(family, samples);
    }

    /// Ends the text, and writes it.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.text.as_bytes())?;
        out.write_all(b"# EOF\n")
    }
}

fn write_labels(line: &mut String, labels: &[(&'static str, String)]) {
    for (index, (name, value)) in labels.iter().enumerate() {
        line.push(if index == 0 { '{' } else { ',' });
        line.push_str(name);
        line.push_str("=\"");
        // A terminal may be at the other end.
        for c in printable(value).chars() {
            if matches!(c, '\\' | '"') {
                line.push('\\');
            }
            line.push(c);
        }
        line.push('"');
    }
    if !labels.is_empty() {
        line.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_end_its_value() {
        let mut line = String::new();
        write_labels(&mut line, &[("a", "x\"} 1\n# EOF\\\u{1b}".to_owned())]);
        assert_eq!(line, r#"{a="x\"} 1 # EOF\\\\u{1b}"}"#);
    }

    #[test]
    fn a_unit_is_the_end_of_the_name() {
        let family = Family {
            name: "velero_slots_x_seconds",
            help: "Derived: x.",
        };
        let mut text = Exposition::default();
        text.family(family, [Sample::new([], 3)]);
        assert_eq!(
            text.text,
            "# TYPE velero_slots_x_seconds gauge\n# UNIT velero_slots_x_seconds seconds\n\
             # HELP velero_slots_x_seconds Derived: x.\nvelero_slots_x_seconds 3\n"
        );
    }

    #[test]
    fn a_family_without_series_is_not_there() {
        let mut text = Exposition::default();
        text.family(
            Family {
                name: "velero_slots_x",
                help: "Derived: x.",
            },
            [],
        );
        assert_eq!(text.text, "");
    }
}
