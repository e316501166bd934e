//! Finds every case, and refuses what looks like a case and would not be run.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Case;

/// The folders below `fixtures/` that hold cases.
const ROOTS: [&str; 2] = ["rules", "scenarios"];

/// Returns all cases in the order of their names.
///
/// # Errors
///
/// Returns every folder that is no case and holds none, and every `expect.yaml` that cannot be read.
pub(crate) fn discover(repository: &Path) -> Result<Vec<Case>, Vec<String>> {
    let fixtures = repository.join("fixtures");
    let mut cases = Vec::new();
    let mut complaints = Vec::new();
    for root in ROOTS {
        walk(&fixtures, &fixtures.join(root), &mut cases, &mut complaints);
    }
    cases.sort_by(|a: &Case, b| a.name.cmp(&b.name));
    if complaints.is_empty() {
        Ok(cases)
    } else {
        Err(complaints)
    }
}

fn walk(fixtures: &Path, folder: &Path, cases: &mut Vec<Case>, complaints: &mut Vec<String>) {
    let name = folder
        .strip_prefix(fixtures)
        .unwrap_or(folder)
        .to_string_lossy()
        .replace('\\', "/");
    let (folders, files) = match contents(folder) {
        Ok(contents) => contents,
        Err(error) => {
            complaints.push(format!("{name}: {error}"));
            return;
        }
    };
    if folder.join("expect.yaml").is_file() {
        match read_expectation(folder) {
            Ok(expect) => cases.push(Case {
                name,
                folder: folder.to_owned(),
                expect,
            }),
            Err(error) => complaints.push(format!("{name}/expect.yaml: {error}")),
        }
        return;
    }
    if let Some(file) = files.first() {
        complaints.push(format!(
            "{name}: {} is not in a case (no expect.yaml beside or above it)",
            file.display()
        ));
    }
    if folders.is_empty() {
        complaints.push(format!("{name}: neither a case nor a folder of cases"));
    }
    for folder in folders {
        walk(fixtures, &folder, cases, complaints);
    }
}

fn contents(folder: &Path) -> std::io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let mut folders = Vec::new();
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            folders.push(path);
        } else {
            files.push(path);
        }
    }
    folders.sort();
    files.sort();
    Ok((folders, files))
}

fn read_expectation(folder: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(folder.join("expect.yaml")).map_err(|error| error.to_string())?;
    serde_saphyr::from_str(&text).map_err(|error| error.to_string())
}
