//! Saves a node-agent's log before a restart destroys it.
//!
//! A log is whole on the disk, or it is not there: what was written of one that broke off is removed, also when
//! the program is interrupted. Nothing is overwritten.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::StreamExt as _;
use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use kube::client::Body;
use tokio::time::timeout;

use crate::capture::{AgentPod, Previous, Restarted};
use crate::collect::files::write_private;
use crate::collect::kubectl_compat::{Cause, error_text, printable};

/// The most that is saved of one log. The kubelet begins a new file at 10 MiB, unless it is told otherwise.
const MOST_BYTES: u64 = 4 << 30;

/// Longest answer of a refusal that is read for its words.
const WORDS_BYTES: usize = 64 << 10;

/// Where a log is saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaveTo {
    /// To this file; the log of the container before beside it, as `NAME.previous.EXTENSION`.
    File(PathBuf),
    /// Into this folder, as `logs/NAMESPACE/POD/CONTAINER.log`, which `--from FOLDER` reads.
    Folder(PathBuf),
}

/// Why a log could not be saved. Nothing of it is left on the disk.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The file or its folder could not be written.
    #[error("write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The server gave no log, or broke off in the middle of it.
    #[error("read the log of {pod}")]
    Read {
        /// Whose.
        pod: String,
        /// The server's words.
        source: Cause,
    },
}

impl SaveTo {
    /// Returns the file of a log.
    #[must_use]
    pub fn file(&self, agent: &AgentPod, previous: Previous) -> PathBuf {
        match (self, previous) {
            (Self::File(path), Previous::No) => path.clone(),
            (Self::File(path), Previous::Yes) => {
                let mut name = path.file_stem().unwrap_or_default().to_owned();
                name.push(".previous");
                if let Some(extension) = path.extension() {
                    name.push(".");
                    name.push(extension);
                }
                path.with_file_name(name)
            }
            (Self::Folder(folder), _) => {
                let end = match previous {
                    Previous::No => "log",
                    Previous::Yes => "previous.log",
                };
                folder
                    .join("logs")
                    .join(&agent.namespace)
                    .join(&agent.pod)
                    .join(format!("{}.{end}", agent.container))
            }
        }
    }
}

/// How long saving may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct SaveLimits {
    /// Each wait for the server.
    pub(super) wait: Duration,
    /// One log as a whole: one that drips would never end.
    pub(super) whole: Duration,
}

/// Saves the log of an agent, and of its container before if there was one. Returns the files.
///
/// # Errors
///
/// A [`SaveError`]; then none of the files is there.
pub(super) async fn save_log(
    client: &kube::Client,
    limits: SaveLimits,
    agent: &AgentPod,
    to: &SaveTo,
) -> Result<Vec<PathBuf>, SaveError> {
    let mut unfinished = Unfinished::default();
    let mut paths = Vec::new();
    let wanted = match agent.restarted {
        Restarted::No => [Some(Previous::No), None],
        Restarted::Yes => [Some(Previous::No), Some(Previous::Yes)],
    };
    for previous in wanted.into_iter().flatten() {
        let path = to.file(agent, previous);
        let body = match timeout(limits.wait, open(client, agent, previous)).await {
            Ok(Ok(Some(body))) => body,
            Ok(Ok(None)) => continue,
            Ok(Err(words)) => return Err(read_error(agent, words)),
            Err(_elapsed) => return Err(read_error(agent, no_answer(limits.wait))),
        };
        let mut file = unfinished.create(&path)?;
        let copied = copy(agent, body, limits.wait, &mut file, &path);
        timeout(limits.whole, copied).await.map_err(|_elapsed| {
            let words = format!("it did not end within {:.0} s", limits.whole.as_secs_f64());
            read_error(agent, words)
        })??;
        // The log is gone from the cluster in a moment.
        file.sync_all().map_err(|source| SaveError::Write {
            path: path.clone(),
            source,
        })?;
        paths.push(path);
    }
    unfinished.keep();
    Ok(paths)
}

fn no_answer(limit: Duration) -> String {
    format!("nothing came within {:.0} s", limit.as_secs_f64())
}

fn read_error(agent: &AgentPod, words: String) -> SaveError {
    SaveError::Read {
        pod: agent.pod.clone(),
        source: Cause(words),
    }
}

/// Asks for a log; `None` where there is no log of the container before any more.
async fn open(
    client: &kube::Client,
    agent: &AgentPod,
    previous: Previous,
) -> Result<Option<Body>, String> {
    let before = match previous {
        Previous::No => "",
        Previous::Yes => "&previous=true",
    };
    let path = format!(
        "/api/v1/namespaces/{}/pods/{}/log?container={}{before}",
        agent.namespace, agent.pod, agent.container
    );
    let request = Request::get(path)
        .header(header::ACCEPT, "*/*")
        .body(Body::empty())
        .map_err(|error| error_text(&error))?;
    let response = client
        .send(request)
        .await
        .map_err(|error| error_text(&error))?;
    let (head, body) = response.into_parts();
    if head.status == StatusCode::OK {
        return Ok(Some(body));
    }
    // The kubelet keeps one container before, and only for a while.
    if previous == Previous::Yes
        && matches!(head.status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND)
    {
        return Ok(None);
    }
    let bytes = http_body_util::Limited::new(body, WORDS_BYTES)
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    let words = serde_json::from_slice::<serde_json::Value>(&bytes)
        .ok()
        .and_then(|status| Some(status.get("message")?.as_str()?.to_owned()));
    Err(match words {
        Some(words) => format!("HTTP {}: {}", head.status, printable(&words)),
        None => format!("HTTP {}", head.status),
    })
}

async fn copy(
    agent: &AgentPod,
    body: Body,
    limit: Duration,
    file: &mut File,
    path: &Path,
) -> Result<(), SaveError> {
    let mut stream = std::pin::pin!(body.into_data_stream());
    let mut rest = MOST_BYTES;
    loop {
        let chunk = match timeout(limit, stream.next()).await {
            Ok(None) => return Ok(()),
            Ok(Some(Ok(chunk))) => chunk,
            Ok(Some(Err(error))) => return Err(read_error(agent, error_text(&error))),
            Err(_elapsed) => return Err(read_error(agent, no_answer(limit))),
        };
        let length = u64::try_from(chunk.len()).unwrap_or(u64::MAX);
        rest = rest
            .checked_sub(length)
            .ok_or_else(|| read_error(agent, format!("it has more than {MOST_BYTES} bytes")))?;
        file.write_all(&chunk).map_err(|source| SaveError::Write {
            path: path.to_owned(),
            source,
        })?;
    }
}

/// Files and folders that go away with this, unless they are kept.
#[derive(Default)]
struct Unfinished {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Unfinished {
    fn create(&mut self, path: &Path) -> Result<File, SaveError> {
        let failed = |source| SaveError::Write {
            path: path.to_owned(),
            source,
        };
        if let Some(folder) = path.parent() {
            self.create_folder(folder).map_err(failed)?;
        }
        let file = write_private(path).map_err(failed)?;
        self.files.push(path.to_owned());
        Ok(file)
    }

    fn create_folder(&mut self, folder: &Path) -> io::Result<()> {
        if folder.as_os_str().is_empty() || folder.is_dir() {
            return Ok(());
        }
        if let Some(above) = folder.parent() {
            self.create_folder(above)?;
        }
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt as _;
            builder.mode(0o700);
        }
        builder.create(folder)?;
        self.folders.push(folder.to_owned());
        Ok(())
    }

    fn keep(mut self) {
        self.files.clear();
        self.folders.clear();
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        for file in &self.files {
            // What cannot be removed stays, and there is nobody left to tell.
            let _removed = fs::remove_file(file);
        }
        for folder in self.folders.iter().rev() {
            let _removed = fs::remove_dir(folder);
        }
    }
}
