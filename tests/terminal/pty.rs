//! A pseudo-terminal with a program on it: what it shows, what is typed, its size, its end.
//!
//! ```text
//! test ── type_line, resize, interrupt ──► Session ──► terminal ──► program
//!      ◄── wait_for, finish ────────────── (a thread reads what the terminal shows)
//! ```
//!
//! The program has the terminal as its three streams and not as its controlling terminal: that would need code
//! between fork and exec, which cannot be safe Rust. So a signal is sent to it, where a real terminal would send
//! it to the group in front.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot go on has found something"
)]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Longer than any program here takes, and no endless test.
const LIMIT: Duration = Duration::from_secs(60);

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Columns.
    pub(crate) columns: u16,
    /// Rows.
    pub(crate) rows: u16,
}

impl Size {
    fn window(self) -> Winsize {
        Winsize {
            ws_row: self.rows,
            ws_col: self.columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        }
    }
}

/// Which of the program's streams the terminal is; the others are pipes that nobody holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    /// All three.
    All,
    /// Standard error alone: standard output is what the command says.
    Error,
}

/// A program on a terminal.
pub(crate) struct Session {
    child: Child,
    terminal: File,
    seen: Arc<Seen>,
    reader: Option<JoinHandle<()>>,
}

/// What a program left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The exit code; none if a signal ended it.
    pub(crate) code: Option<i32>,
    /// Every byte that reached the terminal; the terminal ends lines by CR LF.
    pub(crate) bytes: Vec<u8>,
}

impl Shown {
    /// Returns the text, with plain ends of lines.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).replace("\r\n", "\n")
    }
}

#[derive(Default)]
struct Seen {
    state: Mutex<SeenState>,
    changed: Condvar,
}

#[derive(Default)]
struct SeenState {
    bytes: Vec<u8>,
    ended: bool,
}

impl Session {
    /// Starts a program on a terminal of its own.
    pub(crate) fn start(mut command: Command, size: Size, streams: Streams) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&ours).expect("its other end is ours");
        unlockpt(&ours).expect("and open");
        let name = ptsname(&ours, Vec::new()).expect("it has a name");
        let theirs = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())
            .expect("its other end can be opened");
        tcsetwinsize(&theirs, size.window()).expect("a terminal has a size");
        let theirs = File::from(theirs);
        let end = || Stdio::from(theirs.try_clone().expect("a file can be shared"));
        match streams {
            Streams::All => command.stdin(end()).stdout(end()).stderr(end()),
            Streams::Error => command.stdin(Stdio::null()).stderr(end()),
        };
        let child = command.spawn().expect("the program starts");
        // Only the program holds its end now, so that its end is the end of what is read.
        drop(command);
        drop(theirs);
        let terminal = File::from(ours);
        let seen = Arc::new(Seen::default());
        let reader = {
            let mut terminal = terminal.try_clone().expect("a file can be shared");
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || seen.read(&mut terminal))
        };
        Self {
            child,
            terminal,
            seen,
            reader: Some(reader),
        }
    }

    /// Waits until the terminal has shown a text.
    pub(crate) fn wait_for(&self, text: &str) {
        let text = text.as_bytes();
        let there = |state: &SeenState| {
            state.ended || state.bytes.windows(text.len()).any(|part| part == text)
        };
        let state = self.seen.wait(there);
        let shown = String::from_utf8_lossy(&state.bytes);
        assert!(
            state.bytes.windows(text.len()).any(|part| part == text),
            "{:?} does not come, only: {shown}",
            String::from_utf8_lossy(text)
        );
    }

    /// Types a line. The terminal shows it too, as terminals do.
    pub(crate) fn type_line(&mut self, line: &str) {
        writeln!(self.terminal, "{line}").expect("the terminal takes it");
    }

    /// Gives the terminal another size, and tells the program as the terminal of a shell would.
    pub(crate) fn resize(&self, size: Size) {
        tcsetwinsize(&self.terminal, size.window()).expect("a terminal has a size");
        self.signal(Signal::WINCH);
    }

    /// Interrupts the program as Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the program runs");
    }

    /// Waits for the end of the program.
    pub(crate) fn finish(mut self) -> Shown {
        let ended = {
            let state = self.seen.wait(|state| state.ended);
            state.ended
        };
        if !ended {
            let _gone = self.child.kill();
        }
        let status: ExitStatus = self.child.wait().expect("the program was started");
        if let Some(reader) = self.reader.take() {
            reader.join().expect("reading does not panic");
        }
        let bytes = std::mem::take(&mut self.seen.lock().bytes);
        let shown = Shown {
            code: status.code(),
            bytes,
        };
        assert!(ended, "the program does not end: {}", shown.text());
        shown
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A test that failed leaves no program behind.
        let _gone = self.child.kill();
        let _status = self.child.wait();
    }
}

impl Seen {
    fn lock(&self) -> std::sync::MutexGuard<'_, SeenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads to the end: the other side is gone, which a terminal tells by an error.
    fn read(&self, terminal: &mut File) {
        let mut part = [0; 4096];
        loop {
            let read = terminal.read(&mut part).unwrap_or(0);
            let mut state = self.lock();
            state
                .bytes
                .extend_from_slice(part.get(..read).unwrap_or_default());
            state.ended = read == 0;
            self.changed.notify_all();
            if read == 0 {
                return;
            }
        }
    }

    fn wait(&self, done: impl Fn(&SeenState) -> bool) -> std::sync::MutexGuard<'_, SeenState> {
        self.changed
            .wait_timeout_while(self.lock(), LIMIT, |state| !done(state))
            .map_or_else(|broken| broken.into_inner().0, |(state, _)| state)
    }
}

/// The harness itself: every test program that has it runs these.
mod tests {
    use super::{Command, Session, Size, Stdio, Streams};

    const SMALL: Size = Size {
        columns: 61,
        rows: 24,
    };

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_program_sees_a_terminal_of_that_size_and_what_is_typed() {
        let script = "test -t 0 && test -t 1 && test -t 2 && stty size && read a && echo \"<$a>\"";
        let mut session = Session::start(shell(script), SMALL, Streams::All);
        session.wait_for("24 61");
        session.type_line("yes");
        let shown = session.finish();
        assert_eq!(shown.code, Some(0));
        assert!(shown.text().ends_with("<yes>\n"), "{}", shown.text());
    }

    #[test]
    fn a_program_is_told_of_a_new_size_and_can_be_interrupted() {
        let script = "trap 'stty size' WINCH; trap 'exit 7' INT; echo ready; while :; do :; done";
        let session = Session::start(shell(script), SMALL, Streams::All);
        session.wait_for("ready");
        session.resize(Size {
            columns: 99,
            rows: 30,
        });
        session.wait_for("30 99");
        session.interrupt();
        assert_eq!(session.finish().code, Some(7));
    }

    #[test]
    fn the_terminal_can_be_standard_error_alone() {
        let mut command = shell("test -t 1 || test -t 0 || { test -t 2 && echo seen >&2; }");
        command.stdout(Stdio::null());
        let shown = Session::start(command, SMALL, Streams::Error).finish();
        assert_eq!((shown.code, shown.text().as_str()), (Some(0), "seen\n"));
    }
}
