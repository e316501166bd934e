//! What is told of the way to the answer: below it on a screen, and on standard error elsewhere.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::args::Until;
use super::look::Traced;
use crate::capture::ResourceKind;
use crate::collect::cluster::{Behind, Contact, Lost};
use crate::render::Marks;

/// What stands below the answer on a screen.
pub(super) struct Foot {
    /// How the following goes.
    pub(super) contact: Contact,
    /// What is waited for.
    pub(super) until: Option<Until>,
    /// Whether logs and metrics are still to come.
    pub(super) traced: Traced,
    /// What changed lately.
    pub(super) changes: Vec<String>,
    /// What else there is to say.
    pub(super) notes: Vec<String>,
}

impl Foot {
    /// Returns its lines.
    pub(super) fn lines(&self, marks: Marks) -> Vec<String> {
        let dot = match marks {
            Marks::Unicode => " · ",
            Marks::Ascii => ", ",
        };
        let mut parts = Vec::new();
        if let Some(lost) = &self.contact.lost {
            parts.push(silent(lost));
        } else {
            match self.contact.behind.as_slice() {
                [] if self.contact.watched > 0 => parts.push("live".to_owned()),
                [] => {}
                behind => parts.push(reconnecting(behind)),
            }
            if !self.contact.polled.is_empty() {
                parts.push(polled(&self.contact.polled));
            }
            if self.traced == Traced::Awaited {
                parts.push("reading logs and metrics of node-agents".to_owned());
            }
        }
        parts.push(match self.until {
            Some(until) => format!("until {}, or Ctrl-C", until.as_str()),
            None => "Ctrl-C ends".to_owned(),
        });
        let mut lines = vec![String::new()];
        lines.extend(self.changes.iter().map(|change| marks.printable(change)));
        lines.push(marks.printable(&parts.join(dot)));
        lines.extend(self.notes.iter().map(|note| marks.printable(note)));
        lines
    }

    /// Returns what stays below the answer at the end: why it is not the present, if it is not.
    pub(super) fn last_lines(&self, marks: Marks) -> Vec<String> {
        let line = match (&self.contact.lost, self.contact.behind.as_slice()) {
            (Some(lost), _) => silent(lost),
            (None, []) => return Vec::new(),
            (None, behind) => reconnecting(behind),
        };
        vec![String::new(), marks.printable(&line)]
    }
}

fn silent(lost: &Lost) -> String {
    let since = since(lost.since);
    format!(
        "the API server does not answer{since}: {}; the answer is as of then; trying again",
        lost.why
    )
}

fn since(time: Option<Timestamp>) -> String {
    time.map_or_else(String::new, |time| format!(" since {time}"))
}

fn reconnecting(behind: &[Behind]) -> String {
    let oldest = behind.iter().min_by_key(|behind| behind.since);
    let resources: Vec<ResourceKind> = behind.iter().map(|behind| behind.resource).collect();
    oldest.map_or_else(String::new, |oldest| {
        format!(
            "reconnecting {}{}: {}",
            names(&resources).join(", "),
            since(oldest.since),
            oldest.why
        )
    })
}

fn polled(polled: &[ResourceKind]) -> String {
    format!(
        "{} listed every 5 s (no right to watch)",
        names(polled).join(", ")
    )
}

fn names(resources: &[ResourceKind]) -> Vec<&'static str> {
    let names: BTreeSet<&str> = resources.iter().map(|resource| resource.plural()).collect();
    names.into_iter().collect()
}

/// What standard error was told already.
#[derive(Default)]
pub(super) struct Told {
    polled: BTreeSet<&'static str>,
    is_silent: bool,
    is_behind: bool,
    warnings: BTreeSet<String>,
}

impl Told {
    /// Returns what is new.
    pub(super) fn news(&mut self, contact: &Contact) -> Vec<String> {
        let mut lines = Vec::new();
        let polled: Vec<&'static str> = names(&contact.polled)
            .into_iter()
            .filter(|name| !self.polled.contains(name))
            .collect();
        if !polled.is_empty() {
            lines.push(format!(
                "no right to watch {}; listing every 5 s instead",
                polled.join(", ")
            ));
            self.polled.extend(polled);
        }
        match (&contact.lost, self.is_silent) {
            (Some(lost), false) => {
                lines.push(format!("warning: {}", silent(lost)));
                self.is_silent = true;
            }
            (None, true) => {
                lines.push("the API server answers again".to_owned());
                self.is_silent = false;
                self.is_behind = false;
            }
            (Some(_), true) | (None, false) => {}
        }
        if contact.lost.is_none() {
            match (contact.behind.as_slice(), self.is_behind) {
                ([], true) => {
                    lines.push("everything is followed again".to_owned());
                    self.is_behind = false;
                }
                ([], false) | (_, true) => {}
                (behind, false) => {
                    lines.push(reconnecting(behind));
                    self.is_behind = true;
                }
            }
        }
        lines
    }

    /// Returns whether a warning was not told yet.
    pub(super) fn is_new(&mut self, warning: &str) -> bool {
        self.warnings.insert(warning.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::velero::TaskKind;

    fn lost() -> Lost {
        Lost {
            since: Some("2026-01-02T03:12:44Z".parse().unwrap()),
            why: "connection refused".to_owned(),
        }
    }

    fn foot(contact: Contact) -> Foot {
        Foot {
            contact,
            until: None,
            traced: Traced::Settled,
            changes: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_foot_says_how_the_answer_is_kept_up_to_date() {
        let live = foot(Contact {
            watched: 11,
            polled: vec![ResourceKind::Pod, ResourceKind::Node],
            ..Contact::default()
        });
        assert_eq!(
            live.lines(Marks::Unicode),
            [
                "",
                "live · nodes, pods listed every 5 s (no right to watch) · Ctrl-C ends"
            ]
        );
        assert!(live.last_lines(Marks::Unicode).is_empty());
    }

    #[test]
    fn a_silent_server_is_told_with_the_time_of_the_answer() {
        let silent = Foot {
            until: Some(Until::Idle),
            ..foot(Contact {
                lost: Some(lost()),
                ..Contact::default()
            })
        };
        assert_eq!(
            silent.lines(Marks::Ascii),
            [
                "",
                "the API server does not answer since 2026-01-02T03:12:44Z: connection refused; the answer is as of \
                 then; trying again, until idle, or Ctrl-C"
            ]
        );
        assert_eq!(silent.last_lines(Marks::Unicode).len(), 2);
    }

    #[test]
    fn each_trouble_is_told_once_and_so_is_its_end() {
        let mut told = Told::default();
        let behind = Contact {
            behind: vec![Behind {
                resource: ResourceKind::Task(TaskKind::DataUpload),
                since: None,
                why: "the connection broke".to_owned(),
            }],
            polled: vec![ResourceKind::Event],
            ..Contact::default()
        };
        assert_eq!(
            told.news(&behind),
            [
                "no right to watch events; listing every 5 s instead",
                "reconnecting datauploads: the connection broke"
            ]
        );
        assert!(told.news(&behind).is_empty());
        let silent = Contact {
            lost: Some(lost()),
            ..behind.clone()
        };
        assert_eq!(told.news(&silent).len(), 1);
        assert!(told.news(&silent).is_empty());
        let well = Contact {
            polled: vec![ResourceKind::Event],
            ..Contact::default()
        };
        assert_eq!(told.news(&well), ["the API server answers again"]);
        assert!(told.news(&well).is_empty());
        assert!(told.is_new("a"));
        assert!(!told.is_new("a"));
    }

    #[test]
    fn words_of_a_server_cannot_send_escapes() {
        let hostile = foot(Contact {
            lost: Some(Lost {
                since: None,
                why: "\u{1b}[2J".to_owned(),
            }),
            ..Contact::default()
        });
        for line in hostile
            .lines(Marks::Unicode)
            .iter()
            .chain(&hostile.last_lines(Marks::Unicode))
        {
            assert!(!line.contains('\u{1b}'), "{line:?}");
        }
    }
}
