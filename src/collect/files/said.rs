//! What kubectl says in place of objects, saved with them: `kubectl get … > file 2>&1`.

use super::printable::printable;
use crate::capture::{GapReason, ResourceKind};

/// What stands in a file in place of objects.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// There are none.
    NoneFound,
    /// The API server refused.
    Refused {
        /// The plural resource name, or `input` where it is not told.
        resource: String,
        reason: GapReason,
        words: String,
    },
}

/// Returns what kubectl says, if that is all that a text holds.
pub(super) fn instead_of_objects(text: &str) -> Option<Said> {
    let line = text.trim();
    if line.contains('\n') {
        return None;
    }
    if line.starts_with("No resources found") {
        return Some(Said::NoneFound);
    }
    let rest = line.strip_prefix("Error from server (")?;
    let (why, words) = rest.split_once("): ")?;
    let reason = match why {
        "Forbidden" | "Unauthorized" => GapReason::Forbidden,
        "NotFound" => GapReason::NotFound,
        "Timeout" | "ServerTimeout" => GapReason::Timeout,
        _ => GapReason::Partial,
    };
    // `datauploads.velero.io is forbidden: …`, `pods "x" is forbidden: …`
    let named = words
        .split(|end: char| !end.is_ascii_alphanumeric())
        .next()
        .unwrap_or_default();
    let resource = ResourceKind::ALL
        .into_iter()
        .find(|resource| resource.plural() == named)
        .map_or("input", ResourceKind::plural);
    Some(Said::Refused {
        resource: resource.to_owned(),
        reason,
        words: printable(line),
    })
}

#[cfg(test)]
mod tests {
    use super::{Said, instead_of_objects};
    use crate::capture::GapReason;

    #[test]
    fn a_saved_refusal_of_kubectl_names_its_resource() {
        let line = "Error from server (Forbidden): datauploads.velero.io is forbidden: User \"x\" cannot list\n";
        assert_eq!(
            instead_of_objects(line),
            Some(Said::Refused {
                resource: "datauploads".to_owned(),
                reason: GapReason::Forbidden,
                words: line.trim().to_owned(),
            })
        );
        assert_eq!(
            instead_of_objects("No resources found in velero namespace.\n"),
            Some(Said::NoneFound)
        );
        assert_eq!(instead_of_objects("kind: Pod\n"), None);
        assert_eq!(instead_of_objects("Error from server: x\n"), None);
    }
}
