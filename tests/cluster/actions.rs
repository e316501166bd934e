//! `nudge` and `restart`, against a DaemonSet controller that really replaces the pods.
//!
//! A proxy in front of the API server writes down every request, and the tests hold what was written to what the
//! plan showed. Velero is not there: where a task is to move, the test moves it, as a node-agent would.

mod nudge;
mod race;
mod refusals;
mod restart;
mod rights;
mod site;
mod trouble;
mod writes;
