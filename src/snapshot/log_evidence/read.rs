//! One pass over a log, line by line, borrowed; what is kept is bounded whatever the log holds.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::marker::{Mark, marks};
use super::subject::Subject;
use super::{
    BlockingStep, Diagnosis, EndFailure, Entered, EntryStage, FailedEnd, LogEvidence, LogStart,
    LoggedEntry, LoggedTask, Note, Overflow, WaitLoop, WorkerStep,
};
use crate::capture::{LINES_LEFT_OUT, LogFile};
use crate::snapshot::log_line::LogLine;

/// How much earlier than the container a process may seem to start: the kubelet notes the start of the
/// container after the process has begun to log, and cuts the time to the second.
const START_TOLERANCE: SignedDuration = SignedDuration::from_secs(10);

/// How much later than the container its process may write that it starts. A start that is later still is one of
/// another agent, or of a process that came after the objects were read.
const START_DELAY: SignedDuration = SignedDuration::from_mins(10);

/// How much earlier than those before it a line of the same process may be: lines of several workers change
/// places, and a clock that is set back is set back by little.
const STEP_BACK: SignedDuration = SignedDuration::from_secs(60);

/// Names kept in each map. A node has tens of entries; a log that names more than this is not one, or not sane.
const MOST_NAMES: usize = 20_000;
/// Notes and diagnosis lines kept.
const MOST_NOTES: usize = 100;
/// Characters of a line that are kept.
const NOTE_LENGTH: usize = 400;

/// Reads what a log says of the process that started at `started_at` (of the last one in it, where that is
/// not known). `None` if it is the log of an earlier process, or holds no line of Velero.
#[must_use]
pub fn read(log: &LogFile, started_at: Option<Timestamp>) -> Option<LogEvidence> {
    let earliest = started_at.and_then(|start| start.checked_sub(START_TOLERANCE).ok());
    let mut reader = Reader {
        place: match earliest {
            Some(_) => Place::NotYetKnown,
            None => Place::InProcess,
        },
        earliest,
        latest_start: started_at.and_then(|start| start.checked_add(START_DELAY).ok()),
        newest: None,
        mover_logs: 0,
        found: LogEvidence::default(),
    };
    for line in log.body.lines() {
        reader.line(line);
    }
    let found = reader.found;
    let of_an_earlier_process = reader.place == Place::NotYetKnown && found.speaks_to.is_some();
    (found.lines > 0 && !of_an_earlier_process).then_some(found)
}

/// Where in the log the reader is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// No line so late as the start of the container was met yet.
    NotYetKnown,
    /// In the lines of the process.
    InProcess,
}

struct Reader {
    /// Lines before this time are another process's, as long as none of the process was met.
    earliest: Option<Timestamp>,
    /// A process that starts after this is not the one that the objects show.
    latest_start: Option<Timestamp>,
    place: Place,
    /// The latest time of the agent's own lines.
    newest: Option<Timestamp>,
    /// How many copies of mover pods' logs have begun and not ended: their lines have the times of the mover pods
    /// (v1.15.0 on, `pkg/util/logging/log_merge_hook.go`).
    mover_logs: usize,
    found: LogEvidence,
}

impl Reader {
    fn line(&mut self, text: &str) {
        if text.starts_with(LINES_LEFT_OUT) {
            self.lines_left_out();
            return;
        }
        let Some(line) = LogLine::parse(text) else {
            if !text.trim().is_empty() {
                self.found.skipped = self.found.skipped.saturating_add(1);
                self.foreign(text);
            }
            return;
        };
        let (only_kind, meanings) = marks(&line.message);
        if meanings.contains(&Mark::ProcessStart) {
            let goes_back = matches!(
                (line.time, self.found.speaks_to),
                (Some(start), Some(before)) if start < before
            );
            let too_late = matches!(
                (line.time, self.latest_start),
                (Some(start), Some(latest)) if start > latest
            );
            self.found = LogEvidence {
                start: LogStart::Logged,
                skipped: self.found.skipped,
                torn: usize::from(goes_back || too_late),
                ..LogEvidence::default()
            };
            self.newest = line.time;
            self.mover_logs = 0;
        }
        if runs_into_another(text) || self.steps_back(line.time) {
            self.found.torn = self.found.torn.saturating_add(1);
        }
        self.place_line(line.time);
        self.found.lines = self.found.lines.saturating_add(1);
        if let Some(time) = line.time {
            self.found.speaks_from.get_or_insert(time);
            self.found.speaks_to = Some(time);
        }
        if meanings.is_empty() {
            return;
        }
        let subject = Subject::of(&line, only_kind);
        for meaning in meanings {
            self.mark(*meaning, &line, &subject);
        }
    }

    /// Whether a line is much earlier than those before it, and no mover pod's. What comes after a step is measured
    /// by the line that made it.
    fn steps_back(&mut self, time: Option<Timestamp>) -> bool {
        let Some(time) = time else { return false };
        let back = self
            .newest
            .is_some_and(|newest| newest.duration_since(time) > STEP_BACK);
        if back && self.mover_logs > 0 {
            return false;
        }
        self.newest = if back {
            Some(time)
        } else {
            self.newest.max(Some(time))
        };
        back
    }

    /// A log that holds lines of an earlier process without a start line in between (a log put together from
    /// files) begins anew with the first line of the present one.
    fn place_line(&mut self, time: Option<Timestamp>) {
        let (Place::NotYetKnown, Some(time), Some(earliest)) = (self.place, time, self.earliest)
        else {
            return;
        };
        if time < earliest {
            return;
        }
        self.place = Place::InProcess;
        let began_earlier = self.found.speaks_from.is_some_and(|from| from < earliest);
        if began_earlier {
            self.found = LogEvidence {
                skipped: self.found.skipped,
                ..LogEvidence::default()
            };
        }
    }

    /// What was open when lines are left out may have ended in them.
    fn lines_left_out(&mut self) {
        self.mover_logs = 0;
        let old = std::mem::take(&mut self.found);
        self.found = LogEvidence {
            start: match old.start {
                LogStart::Missing => LogStart::Missing,
                LogStart::BeforeAGap | LogStart::Logged => LogStart::BeforeAGap,
            },
            lines: old.lines,
            skipped: old.skipped,
            config_warnings: old.config_warnings,
            torn: old.torn,
            overflow: old.overflow,
            ..LogEvidence::default()
        };
    }

    /// A line that is not Velero's. client-go's reflectors write theirs in the format of klog.
    fn foreign(&mut self, text: &str) {
        let is_klog = text.starts_with(['W', 'E'])
            && text
                .get(1..5)
                .is_some_and(|date| date.bytes().all(|byte| byte.is_ascii_digit()));
        let text_lower = || text.to_ascii_lowercase();
        if is_klog && text.contains("reflector.go") && text_lower().contains("failed to ") {
            let count = self
                .found
                .watch_errors
                .as_ref()
                .map_or(0, |(count, _)| *count);
            let note = Note {
                at: self.found.speaks_to,
                text: short(text),
            };
            self.found.watch_errors = Some((count.saturating_add(1), note));
        }
    }

    fn mark(&mut self, mark: Mark, line: &LogLine<'_>, subject: &Subject<'_>) {
        match mark {
            Mark::ProcessStart => {}
            Mark::Enters(how) => self.enters(how, line, subject),
            Mark::Leaves => self.leaves(line, subject),
            Mark::Stage(stage) => self.stage(stage, line, subject),
            Mark::Accepted => self.task(subject, |task| {
                task.accepted = line.time.or(task.accepted);
            }),
            Mark::Prepared => self.task(subject, |task| {
                task.prepared = line.time.or(task.prepared);
            }),
            Mark::Canceled => self.task(subject, |task| {
                task.canceled = line.time.or(task.canceled);
            }),
            Mark::MoverLogBegins => self.mover_logs = self.mover_logs.saturating_add(1),
            Mark::MoverLogEnds => self.mover_logs = self.mover_logs.saturating_sub(1),
            Mark::Tries => self.tries(line, subject),
            Mark::AtSlot => self.at_slot(line, subject),
            Mark::Refused => self.refused(line, subject),
            Mark::Admitted => {
                if let Some(name) = subject.name() {
                    self.found.waits.remove(name);
                    if line.message.ends_with("marked as in progress") {
                        self.found.unmarked.remove(name);
                    }
                }
                self.task(subject, |task| {
                    task.looked = line.time.or(task.looked);
                    task.admitted = line.time.or(task.admitted);
                });
            }
            Mark::PassedOver => {
                if let Some(name) = subject.name() {
                    self.found.waits.remove(name);
                }
                self.task(subject, |task| task.looked = line.time.or(task.looked));
            }
            Mark::NotMarked => {
                note_by_name(
                    &mut self.found.unmarked,
                    subject,
                    line,
                    &mut self.found.overflow,
                );
            }
            Mark::Taken => self.taken(line, subject),
            Mark::Begins(step) => self.begins(step, line, subject),
            Mark::Ends => self.ends(line, subject),
            Mark::ForcedCancel => {
                note_by_name(
                    &mut self.found.forced_cancels,
                    subject,
                    line,
                    &mut self.found.overflow,
                );
            }
            Mark::PrepareHalts => {
                self.task(subject, |task| task.prepared = None);
                note_by_name(
                    &mut self.found.halted_prepares,
                    subject,
                    line,
                    &mut self.found.overflow,
                );
            }
            Mark::ResumeFails => {
                note_by_name(
                    &mut self.found.failed_resumes,
                    subject,
                    line,
                    &mut self.found.overflow,
                );
            }
            Mark::ProgressNotWritten => {
                note_by_name(
                    &mut self.found.unwritten_progress,
                    subject,
                    line,
                    &mut self.found.overflow,
                );
            }
            Mark::FailedEnd(what) => self.failed_end(what, line, subject),
            Mark::Diagnosis => self.diagnosis(line, subject),
            Mark::ConfigWarning => {
                if self.found.config_warnings.len() < MOST_NOTES {
                    self.found.config_warnings.push(note(line));
                }
            }
        }
    }

    fn enters(&mut self, how: Entered, line: &LogLine<'_>, subject: &Subject<'_>) {
        let Some(name) = subject.name() else { return };
        if how == Entered::InProcess && self.is_a_movers(name) {
            return;
        }
        self.found.waits.remove(name);
        self.found.failed_ends.remove(name);
        self.task(subject, |task| {
            task.admitted = line.time.or(task.admitted);
            task.left = None;
        });
        let entry = LoggedEntry {
            kind: subject.kind,
            since: line.time,
            how,
            stage: EntryStage::Running,
            last: note(line),
        };
        put(
            &mut self.found.entries,
            name,
            entry,
            &mut self.found.overflow,
        );
    }

    /// Whether lines of an in-process data path are those of a mover pod, whose log the agent copies into its
    /// own: the mover runs the same code (v1.15.0 on, `redirectDataMoverLogs`).
    fn is_a_movers(&self, name: &str) -> bool {
        self.found
            .entries
            .get(name)
            .is_some_and(|entry| match entry.how {
                Entered::Watcher | Entered::Resumed | Entered::BeforeTheLog => true,
                Entered::InProcess => false,
            })
    }

    fn leaves(&mut self, line: &LogLine<'_>, subject: &Subject<'_>) {
        let Some(name) = subject.name() else { return };
        if line.message.starts_with("FileSystemBR") && self.is_a_movers(name) {
            return;
        }
        self.found.entries.remove(name);
        self.task(subject, |task| task.left = line.time.or(task.left));
    }

    /// Notes something of a task.
    fn task(&mut self, subject: &Subject<'_>, change: impl FnOnce(&mut LoggedTask)) {
        let Some(name) = subject.name() else { return };
        if !self.found.tasks.contains_key(name) {
            put(
                &mut self.found.tasks,
                name,
                LoggedTask::default(),
                &mut self.found.overflow,
            );
        }
        if let Some(task) = self.found.tasks.get_mut(name) {
            task.kind = subject.kind.or(task.kind);
            change(task);
        }
    }

    fn stage(&mut self, stage: EntryStage, line: &LogLine<'_>, subject: &Subject<'_>) {
        let Some(name) = subject.name() else { return };
        let in_process = line.message.contains("FileSystemBR");
        if in_process && self.is_a_movers(name) {
            return;
        }
        if let Some(entry) = self.found.entries.get_mut(name) {
            entry.stage = stage;
            entry.last = note(line);
            entry.kind = entry.kind.or(subject.kind);
        } else {
            let entry = LoggedEntry {
                kind: subject.kind,
                since: None,
                how: if in_process {
                    Entered::InProcess
                } else {
                    Entered::BeforeTheLog
                },
                stage,
                last: note(line),
            };
            put(
                &mut self.found.entries,
                name,
                entry,
                &mut self.found.overflow,
            );
        }
    }

    fn tries(&mut self, line: &LogLine<'_>, subject: &Subject<'_>) {
        self.taken(line, subject);
        if !is_mine(&line.message) {
            return;
        }
        let Some(name) = subject.name() else { return };
        if let Some(wait) = self.found.waits.get_mut(name) {
            wait.last = line.time.or(wait.last);
            wait.tries = wait.tries.saturating_add(1);
            return;
        }
        let wait = WaitLoop {
            kind: subject.kind,
            first: line.time,
            last: line.time,
            tries: 1,
            at_slot: 0,
            refused: 0,
            line: Note::default(),
        };
        put(&mut self.found.waits, name, wait, &mut self.found.overflow);
    }

    fn at_slot(&mut self, line: &LogLine<'_>, subject: &Subject<'_>) {
        if let Some(wait) = subject
            .name()
            .and_then(|name| self.found.waits.get_mut(name))
        {
            wait.at_slot = wait.at_slot.saturating_add(1);
            wait.line = note(line);
        }
    }

    fn refused(&mut self, line: &LogLine<'_>, subject: &Subject<'_>) {
        let Some(wait) = subject
            .name()
            .and_then(|name| self.found.waits.get_mut(name))
        else {
            return;
        };
        wait.refused = wait.refused.saturating_add(1);
        wait.line = note(line);
    }

    fn taken(&mut self, line: &LogLine<'_>, subject: &Subject<'_>) {
        self.task(subject, |task| task.looked = line.time.or(task.looked));
        let Some(kind) = subject.kind else { return };
        let worker = self.found.workers.entry(kind).or_default();
        worker.step = None;
        worker.last = line.time.or(worker.last);
        worker.last_taken = line.time.or(worker.last_taken);
    }

    fn begins(&mut self, what: WorkerStep, line: &LogLine<'_>, subject: &Subject<'_>) {
        let (Some(kind), Some(name)) = (subject.kind, subject.name()) else {
            return;
        };
        if !is_mine(&line.message) {
            return;
        }
        let worker = self.found.workers.entry(kind).or_default();
        worker.last = line.time.or(worker.last);
        worker.step = Some(BlockingStep {
            what,
            task: name.to_owned(),
            since: line.time,
            line: short(&line.message),
        });
    }

    /// Ends a step; a callback of another task may write the same line from its own goroutine.
    fn ends(&mut self, line: &LogLine<'_>, subject: &Subject<'_>) {
        let Some(worker) = subject
            .kind
            .and_then(|kind| self.found.workers.get_mut(&kind))
        else {
            return;
        };
        let ends = worker
            .step
            .as_ref()
            .is_some_and(|step| Some(step.task.as_str()) == subject.name());
        if ends {
            worker.step = None;
            worker.last = line.time.or(worker.last);
        }
    }

    fn failed_end(&mut self, what: EndFailure, line: &LogLine<'_>, subject: &Subject<'_>) {
        let Some(name) = subject.name() else { return };
        if line.message.contains("into canceling status") {
            return;
        }
        let end = FailedEnd {
            what,
            note: note(line),
        };
        put(
            &mut self.found.failed_ends,
            name,
            end,
            &mut self.found.overflow,
        );
    }

    fn diagnosis(&mut self, line: &LogLine<'_>, subject: &Subject<'_>) {
        let (Some(name), Some((_, text))) = (subject.name(), line.message.split_once(']')) else {
            return;
        };
        let text = text.trim();
        if text.starts_with("begin diagnose") {
            let begun = Diagnosis {
                at: line.time,
                lines: Vec::new(),
            };
            put(
                &mut self.found.diagnoses,
                name,
                begun,
                &mut self.found.overflow,
            );
        } else if let Some(diagnosis) = self.found.diagnoses.get_mut(name)
            && !text.is_empty()
            && !text.starts_with("end diagnose")
            && diagnosis.lines.len() < MOST_NOTES
        {
            diagnosis.lines.push(short(text));
        }
    }
}

/// Whether "… should be processed by A (B)" is written by A itself; every other text is.
fn is_mine(message: &str) -> bool {
    let Some((_, nodes)) = message.split_once("should be processed by ") else {
        return true;
    };
    nodes
        .trim_end_matches(')')
        .split_once(" (")
        .is_none_or(|(owner, this)| owner == this)
}

/// Whether a second line of logrus begins within a line, where one of them lost its end. In a value that is
/// quoted, its quotes would be escaped.
fn runs_into_another(text: &str) -> bool {
    text.match_indices("time=\"2").any(|(at, _)| {
        text.get(..at).is_some_and(|before| {
            before.contains("msg=") && !before.ends_with(|last: char| last.is_whitespace())
        })
    })
}

fn put<T>(map: &mut BTreeMap<String, T>, name: &str, value: T, overflow: &mut Overflow) {
    if map.len() >= MOST_NAMES && !map.contains_key(name) {
        *overflow = Overflow::Yes;
        return;
    }
    map.insert(name.to_owned(), value);
}

fn note_by_name(
    map: &mut BTreeMap<String, Note>,
    subject: &Subject<'_>,
    line: &LogLine<'_>,
    overflow: &mut Overflow,
) {
    if let Some(name) = subject.name() {
        put(map, name, note(line), overflow);
    }
}

fn note(line: &LogLine<'_>) -> Note {
    Note {
        at: line.time,
        text: match line.field("error") {
            Some(error) => short(&format!("{}: {error}", line.message)),
            None => short(&line.message),
        },
    }
}

fn short(text: &str) -> String {
    text.chars().take(NOTE_LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{Cut, Previous};
    use crate::velero::TaskKind;

    fn line(time: &str, message: &str) -> String {
        format!(
            "time=\"2026-01-02T03:{time}Z\" level=info msg=\"{message}\" controller=dataupload dataupload=velero/du-1\n"
        )
    }

    fn found(body: &str) -> LogEvidence {
        read(&log(body), None).unwrap()
    }

    fn log(body: &str) -> LogFile {
        LogFile {
            namespace: "velero".to_owned(),
            pod: "node-agent-x".to_owned(),
            container: "node-agent".to_owned(),
            previous: Previous::No,
            cut: Cut::Whole,
            body: body.to_owned(),
        }
    }

    const START: &str = "Starting Velero node-agent server v1.17.2 (01)";

    #[test]
    fn when_a_task_was_looked_at_let_in_and_left_is_kept_after_its_entry_is_gone() {
        let at = |time: &str| format!("2026-01-02T03:{time}Z").parse().ok();
        let body = line("00:00", START)
            + &line(
                "01:00",
                "Data upload is prepared and should be processed by a (a)",
            )
            + &line("01:01", "MicroServiceBR is initialized")
            + &line("01:02", "Init cancelable dataUpload");
        let open = found(&body).tasks.remove("du-1").unwrap();
        assert_eq!((open.admitted, open.left), (at("01:02"), None));
        let ended = body + &line("09:00", "Complete callback on data path pod termination");
        let found = found(&ended);
        assert!(found.waits.is_empty() && found.entries.is_empty());
        let task = &found.tasks["du-1"];
        assert_eq!(task.kind, Some(TaskKind::DataUpload));
        assert_eq!(
            (task.looked, task.admitted, task.left),
            (at("01:02"), at("01:02"), at("09:00"))
        );
    }

    #[test]
    fn a_write_to_in_progress_that_fails_is_kept_until_one_succeeds() {
        let fails = line(
            "01:00",
            "Failed to update dataupload du-1 to InProgress, will data path close and retry",
        );
        assert_eq!(found(&fails).unmarked.len(), 1);
        let marked = fails + &line("02:00", "Data upload is marked as in progress");
        assert!(found(&marked).unmarked.is_empty());
    }

    #[test]
    fn a_log_of_two_agents_and_one_with_lines_that_run_into_each_other_are_not_whole() {
        let whole = line("00:00", START) + &line("05:00", "hello time=2 msg=x");
        assert!(found(&whole).is_whole());
        let two = whole.clone() + &line("01:00", START) + &line("02:00", "x");
        assert!(!found(&two).is_whole());
        let later = whole.clone() + &line("06:00", START);
        assert!(found(&later).is_whole());
        let glued = whole + line("06:00", "x").trim_end() + &line("06:01", "y");
        assert_eq!(found(&glued).torn, 1);
    }

    #[test]
    fn a_large_step_back_in_time_is_no_log_of_one_process() {
        let whole = line("00:00", START) + &line("05:00", "x") + &line("04:30", "a moment before");
        assert!(found(&whole).is_whole());
        let two = whole + &line("02:00", "another agent's") + &line("02:01", "and its next");
        assert_eq!(found(&two).torn, 1);
        assert!(!found(&two).is_whole());
    }

    #[test]
    fn the_copied_log_of_a_mover_pod_goes_back_in_time_and_tears_nothing() {
        let ended = line("00:00", START)
            + &line("09:00", "Created log file /tmp/1")
            + &line("09:00", "Redirecting to log file /tmp/1")
            + &line("01:00", "Starting data mover")
            + &line("08:59", "mover done")
            + &line("09:01", "Completed to collect data mover pod log for du-1");
        assert!(found(&ended).is_whole());
        let after = ended + &line("02:00", "another agent's");
        assert_eq!(found(&after).torn, 1);
    }

    #[test]
    fn a_start_that_is_not_that_of_the_container_is_another_processs() {
        let of = |start: &str| {
            let log = LogFile {
                body: line(start, START) + &line("59:00", "x"),
                ..log("")
            };
            read(&log, "2026-01-02T03:00:00Z".parse().ok()).unwrap()
        };
        assert!(of("00:01").is_whole());
        assert!(of("09:00").is_whole());
        assert_eq!(of("11:00").torn, 1);
    }
}
