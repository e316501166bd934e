//! A log is saved whole before the restart, or there is no restart.

use std::fs;

use super::*;

const LOG: &str = "/api/v1/namespaces/velero/pods/agent-a/log";

/// Answers the log and the log before; deletes are refused, since nothing here is about them.
fn with_logs(log: Reply, previous: Reply) -> Server {
    server(move |asked| match asked.path.as_str() {
        LOG if asked.query("previous") == "true" => previous.clone(),
        LOG => log.clone(),
        _ => Reply::status(409, "Conflict", "not now"),
    })
}

fn text(body: &str) -> Reply {
    Reply::json(200, body)
}

async fn saved(server: &Server, settings: &Settings) -> Ran {
    let plan = plan(PlanAction::Restart, restart("a"));
    run(server, &plan, settings, &Rights::default()).await
}

fn files(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn both_logs_are_saved_for_their_owner_alone_before_the_delete() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_logs(text("now\n"), text("before\n"));
    let ran = saved(&server, &save_to(folder.path().join("agent.log"))).await;
    ran.result.as_ref().unwrap();
    assert_eq!(files(folder.path()), ["agent.log", "agent.previous.log"]);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("agent.log"), "now\n");
    assert_eq!(read("agent.previous.log"), "before\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let metadata = fs::metadata(folder.path().join("agent.log")).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    }
    let order: Vec<&str> = ran
        .asked
        .iter()
        .filter(|asked| asked.path == LOG || asked.method == "DELETE")
        .map(|asked| asked.method.as_str())
        .collect();
    assert_eq!(order, ["GET", "GET", "DELETE"]);
}

#[tokio::test]
async fn a_log_that_the_kubelet_has_forgotten_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let gone = Reply::status(400, "BadRequest", "previous terminated container not found");
    let server = with_logs(text("now\n"), gone);
    let ran = saved(&server, &save_to(folder.path().join("agent.log"))).await;
    ran.result.as_ref().unwrap();
    assert_eq!(files(folder.path()), ["agent.log"]);
}

#[tokio::test]
async fn a_log_that_breaks_off_leaves_no_file_and_no_restart() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_logs(text("half of it is missing").cut(), text(""));
    let ran = saved(&server, &save_to(folder.path().join("agent.log"))).await;
    assert!(matches!(ran.result, Err(SaveError::Read { .. })));
    assert_eq!(files(folder.path()), [] as [String; 0]);
    assert_eq!(ran.writes(), [] as [String; 0]);
    assert!(
        ran.results()
            .iter()
            .all(|result| **result == StepResult::NotTried)
    );
}

#[tokio::test]
async fn a_failure_of_the_second_log_takes_the_first_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_logs(text("now\n"), Reply::forbidden());
    let ran = saved(&server, &save_to(folder.path().join("agent.log"))).await;
    assert!(matches!(ran.result, Err(SaveError::Read { .. })));
    assert_eq!(files(folder.path()), [] as [String; 0]);
    assert_eq!(ran.writes(), [] as [String; 0]);
}

#[tokio::test]
async fn nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.log");
    fs::write(&path, "an older one").unwrap();
    let server = with_logs(text("now\n"), text(""));
    let ran = saved(&server, &save_to(path.clone())).await;
    assert!(matches!(ran.result, Err(SaveError::Write { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "an older one");
    assert_eq!(ran.writes(), [] as [String; 0]);
}

#[tokio::test]
async fn a_kubelet_that_says_nothing_ends_the_wait() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_logs(Reply::silence(), text(""));
    let mut settings = save_to(folder.path().join("agent.log"));
    settings.collect.request_timeout = Duration::from_millis(300);
    let ran = saved(&server, &settings).await;
    assert!(matches!(ran.result, Err(SaveError::Read { .. })));
    assert_eq!(files(folder.path()), [] as [String; 0]);
}

#[tokio::test]
async fn a_folder_gets_the_log_where_from_finds_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_logs(text("now\n"), text("before\n"));
    let settings = Settings {
        save: Some(SaveTo::Folder(folder.path().join("evidence"))),
        ..settings()
    };
    saved(&server, &settings).await.result.unwrap();
    let logs = folder.path().join("evidence/logs/velero/agent-a");
    assert_eq!(files(&logs), ["node-agent.log", "node-agent.previous.log"]);
}

#[tokio::test]
async fn a_folder_that_was_made_for_a_failure_goes_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_logs(text("half of it is missing").cut(), text(""));
    let settings = Settings {
        save: Some(SaveTo::Folder(folder.path().join("evidence"))),
        ..settings()
    };
    let ran = saved(&server, &settings).await;
    assert!(ran.result.is_err());
    assert_eq!(files(folder.path()), [] as [String; 0]);
}

#[tokio::test]
async fn an_interrupted_log_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_logs(text("now\n"), Reply::silence());
    let settings = save_to(folder.path().join("agent.log"));
    let plan = plan(PlanAction::Restart, restart("a"));
    let rights = Rights::default();
    let work = run(&server, &plan, &settings, &rights);
    // The second log never comes; the first is on the disk by then.
    let interrupted = tokio::time::timeout(Duration::from_secs(2), work).await;
    assert!(interrupted.is_err());
    assert_eq!(files(folder.path()), [] as [String; 0]);
}

#[tokio::test]
async fn a_log_that_does_not_end_is_given_up_and_nothing_is_restarted() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_logs(Reply::watch(&["a line, and the next will come"]), text(""));
    let ran = saved(&server, &save_to(folder.path().join("agent.log"))).await;
    let Err(SaveError::Read { source, .. }) = &ran.result else {
        panic!("{:?}", ran.result);
    };
    assert!(source.to_string().contains("did not end"), "{source}");
    assert_eq!(files(folder.path()), [] as [String; 0]);
    assert_eq!(ran.writes(), [] as [String; 0]);
}
