//! Takes logs in: those whose place tells the pod, those whose name may, and those of a dump.

use std::fs;
use std::io::Read;

use super::FilesError;
use super::bytes::{Body, Bounded, Content, SAVE_AS_UTF8};
use super::dump::{self, End};
use super::log_text::{self, Encoding, LogText};
use super::loose_log::{self, KnownPod, KnownPods, LooseLog};
use super::names::LogName;
use super::printable::printable;
use super::reading::Reading;
use crate::capture::{BundleForm, Capture, Cut, GapReason, LogFile, Problem};

/// A rest of the limit for all logs that is not worth a log: two dozen lines.
const LEAST: u64 = 4096;

/// Whose log a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Its place tells.
    Known(LogName),
    /// Its name may tell, once the pods are known.
    ByName(Vec<String>),
}

impl Reading<'_> {
    /// Reads a log of a folder, packed or not.
    pub(super) fn named_file(
        &mut self,
        whose: Whose,
        name: &str,
        file: &mut fs::File,
    ) -> Result<(), FilesError> {
        let unreadable = |source| FilesError::Read {
            path: name.to_owned(),
            source,
        };
        let size = file.metadata().map_err(unreadable)?.len();
        let (content, _) = log_text::head_of(file).map_err(unreadable)?;
        if content == Content::Gzip {
            let bounded = Bounded::new(file, &self.budget);
            return self.named_log(whose, name, Box::new(bounded));
        }
        self.log_file(whose, name, file, size)
    }

    /// Reads a log that lies in a file as it is.
    pub(super) fn log_file(
        &mut self,
        whose: Whose,
        name: &str,
        file: &mut fs::File,
        size: u64,
    ) -> Result<(), FilesError> {
        let Some(limit) = self.room_for_log(name) else {
            return Ok(());
        };
        let text = log_text::file(file, size, limit).map_err(|source| FilesError::Read {
            path: name.to_owned(),
            source,
        })?;
        self.keep(whose, name, text);
        Ok(())
    }

    /// Reads a log out of an archive, packed or not.
    pub(super) fn named_log(
        &mut self,
        whose: Whose,
        name: &str,
        reader: Box<dyn Read + '_>,
    ) -> Result<(), FilesError> {
        let (_, mut reader, _) = self.unpacked(name, reader, 0)?;
        self.log(whose, name, &mut reader)
    }

    /// Reads a log that comes through a pipe.
    pub(super) fn log(
        &mut self,
        whose: Whose,
        name: &str,
        reader: &mut dyn Read,
    ) -> Result<(), FilesError> {
        let Some(limit) = self.room_for_log(name) else {
            return Ok(());
        };
        let text = log_text::stream(reader, limit).map_err(|source| FilesError::Read {
            path: name.to_owned(),
            source,
        })?;
        self.keep(whose, name, text);
        Ok(())
    }

    /// Returns how much of a log may be kept; says what is not read where that is nothing.
    fn room_for_log(&mut self, name: &str) -> Option<u64> {
        let kept = self.intake.log_bytes();
        let left = self.limits.all_log_bytes.saturating_sub(kept);
        if left < LEAST {
            let limit = self.limits.all_log_bytes;
            self.say(
                GapReason::Partial,
                format!("{name} was not read: the logs before it hold more than {limit} bytes"),
            );
            return None;
        }
        Some(left.min(self.limits.log_bytes))
    }

    fn keep(&mut self, whose: Whose, name: &str, text: LogText) {
        if let Some(failure) = &text.failure {
            let failure = printable(failure);
            self.say(
                GapReason::Partial,
                format!("{name} was not read to its end: {failure}"),
            );
        }
        if text.encoding == Encoding::Utf16 {
            self.say_of_log(
                GapReason::Malformed,
                format!("{name} was not read: {SAVE_AS_UTF8}"),
            );
        } else if text.left_out > 0 {
            self.say_of_log(
                GapReason::Malformed,
                format!(
                    "{name}: {} left out, because they are no text or have no end in sight",
                    match text.left_out {
                        1 => "1 line is".to_owned(),
                        count => format!("{count} lines are"),
                    }
                ),
            );
        }
        if text.cut == Cut::BeginningLeftOut {
            self.say_of_log(
                GapReason::Partial,
                format!(
                    "{name}: only its end and its first lines were read, {} bytes",
                    text.body.len()
                ),
            );
        }
        self.intake.understand();
        match whose {
            Whose::Known(log) => self.intake.log(log.into_file(text.cut, text.body)),
            Whose::ByName(path) => self.intake.loose_log(LooseLog {
                shown: name.to_owned(),
                path,
                cut: text.cut,
                body: text.body,
            }),
        }
    }

    fn say_of_log(&mut self, reason: GapReason, message: String) {
        self.intake.problem(Problem {
            resource: "log".to_owned(),
            reason,
            message,
        });
    }

    /// Takes the logs out of a dump, and reads what is left as objects.
    pub(super) fn dump(&mut self, name: &str, body: Body) -> Result<(), FilesError> {
        self.intake.forms([BundleForm::ClusterInfoDump]);
        let parts = dump::parts(&body.text);
        for part in &parts {
            let whose = &part.whose;
            let text = body.text.get(part.span.clone()).unwrap_or_default();
            let shown = printable(&format!(
                "{name}: log of {}/{} {}",
                whose.namespace, whose.pod, whose.container
            ));
            if let Some(why) = dump::refusal(text) {
                self.say_of_log(
                    GapReason::Partial,
                    format!("{shown}: kubectl could not read it: {}", printable(why)),
                );
                self.intake.understand();
                continue;
            }
            self.log(Whose::Known(whose.clone()), &shown, &mut text.as_bytes())?;
            if part.end == End::Missing {
                self.say_of_log(GapReason::Partial, format!("{shown}: it breaks off"));
            }
        }
        let body = Body {
            text: dump::without_logs(body.text, &parts),
            ..body
        };
        if body.text.trim().is_empty() {
            return Ok(());
        }
        self.body(name, body)
    }

    /// Joins the logs that are left to the pods of the input, and ends the reading.
    pub(super) fn finish(mut self, paths: Vec<String>) -> Capture {
        let loose = self.intake.take_loose_logs();
        if !loose.is_empty() {
            let pods = KnownPods::new(
                self.intake
                    .pods()
                    .filter_map(KnownPod::of_json)
                    .collect::<Vec<_>>(),
            );
            for log in loose {
                let shown = log.shown.clone();
                match loose_log::join(log, &pods) {
                    Ok(logs) => logs.into_iter().for_each(|log| self.intake.log(log)),
                    Err(why) => self.say_of_log(
                        GapReason::Partial,
                        format!(
                            "{shown} belongs to no pod of the input: {}",
                            printable(&why)
                        ),
                    ),
                }
            }
        }
        if let Some(names) = self.passed_over.packed.told() {
            self.say(
                GapReason::Unsupported,
                format!("{names}: packed in a form other than gzip, and not read"),
            );
        }
        if let Some(names) = self.passed_over.rotated.told() {
            self.say_of_log(
                GapReason::Partial,
                format!(
                    "{names}: a part of a node-agent's log that was rotated away, and not read"
                ),
            );
        }
        self.intake.into_capture(paths)
    }
}

impl LogName {
    fn into_file(self, cut: Cut, body: String) -> LogFile {
        LogFile {
            namespace: self.namespace,
            pod: self.pod,
            container: self.container,
            previous: self.previous,
            cut,
            body,
        }
    }
}
