//! One file per rule, named after the finding it proposes. A rule only proposes: it knows nothing of
//! the other rules. To add one: its file here, and its line in [`RULES`].

use super::case::{Case, Proposals};

/// Looks at the case and proposes.
pub(in crate::diagnose) type Check = fn(&Case<'_, '_>, &mut Proposals);

/// Every rule, in alphabetical order.
pub(in crate::diagnose) const RULES: &[Check] = &[];
