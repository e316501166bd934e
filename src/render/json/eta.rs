//! When a task is expected to end, version 1: the same promise as that of `v1`.

use serde::Serialize;

use super::text::Text;
use super::v1::{Deadline, time};
use crate::report;

#[cfg(test)]
use schemars::JsonSchema;

/// Names a task of a node, and says until when it is there.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskOfNode<'a> {
    /// The kind.
    #[cfg_attr(test, schemars(extend("enum" = ["DataUpload", "DataDownload", "PodVolumeBackup", "PodVolumeRestore"])))]
    kind: &'static str,
    /// The namespace.
    namespace: Text<'a>,
    /// The name.
    name: Text<'a>,
    /// When it ends by itself at the latest; null where nothing ends it, or that is not known.
    deadline: Option<Deadline>,
    /// When it is expected to end; null where nothing says how long a task takes.
    eta: Option<Eta>,
}

/// When a task is expected to start and to end. Derived, never observed: the median and the 90th percentile
/// of simulated runs under the present limits, as `replay --simulate` shows them.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Eta {
    /// When it gets its slot, in half of the runs; `takenAt` for one that has it, null where it gets none.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    start: Option<String>,
    /// When it ends, in half of the runs; null where it never does, or it is not known.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    end: Option<String>,
    /// When it ends, in nine of ten runs; null where it does not in so many.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    end_p90: Option<String>,
    /// How it ends in most runs.
    #[cfg_attr(test, schemars(extend("enum" = super::simulation::ENDINGS)))]
    ending: &'static str,
    /// What this rests on above all; `replay --simulate` lists the rest, with the number of samples.
    assumption: &'static str,
}

/// What every expectation rests on.
const ETA_ASSUMPTION: &str = "tasks take as long as their own rate or finished tasks say, whatever runs beside them, and no task comes, fails or is cancelled from outside";

impl From<&report::Eta> for Eta {
    fn from(eta: &report::Eta) -> Self {
        Self {
            start: eta.start.map(time),
            end: eta.end.map(time),
            end_p90: eta.end_p90.map(time),
            ending: eta.ending.as_str(),
            assumption: ETA_ASSUMPTION,
        }
    }
}

impl<'a> From<&'a report::TaskRow> for TaskOfNode<'a> {
    fn from(row: &'a report::TaskRow) -> Self {
        Self {
            kind: row.task.kind.as_str(),
            namespace: Text(&row.task.namespace),
            name: Text(&row.task.name),
            deadline: row.deadline.as_ref().map(Deadline::from),
            eta: row.eta.as_ref().map(Eta::from),
        }
    }
}
