//! Every field of every object, broken in turn.

use proptest::prelude::*;

use super::objects::all;
use super::*;

/// The path of every value below `metadata`, `spec`, `status` and the like.
fn paths(value: &Value, prefix: &str, found: &mut Vec<String>) {
    let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = format!("{prefix}/{}", escaped(key));
                paths(value, &path, found);
                found.push(path);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                let path = format!("{prefix}/{index}");
                paths(value, &path, found);
                found.push(path);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fields_of(object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    paths(object, "", &mut found);
    // Without these two nobody knows what the object is.
    found.retain(|path| path != "/kind" && path != "/apiVersion");
    found
}

fn with(object: &Value, path: &str, value: Value) -> Value {
    let mut object = object.clone();
    *object.pointer_mut(path).unwrap() = value;
    object
}

fn last_key(path: &str) -> String {
    path.split('/')
        .rfind(|part| part.parse::<usize>().is_err())
        .unwrap()
        .replace("~1", "/")
}

fn same_type(a: &Value, b: &Value) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

fn without_gaps(mut snapshot: Snapshot) -> Snapshot {
    snapshot.gaps.clear();
    snapshot.coverage.clear();
    snapshot.restore_targets.clear();
    snapshot.server_version = Observed::Absent;
    snapshot
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

#[test]
fn a_field_of_a_wrong_type_is_a_gap_that_names_object_and_field() {
    let wrong = [
        json!(7),
        json!(-1.5),
        json!("text"),
        json!(true),
        json!([1]),
        json!([]),
        json!({"a": 1}),
        json!({}),
    ];
    for object in all() {
        let before = without_gaps(snapshot_of([object.clone()]));
        for path in fields_of(&object) {
            // A set of owned fields of another shape owns nothing; it is never read otherwise.
            if path.contains("/fieldsV1") {
                continue;
            }
            let is_nameless = path == "/metadata" || path == "/metadata/name";
            for value in &wrong {
                let there = object.pointer(&path).unwrap();
                if there.is_null() || same_type(there, value) {
                    continue;
                }
                let after = snapshot_of([with(&object, &path, value.clone())]);
                let said = after.gaps.iter().any(|gap| {
                    gap.reason == GapReason::Malformed
                        && gap.message.contains(&last_key(&path))
                        && (is_nameless || gap.message.contains(name_of(&object)))
                });
                assert!(
                    said || without_gaps(after.clone()) == before,
                    "{} {path} = {value}: {:#?}",
                    object["kind"],
                    after.gaps
                );
            }
        }
    }
}

#[test]
fn null_reads_as_absent_everywhere() {
    for object in all() {
        for path in fields_of(&object) {
            if path.contains("/fieldsV1") || object.pointer(&path).unwrap().is_null() {
                continue;
            }
            // An entry of a list is never null in Kubernetes; what matters is that nothing panics.
            let is_entry = path.rsplit('/').next().unwrap().parse::<usize>().is_ok();
            let identity = ["/metadata", "/metadata/name", "/metadata/namespace"];
            let snapshot = snapshot_of([with(&object, &path, Value::Null)]);
            let malformed: Vec<_> = snapshot
                .gaps
                .iter()
                .filter(|gap| gap.reason == GapReason::Malformed)
                .collect();
            if identity.contains(&path.as_str()) {
                assert_eq!(malformed.len(), 1, "{path}");
            } else if !is_entry {
                assert!(malformed.is_empty(), "{path}: {malformed:?}");
            }
        }
    }
}

#[test]
fn an_odd_time_costs_only_itself() {
    let mut times = 0;
    for object in all() {
        for path in fields_of(&object) {
            let there = object.pointer(&path).unwrap();
            let is_time = there
                .as_str()
                .is_some_and(|text| text.parse::<Timestamp>().is_ok());
            let is_read = !["/status/expiration", "/status/error/time"].contains(&path.as_str());
            if !is_time || !is_read {
                continue;
            }
            times += 1;
            for odd in [
                json!("yesterday"),
                json!(5),
                json!(["2026-01-01T00:00:00Z"]),
            ] {
                let snapshot = snapshot_of([with(&object, &path, odd)]);
                let said: Vec<_> = snapshot
                    .gaps
                    .iter()
                    .filter(|gap| gap.reason == GapReason::Malformed)
                    .collect();
                assert_eq!(said.len(), 1, "{path}: {said:?}");
                assert!(said[0].message.contains(&last_key(&path)));
                assert_eq!(said[0].effect, "the field is read as absent");
            }
        }
    }
    assert!(times > 30, "the objects hold many times: {times}");
}

#[test]
fn a_lost_object_makes_its_absence_prove_nothing() {
    let mut pod = objects::mover_pod();
    pod["status"]["phase"] = json!(3);
    let snapshot = snapshot_of([pod, objects::agent_pod()]);
    assert_eq!(
        snapshot.pod("velero", "du-17"),
        Observed::Unknown(GapReason::Partial)
    );
    assert_eq!(
        gaps(&snapshot, "pods"),
        "malformed Pod velero/du-17: .status.phase: invalid type: integer `3`, expected a string \
         | the object is left out, and its absence proves nothing\n"
    );
}

#[test]
fn many_objects_with_one_fault_make_one_gap() {
    let tasks = (0..50).map(|index| {
        let mut task = objects::data_upload_v1_17();
        task["metadata"]["name"] = json!(format!("du-{index:02}"));
        task["status"]["progress"] = json!({"bytesDone": "5"});
        task["spec"]["operationTimeout"] = json!("ten minutes");
        task["status"]["phase"] = json!("Pondering");
        task
    });
    let snapshot = snapshot_of(tasks);
    assert_eq!(snapshot.tasks.len(), 50);
    assert_eq!(
        gaps(&snapshot, "datauploads"),
        "malformed DataUpload velero/du-00, velero/du-01, velero/du-02 and 47 more: .spec.operationTimeout: \
         \"ten minutes\" is not a duration | the field is read as absent\n\
         malformed DataUpload velero/du-00, velero/du-01, velero/du-02 and 47 more: .status.progress.bytesDone: \
         is not an integer | the field is read as absent\n\
         unsupported DataUpload velero/du-00, velero/du-01, velero/du-02 and 47 more: \
         status.phase \"Pondering\" is not known | it is not known what comes of the task, so the verdict is unknown\n"
    );
    let du = task(&snapshot, TaskKind::DataUpload, "du-00");
    assert_eq!(du.progress, None, "an unreadable number is not a zero");
    assert_eq!(du.phase, Phase::Other("Pondering".to_owned()));
}

#[test]
fn a_flag_that_is_no_duration_is_a_gap() {
    let mut pod = objects::agent_pod();
    pod["spec"]["containers"][0]["args"] = json!(["--data-mover-prepare-timeout=soon"]);
    let snapshot = snapshot_of([pod]);
    assert_eq!(snapshot.agents[0].prepare_timeout_seconds, 30 * 60);
    assert!(gaps(&snapshot, "pods").contains("\"soon\" is not a duration"));
}

#[test]
fn a_field_is_named_in_pretty_json_too() {
    let mut pod = objects::mover_pod();
    pod["spec"]["containers"][0]["image"] = json!({"tag": "x"});
    let body = serde_json::to_string_pretty(&pod).unwrap();
    let mut capture = Capture::from_objects([pod]);
    capture.listings[0].outcome = crate::capture::Outcome::Listed(vec![crate::capture::Item {
        text: 0,
        span: 0..body.len(),
    }]);
    capture.texts[0].body = body;
    let snapshot = read(&capture, &options());
    assert!(
        gaps(&snapshot, "pods").contains("velero/du-17: .spec.containers[0].image: invalid type"),
        "{:?}",
        snapshot.gaps
    );
}

#[test]
fn an_item_that_points_nowhere_is_a_gap() {
    let mut capture = Capture::from_objects([objects::node()]);
    capture.texts.clear();
    let snapshot = read(&capture, &options());
    assert!(gaps(&snapshot, "nodes").starts_with("malformed Node without a name in "));
}

#[test]
fn two_objects_without_a_name_make_the_same_gap_in_either_order() {
    let nameless = [
        with(&objects::event(), "/metadata/name", Value::Null),
        with(&objects::new_event(), "/metadata/name", json!([])),
    ];
    let one = snapshot_of(nameless.clone());
    let other = snapshot_of(nameless.into_iter().rev());
    assert!(
        gaps(&one, "events").starts_with("malformed Event without a name in "),
        "{:?}",
        one.gaps
    );
    assert_eq!(one, other);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
        Just(json!("2026-01-01T00:00:00Z")),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z:.]{1,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn nothing_in_the_input_makes_it_panic_and_order_does_not_matter(
        changes in prop::collection::vec((0_usize..100, 0_usize..1000, any_json()), 0..12),
        order in Just((0..all().len()).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let mut objects = all();
        for (object, field, value) in changes {
            let index = object % objects.len();
            let fields = fields_of(&objects[index]);
            objects[index] = with(&objects[index], &fields[field % fields.len()], value);
        }
        let shuffled = order.iter().map(|index| objects[*index].clone());
        let (one, other) = (snapshot_of(objects.clone()), snapshot_of(shuffled));
        prop_assert_eq!(one, other);
    }
}
