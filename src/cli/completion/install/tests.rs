//! Links in folders of a machine that was made up.

use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;

use super::super::super::error::ErrorKind;
use super::*;

struct Made {
    root: TempDir,
}

impl Made {
    fn new() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn program(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    }

    /// As krew lays it: the program in a folder of its version, a link to it in the folder of `$PATH`.
    fn by_krew(&self) -> Machine {
        let program = self.program("store/velero-slots/v0.1.0/kubectl-velero_slots", "plugin");
        self.program("usr/kubectl", "kubectl");
        fs::create_dir_all(self.path("bin")).unwrap();
        symlink(&program, self.path("bin/kubectl-velero_slots")).unwrap();
        Machine {
            path: vec![self.path("bin"), self.path("usr")],
            executable: Some(program),
        }
    }
}

fn lines(error: &Error, made: &Made) -> String {
    error
        .lines()
        .join("\n")
        .replace(&*made.root.path().to_string_lossy(), "ROOT")
}

#[test]
fn the_link_stands_beside_the_plugin_in_path_and_survives_its_upgrade() {
    let made = Made::new();
    let machine = made.by_krew();
    let installation = Installation::plan(&machine, None).unwrap();
    assert_eq!(installation.make().unwrap(), Done::Made);
    let link = made.path("bin/kubectl_complete-velero_slots");
    assert_eq!(installation.link, link);
    assert_eq!(
        fs::read_link(&link).unwrap(),
        Path::new("kubectl-velero_slots")
    );
    assert_eq!(fs::read_to_string(&link).unwrap(), "plugin");
    assert_eq!(installation.warnings(&machine), Vec::<String>::new());

    assert_eq!(installation.make().unwrap(), Done::WasThere);
    let next = made.program("store/velero-slots/v0.2.0/kubectl-velero_slots", "upgraded");
    fs::remove_file(made.path("bin/kubectl-velero_slots")).unwrap();
    symlink(next, made.path("bin/kubectl-velero_slots")).unwrap();
    assert_eq!(fs::read_to_string(&link).unwrap(), "upgraded");
    let again = Installation::plan(&machine, None).unwrap();
    assert_eq!(again.make().unwrap(), Done::WasThere);
}

#[test]
fn in_another_folder_the_link_names_the_plugin_as_path_does() {
    let made = Made::new();
    let machine = made.by_krew();
    let installation = Installation::plan(&machine, Some(&made.path("usr"))).unwrap();
    assert_eq!(installation.make().unwrap(), Done::Made);
    // Not the folder of a version, which an upgrade takes away.
    assert_eq!(
        fs::read_link(made.path("usr/kubectl_complete-velero_slots")).unwrap(),
        made.path("bin/kubectl-velero_slots")
    );
    assert_eq!(installation.make().unwrap(), Done::WasThere);
    assert_eq!(installation.warnings(&machine), Vec::<String>::new());
}

#[test]
fn what_was_not_made_for_the_plugin_stays_as_it_is() {
    let made = Made::new();
    let machine = made.by_krew();
    let installation = Installation::plan(&machine, None).unwrap();
    let link = made.path("bin/kubectl_complete-velero_slots");

    fs::write(&link, "mine").unwrap();
    let error = installation.make().unwrap_err();
    assert_eq!(error.kind, ErrorKind::CouldNotAnswer);
    insta::assert_snapshot!(lines(&error, &made), @r"
    error: ROOT/bin/kubectl_complete-velero_slots is there already, and is another file: it was not made for this plugin and stays as it is
    hint: move it away if nothing needs it, or choose another folder of $PATH with --path
    ");
    assert_eq!(fs::read_to_string(&link).unwrap(), "mine");
    fs::remove_file(&link).unwrap();

    let other = made.program("usr/other", "other");
    symlink(&other, &link).unwrap();
    let error = installation.make().unwrap_err();
    insta::assert_snapshot!(lines(&error, &made), @r"
    error: ROOT/bin/kubectl_complete-velero_slots is there already, and is a link to ROOT/usr/other: it was not made for this plugin and stays as it is
    hint: move it away if nothing needs it, or choose another folder of $PATH with --path
    ");
    assert_eq!(fs::read_link(&link).unwrap(), other);
    fs::remove_file(&link).unwrap();

    // A link that leads nowhere is somebody's too.
    symlink("gone", &link).unwrap();
    assert!(installation.make().is_err());
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("gone"));
    fs::remove_file(&link).unwrap();

    fs::create_dir(&link).unwrap();
    assert!(installation.make().is_err());
    assert!(link.is_dir());
}

#[test]
fn a_copy_or_another_link_to_the_plugin_does_as_well() {
    let made = Made::new();
    let machine = made.by_krew();
    let installation = Installation::plan(&machine, None).unwrap();
    let link = made.program("bin/kubectl_complete-velero_slots", "plugin");
    assert_eq!(installation.make().unwrap(), Done::WasThere);
    fs::remove_file(&link).unwrap();
    symlink(machine.executable.as_ref().unwrap(), &link).unwrap();
    assert_eq!(installation.make().unwrap(), Done::WasThere);
}

#[test]
fn a_plugin_that_is_not_in_path_gets_its_link_and_a_word() {
    let made = Made::new();
    let program = made.program("home/kubectl-velero_slots", "plugin");
    let machine = Machine {
        path: vec![made.path("bin")],
        executable: Some(program),
    };
    let installation = Installation::plan(&machine, None).unwrap();
    assert_eq!(installation.make().unwrap(), Done::Made);
    assert!(made.path("home/kubectl_complete-velero_slots").is_symlink());
    let warnings = installation.warnings(&machine).join("\n");
    let warnings = warnings.replace(&*made.root.path().to_string_lossy(), "ROOT");
    insta::assert_snapshot!(warnings, @r"
    kubectl is not in $PATH: nothing asks for the completion yet
    kubectl-velero_slots is not in $PATH: kubectl does not find the plugin yet
    ROOT/home is not in $PATH: kubectl looks for the completion only there
    ");
}

#[test]
fn a_completer_that_comes_first_in_path_is_told() {
    let made = Made::new();
    let mut machine = made.by_krew();
    machine.path.insert(0, made.path("first"));
    made.program("first/kubectl_complete-velero_slots", "other");
    let installation = Installation::plan(&machine, None).unwrap();
    assert_eq!(installation.make().unwrap(), Done::Made);
    let warnings = installation.warnings(&machine).join("\n");
    assert!(
        warnings.ends_with(
            "first/kubectl_complete-velero_slots comes first in $PATH: kubectl asks that one"
        ),
        "{warnings}"
    );
}

#[test]
fn a_folder_that_cannot_be_written_is_told_with_what_to_do() {
    let made = Made::new();
    let machine = made.by_krew();
    let installation = Installation::plan(&machine, None).unwrap();
    for kind in [
        io::ErrorKind::PermissionDenied,
        io::ErrorKind::ReadOnlyFilesystem,
    ] {
        let error = installation.cannot_write(kind.into());
        assert_eq!(error.kind, ErrorKind::CouldNotAnswer);
        let text = lines(&error, &made);
        assert!(
            text.starts_with("error: make a link in ROOT/bin: "),
            "{text}"
        );
        assert!(text.contains("--path"), "{text}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let made = Made::new();
    let machine = made.by_krew();
    let error = Installation::plan(&machine, Some(&made.path("nowhere"))).unwrap_err();
    insta::assert_snapshot!(lines(&error, &made), @r"
    error: ROOT/nowhere is not a folder
    hint: --path names an existing folder of $PATH
    ");
    let nothing = Machine {
        path: Vec::new(),
        executable: None,
    };
    let error = Installation::plan(&nothing, None).unwrap_err();
    insta::assert_snapshot!(lines(&error, &made), @r"
    error: kubectl-velero_slots is not in $PATH
    hint: put it into a folder of $PATH first: kubectl finds it only there
    ");
}
