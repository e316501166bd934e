//! `-w` and `--until`: the answer again whenever it changes.
//!
//! ```text
//! Following ─► Capture ─► (as for one answer) ─► Answer ─► Show: a screen, frames, lines, or the last alone
//!     ▲                                            │
//!     └── logs and metrics of the agents that need them ─┘
//! ```
//!
//! Every answer is made as a single one is: from a capture, by the pure layers. What is known of the way here goes to
//! the foot of the screen, or to standard error.

mod args;
mod foot;
mod history;
mod look;
mod show;

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

pub(crate) use args::WatchArgs;

use self::args::Until;
use self::foot::{Foot, Told};
use self::history::History;
use self::look::{Looker, Traced};
use self::show::{Facts, Show};
use super::answer::{Answer, Reached};
use super::args::{Limit, OutputArgs, SourceArgs};
use super::error::Error;
use super::exit::Exit;
use super::source::{self, TraceArgs};
use super::ui::Ui;
use crate::collect::cluster::{Cluster, CollectOptions, Following, Pace};
use crate::report::Pins;
use crate::snapshot::Snapshot;

/// The shortest time between two answers.
const SHORTEST: Duration = Duration::from_millis(500);
/// An answer is made at most this many times as seldom as it takes: a large cluster must not keep a laptop busy.
const REST: u32 = 4;
/// Changes come in bursts.
const BURST: Duration = Duration::from_millis(100);
/// Between two answers though nothing changed: ages go on, and what waits becomes stuck by time alone.
const AGE: Duration = Duration::from_secs(1);
/// The same where nobody looks at ages.
const AGE_UNSEEN: Duration = Duration::from_secs(5);
/// An answer that takes long is made anew for its ages at most this many times as seldom.
const AGE_REST: u32 = 20;
/// Between two looks at the size of the window.
const WINDOW: Duration = Duration::from_millis(200);

/// What a command says to a snapshot.
pub(crate) enum Said {
    /// An answer.
    Answer(Answer),
    /// What it asks about is not there.
    Missing {
        /// How the command ends if it was never there.
        error: Error,
        /// Whether it is known not to be there, and not only not to be seen.
        proven: Reached,
    },
}

/// Says something to a snapshot.
pub(crate) type Say<'a> = &'a dyn Fn(&Snapshot, &Pins) -> Said;

/// A call of a command with `-w` or `--until`.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    /// Which cluster.
    pub(crate) source: &'a SourceArgs,
    /// How to write the answer.
    pub(crate) output: OutputArgs,
    /// What to wait for.
    pub(crate) watch: WatchArgs,
    /// Which logs and metrics are read, if any.
    pub(crate) traces: Option<TraceArgs>,
}

/// Answers until there is a reason to stop.
///
/// # Errors
///
/// When the cluster cannot be read at all at the start, what is asked about is not there then, or the answer cannot
/// be written.
pub(crate) fn run(call: Call<'_>, ui: &mut Ui<'_>, say: Say<'_>) -> Result<Exit, Error> {
    call.watch.check(call.source)?;
    source::with_cluster(call.source, async |cluster, options, progress| {
        let deadline = call
            .source
            .timeout
            .and_then(Limit::duration)
            .map(|limit| Instant::now() + limit);
        let options = CollectOptions {
            // --timeout is for the whole; a single reading has the usual limit.
            time_limit: options.time_limit.min(CollectOptions::TIME_LIMIT),
            ..options.clone()
        };
        let mut show = Show::new(call.output, call.watch.shown());
        let notes = RefCell::new(Vec::new());
        let is_drawing = Cell::new(false);
        let progress = |line: &str| {
            if is_drawing.get() {
                notes.replace(vec![line.to_owned()]);
            } else {
                progress(line);
            }
        };
        let following = cluster
            .follow(&options, Pace::default(), &progress)
            .await
            .map_err(source::cluster_error)?;
        is_drawing.set(show.is_screen());
        let mut session = Session {
            following: &following,
            looker: Looker::new(call, options, source::pins_of_cluster(call.source, cluster)),
            show: &mut show,
            ui,
            until: call.watch.until(),
            has_findings: Reached::No,
            told: Told::default(),
            history: History::default(),
            notes: &notes,
        };
        let mut keeping = pin!(following.run());
        tokio::select! {
            biased;
            end = session.go_on(cluster, deadline, say) => end,
            // It has no end of its own.
            () = &mut keeping => Ok(Exit::CouldNotAnswer),
        }
    })
}

/// A watch that is under way.
struct Session<'s, 'u, 'f> {
    following: &'s Following<'f>,
    looker: Looker<'s>,
    show: &'s mut Show,
    ui: &'s mut Ui<'u>,
    until: Option<Until>,
    /// Whether the last answer has a finding at or above `--fail-on`: that comes before any other end.
    has_findings: Reached,
    told: Told,
    history: History,
    /// What there was to say while the screen was drawn.
    notes: &'s RefCell<Vec<String>>,
}

/// Why a watch goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    Changed,
    Aged,
    Traced,
    Resized,
    Interrupted,
    OutOfTime,
}

impl Session<'_, '_, '_> {
    async fn go_on(
        &mut self,
        cluster: &Cluster,
        deadline: Option<Instant>,
        say: Say<'_>,
    ) -> Result<Exit, Error> {
        loop {
            let seen = self.following.changes();
            let began = Instant::now();
            match self.looker.look(self.following, None, say) {
                Said::Answer(answer) => {
                    let reached = self.is_reached(&answer);
                    self.has_findings = Reached::when(answer.exit == Exit::Findings);
                    self.show(answer, seen, say)?;
                    if reached == Reached::Yes {
                        return self.end(self.or_findings(Exit::Answered));
                    }
                }
                Said::Missing { error, .. } if !self.show.has_answer() => return Err(error),
                Said::Missing { error, proven } => {
                    if let Some(exit) = self.is_gone(&error, proven)? {
                        return Ok(exit);
                    }
                }
            }
            self.looker.start_traces(self.following);
            let took = began.elapsed();
            loop {
                match self.wait(cluster, deadline, seen, began, took).await {
                    Woken::Changed | Woken::Aged | Woken::Traced => break,
                    Woken::Resized => self.redraw()?,
                    Woken::Interrupted => return self.end(Exit::Interrupted),
                    Woken::OutOfTime => return self.run_out(),
                }
            }
        }
    }

    /// An answer that may be old, or that logs may change in a moment, reaches nothing.
    fn is_reached(&self, answer: &Answer) -> Reached {
        let Some(until) = self.until else {
            return Reached::No;
        };
        let is_known =
            self.following.contact().is_current() && self.looker.traced() == Traced::Settled;
        until.is_reached(answer).and(Reached::when(is_known))
    }

    /// Tells that what the answer is about is gone. What is gone neither waits nor runs nor is stuck.
    fn is_gone(&mut self, error: &Error, proven: Reached) -> Result<Option<Exit>, Error> {
        let is_known = Reached::when(self.following.contact().is_current());
        if self.until.is_some() && proven.and(is_known) == Reached::Yes {
            let exit = self.end(Exit::Answered)?;
            self.ui.say(&format!("{:#} any more", error.source));
            return Ok(Some(exit));
        }
        let line = format!("{:#} any more; the answer is the last one", error.source);
        if self.show.is_screen() {
            self.notes.replace(vec![line]);
            self.redraw()?;
        } else if self.told.is_new(&line) {
            self.ui.say(&line);
        }
        Ok(None)
    }

    /// Returns the exit code of `diagnose` for findings where the last answer has them, by the order that the exit
    /// codes have.
    const fn or_findings(&self, exit: Exit) -> Exit {
        match self.has_findings {
            Reached::Yes => Exit::Findings,
            Reached::No => exit,
        }
    }

    fn run_out(&mut self) -> Result<Exit, Error> {
        let exit = self.end(self.or_findings(Exit::TimedOut))?;
        self.ui.say(&match self.until {
            Some(until) => format!("the time limit ended before it was {}", until.as_str()),
            None => "the time limit ended".to_owned(),
        });
        Ok(exit)
    }

    async fn wait(
        &mut self,
        cluster: &Cluster,
        deadline: Option<Instant>,
        seen: u64,
        began: Instant,
        took: Duration,
    ) -> Woken {
        let earliest = began + SHORTEST.max(took * REST);
        let show = &*self.show;
        let age = if show.is_screen() { AGE } else { AGE_UNSEEN };
        let changed = async {
            self.following.changed_since(seen).await;
            sleep(BURST).await;
            sleep_until(earliest).await;
        };
        let out_of_time = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let resized = async {
            if !show.is_screen() {
                return std::future::pending().await;
            }
            while show.has_its_size() {
                sleep(WINDOW).await;
            }
        };
        tokio::select! {
            biased;
            () = cluster.interrupt().raised() => Woken::Interrupted,
            () = out_of_time => Woken::OutOfTime,
            () = changed => Woken::Changed,
            () = resized => Woken::Resized,
            () = self.looker.traces() => Woken::Traced,
            () = sleep_until(began + age.max(took * AGE_REST)) => Woken::Aged,
        }
    }

    fn show(&mut self, answer: Answer, changes: u64, say: Say<'_>) -> Result<(), Error> {
        if self.show.is_screen() {
            self.history.take(&answer.marks, self.following.now());
            return self.show.draw(answer, &self.foot(), self.ui);
        }
        for line in self.told.news(&self.following.contact()) {
            self.ui.say(&line);
        }
        for warning in &answer.warnings {
            if self.told.is_new(warning) {
                self.ui.say(warning);
            }
        }
        let facts = Facts {
            changes,
            traces: self.looker.times(),
            now: self.following.now(),
        };
        let (looker, following) = (&mut self.looker, self.following);
        let then = |now| match looker.look(following, now, say) {
            Said::Answer(answer) => Some(answer),
            Said::Missing { .. } => None,
        };
        self.show.print(answer, facts, then, self.ui)
    }

    fn redraw(&mut self) -> Result<(), Error> {
        let foot = self.foot();
        self.show.redraw(&foot, self.ui)
    }

    fn foot(&self) -> Foot {
        Foot {
            contact: self.following.contact(),
            until: self.until,
            traced: self.looker.traced(),
            changes: self.history.lines().to_vec(),
            notes: self.notes.borrow().clone(),
        }
    }

    fn end(&mut self, exit: Exit) -> Result<Exit, Error> {
        let foot = self.foot();
        self.show.end(&foot, self.ui)?;
        Ok(exit)
    }
}
