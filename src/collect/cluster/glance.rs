//! A glance at a cluster: a few lists for one who waits at a prompt, in as few steps as possible.
//!
//! A step is a round trip, and there is time for one or two. So nothing is looked for first: Velero is taken to be
//! where the user says, else in the namespace `velero`, and only when that one holds nothing at all its DaemonSet is
//! looked for everywhere, by one list.

use std::collections::BTreeSet;

use futures_util::future::{join, join_all};

use super::list::{Answer, Depth, Narrowed, Question, list};
use super::request::Asker;
use super::{Cluster, CollectError, CollectOptions, namespace};
use crate::capture::{Capture, ResourceKind, Scope};
use crate::collect::kubectl_compat::{ClusterFlags, Environment, resolve_without_login};

/// The namespaces of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Namespaces {
    /// Those that hold Velero's node-agent.
    pub of_velero: BTreeSet<String>,
    /// All that were read.
    pub all: BTreeSet<String>,
}

/// Finds the cluster that the flags and the environment name, as [`connect`](super::connect) does, but never logs in:
/// a credential plugin is not run.
///
/// # Errors
///
/// [`CollectError::Config`] when no usable cluster is named, or a login would be needed.
pub async fn connect_without_login(
    flags: &ClusterFlags,
    env: &Environment,
) -> Result<Cluster, CollectError> {
    Cluster::new(resolve_without_login(flags, env).await?, flags, env)
}

impl Cluster {
    /// Lists some resources of Velero's namespace, and Nodes if they are among them; returns them with the namespace.
    /// What does not come in time, or not at all, is a refusal in the capture.
    pub async fn glance(
        &self,
        resources: &[ResourceKind],
        options: &CollectOptions,
    ) -> (Capture, String) {
        let asker = self.asker(options, &|_| {});
        let told = namespace::told(&self.flags, &self.env).map(|told| told.namespace);
        let is_told = told.is_some();
        let mut at = told.unwrap_or_else(|| namespace::DEFAULT_NAMESPACE.to_owned());
        let mut answers = ask(&asker, resources, &at).await;
        if !is_told && is_empty(&answers) && asker.verdict().is_none() {
            let mut others = namespace::with_node_agent(&asker).await.into_iter();
            // Of several it is not known which is meant.
            if let (Some(only), None) = (others.next(), others.next()) {
                answers = ask(&asker, resources, &only).await;
                at = only;
            }
        }
        (self.capture(&asker, answers, &at), at)
    }

    /// Lists the names of all namespaces, and those of them that hold Velero. What cannot be read is missing.
    pub async fn namespaces(&self, options: &CollectOptions) -> Namespaces {
        let asker = self.asker(options, &|_| {});
        let (of_velero, all) = join(
            namespace::with_node_agent(&asker),
            namespace::names_of_all(&asker),
        )
        .await;
        Namespaces { of_velero, all }
    }
}

async fn ask(asker: &Asker<'_>, resources: &[ResourceKind], namespace: &str) -> Vec<Answer> {
    join_all(resources.iter().map(|resource| {
        let scope = match resource {
            ResourceKind::Node => Scope::Cluster,
            ResourceKind::Task(_)
            | ResourceKind::Backup
            | ResourceKind::Restore
            | ResourceKind::Pod
            | ResourceKind::DaemonSet
            | ResourceKind::Deployment
            | ResourceKind::ConfigMap
            | ResourceKind::PersistentVolumeClaim
            | ResourceKind::VolumeSnapshot
            | ResourceKind::Event => Scope::Namespace(namespace.to_owned()),
        };
        let question = Question {
            resource: *resource,
            scope,
        };
        async move { list(asker, question, &Narrowed::default(), Depth::Everything).await }
    }))
    .await
}

/// Returns whether nothing was found in the namespace, though it could be looked at. Every namespace has a ConfigMap
/// of the cluster's authority, so that one says nothing.
fn is_empty(answers: &[Answer]) -> bool {
    answers
        .iter()
        .filter(|answer| {
            !matches!(
                answer.question.resource,
                ResourceKind::Node | ResourceKind::ConfigMap
            )
        })
        .all(|answer| answer.objects().next().is_none())
}
