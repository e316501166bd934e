//! Packs a built binary as a release archive: the binary, LICENSE, README, CHANGELOG, manual pages and
//! completions, the same bytes for the same input. `release/archive` calls it.
//!
//! A program that would not start everywhere it is said to start, or is too large, is not packed.
//!
//! ```sh
//! cargo run --example release-archive -- target/release/kubectl-velero_slots x86_64-unknown-linux-gnu dist
//! ```

mod elf;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Command;
use clap_complete::Shell;
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};
use velero_slots::cli;

/// krew unpacks the program at every install and upgrade, and fetches it over whatever line there is.
const LARGEST: usize = 12_000_000;

/// The program's file, and what its manual pages and completions are named after.
const PROGRAM: &str = "kubectl-velero_slots";

/// One file of the archive: its path there, its mode and its bytes.
struct Packed {
    path: String,
    mode: u32,
    bytes: Vec<u8>,
}

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(binary), Some(target), Some(folder)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        anyhow::bail!("usage: release-archive BINARY TARGET FOLDER");
    };
    let folder = PathBuf::from(folder);
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let path = folder.join(format!("kubectl-velero_slots-{target}.tar.gz"));
    let binary = Path::new(&binary);
    let program = read(binary)?;
    check(&program, &target).with_context(|| format!("pack {}", binary.display()))?;
    let files = files(binary, program)?;
    // Written beside and moved when whole: half an archive never has an archive's name.
    let partial = folder.join(format!(".kubectl-velero_slots-{target}.partial"));
    write(&files, &partial).with_context(|| format!("write {}", partial.display()))?;
    fs::rename(&partial, &path).with_context(|| format!("write {}", path.display()))?;
    writeln!(io::stdout(), "{}", path.display())?;
    Ok(())
}

/// Holds the program to what README promises of it.
fn check(program: &[u8], target: &str) -> anyhow::Result<()> {
    let size = program.len();
    anyhow::ensure!(
        size <= LARGEST,
        "the program has {size} bytes, more than {LARGEST}"
    );
    let asks = if target.ends_with("-linux-musl") {
        let libraries = elf::Needs::of(program)?.libraries;
        anyhow::ensure!(
            libraries.is_empty(),
            "the program is not static: {libraries:?}"
        );
        "no library"
    } else if target.ends_with("-linux-gnu") {
        let needs = elf::Needs::of(program)?;
        let newest = needs.glibc.last().context("no release of glibc is asked")?;
        anyhow::ensure!(
            *newest <= elf::GLIBC && needs.other.is_empty(),
            "the program does not start with glibc {}: {needs:?}",
            elf::GLIBC
        );
        &format!("glibc {newest}, by {:?}", needs.libraries)
    } else {
        "what its platform has"
    };
    writeln!(io::stderr(), "archive: {size} bytes, asks for {asks}")?;
    Ok(())
}

fn files(binary: &Path, program: Vec<u8>) -> anyhow::Result<Vec<Packed>> {
    let name = binary
        .file_name()
        .and_then(|name| name.to_str())
        .context("BINARY has no file name")?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![packed(name, 0o755, program)];
    // krew wants the licence beside the binary, under this very name.
    for text in ["LICENSE", "README.md", "CHANGELOG.md"] {
        files.push(packed(text, 0o644, read(&root.join(text))?));
    }
    // `man` finds a page by its file, whose name has no space.
    let mut command = cli::command().display_name(PROGRAM);
    command.build();
    manual_pages(&command, &mut files)?;
    completions(&mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn packed(path: &str, mode: u32, bytes: Vec<u8>) -> Packed {
    Packed {
        path: path.to_owned(),
        mode,
        bytes,
    }
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("read {}", path.display()))
}

/// One page for the program, and one for each command.
fn manual_pages(command: &Command, files: &mut Vec<Packed>) -> anyhow::Result<()> {
    files.push(page(command.clone(), PROGRAM)?);
    let shown = |one: &&Command| !one.is_hide_set() && one.get_name() != "help";
    for one in command.get_subcommands().filter(shown) {
        files.push(page(one.clone(), &format!("{PROGRAM}-{}", one.get_name()))?);
    }
    Ok(())
}

fn page(command: Command, title: &str) -> anyhow::Result<Packed> {
    let mut bytes = Vec::new();
    // No date: the page of the same program is the same page.
    clap_mangen::Man::new(command)
        .title(title)
        .manual("kubectl plugins")
        .render(&mut bytes)
        .with_context(|| format!("render the manual page {title}"))?;
    Ok(packed(&format!("man/{title}.1"), 0o644, bytes))
}

/// For those who call the binary by its own name; kubectl's own completion is `completion kubectl`.
fn completions(files: &mut Vec<Packed>) {
    for (shell, name) in [
        (Shell::Bash, "kubectl-velero_slots.bash"),
        (Shell::Zsh, "_kubectl-velero_slots"),
        (Shell::Fish, "kubectl-velero_slots.fish"),
        (Shell::PowerShell, "_kubectl-velero_slots.ps1"),
    ] {
        let script = cli::completion_script(shell).into_bytes();
        files.push(packed(&format!("completions/{name}"), 0o644, script));
    }
}

fn write(files: &[Packed], path: &Path) -> io::Result<()> {
    let gzip = GzBuilder::new().write(File::create(path)?, Compression::best());
    let mut archive = Builder::new(gzip);
    for file in files {
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(file.mode);
        header.set_size(file.bytes.len() as u64);
        // 1980-01-01, the earliest that every unpacker takes, and no owner: nothing of the machine that
        // built the archive is in it.
        header.set_mtime(315_532_800);
        archive.append_data(&mut header, &file.path, file.bytes.as_slice())?;
    }
    archive.into_inner()?.finish()?.sync_all()
}
