//! The version of one node-agent.

use std::fmt;

/// A Velero version, read from an image tag or from the agent's log. It has no order outside this module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VeleroVersion {
    text: String,
}

impl fmt::Display for VeleroVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
