//! Ctrl-C while a reading waits.

use super::{
    CollectError, CollectOptions, DU, ErrorKind, GapReason, Outcome, PODS, Reply, ResourceKind,
    Server, cluster, flags, listing,
};
use crate::collect::cluster::{Collected, Interrupt};

/// Reads, and interrupts as soon as it is told what is waited for.
async fn read_until_told(
    server: &Server,
    options: &CollectOptions,
) -> Result<Collected, CollectError> {
    let interrupt = Interrupt::default();
    cluster(&flags(server, "velero"))
        .await
        .with_interrupt(&interrupt)
        .collect(options, &|_line| interrupt.raise())
        .await
}

#[tokio::test]
async fn what_was_read_before_an_interrupt_is_kept_and_the_rest_says_why_it_is_missing() {
    let server = Server::http(|asked| match asked.path.as_str() {
        PODS => Reply::silence(),
        _ => Reply::list(&["{}"], ""),
    });
    let capture = read_until_told(&server, &CollectOptions::default())
        .await
        .unwrap()
        .capture;
    assert_eq!(
        listing(&capture, ResourceKind::Pod).outcome,
        Outcome::Refused {
            reason: GapReason::Partial,
            message: "the command was interrupted before the answer came".to_owned(),
        }
    );
    assert_eq!(listing(&capture, DU).outcome.items().len(), 1);
}

#[tokio::test]
async fn an_interrupt_before_anything_was_answered_is_an_error() {
    let server = Server::http(|_| Reply::silence());
    let error = read_until_told(&server, &CollectOptions::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
}

#[tokio::test]
async fn an_interrupt_while_velero_is_looked_for_is_an_error() {
    let server = Server::http(|asked| match asked.path.as_str() {
        "/apis/apps/v1/namespaces/velero/daemonsets" => Reply::empty(),
        _ => Reply::silence(),
    });
    let error = read_until_told_without_namespace(&server)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
}

async fn read_until_told_without_namespace(server: &Server) -> Result<Collected, CollectError> {
    let interrupt = Interrupt::default();
    cluster(&flags(server, ""))
        .await
        .with_interrupt(&interrupt)
        .collect(&CollectOptions::default(), &|_line| interrupt.raise())
        .await
}
