//! What is told to the shell, as cobra's `__complete` tells it: a candidate a line, with a tab before its description,
//! and a last line `:NUMBER` that says what the shell does with them (cobra 1.8 `completions.go`).

use std::io::{self, Write};

use crate::render::printable;

/// Longest description. Shells cut what does not fit; this is for those that do not.
const LONGEST_ABOUT: usize = 100;

/// Something that can stand at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The word.
    pub(crate) value: String,
    /// What it is, if there is something to say.
    pub(crate) about: String,
}

impl Candidate {
    /// Makes a candidate.
    pub(crate) fn new(value: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            about: about.into(),
        }
    }
}

/// What the shell does with the candidates: the bits of cobra's `ShellCompDirective`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directive {
    /// Complete them, and nothing else, in this order.
    Words,
    /// The same, and no space after: something follows.
    OpenWords,
    /// Complete file names.
    Files,
    /// Complete names of folders.
    Folders,
}

impl Directive {
    const fn number(self) -> u8 {
        const NO_SPACE: u8 = 2;
        const NO_FILES: u8 = 4;
        const FOLDERS: u8 = 16;
        /// Scripts that are older than it (cobra 1.8, kubectl 1.29) sort, as they always did.
        const KEEP_ORDER: u8 = 32;
        match self {
            Self::Words => NO_FILES | KEEP_ORDER,
            Self::OpenWords => NO_SPACE | NO_FILES | KEEP_ORDER,
            Self::Files => 0,
            Self::Folders => FOLDERS,
        }
    }
}

/// An answer to the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    candidates: Vec<Candidate>,
    directive: Directive,
}

impl Answer {
    /// Nothing can be said, and file names are wrong too.
    pub(crate) const fn nothing() -> Self {
        Self {
            candidates: Vec::new(),
            directive: Directive::Words,
        }
    }

    /// The shell knows better: file names.
    pub(crate) const fn left_to_the_shell(directive: Directive) -> Self {
        Self {
            candidates: Vec::new(),
            directive,
        }
    }

    /// Candidates, the most wanted first.
    pub(crate) const fn ordered(candidates: Vec<Candidate>) -> Self {
        Self::with(candidates, Directive::Words)
    }

    /// Candidates with a directive.
    pub(crate) const fn with(candidates: Vec<Candidate>, directive: Directive) -> Self {
        Self {
            candidates,
            directive,
        }
    }

    /// Writes the answer.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for candidate in &self.candidates {
            if !can_be_typed(&candidate.value) {
                continue;
            }
            let about = one_line(&candidate.about);
            if about.is_empty() {
                writeln!(out, "{}", candidate.value)?;
            } else {
                writeln!(out, "{}\t{about}", candidate.value)?;
            }
        }
        writeln!(out, ":{}", self.directive.number())
    }
}

/// Returns whether a word stands for itself on every command line.
///
/// The scripts put candidates on the command line as they are, and bash expands them on the way (`compgen -W`): a
/// name with `$(…)` in it would be run. So names from a cluster or a kubeconfig that a shell would not take word for
/// word are not offered at all; what Kubernetes calls a name always can be, and so can the usual names of contexts.
fn can_be_typed(value: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "-_.:/@=,+%".contains(c);
    !value.is_empty() && value.chars().all(plain)
}

fn one_line(about: &str) -> String {
    let about = printable(about.trim());
    match about.char_indices().nth(LONGEST_ABOUT) {
        None => about,
        Some((end, _)) => format!("{}...", about.get(..end).unwrap_or_default().trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(answer: &Answer) -> String {
        let mut bytes = Vec::new();
        answer.write(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn an_answer_ends_with_what_the_shell_is_to_do() {
        let two = vec![
            Candidate::new("node-b", "1/1 in progress"),
            Candidate::new("node-a", ""),
        ];
        assert_eq!(
            written(&Answer::ordered(two.clone())),
            "node-b\t1/1 in progress\nnode-a\n:36\n"
        );
        assert_eq!(
            written(&Answer::with(two, Directive::OpenWords)),
            "node-b\t1/1 in progress\nnode-a\n:38\n"
        );
        assert_eq!(written(&Answer::nothing()), ":36\n");
        assert_eq!(
            written(&Answer::left_to_the_shell(Directive::Files)),
            ":0\n"
        );
        assert_eq!(
            written(&Answer::left_to_the_shell(Directive::Folders)),
            ":16\n"
        );
    }

    #[test]
    fn a_name_that_a_shell_would_not_take_word_for_word_is_not_offered() {
        let names = [
            "$(touch /tmp/x)",
            "`id`",
            "a b",
            "a\tb",
            "a\nb",
            "\u{1b}[2J",
            "a;b",
            "a'b",
            "\u{202e}desrever",
            "",
        ];
        let all = names.map(|name| Candidate::new(name, "x")).to_vec();
        assert_eq!(written(&Answer::ordered(all)), ":36\n");
        for name in [
            "arn:aws:eks:eu-central-1:123456789012:cluster/prod",
            "gke_project_zone_name",
            "default/api-example-com:6443/kube:admin",
            "admin@prod",
            "größe",
        ] {
            assert_eq!(
                written(&Answer::ordered(vec![Candidate::new(name, "")])),
                format!("{name}\n:36\n")
            );
        }
    }

    #[test]
    fn a_description_is_one_line_without_escapes() {
        let hostile = Candidate::new("a", "two\nlines\tand \u{1b}[31mred\n:4");
        assert_eq!(
            written(&Answer::ordered(vec![hostile])),
            "a\ttwo lines and \\u{1b}[31mred :4\n:36\n"
        );
        let long = Candidate::new("a", "x".repeat(LONGEST_ABOUT + 1));
        assert_eq!(
            written(&Answer::ordered(vec![long])),
            format!("a\t{}...\n:36\n", "x".repeat(LONGEST_ABOUT))
        );
    }
}
