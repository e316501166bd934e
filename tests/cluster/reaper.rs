//! Ends what was started, however the test process ends.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Reads the ids of programs until its standard input closes, which happens also when the test process
/// panics, is interrupted or is killed. Then it ends them, the last one first, and removes their data.
const SCRIPT: &str = r#"
pids=
while read -r pid; do pids="$pid $pids"; done
for pid in $pids; do kill "$pid" 2>/dev/null; done
for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    left=
    for pid in $pids; do if kill -0 "$pid" 2>/dev/null; then left=yes; fi; done
    [ -n "$left" ] || break
    sleep 0.1
done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
rm -rf "$1"
"#;

/// A folder of data and the programs that use it.
pub(crate) struct Reaper {
    /// Outlives this process by a moment, so nobody waits for it.
    _shell: Child,
    input: ChildStdin,
    data: PathBuf,
    logs: PathBuf,
    programs: Vec<(String, Child)>,
}

impl Reaper {
    /// Begins to watch over a new folder of data; the logs of the programs stay in `logs`.
    pub(crate) fn new(logs: PathBuf) -> Self {
        let data = tempfile::Builder::new()
            .prefix("velero-slots-control-plane-")
            .tempdir()
            .expect("a temporary folder can be made")
            .keep();
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "reaper"])
            .arg(&data)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("sh can be run");
        let input = shell.stdin.take().expect("it was asked for");
        std::fs::create_dir_all(&logs).expect("the folder of the logs can be made");
        Self {
            _shell: shell,
            input,
            data,
            logs,
            programs: Vec::new(),
        }
    }

    /// Returns the folder of data.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// Starts a program, outside the terminal's process group, so that Ctrl-C reaches the tests first.
    pub(crate) fn start(&mut self, path: &Path, args: &[String]) -> Result<(), String> {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let log =
            File::create(self.log(&name)).map_err(|error| format!("log of {name}: {error}"))?;
        let both = log
            .try_clone()
            .map_err(|error| format!("log of {name}: {error}"))?;
        let child = Command::new(path)
            .args(args)
            .current_dir(&self.data)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(both)
            .process_group(0)
            .spawn()
            .map_err(|error| format!("start {}: {error}", path.display()))?;
        writeln!(self.input, "{}", child.id()).map_err(|error| format!("reaper: {error}"))?;
        self.programs.push((name, child));
        Ok(())
    }

    /// Fails if a program has ended by itself, with the end of its log.
    pub(crate) fn check(&mut self) -> Result<(), String> {
        for (name, child) in &mut self.programs {
            if let Some(status) = child
                .try_wait()
                .map_err(|error| format!("{name}: {error}"))?
            {
                return Err(format!(
                    "{name} ended with {status}\n{}",
                    tail(&self.logs.join(format!("{name}.log")))
                ));
            }
        }
        Ok(())
    }

    /// Returns the ends of all logs.
    pub(crate) fn last_words(&self) -> String {
        self.programs
            .iter()
            .map(|(name, _)| format!("--- {name}\n{}\n", tail(&self.log(name))))
            .collect()
    }

    fn log(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.log"))
    }
}

fn tail(path: &Path) -> String {
    const LINES: usize = 15;
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}
