//! Discovers every case, runs the plugin on it, and reports all mismatches of all cases at once.

use std::fmt::Write as _;
use std::sync::Mutex;

use crate::cases::{Case, check_coverage, check_structure, discover, run};

/// Turns complaints into one text: the case, what is wrong, and the story that the case tells.
fn report(complaints: &[(String, String, Vec<String>)]) -> String {
    let mut text = String::new();
    for (case, why, lines) in complaints {
        let _ = writeln!(text, "\n{case}");
        if !why.is_empty() {
            let _ = writeln!(text, "  why: {why}");
        }
        for line in lines {
            let _ = writeln!(text, "  - {line}");
        }
    }
    text
}

#[expect(
    clippy::panic,
    reason = "a case that cannot be read must end the test, and all of them are told at once"
)]
fn all_cases() -> Vec<Case> {
    match discover(crate::root()) {
        Ok(cases) => cases,
        Err(complaints) => panic!("{}", complaints.join("\n")),
    }
}

#[test]
fn every_case_is_well_formed_and_refers_to_objects_that_it_has() {
    let cases = all_cases();
    assert!(!cases.is_empty(), "there are cases");
    let mut complaints = Vec::new();
    for case in &cases {
        let lines = check_structure(case);
        if !lines.is_empty() {
            complaints.push((case.name.clone(), case.why(), lines));
        }
    }
    let missing = check_coverage(&cases);
    if !missing.is_empty() {
        complaints.push(("all cases together".to_owned(), String::new(), missing));
    }
    assert!(complaints.is_empty(), "{}", report(&complaints));
}

#[test]
fn every_case_says_what_the_contract_says() {
    let cases = all_cases();
    let next = Mutex::new(cases.iter().enumerate());
    let found = Mutex::new(Vec::new());
    // As many as a small machine has cores: each case starts a process or two.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((index, case)) = next.lock().expect("no worker panics").next() else {
                        break;
                    };
                    let lines = run(case);
                    if !lines.is_empty() {
                        let complaint = (case.name.clone(), case.why(), lines);
                        found
                            .lock()
                            .expect("no worker panics")
                            .push((index, complaint));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().expect("no worker panics");
    found.sort_by_key(|(index, _)| *index);
    let complaints: Vec<_> = found.into_iter().map(|(_, complaint)| complaint).collect();
    assert!(
        complaints.is_empty(),
        "{} of {} cases:\n{}",
        complaints.len(),
        cases.len(),
        report(&complaints)
    );
}
