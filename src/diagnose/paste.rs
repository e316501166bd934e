//! What may stand in a command that a person pastes into a shell.
//!
//! Names come from objects of other people, saved files too, where nobody checked them. A name that
//! Kubernetes would not take gives no command: quoted it would still be an option (`--all`) or a surprise.

/// Stands in a command for a name that cannot be pasted; [`crate::diagnose::diagnose`] leaves such a command out.
pub(crate) const NO_NAME: &str = "{no-name}";

/// The longest name of an object (RFC 1123 subdomain), in characters.
const LONGEST_NAME: usize = 253;

/// Returns a name of an object as a word for a POSIX shell, or [`NO_NAME`].
pub(crate) fn name(text: &str) -> String {
    if is_name(text) {
        word(text)
    } else {
        NO_NAME.to_owned()
    }
}

/// Returns whether Kubernetes would take a text as the name of an object.
pub(crate) fn is_name(text: &str) -> bool {
    text.len() <= LONGEST_NAME
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-._:".contains(c))
}

/// Quotes one word for a POSIX shell, where it needs that.
pub(crate) fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@=,+%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_kubernetes_stays_as_it_is() {
        assert_eq!(name("ip-10-0-0-1.ec2.internal"), "ip-10-0-0-1.ec2.internal");
    }

    #[test]
    fn a_name_that_a_shell_or_kubectl_would_read_as_more_is_no_name() {
        for hostile in [
            "",
            "--all",
            "-A",
            "x'; touch /tmp/y; echo '",
            "$(id)",
            "`id`",
            "a b",
            "a\nb",
            "a/b",
            "{ns}",
            "..",
            "\u{430}",
        ] {
            assert_eq!(name(hostile), NO_NAME, "{hostile:?}");
        }
        assert_eq!(name(&"x".repeat(254)), NO_NAME);
    }

    #[test]
    fn a_word_cannot_leave_its_quotes() {
        assert_eq!(word("a'; rm -rf /"), r"'a'\''; rm -rf /'");
    }
}
