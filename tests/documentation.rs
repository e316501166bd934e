//! The README's examples and tables, held to the program: it is run on the inputs that ship with it.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot run the program has nothing else to say"
)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use velero_slots::capture::ResourceKind;

/// How a block of the README says that it holds a call and its answer. The exit code follows.
const EXAMPLE: &str = "```console exit=";

/// What calls the plugin in an example.
const CALLS: [&str; 2] = ["$ cargo run --quiet -- ", "$ kubectl velero-slots "];

/// Returns the folder of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs the plugin in the folder of the repository, with nothing of the user's environment.
fn plugin<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kubectl-velero_slots"))
        .args(arguments)
        .current_dir(root())
        .env_clear()
        // The README shows the marks of a UTF-8 terminal; without a locale they are plain ASCII.
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("the plugin starts")
}

/// One call, and what it must print.
#[derive(Debug)]
struct Example {
    arguments: Vec<String>,
    answer: String,
    exit: i32,
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).expect("there is a README")
}

fn examples(markdown: &str) -> Vec<Example> {
    let mut found = Vec::new();
    let mut lines = markdown.lines();
    while let Some(line) = lines.next() {
        let Some(exit) = line.strip_prefix(EXAMPLE) else {
            continue;
        };
        let call = lines.next().unwrap_or_default();
        let arguments = CALLS.iter().find_map(|call_of| call.strip_prefix(call_of));
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        found.push(Example {
            arguments: arguments
                .unwrap_or_else(|| panic!("an example calls the plugin: {call}"))
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
            answer: body.join("\n"),
            exit: exit.parse().expect("an exit code is a number"),
        });
    }
    found
}

#[test]
fn every_example_of_the_readme_prints_what_it_shows() {
    let examples = examples(&readme());
    assert!(!examples.is_empty(), "the README has an example");
    for example in examples {
        let output = plugin(example.arguments.iter().map(String::as_str));
        let answer = String::from_utf8(output.stdout).expect("an answer is UTF-8");
        let trimmed: Vec<&str> = answer.lines().map(str::trim_end).collect();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            trimmed.join("\n"),
            example.answer,
            "{:?}\n{said}",
            example.arguments
        );
        assert_eq!(
            output.status.code(),
            Some(example.exit),
            "{:?}\n{said}",
            example.arguments
        );
    }
}

/// Returns the rows of the table below a heading, without its head.
fn table<'a>(markdown: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    markdown
        .lines()
        .skip_while(|line| *line != heading)
        .skip_while(|line| !line.starts_with('|'))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

#[test]
fn the_rights_in_the_readme_are_those_of_every_resource_that_is_read() {
    let markdown = readme();
    let stated: BTreeSet<(String, String)> = table(&markdown, "## Rights")
        .iter()
        .map(|row| match row.as_slice() {
            [group, resource, ..] => ((*group).to_owned(), (*resource).to_owned()),
            _ => panic!("a row names group and resource: {row:?}"),
        })
        .collect();
    let read: BTreeSet<(String, String)> = ResourceKind::ALL
        .iter()
        .map(|resource| {
            let group = match resource.group() {
                "" => "(core)",
                group => group,
            };
            (group.to_owned(), resource.plural().to_owned())
        })
        .collect();
    assert_eq!(stated, read);
}

#[test]
fn the_exit_codes_in_the_readme_are_those_of_the_help() {
    let markdown = readme();
    let stated: Vec<&str> = table(&markdown, "## Exit codes")
        .iter()
        .filter_map(|row| row.first().copied())
        .collect();
    let help = plugin(["--help"]);
    let help = String::from_utf8(help.stdout).expect("help is UTF-8");
    let (_, codes) = help
        .split_once("Exit codes: ")
        .expect("the help lists the exit codes");
    let listed: Vec<&str> = codes
        .split(';')
        .filter_map(|entry| entry.split_whitespace().next())
        .collect();
    assert_eq!(stated, listed);
}
