//! What every printed follow-up command carries, so that it is typed against the same cluster.

use crate::diagnose::paste::{is_name, word};

/// The namespace and the context that follow-up commands name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    /// The kubeconfig context; `None` with files, where there is no cluster to name.
    pub context: Option<String>,
    /// `--kubeconfig`, where the user gave it: the context is looked up there.
    pub kubeconfig: Option<String>,
    /// kubectl's other flags that say which cluster and as whom, as the user gave them; never a credential.
    pub cluster_flags: Vec<String>,
    /// The source flags of the present call, such as `--from dir`, for follow-up commands that only read.
    pub source_flags: Vec<String>,
}

impl Pins {
    /// Returns `-n NAMESPACE`, and `--context CONTEXT` where there is one, quoted for a shell; `None`
    /// where the namespace is no Kubernetes name, which would make another command of it.
    #[must_use]
    pub fn flags(&self, namespace: &str) -> Option<String> {
        if !is_name(namespace) {
            return None;
        }
        let mut flags = format!("-n {}", word(namespace));
        if let Some(context) = &self.context {
            flags.push_str(" --context ");
            flags.push_str(&word(context));
        }
        if let Some(kubeconfig) = &self.kubeconfig {
            flags.push_str(" --kubeconfig ");
            flags.push_str(&word(kubeconfig));
        }
        for flag in &self.cluster_flags {
            flags.push(' ');
            flags.push_str(&word(flag));
        }
        Some(flags)
    }

    /// Fills the placeholder `{ns}` of a finding's command; `None` as with [`Self::flags`].
    #[must_use]
    pub fn fill(&self, command: &str, namespace: &str) -> Option<String> {
        Some(command.replace("{ns}", &self.flags(namespace)?))
    }

    /// Returns a command of this plugin that reads the same source; `None` as with [`Self::flags`].
    #[must_use]
    pub fn reading_command(&self, command: &str, namespace: &str) -> Option<String> {
        let mut words = vec![format!("kubectl velero-slots {command}")];
        words.extend(self.source_flags.iter().map(|flag| word(flag)));
        words.push(self.flags(namespace)?);
        Some(words.join(" "))
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
            pins.fill("kubectl velero-slots restart --node a {ns}", "velero")
                .as_deref(),
            Some("kubectl velero-slots restart --node a -n velero --context prod")
        );
    }

    #[test]
    fn a_context_with_shell_characters_cannot_leave_its_word() {
        let pins = Pins {
            context: Some("a'; rm -rf /".to_owned()),
            ..Pins::default()
        };
        assert_eq!(
            pins.flags("velero").as_deref(),
            Some(r"-n velero --context 'a'\''; rm -rf /'")
        );
    }

    #[test]
    fn offline_a_follow_up_names_the_files_and_no_context() {
        let pins = Pins {
            source_flags: vec!["--from".to_owned(), "my dump".to_owned()],
            ..Pins::default()
        };
        assert_eq!(
            pins.reading_command("diagnose", "velero").as_deref(),
            Some("kubectl velero-slots diagnose --from 'my dump' -n velero")
        );
    }

    #[test]
    fn a_namespace_that_is_an_option_gives_no_command() {
        let pins = Pins::default();
        assert_eq!(pins.flags("-A"), None);
        assert_eq!(pins.fill("kubectl get pod {ns}", "--all"), None);
        assert_eq!(pins.reading_command("diagnose", "a;b"), None);
    }

    #[test]
    fn a_follow_up_goes_to_the_server_that_was_asked() {
        let pins = Pins {
            cluster_flags: vec!["--server".to_owned(), "https://a:6443".to_owned()],
            ..Pins::default()
        };
        assert_eq!(
            pins.flags("velero").as_deref(),
            Some("-n velero --server https://a:6443")
        );
    }
}
