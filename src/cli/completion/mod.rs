//! Answers the shell: what can stand where the cursor is.
//!
//! kubectl finds an executable `kubectl_complete-velero_slots` in `$PATH` and runs it with the words behind
//! `kubectl velero-slots`, the last of them the one under the cursor (kubectl 0.32
//! `pkg/cmd/plugin/plugin_completion.go`). This program answers under that name.
//!
//! ```text
//! words ─► Line (walks the clap definition) ─► What ─┬─► fixed: commands, flags, formats, finding ids
//!                                                    ├─► kubeconfig: contexts, clusters, users
//!                                                    └─► --from, else the cluster: nodes, tasks, …
//! ```
//!
//! Somebody waits at a prompt: the answer is there within [`LIMIT`], with what is known by then. Nothing is ever
//! said but candidates, and nobody is asked to log in: a credential plugin is not run.

use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

mod answer;
mod fixed;
mod install;
mod kubeconfig;
mod script;
mod seen;
mod source;
mod what;
mod words;

use super::exit::Exit;
use answer::Answer;
pub(crate) use install::{Done, HOW, Installation, Machine};
pub(crate) use script::script;
pub(crate) use what::hinted;
use words::{Cursor, Line};

/// How long an answer may take, the start of the program not counted. What takes longer than 300 ms in all is felt.
const LIMIT: Duration = Duration::from_millis(250);

/// Allows more time to those whose API server is far away: a duration as `--timeout` takes it.
const LIMIT_VARIABLE: &str = "VELERO_SLOTS_COMPLETION_TIMEOUT";

/// The longest that the variable may ask for. A shell that hangs longer looks broken.
const LONGEST_LIMIT: Duration = Duration::from_secs(60);

/// Under which names of the executable this is all that it does: kubectl's for this plugin, whatever the plugin is
/// called.
const PREFIX: &str = "kubectl_complete-";

/// Returns whether the program was called to complete.
pub(crate) fn is_called_by(program: &std::ffi::OsStr) -> bool {
    std::path::Path::new(program)
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
}

/// Answers as all that this process does.
pub(crate) fn run_alone(words: Vec<String>, out: &mut dyn Write) -> Exit {
    // A fault of ours must not be written over the line that somebody is typing.
    std::panic::set_hook(Box::new(|_fault| {}));
    run(words, out)
}

/// Answers, whatever happens: an error is an answer without candidates.
fn run(words: Vec<String>, out: &mut dyn Write) -> Exit {
    let limit = limit();
    let answer = within(limit, move |tell| complete(&words, limit, tell));
    // With the reader gone there is nobody left to complete for.
    let _told = answer.write(out).and_then(|()| out.flush());
    Exit::Answered
}

#[expect(
    clippy::disallowed_methods,
    reason = "the command line is the edge that may read the environment"
)]
fn limit() -> Duration {
    std::env::var(LIMIT_VARIABLE)
        .ok()
        .and_then(|text| super::args::parse_timeout(&text).ok())
        .and_then(super::args::Limit::duration)
        .map_or(LIMIT, |asked| asked.min(LONGEST_LIMIT))
}

/// Lets some work tell better and better answers, and returns the last one that came in time. Work that hangs, on a
/// kubeconfig that is a pipe, on a name server, goes on without a listener and ends with the process.
fn within(limit: Duration, work: impl FnOnce(&dyn Fn(Answer)) + Send + 'static) -> Answer {
    let end = now() + limit;
    let mut best = Answer::nothing();
    let (sender, answers) = mpsc::channel();
    let started = thread::Builder::new().spawn(move || {
        work(&|answer| {
            // The listener is gone when the time is up.
            let _unheard = sender.send(answer);
        });
    });
    if started.is_err() {
        return best;
    }
    loop {
        match answers.recv_timeout(end.saturating_duration_since(now())) {
            Ok(better) => best = better,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return best,
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a shell waits is no part of any answer"
)]
fn now() -> Instant {
    Instant::now()
}

fn complete(words: &[String], limit: Duration, tell: &dyn Fn(Answer)) {
    let mut app = super::command();
    app.build();
    let line = Line::read(&app, words);
    match line.cursor {
        Cursor::Nothing => {}
        Cursor::Command { word } => tell(Answer::ordered(fixed::commands(&line, word))),
        Cursor::Flag { word } => tell(Answer::ordered(fixed::flags(&line, word))),
        Cursor::Value { arg, before, word } => {
            let place = what::Place {
                line: &line,
                arg,
                before,
                word,
            };
            place.complete(limit, tell);
        }
    }
}

#[cfg(test)]
mod tests;
