//! What every printed follow-up command carries, so that it is typed against the same cluster.

/// The namespace and the context that follow-up commands name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    /// The kubeconfig context; `None` with files, where there is no cluster to name.
    pub context: Option<String>,
    /// `--kubeconfig`, where the user gave it: the context is looked up there.
    pub kubeconfig: Option<String>,
    /// The source flags of the present call, such as `--from dir`, for follow-up commands that only read.
    pub source_flags: Vec<String>,
}

impl Pins {
    /// Returns `-n NAMESPACE`, and `--context CONTEXT` where there is one, quoted for a shell.
    #[must_use]
    pub fn flags(&self, namespace: &str) -> String {
        let mut flags = format!("-n {}", shell_word(namespace));
        if let Some(context) = &self.context {
            flags.push_str(" --context ");
            flags.push_str(&shell_word(context));
        }
        if let Some(kubeconfig) = &self.kubeconfig {
            flags.push_str(" --kubeconfig ");
            flags.push_str(&shell_word(kubeconfig));
        }
        flags
    }

    /// Fills the placeholder `{ns}` of a finding's command.
    #[must_use]
    pub fn fill(&self, command: &str, namespace: &str) -> String {
        command.replace("{ns}", &self.flags(namespace))
    }

    /// Returns a command of this plugin that reads the same source.
    #[must_use]
    pub fn reading_command(&self, command: &str, namespace: &str) -> String {
        let mut words = vec![format!("kubectl velero-slots {command}")];
        words.extend(self.source_flags.iter().map(|word| shell_word(word)));
        words.push(self.flags(namespace));
        words.join(" ")
    }
}

/// Quotes one word for a POSIX shell, where it needs that.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@=,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_follow_up_names_namespace_and_context() {
        let pins = Pins {
            context: Some("prod".to_owned()),
            ..Pins::default()
        };
        assert_eq!(
            pins.fill("kubectl velero-slots restart --node a {ns}", "velero"),
            "kubectl velero-slots restart --node a -n velero --context prod"
        );
    }

    #[test]
    fn a_context_with_shell_characters_cannot_leave_its_word() {
        let pins = Pins {
            context: Some("a'; rm -rf /".to_owned()),
            ..Pins::default()
        };
        assert_eq!(
            pins.flags("velero"),
            r"-n velero --context 'a'\''; rm -rf /'"
        );
    }

    #[test]
    fn offline_a_follow_up_names_the_files_and_no_context() {
        let pins = Pins {
            source_flags: vec!["--from".to_owned(), "my dump".to_owned()],
            ..Pins::default()
        };
        assert_eq!(
            pins.reading_command("diagnose", "velero"),
            "kubectl velero-slots diagnose --from 'my dump' -n velero"
        );
    }
}
