//! The table of what kubectl and the client library do differently, held to the tests that it names.

use std::collections::BTreeSet;

const DOCUMENT: &str = "docs/kubectl-compatibility.md";

/// Returns the names of all test functions of the crate.
fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in ["src", "tests"].into_iter().flat_map(crate::rust_files) {
        let text = std::fs::read_to_string(&path).expect("a source file is readable");
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            if line == "#[test]" || line.starts_with("#[tokio::test") {
                is_test = true;
            } else if let Some(rest) = line
                .strip_prefix("fn ")
                .or_else(|| line.strip_prefix("async fn "))
            {
                if is_test {
                    names.extend(rest.split('(').next().map(str::to_owned));
                }
                is_test = false;
            }
        }
    }
    names
}

/// Returns the rows of the first table: number and last cell.
fn rows(markdown: &str) -> Vec<(String, String)> {
    markdown
        .lines()
        .skip_while(|line| !line.starts_with("| # |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [number, .., held_by] = cells.as_slice() else {
                panic!("a row has a number and what holds it: {line}");
            };
            ((*number).to_owned(), (*held_by).to_owned())
        })
        .collect()
}

/// Returns the names in backticks that look like functions.
fn named(cell: &str) -> Vec<&str> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| name.contains('_') && !name.contains([' ', '-', '$', ':']))
        .collect()
}

#[test]
fn each_difference_from_kubectl_has_a_test_that_exists() {
    let rows = rows(&crate::read(DOCUMENT));
    let numbers: Vec<String> = rows.iter().map(|(number, _)| number.clone()).collect();
    let wanted: Vec<String> = (1..=30).map(|number: usize| number.to_string()).collect();
    assert_eq!(numbers, wanted, "all thirty, in order");
    let tests = tests();
    for (number, held_by) in &rows {
        let names = named(held_by);
        assert!(!names.is_empty(), "row {number} names no test");
        for name in names {
            assert!(
                tests.contains(name),
                "row {number}: there is no test {name}"
            );
        }
    }
}

#[test]
fn a_table_that_names_no_test_is_noticed() {
    let table = "| # | s | held by |\n|---|---|---|\n| 1 | a `b_c` | `no_such_test`, exception |\n";
    let rows = rows(table);
    assert_eq!(rows.len(), 1);
    let names: Vec<&str> = rows
        .iter()
        .flat_map(|(_, held_by)| named(held_by))
        .collect();
    assert_eq!(names, ["no_such_test"]);
    assert!(!tests().contains("no_such_test"));
}
