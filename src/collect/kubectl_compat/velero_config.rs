//! The namespace that the Velero client's own configuration file names.

use super::{Environment, bounded};

/// Returns the key `namespace` of `$HOME/.config/velero/config.json`, which `velero client config set`
/// writes (v1.17.2 pkg/client/config.go). A missing or unreadable file names nothing, as with Velero's
/// own client, which only warns.
#[must_use]
pub fn velero_namespace_hint(env: &Environment) -> Option<String> {
    let path = env
        .home
        .as_ref()?
        .join(".config")
        .join("velero")
        .join("config.json");
    let text = bounded::read_to_string(&path).ok()?;
    let config: serde_json::Value = serde_json::from_str(&text).ok()?;
    config
        .get("namespace")?
        .as_str()
        .filter(|namespace| !namespace.is_empty())
        .map(str::to_owned)
}
