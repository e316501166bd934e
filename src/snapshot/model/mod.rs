//! What a snapshot holds, one type per thing that was seen.

mod agent;
mod labels;
mod mark;
mod object;
mod task;

pub use agent::{NodeAgent, ProfileBasis, StartLog};
pub use labels::Labels;
pub use mark::{Mark, MarkKind, NUDGED_AT, REASON, RESTARTED_AT};
pub use object::{
    Claim, Condition, ConfigMap, Container, ContainerEnd, ContainerState, Cordoned, DaemonSet,
    Event, HostNetwork, IsNodeAgent, Node, Pod, Ready, Taint, Toleration, VolumeSnapshot,
};
pub use task::{
    Cancel, Exposing, ManagedFields, Parent, ParentKind, ParentRef, Progress, TargetPod, Task,
    Writes,
};
