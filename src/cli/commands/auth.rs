//! `auth`.

use std::collections::BTreeSet;

use clap::ValueEnum;

use super::super::args::{OutputArgs, SourceArgs};
use super::super::error::Error;
use super::super::exit::Exit;
use super::super::source;
use super::super::ui::{TerminalEnvironment, Ui, terminal};
use crate::collect::cluster::{ErrorKind, Review};
use crate::render;
use crate::report::{AuthReport, RIGHTS, RightRow, RightScope, RoleKind, role_yaml};

/// Show which rights each feature needs, and which of them the current user has
///
/// With --role: print the least roles as YAML instead, without asking a cluster.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    /// Print the least roles for this kind of user
    #[arg(long, value_enum, value_name = "ROLE")]
    role: Option<Role>,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// A kind of user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Role {
    /// Whoever reads
    Viewer,
    /// Whoever also acts on tasks and node-agents
    Operator,
}

/// Answers.
pub(crate) fn run(args: &Args, ui: &mut Ui<'_>) -> Result<Exit, Error> {
    if let Some(role) = args.role {
        let kind = match role {
            Role::Viewer => RoleKind::Viewer,
            Role::Operator => RoleKind::Operator,
        };
        let namespace = source::told_namespace(&args.source).unwrap_or_else(|| "velero".to_owned());
        ui.answer(|out| out.write_all(role_yaml(kind, &namespace).as_bytes()))?;
        return Ok(Exit::Answered);
    }
    if !args.source.from.is_empty() {
        return Err(Error::usage(anyhow::anyhow!(
            "auth asks a cluster: files do not say what a user may do"
        )));
    }
    let report = ask(args)?;
    let terminal = terminal(args.output, &TerminalEnvironment::of_process());
    ui.answer(|out| render::auth(out, &report, &terminal))?;
    Ok(if report.can_read() {
        Exit::Answered
    } else {
        Exit::CouldNotAnswer
    })
}

fn ask(args: &Args) -> Result<AuthReport, Error> {
    source::with_cluster(&args.source, async |cluster, options, progress| {
        // Whoever may not look for Velero is still told which rights are missing where it usually is.
        let namespace = match cluster.find_namespace(options, progress).await {
            Ok(choice) => choice.namespace,
            Err(error) => match error.kind() {
                ErrorKind::VeleroNotFound | ErrorKind::Usage => "velero".to_owned(),
                ErrorKind::Config
                | ErrorKind::Login
                | ErrorKind::Unreachable
                | ErrorKind::Interrupted
                | ErrorKind::Timeout => return Err(source::cluster_error(error)),
            },
        };
        let asked: Vec<_> = RIGHTS
            .iter()
            .flat_map(|right| right.verbs.iter().map(move |verb| (right, *verb)))
            .collect();
        let questions: Vec<Review<'_>> = asked
            .iter()
            .map(|(right, verb)| Review {
                verb,
                group: right.group,
                resource: right.resource,
                subresource: right.subresource,
                namespace: match right.scope {
                    RightScope::Velero => Some(namespace.as_str()),
                    RightScope::Cluster => None,
                },
                name: None,
            })
            .collect();
        let answers = cluster.review(&questions, options.request_timeout).await;
        let unanswered: BTreeSet<&str> = answers
            .iter()
            .filter_map(|answer| answer.as_ref().err().map(String::as_str))
            .collect();
        let why = unanswered.into_iter().collect::<Vec<_>>().join("; ");
        if answers.iter().all(Result::is_err) {
            let server = &cluster.resolved().server;
            return Err(Error::could_not_answer(anyhow::anyhow!(
                "the API server {server} answered no question about rights: {why}"
            ))
            .hint("try the same connection with: kubectl auth can-i --list"));
        }
        if !why.is_empty() {
            progress(&format!("some rights are unknown: {why}"));
        }
        let rows = asked
            .iter()
            .zip(answers)
            .map(|((right, verb), granted)| RightRow {
                right: **right,
                verb,
                granted: granted.ok(),
            })
            .collect();
        Ok(AuthReport {
            server: cluster.resolved().server.clone(),
            namespace,
            rows,
        })
    })
}
