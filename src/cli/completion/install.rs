//! Makes the link by which kubectl finds the completion: `kubectl_complete-velero_slots`, beside the plugin.
//!
//! krew links the plugin into its own folder and moves the link at every upgrade; a link beside it that names it and
//! no folder goes along. What is there and was not made here is never touched.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::super::error::Error;

/// The name of the executable without an extension, as kubectl looks it up.
pub(crate) const PLUGIN: &str = "kubectl-velero_slots";

/// The name under which kubectl asks for candidates: `_complete` before the first dash of the plugin's name.
const COMPLETER: &str = "kubectl_complete-velero_slots";

/// What to do, for those who do it by hand.
pub(crate) const HOW: &str = "\
kubectl asks an executable named kubectl_complete-velero_slots in $PATH what can be completed. Link it once:

  kubectl velero-slots completion kubectl --install

The link is made beside the plugin, or in another folder of $PATH with --path DIR. By hand it is:

  ln -s kubectl-velero_slots \"$(dirname \"$(command -v kubectl-velero_slots)\")/kubectl_complete-velero_slots\"

It works where kubectl itself is completed (kubectl 1.26 or newer):

  source <(kubectl completion bash)    # zsh, fish, powershell: kubectl completion --help

Nodes, tasks and namespaces are read from the cluster that the line names, within 300 ms and without a login:
with a credential plugin only what needs no cluster is completed. VELERO_SLOTS_COMPLETION_TIMEOUT=1s gives a
server that is far away more time.
";

/// What of the machine decides where the link goes.
pub(crate) struct Machine {
    /// The folders of `$PATH`.
    path: Vec<PathBuf>,
    /// The file of this program.
    executable: Option<PathBuf>,
}

impl Machine {
    /// Looks at this process.
    #[expect(
        clippy::disallowed_methods,
        reason = "the command line is the edge that may read the environment"
    )]
    pub(crate) fn of_process() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self {
            path: std::env::split_paths(&path)
                .filter(|folder| !folder.as_os_str().is_empty())
                .collect(),
            executable: std::env::current_exe().ok(),
        }
    }

    /// Finds a program as kubectl would.
    fn find(&self, name: &str) -> Option<PathBuf> {
        self.path
            .iter()
            .map(|folder| folder.join(file_name(name)))
            .find(|file| is_executable(file))
    }
}

/// A link to be made.
#[derive(Debug)]
pub(crate) struct Installation {
    /// Where.
    pub(crate) link: PathBuf,
    /// What it says: a name beside it, else a whole path.
    pub(crate) target: PathBuf,
    /// The plugin.
    plugin: PathBuf,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// It was made.
    Made,
    /// It is there.
    WasThere,
}

impl Installation {
    /// Decides where the link goes: the named folder, else that of the plugin which kubectl runs.
    pub(crate) fn plan(machine: &Machine, folder: Option<&Path>) -> Result<Self, Error> {
        let plugin = machine
            .find(PLUGIN)
            .or_else(|| machine.executable.clone())
            .ok_or_else(|| {
                Error::could_not_answer(anyhow!("{PLUGIN} is not in $PATH"))
                    .hint("put it into a folder of $PATH first: kubectl finds it only there")
            })?;
        let plugin = std::path::absolute(&plugin).unwrap_or(plugin);
        let own = plugin.parent().unwrap_or(Path::new("/"));
        let folder = match folder {
            Some(folder) => std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()),
            None => own.to_owned(),
        };
        if !folder.is_dir() {
            return Err(
                Error::could_not_answer(anyhow!("{} is not a folder", folder.display()))
                    .hint("--path names an existing folder of $PATH"),
            );
        }
        let target = match plugin.file_name() {
            Some(name) if is_same_file(&folder.join(name), &plugin) => PathBuf::from(name),
            Some(_) | None => plugin.clone(),
        };
        Ok(Self {
            link: folder.join(file_name(COMPLETER)),
            target,
            plugin,
        })
    }

    /// Makes the link, unless it is there; touches nothing else.
    pub(crate) fn make(&self) -> Result<Done, Error> {
        match link(self) {
            Ok(()) => Ok(Done::Made),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.look_at_it(),
            Err(error) => Err(self.cannot_write(error)),
        }
    }

    /// Says whether what is there does what the link would do.
    fn look_at_it(&self) -> Result<Done, Error> {
        let is_ours = match fs::read_link(&self.link) {
            // Also when it leads nowhere at the moment.
            Ok(target) => target == self.target || is_same_file(&self.link, &self.plugin),
            Err(_not_a_link) => has_same_content(&self.link, &self.plugin),
        };
        if is_ours {
            return Ok(Done::WasThere);
        }
        let what = match fs::read_link(&self.link) {
            Ok(target) => format!("a link to {}", target.display()),
            Err(_not_a_link) if self.link.is_dir() => "a folder".to_owned(),
            Err(_not_a_link) => "another file".to_owned(),
        };
        Err(Error::could_not_answer(anyhow!(
            "{} is there already, and is {what}: it was not made for this plugin and stays as it is",
            self.link.display()
        ))
        .hint("move it away if nothing needs it, or choose another folder of $PATH with --path"))
    }

    fn cannot_write(&self, error: io::Error) -> Error {
        let folder = self.link.parent().unwrap_or(Path::new("/"));
        let refused = matches!(
            error.kind(),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
        );
        let context = format!("make a link in {}", folder.display());
        let error = Error::could_not_answer(anyhow::Error::new(error).context(context));
        if refused {
            error.hint(
                "choose a folder of $PATH that you may write with --path, \
                 or let somebody run the same command who may write that one",
            )
        } else {
            error.hint("choose another folder of $PATH with --path")
        }
    }

    /// Returns what keeps kubectl from using the link.
    pub(crate) fn warnings(&self, machine: &Machine) -> Vec<String> {
        let mut warnings = Vec::new();
        if machine.find("kubectl").is_none() {
            warnings
                .push("kubectl is not in $PATH: nothing asks for the completion yet".to_owned());
        }
        if machine.find(PLUGIN).is_none() {
            warnings.push(format!(
                "{PLUGIN} is not in $PATH: kubectl does not find the plugin yet"
            ));
        }
        let folder = self.link.parent().unwrap_or(Path::new("/"));
        if !machine.path.iter().any(|other| is_same_file(other, folder)) {
            warnings.push(format!(
                "{} is not in $PATH: kubectl looks for the completion only there",
                folder.display()
            ));
        } else if let Some(found) = machine.find(COMPLETER)
            && !is_same_file(&found, &self.link)
        {
            warnings.push(format!(
                "{} comes first in $PATH: kubectl asks that one",
                found.display()
            ));
        }
        warnings
    }
}

/// Returns a program's file name here.
fn file_name(name: &str) -> OsString {
    OsString::from(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
    }
}

/// Compares two programs; a copy works as well as a link, until the next upgrade.
fn has_same_content(one: &Path, other: &Path) -> bool {
    let length = |path: &Path| {
        fs::metadata(path)
            .ok()
            .filter(fs::Metadata::is_file)
            .map(|metadata| metadata.len())
    };
    // Something else may be of any size, and is not read then.
    length(one).is_some()
        && length(one) == length(other)
        && matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(file: &Path) -> bool {
    file.is_file()
}

/// A new link, or an error: never in the place of something.
#[cfg(unix)]
fn link(installation: &Installation) -> io::Result<()> {
    std::os::unix::fs::symlink(&installation.target, &installation.link)
}

/// Windows lets only some users make symbolic links, so this one is a hard link, else a copy. Both stay behind at an
/// upgrade.
#[cfg(not(unix))]
fn link(installation: &Installation) -> io::Result<()> {
    if installation.link.exists() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let Installation { link, plugin, .. } = installation;
    fs::hard_link(plugin, link).or_else(|_| fs::copy(plugin, link).map(|_| ()))
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
