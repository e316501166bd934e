//! What `nudge` and `restart` have in common: plan, show, ask, look again, act, watch, tell.

mod args;
mod show;

use std::cell::RefCell;
use std::io::{self, Write as _};
use std::time::Duration;

use anyhow::anyhow;

pub(crate) use args::ActionArgs;
use args::DryRun;
use show::Shown;

use super::super::args::OutputFormat;
use super::super::confirm::{Consent, Person, Yes, ask_at_terminal, confirm};
use super::super::error::{Error, ErrorKind};
use super::super::exit::Exit;
use super::super::source::{self, TraceArgs};
use super::super::ui::Ui;
use crate::act::{
    Effect, Journal, Rights, Run, SaveError, SaveTo, Settings, ask_rights, right_words, still_valid,
};
use crate::capture::Capture;
use crate::collect::cluster::{Cluster, CollectOptions};
use crate::diagnose::diagnose;
use crate::plan::{
    Achieved, Ending, FollowUps, Force, Intent, Known, NotSelected, NudgeTargets, Plan,
    RestartTargets, RightNeed, StepResult, Sure, Verdict, Wishes, judge, plan_nudge, plan_restart,
};
use crate::render::printable;
use crate::replay::{ReplayOptions, replay};
use crate::report::Pins;
use crate::snapshot::{self, ReadOptions, Snapshot};

/// After a nudge a controller looks within seconds; a worker that is busy may take a minute.
const NUDGE_LIMIT: Duration = Duration::from_secs(2 * 60);
/// A new pod starts within a minute or two; a resume may wait for a mover pod as long as `--resource-timeout`.
const RESTART_LIMIT: Duration = Duration::from_secs(10 * 60);
/// Between two looks.
const PAUSE: Duration = Duration::from_secs(2);

/// What the user wants.
pub(crate) enum Goal {
    /// `nudge`.
    Nudge(NudgeTargets),
    /// `restart`.
    Restart {
        /// Which nodes.
        targets: RestartTargets,
        /// `--no-follow-up`.
        follow_ups: FollowUps,
        /// `--save-log`.
        save: Option<SaveTo>,
    },
}

/// How far an action came.
enum Came {
    /// The plan is the answer: a dry run.
    Planned,
    /// The plan is the answer, and why nothing was done.
    Refused(Error),
    /// The plan was shown to a person, who did not agree to it, and why nothing was done.
    Declined(Error),
    /// It was carried out, as far as the journal says.
    Acted,
    /// A log could not be saved, so that its node and those after it were left alone.
    NotSaved(SaveError),
}

/// What outlives an interruption.
#[derive(Default)]
struct State {
    shown: RefCell<Option<Shown>>,
    journal: Journal,
}

/// Acts.
pub(crate) fn run(args: &ActionArgs, goal: &Goal, ui: &mut Ui<'_>) -> Result<Exit, Error> {
    args.output.without_metrics()?;
    let source = args.source();
    if !source.from.is_empty() {
        return from_files(args, goal, ui);
    }
    let state = State::default();
    let came = source::with_cluster(&source, async |cluster, options, progress| {
        let action = Action {
            args,
            goal,
            cluster,
            options,
            progress,
            state: &state,
        };
        // Whatever comes first: after Ctrl-C not one more write is begun.
        tokio::select! {
            biased;
            () = cluster.interrupt().raised() => Err(source::interrupted()),
            done = action.run() => done,
        }
    });
    tell(args, &state, came, ui)
}

/// Files hold no cluster to act on: the plan is shown, and that is all.
fn from_files(args: &ActionArgs, goal: &Goal, ui: &mut Ui<'_>) -> Result<Exit, Error> {
    let read = source::read(&args.source())?;
    let shown = planned(args, goal, &read.snapshot, &read.pins)?;
    shown.answer_plan(args, ui)?;
    match args.dry_run {
        DryRun::Client => Ok(exit_of_verdict(&shown.plan)),
        DryRun::None | DryRun::Server => {
            ui.error(
                &Error::refused(anyhow!("files hold no cluster to act on: nothing was done"))
                    .hint("type the same without --from"),
            );
            Ok(Exit::Refused)
        }
    }
}

fn exit_of_verdict(plan: &Plan) -> Exit {
    match plan.verdict() {
        Verdict::Allowed | Verdict::Forced => Exit::Answered,
        Verdict::RefusedUnlessForced | Verdict::Refused => Exit::Refused,
    }
}

/// Plans what the user wants on what was seen.
fn planned(
    args: &ActionArgs,
    goal: &Goal,
    snapshot: &Snapshot,
    pins: &Pins,
) -> Result<Shown, Error> {
    let replayed = replay(
        snapshot,
        ReplayOptions {
            threshold_seconds: args.threshold,
        },
    );
    let diagnosis = diagnose(snapshot, &replayed);
    let known = Known {
        snapshot,
        replay: &replayed,
        diagnosis: &diagnosis,
    };
    let wishes = Wishes {
        force: if args.force { Force::Yes } else { Force::No },
        follow_up: goal.follow_ups(),
        reason: args.reason.clone(),
        intent: match args.dry_run {
            DryRun::Client => Intent::Show,
            DryRun::None | DryRun::Server => Intent::CarryOut,
        },
    };
    let plan = match goal {
        Goal::Nudge(targets) => plan_nudge(known, targets, &wishes),
        Goal::Restart { targets, .. } => plan_restart(known, targets, &wishes),
    };
    let plan = plan.map_err(|error| not_selected(&error))?;
    Ok(Shown::new(plan, known, pins))
}

fn not_selected(unknown: &NotSelected) -> Error {
    let near = unknown.near.join(", ");
    let words = anyhow!("{}: {}", unknown.text, unknown.why);
    let error = match unknown.sure {
        Sure::Yes => Error::usage(words),
        // The name may be right: the call was not wrong.
        Sure::NotRead => {
            return Error::refused(words)
                .hint("which rights are missing: kubectl velero-slots auth");
        }
    };
    if near.is_empty() {
        error
    } else {
        error.hint(format!("there is: {near}"))
    }
}

impl Goal {
    const fn follow_ups(&self) -> FollowUps {
        match self {
            Self::Nudge(_) => FollowUps::Nudge,
            Self::Restart { follow_ups, .. } => *follow_ups,
        }
    }

    const fn limit(&self) -> Duration {
        match self {
            Self::Nudge(_) => NUDGE_LIMIT,
            Self::Restart { .. } => RESTART_LIMIT,
        }
    }

    fn save(&self) -> Option<SaveTo> {
        match self {
            Self::Nudge(_) => None,
            Self::Restart { save, .. } => save.clone(),
        }
    }
}

/// One call, with a cluster at hand.
struct Action<'a> {
    args: &'a ActionArgs,
    goal: &'a Goal,
    cluster: &'a Cluster,
    options: &'a CollectOptions,
    progress: &'a dyn Fn(&str),
    state: &'a State,
}

impl Action<'_> {
    async fn run(&self) -> Result<Came, Error> {
        let traces = TraceArgs {
            logs: self.args.logs.into(),
            metrics: self.args.metrics.into(),
            threshold: self.args.threshold,
        };
        let collected =
            source::collect_traced(self.cluster, self.options, traces, self.progress).await?;
        let namespace = collected.namespace.namespace.clone();
        let pins = source::pins_of_cluster(&self.args.source(), self.cluster);
        let snapshot = self.read(&collected.capture, &namespace);
        let shown = planned(self.args, self.goal, &snapshot, &pins)?;
        self.state.shown.replace(Some(shown.clone()));
        let plan = &shown.plan;
        if let Some(error) = refusal(plan) {
            return Ok(Came::Refused(error));
        }
        if self.args.dry_run == DryRun::Client {
            return Ok(Came::Planned);
        }
        let rights = self.rights(plan).await;
        if let Some(error) = forbidden(&rights) {
            return Ok(Came::Refused(error));
        }
        self.warn(&rights);
        if self.args.dry_run == DryRun::None
            && let Some(came) = self.consent(&shown).await?
        {
            return Ok(came);
        }
        let base = self.look_again(&collected.capture, &namespace).await?;
        let before = self.read(&base, &namespace);
        let fresh = match planned(self.args, self.goal, &before, &pins) {
            Ok(fresh) => fresh,
            // What was meant is gone, or could not be read this time: the call was right when it was made.
            Err(error) => {
                return Ok(Came::Refused(Error::refused(
                    error
                        .source
                        .context("the plan is out of date, so nothing was done"),
                )));
            }
        };
        let valid = match still_valid(plan, &fresh.plan) {
            Ok(valid) => valid,
            Err(change) => {
                return Ok(Came::Refused(
                    Error::refused(anyhow!(
                        "the plan is out of date, so nothing was done: {change}"
                    ))
                    .hint("type the same again to see the new plan"),
                ));
            }
        };
        for words in &valid.left_alone {
            (self.progress)(&format!("left alone: {words}"));
            self.state.journal.warn(format!("left alone: {words}"));
        }
        let plan = &valid.plan;
        self.state.shown.replace(Some(shown.clone().left(plan)));
        let settings = self.settings();
        let replan = |snapshot: &Snapshot, node: &str| self.replanned(snapshot, node, &pins);
        let run = Run {
            cluster: self.cluster,
            plan,
            replan: &replan,
            base: &base,
            before: &before,
            settings: &settings,
            rights: &rights,
            journal: &self.state.journal,
            say: self.progress,
        };
        Ok(match run.carry_out().await {
            Ok(()) => Came::Acted,
            Err(error) => Came::NotSaved(error),
        })
    }

    /// Plans the restart of one node anew, on how it stands by then.
    fn replanned(&self, snapshot: &Snapshot, node: &str, pins: &Pins) -> Result<Plan, String> {
        let goal = Goal::Restart {
            targets: RestartTargets::Nodes(vec![node.to_owned()]),
            follow_ups: self.goal.follow_ups(),
            save: None,
        };
        planned(self.args, &goal, snapshot, pins)
            .map(|shown| shown.plan)
            .map_err(|error| error.source.to_string())
    }

    fn read(&self, capture: &Capture, namespace: &str) -> Snapshot {
        snapshot::read(
            capture,
            &ReadOptions {
                namespace: namespace.to_owned(),
                now: None,
            },
        )
    }

    fn settings(&self) -> Settings {
        Settings {
            collect: self.options.clone(),
            threshold_seconds: self.args.threshold,
            reason: self.args.reason.clone(),
            follow_ups: self.goal.follow_ups(),
            effect: match self.args.dry_run {
                DryRun::None | DryRun::Client => Effect::Real,
                DryRun::Server => Effect::DryRun,
            },
            limit: self.args.limit(self.goal.limit()),
            pause: PAUSE,
            logs: self.args.logs.into(),
            save: self.goal.save(),
        }
    }

    async fn look_again(&self, base: &Capture, namespace: &str) -> Result<Capture, Error> {
        self.cluster
            .collect_again(base, namespace, self.options, self.progress)
            .await
            .map_err(source::cluster_error)
    }

    async fn rights(&self, plan: &Plan) -> Rights {
        ask_rights(self.cluster, &plan.rights, self.options.request_timeout).await
    }

    /// Tells what will be missing without some rights.
    fn warn(&self, rights: &Rights) {
        for right in &rights.denied {
            let lacks = match right.need {
                RightNeed::Essential => continue,
                RightNeed::FollowUp => {
                    "tasks that the restart leaves unobserved are named and not nudged"
                }
                RightNeed::Watching => "what happens afterwards is seen less well",
                RightNeed::Trail => "the trail will be incomplete",
            };
            (self.progress)(&format!(
                "warning: you may not {}: {lacks}",
                right_words(right)
            ));
        }
        for right in &rights.unanswered {
            (self.progress)(&format!(
                "warning: the API server does not say whether you may {}",
                right_words(right)
            ));
        }
    }

    /// Shows the plan and asks. Returns why nothing is done, if so.
    async fn consent(&self, shown: &Shown) -> Result<Option<Came>, Error> {
        let person = Person::of_process();
        let yes = if self.args.yes {
            Yes::Given
        } else {
            Yes::NotGiven
        };
        if (person, yes) != (Person::Absent, Yes::NotGiven) {
            let screen = shown.screen(self.args);
            // With standard error gone there is nobody left to tell.
            let _told = io::stderr().write_all(&screen);
        }
        let place = place(self.cluster, &shown.plan.namespace);
        let consent = confirm(
            &shown.plan.confirmation,
            &place,
            person,
            yes,
            ask_at_terminal,
        )
        .await
        .map_err(|error| {
            Error::could_not_answer(anyhow::Error::new(error).context("read the confirmation"))
        })?;
        Ok(match consent {
            Consent::Given => None,
            Consent::Withheld(why) => Some(Came::Declined(Error::refused(anyhow!(
                "{why}: nothing was done"
            )))),
            Consent::NobodyThere => Some(Came::Refused(
                Error::refused(anyhow!(
                    "not confirmed, and there is no terminal to ask at: nothing was done"
                ))
                .hint("to go on without being asked, add --yes; to see the plan alone, --dry-run=client"),
            )),
        })
    }
}

/// Names context, server and namespace.
fn place(cluster: &Cluster, namespace: &str) -> String {
    let resolved = cluster.resolved();
    let context = resolved
        .context
        .as_ref()
        .map_or_else(String::new, |context| format!("context {context}, "));
    printable(&format!(
        "{context}server {}, namespace {namespace}",
        resolved.server
    ))
}

/// Returns why the plan refuses, if it does.
fn refusal(plan: &Plan) -> Option<Error> {
    let hint = match plan.verdict() {
        Verdict::Allowed | Verdict::Forced => {
            return plan
                .executable()
                .is_empty()
                .then(|| Error::refused(anyhow!("there is nothing to do: nothing was done")));
        }
        Verdict::RefusedUnlessForced => Some("at the price that the plan names: --force"),
        Verdict::Refused => None,
    };
    let reasons: Vec<&str> = plan
        .refusals
        .iter()
        .map(|refusal| refusal.reason.as_str())
        .collect();
    let error = Error::refused(anyhow!("refused: {}", reasons.join("; ")));
    Some(match hint {
        Some(hint) => error.hint(hint),
        None => error,
    })
}

fn forbidden(rights: &Rights) -> Option<Error> {
    let missing: Vec<String> = rights.essential().map(right_words).collect();
    (!missing.is_empty()).then(|| {
        Error::refused(anyhow!(
            "forbidden, so nothing was done: you may not {}",
            missing.join(", nor ")
        ))
        .hint("the rights that this needs: kubectl velero-slots auth --role operator")
    })
}

/// Writes the answer, and says how it ended.
fn tell(
    args: &ActionArgs,
    state: &State,
    came: Result<Came, Error>,
    ui: &mut Ui<'_>,
) -> Result<Exit, Error> {
    let shown = state.shown.borrow();
    let Some(shown) = shown.as_ref() else {
        return came.map(|_| Exit::CouldNotAnswer);
    };
    match came {
        Ok(Came::Planned) => {
            shown.answer_plan(args, ui)?;
            Ok(Exit::Answered)
        }
        Ok(Came::Refused(error)) => {
            shown.answer_plan(args, ui)?;
            ui.error(&error);
            Ok(Exit::Refused)
        }
        Ok(Came::Declined(error)) => {
            // A person has just read it; a program that reads the answer has not.
            if !matches!(args.output.output, OutputFormat::Table | OutputFormat::Wide) {
                shown.answer_plan(args, ui)?;
            }
            ui.error(&error);
            Ok(Exit::Refused)
        }
        Ok(Came::Acted) if args.dry_run == DryRun::Server => {
            shown.answer_plan(args, ui)?;
            Ok(after_dry_run(state, ui))
        }
        Ok(Came::Acted) => acted(args, state, shown, ui),
        Ok(Came::NotSaved(error)) => {
            let changed = state.journal.may_have_changed();
            let error = Error::refused(
                anyhow::Error::new(error)
                    .context("the log could not be saved, so the agent was left alone"),
            )
            .hint("nothing is overwritten; without --save-log the restart destroys the log");
            if changed {
                let _exit = acted(args, state, shown, ui)?;
                ui.error(&error);
                Ok(Exit::NotAchieved)
            } else {
                shown.answer_plan(args, ui)?;
                ui.error(&error);
                Ok(Exit::Refused)
            }
        }
        Err(error) if error.kind == ErrorKind::Interrupted => {
            if state.journal.may_have_changed() {
                state.journal.end(Ending::Interrupted);
                let _exit = acted(args, state, shown, ui)?;
                ui.say("interrupted: what was changed so far stands above, and nothing is undone");
            } else {
                ui.say("interrupted: nothing was changed");
            }
            Ok(Exit::Interrupted)
        }
        Err(error) => Err(error),
    }
}

fn after_dry_run(state: &State, ui: &mut Ui<'_>) -> Exit {
    let steps = state.journal.observations().steps;
    ui.say("server dry run: nothing was changed, and so nothing can be watched");
    let all = steps
        .iter()
        .all(|step| matches!(step.result, StepResult::DryRun | StepResult::NotTried));
    if all { Exit::Answered } else { Exit::Refused }
}

fn acted(args: &ActionArgs, state: &State, shown: &Shown, ui: &mut Ui<'_>) -> Result<Exit, Error> {
    let outcome = judge(&shown.plan, &state.journal.observations());
    let achieved = outcome.achieved;
    shown.answer_outcome(args, outcome, ui)?;
    Ok(match achieved {
        Achieved::Yes => Exit::Answered,
        Achieved::No => Exit::NotAchieved,
        Achieved::NothingChanged => Exit::Refused,
    })
}
