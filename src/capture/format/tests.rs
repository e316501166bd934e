//! The format: one released file that must open for ever, and a round trip of whatever can be captured.

use proptest::prelude::*;

use super::{FormatError, parse, read, write};
use crate::capture::{
    BundleForm, Capture, Cut, GapReason, Item, Listing, LogFile, Manifest, MetricsPage, NowFrom,
    Outcome, Previous, Problem, Redacted, ResourceKind, Scope, SourceType, Text,
};
use crate::velero::TaskKind;

const RELEASED: &str = include_str!("../../../fixtures/captures/v1/small.json");

#[test]
fn the_first_released_format_still_opens() {
    let capture = read(RELEASED.to_owned(), "small.json").unwrap();
    assert_eq!(
        capture.manifest,
        Manifest {
            source: SourceType::Files,
            taken_at: Some("2026-01-02T03:04:05Z".parse().unwrap()),
            now_from: NowFrom::Capture,
            server: Some("https://cluster.example:6443".to_owned()),
            paths: vec!["small.json".to_owned()],
            namespace: Some("velero".to_owned()),
            tool_version: "0.1.0".to_owned(),
            bundles: Vec::new(),
            redacted: Redacted::No,
        }
    );
    let told: Vec<(ResourceKind, &Scope, usize)> = capture
        .listings
        .iter()
        .map(|listing| {
            (
                listing.resource,
                &listing.scope,
                listing.outcome.items().len(),
            )
        })
        .collect();
    let velero = Scope::Namespace("velero".to_owned());
    let movers = Scope::Selected {
        label_selector: "velero.io/data-upload".to_owned(),
    };
    assert_eq!(
        told,
        [
            (ResourceKind::Task(TaskKind::DataUpload), &velero, 2),
            (ResourceKind::Pod, &velero, 1),
            (ResourceKind::Pod, &movers, 0),
            (ResourceKind::Node, &Scope::Cluster, 0),
        ]
    );
    assert_eq!(
        capture.listings[3].outcome,
        Outcome::Refused {
            reason: GapReason::Forbidden,
            message: "nodes is forbidden".to_owned()
        }
    );
    assert_eq!(capture.logs.len(), 1);
    assert_eq!(capture.problems[0].reason, GapReason::Timeout);
    let first = &capture.listings[0].outcome.items()[0];
    assert!(
        capture
            .json(first)
            .starts_with("{\"apiVersion\":\"velero.io/v2alpha1\"")
    );
}

#[test]
fn fields_and_resources_of_later_versions_are_passed_over() {
    let text = RELEASED
        .replacen(
            "\"formatVersion\":1",
            "\"formatVersion\":1,\"later\":{\"a\":[1]}",
            1,
        )
        .replacen(
            "\"resource\":\"nodes\"",
            "\"resource\":\"gadgets\",\"later\":1",
            1,
        );
    let capture = read(text, "later").unwrap();
    assert_eq!(capture.listings.len(), 3);
}

#[test]
fn secrets_are_no_resource_of_a_capture() {
    let text = RELEASED.replacen("\"resource\":\"nodes\"", "\"resource\":\"secrets\"", 1);
    assert_eq!(read(text, "x").unwrap().listings.len(), 3);
}

#[test]
fn a_newer_format_names_the_version_that_wrote_it() {
    let text = "{\"apiVersion\":\"velero-slots/v1\",\"kind\":\"Capture\",\"formatVersion\":2,\
                \"manifest\":{\"toolVersion\":\"9.1.0\\u001b[2J\"},\"listings\":\"another shape\"}";
    let error = parse(text).unwrap_err();
    assert!(matches!(error, FormatError::Newer { format: 2, .. }));
    let words = error.to_string();
    assert!(
        words.contains("version 9.1.0") && !words.contains('\u{1b}'),
        "{words}"
    );
}

#[test]
fn another_document_is_no_capture() {
    for text in [
        "{}",
        r#"{"apiVersion":"velero-slots/v1","kind":"Diagnosis"}"#,
    ] {
        assert!(matches!(parse(text).unwrap_err(), FormatError::NotACapture));
    }
    assert!(matches!(parse("{").unwrap_err(), FormatError::Malformed(_)));
}

/// Manifest, listings, logs, metrics and problems.
type Said = (
    Manifest,
    Vec<(ResourceKind, Scope, String)>,
    Vec<LogFile>,
    Vec<MetricsPage>,
    Vec<Problem>,
);

/// What a capture says, without the texts that its items point into.
fn said(capture: &Capture) -> Said {
    let listings = capture
        .listings
        .iter()
        .map(|listing| {
            let items: Vec<&str> = listing
                .outcome
                .items()
                .iter()
                .map(|item| capture.json(item))
                .collect();
            let told = match &listing.outcome {
                Outcome::Listed(_) => format!("listed {items:?}"),
                Outcome::Cut {
                    reason, message, ..
                } => format!("cut {reason:?} {message:?} {items:?}"),
                Outcome::Refused { reason, message } => format!("refused {reason:?} {message:?}"),
            };
            (listing.resource, listing.scope.clone(), told)
        })
        .collect();
    (
        capture.manifest.clone(),
        listings,
        capture.logs.clone(),
        capture.metrics.clone(),
        capture.problems.clone(),
    )
}

fn reason() -> impl Strategy<Value = GapReason> {
    prop::sample::select(vec![
        GapReason::Forbidden,
        GapReason::NotFound,
        GapReason::Malformed,
        GapReason::NotInInput,
        GapReason::Partial,
        GapReason::Timeout,
        GapReason::Unsupported,
    ])
}

fn scope() -> impl Strategy<Value = Scope> {
    prop_oneof![
        any::<String>().prop_map(Scope::Namespace),
        Just(Scope::Cluster),
        any::<String>().prop_map(|label_selector| Scope::Selected { label_selector }),
        Just(Scope::FileList),
        Just(Scope::FileObjects),
    ]
}

fn problem() -> impl Strategy<Value = Problem> {
    (any::<String>(), reason(), any::<String>()).prop_map(|(resource, reason, message)| Problem {
        resource,
        reason,
        message,
    })
}

fn log() -> impl Strategy<Value = LogFile> {
    let words = prop::array::uniform4(any::<String>());
    (words, any::<bool>(), any::<bool>()).prop_map(
        |([namespace, pod, container, body], previous, cut)| LogFile {
            namespace,
            pod,
            container,
            previous: if previous {
                Previous::Yes
            } else {
                Previous::No
            },
            cut: if cut {
                Cut::BeginningLeftOut
            } else {
                Cut::Whole
            },
            body,
        },
    )
}

fn metrics_page() -> impl Strategy<Value = MetricsPage> {
    let words = prop::array::uniform3(any::<String>());
    (words, any::<u16>(), 0_i64..4_000_000_000).prop_map(
        |([namespace, pod, body], port, second)| MetricsPage {
            namespace,
            pod,
            port,
            taken_at: jiff::Timestamp::from_second(second).unwrap(),
            body,
        },
    )
}

/// What a listing is made from: its resource, scope, objects, and what it lacks.
type Draft = (
    ResourceKind,
    Scope,
    Vec<String>,
    Option<(bool, GapReason, String)>,
);

fn draft() -> impl Strategy<Value = Draft> {
    (
        prop::sample::select(ResourceKind::ALL.to_vec()),
        scope(),
        prop::collection::vec(any::<String>(), 0..4),
        prop::option::of((any::<bool>(), reason(), any::<String>())),
    )
}

prop_compose! {
    fn capture()(
        drafts in prop::collection::vec(draft(), 0..5),
        logs in prop::collection::vec(log(), 0..3),
        metrics in prop::collection::vec(metrics_page(), 0..3),
        problems in prop::collection::vec(problem(), 0..3),
        seconds in prop::option::of(0_i64..4_000_000_000),
        server in prop::option::of(any::<String>()),
        namespace in prop::option::of(any::<String>()),
        tool_version in any::<String>(),
        redacted in any::<bool>(),
    ) -> Capture {
        let mut texts = Vec::new();
        let listings = drafts.into_iter().map(|draft| listing(draft, &mut texts)).collect();
        Capture {
            manifest: Manifest {
                source: SourceType::Files,
                taken_at: seconds.map(|seconds| jiff::Timestamp::from_second(seconds).unwrap()),
                now_from: if seconds.is_some() { NowFrom::Capture } else { NowFrom::NewestObject },
                server,
                paths: vec!["file".to_owned()],
                namespace,
                tool_version,
                bundles: vec![BundleForm::VeleroDebug, BundleForm::OcInspect],
                redacted: if redacted { Redacted::Yes } else { Redacted::No },
            },
            texts,
            listings,
            earlier: Vec::new(),
            logs,
            metrics,
            problems,
        }
    }
}

/// Puts the objects of a draft into a text, with blanks between them.
fn listing((resource, scope, names, lack): Draft, texts: &mut Vec<Text>) -> Listing {
    let mut body = String::from("[");
    let mut items = Vec::new();
    for name in names {
        let start = body.len();
        let object = serde_json::json!({ "metadata": { "name": name } });
        body.push_str(&serde_json::to_string_pretty(&object).unwrap());
        items.push(Item {
            text: texts.len(),
            span: start..body.len(),
        });
        body.push_str(" ,\n");
    }
    texts.push(Text {
        origin: "generated".to_owned(),
        body,
    });
    let outcome = match lack {
        None => Outcome::Listed(items),
        Some((true, reason, message)) => Outcome::Cut {
            items,
            reason,
            message,
        },
        Some((false, reason, message)) => Outcome::Refused { reason, message },
    };
    Listing {
        resource,
        scope,
        outcome,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_back(capture in capture()) {
        let mut written = Vec::new();
        write(&capture, &mut written).unwrap();
        let again = read(String::from_utf8(written).unwrap(), "file").unwrap();
        prop_assert_eq!(said(&again), said(&capture));
    }
}
