//! Runs the compiled plugin on a case.

use assert_cmd::Command;
use serde_json::Value;

use super::compare::{diagnosis, replay, status};
use super::{Case, entries, strings, text};

/// The exit code of a usage error, which prints no document.
const USAGE: i64 = 2;

/// What a command answered.
struct Answer {
    stdout: Vec<u8>,
    stderr: String,
    code: Option<i64>,
}

/// Runs `diagnose`, and `status` and `replay` where the case asks for them. Returns all mismatches.
pub(crate) fn run(case: &Case) -> Vec<String> {
    let mut complaints = Vec::new();
    let wants_status = entries(&case.expect, "status").next().is_some()
        || case.expect.get("prepareQueue").is_some();
    let wants_replay = entries(&case.expect, "replay").next().is_some();
    let args = strings(&case.expect, "args");
    let outcome = answer(case, "diagnose", &args).and_then(|answer| {
        let expected = case.expect.get("exit").and_then(Value::as_i64);
        if expected != answer.code {
            complaints.push(format!(
                "exit code: expected {}, got {}",
                shown(expected),
                shown(answer.code)
            ));
        }
        for words in strings(&case.expect, "stderr") {
            if !answer.stderr.contains(words) {
                complaints.push(format!("stderr lacks {words:?}: {}", answer.stderr.trim()));
            }
        }
        if expected == Some(USAGE) {
            return Ok(Vec::new());
        }
        document(&answer).map(|document| diagnosis(case, &document))
    });
    complaints.extend(outcome.unwrap_or_else(|error| vec![format!("diagnose {error}")]));
    if wants_status {
        let outcome = answer(case, "status", &[])
            .and_then(|answer| document(&answer))
            .map(|document| status(case, &document));
        complaints.extend(outcome.unwrap_or_else(|error| vec![format!("status {error}")]));
    }
    if wants_replay {
        let outcome = answer(case, "replay", &[])
            .and_then(|answer| document(&answer))
            .map(|document| replay(case, &document));
        complaints.extend(outcome.unwrap_or_else(|error| vec![format!("replay {error}")]));
    }
    complaints
}

fn shown(code: Option<i64>) -> String {
    code.map_or("none".to_owned(), |code| code.to_string())
}

/// Runs one command on the case's objects, with nothing of the environment.
fn answer(case: &Case, command: &str, args: &[&str]) -> Result<Answer, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-velero_slots"))
        .env_clear()
        .arg(command)
        .arg("--from")
        .arg(case.folder.join("objects"))
        .args(["--now", text(&case.expect, "now"), "-o", "json"])
        .args(args)
        .output()
        .map_err(|error| format!("did not start: {error}"))?;
    Ok(Answer {
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().map(i64::from),
    })
}

fn document(answer: &Answer) -> Result<Value, String> {
    serde_json::from_slice(&answer.stdout).map_err(|error| {
        format!(
            "printed no JSON ({error}); exit {}; stderr: {}",
            shown(answer.code),
            answer.stderr.trim()
        )
    })
}
