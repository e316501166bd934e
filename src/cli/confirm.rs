//! Asking before something is changed: at a terminal, on standard error, and never without end.

use std::io::{self, IsTerminal as _, Write as _};

use super::ui::shown;
use crate::plan::{ConfirmBy, Confirmation};

/// Whether somebody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Person {
    /// Standard input and standard error, where the question goes, are terminals.
    AtTerminal,
    /// One of them is not: nobody would answer, or see the question.
    Absent,
}

impl Person {
    /// Looks at standard input and standard error.
    pub(crate) fn of_process() -> Self {
        if io::stdin().is_terminal() && io::stderr().is_terminal() {
            Self::AtTerminal
        } else {
            Self::Absent
        }
    }
}

/// Whether `--yes` was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Yes {
    /// It was: nobody is asked.
    Given,
    /// It was not.
    NotGiven,
}

/// What came of a confirmation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// It was given.
    Given,
    /// It was not, and why.
    Withheld(String),
    /// Nobody can be asked.
    NobodyThere,
}

/// Asks for the confirmation that a plan demands. `place` names context, server and namespace. `ask` writes a
/// prompt and reads a line, `None` at the end of the input.
///
/// # Errors
///
/// Those of `ask`.
pub(crate) async fn confirm(
    confirmation: &Confirmation,
    place: &str,
    person: Person,
    yes: Yes,
    ask: impl AsyncFn(&str) -> io::Result<Option<String>>,
) -> io::Result<Consent> {
    match (yes, person) {
        (Yes::Given, Person::AtTerminal | Person::Absent) => return Ok(Consent::Given),
        (Yes::NotGiven, Person::Absent) => return Ok(Consent::NobodyThere),
        (Yes::NotGiven, Person::AtTerminal) => {}
    }
    let question = &confirmation.question;
    match &confirmation.by {
        ConfirmBy::YesNo => {
            let answer = ask(&format!("{question}\n{place}\nGo on? (y/N): ")).await?;
            Ok(match answer.as_deref().map(str::trim) {
                Some("y" | "Y" | "yes" | "Yes" | "YES") => Consent::Given,
                Some(_) => Consent::Withheld("not confirmed".to_owned()),
                None => Consent::Withheld("the input ended without an answer".to_owned()),
            })
        }
        ConfirmBy::TypeNodeNames(nodes) => {
            for node in nodes {
                let answer = ask(&format!(
                    "{question}\n{place}\nRunning work is lost there. Type the name of the node to go on ({node}): "
                ))
                .await?;
                match answer.as_deref().map(str::trim) {
                    Some(typed) if typed == node => {}
                    Some(typed) => {
                        return Ok(Consent::Withheld(format!(
                            "not confirmed: \"{typed}\" is not \"{node}\""
                        )));
                    }
                    None => {
                        return Ok(Consent::Withheld(
                            "the input ended without an answer".to_owned(),
                        ));
                    }
                }
            }
            Ok(Consent::Given)
        }
    }
}

/// Writes a prompt to standard error and reads a line of standard input, without holding up what else is waited
/// for, such as Ctrl-C.
///
/// # Errors
///
/// When standard input cannot be read.
pub(crate) async fn ask_at_terminal(prompt: &str) -> io::Result<Option<String>> {
    let lines: Vec<String> = prompt.split('\n').map(shown).collect();
    let mut err = io::stderr();
    // With standard error gone nobody sees the question, and no answer comes.
    let _told = write!(err, "{}", lines.join("\n")).and_then(|()| err.flush());
    tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line)?;
        Ok((read > 0).then_some(line))
    })
    .await
    .map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Runs a confirmation with answers at hand; returns what was asked too.
    fn asked(by: ConfirmBy, person: Person, yes: Yes, answers: &[&str]) -> (Consent, Vec<String>) {
        let confirmation = Confirmation {
            by,
            question: "Restart the node-agent of node-a?".to_owned(),
        };
        let left = RefCell::new(answers.iter());
        let prompts = RefCell::new(Vec::new());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let consent = runtime
            .block_on(confirm(
                &confirmation,
                "context prod, server https://10.0.0.1, namespace velero",
                person,
                yes,
                async |prompt: &str| {
                    prompts.borrow_mut().push(prompt.to_owned());
                    Ok(left.borrow_mut().next().map(|answer| format!("{answer}\n")))
                },
            ))
            .unwrap();
        (consent, prompts.into_inner())
    }

    fn two_nodes() -> ConfirmBy {
        ConfirmBy::TypeNodeNames(vec!["node-a".to_owned(), "node-b".to_owned()])
    }

    #[test]
    fn without_a_terminal_nobody_is_asked() {
        for by in [ConfirmBy::YesNo, two_nodes()] {
            let (consent, prompts) = asked(by, Person::Absent, Yes::NotGiven, &["y"]);
            assert_eq!(consent, Consent::NobodyThere);
            assert_eq!(prompts, [] as [String; 0]);
        }
    }

    #[test]
    fn yes_is_enough_with_and_without_a_terminal() {
        for person in [Person::AtTerminal, Person::Absent] {
            let (consent, prompts) = asked(two_nodes(), person, Yes::Given, &[]);
            assert_eq!(consent, Consent::Given);
            assert_eq!(prompts, [] as [String; 0]);
        }
    }

    #[test]
    fn only_a_plain_y_goes_on() {
        for (answer, given) in [
            ("y", true),
            ("YES", true),
            ("", false),
            ("n", false),
            ("yy", false),
        ] {
            let (consent, _) = asked(
                ConfirmBy::YesNo,
                Person::AtTerminal,
                Yes::NotGiven,
                &[answer],
            );
            assert_eq!(consent == Consent::Given, given, "{answer:?}");
        }
    }

    #[test]
    fn the_end_of_the_input_is_a_no() {
        let (consent, _) = asked(ConfirmBy::YesNo, Person::AtTerminal, Yes::NotGiven, &[]);
        assert!(matches!(consent, Consent::Withheld(_)));
    }

    #[test]
    fn each_node_with_running_work_is_typed_by_name() {
        let ask = |answers: &[&str]| asked(two_nodes(), Person::AtTerminal, Yes::NotGiven, answers);
        assert_eq!(ask(&["node-a", "node-b"]).0, Consent::Given);
        for wrong in [
            &["y"][..],
            &["node-a", "node-a"],
            &["node-a"],
            &["node-A", "node-b"],
        ] {
            assert!(matches!(ask(wrong).0, Consent::Withheld(_)), "{wrong:?}");
        }
    }

    #[test]
    fn every_prompt_names_context_server_and_namespace() {
        for (by, answers) in [
            (ConfirmBy::YesNo, &["y"][..]),
            (two_nodes(), &["node-a", "node-b"]),
        ] {
            let (_, prompts) = asked(by, Person::AtTerminal, Yes::NotGiven, answers);
            assert!(!prompts.is_empty());
            for prompt in prompts {
                assert!(
                    prompt.contains("context prod, server https://10.0.0.1, namespace velero"),
                    "{prompt}"
                );
            }
        }
    }
}
