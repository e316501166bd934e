//! Goes through an object by the rules of its resource. A value of another type than its rule expects keeps its
//! type and nothing else, so that an object that cannot be read stays one.

use serde_json::value::RawValue;

use super::Redactor;
use super::config::{key_kind, value_kind};
use super::image::image;
use super::json::{Type, elements, pairs, push_text, text, type_of};
use super::names::NameKind;
use super::rules::{self, Rule, name_of_kind};
use super::{Pass, bare, vocabulary};
use crate::capture::ResourceKind;
use crate::velero::{
    BACKUP_NAME_LABEL, EXPOSE_ON_GOING_LABEL, Phase, RESTORE_NAME_LABEL, TaskKind,
    parse_go_duration,
};

/// What a text becomes that is not what belongs there.
const ODD: &str = "redacted";

/// Flags that are read, and what their value is.
const FLAGS: [(&str, Value); 5] = [
    ("--node-agent-configmap", Value::ConfigMap),
    ("--backup-repository-configmap", Value::ConfigMap),
    ("--data-mover-prepare-timeout", Value::Duration),
    ("--fs-backup-timeout", Value::Duration),
    ("--default-item-operation-timeout", Value::Duration),
];

#[derive(Clone, Copy)]
enum Value {
    ConfigMap,
    Duration,
}

/// The object that is gone through.
#[derive(Clone, Copy)]
struct Place {
    resource: ResourceKind,
    kind: NameKind,
}

impl Redactor {
    /// Appends an object, or gathers its names.
    pub(super) fn object(&mut self, resource: ResourceKind, json: &str, out: &mut String) {
        let (rule, kind) = rules::of(resource);
        match serde_json::from_str::<&RawValue>(json) {
            Ok(raw) => {
                // The claims of ephemeral volumes are called after their pod.
                if resource == ResourceKind::Pod {
                    self.pod = name_of(raw);
                }
                self.value(rule, raw, Place { resource, kind }, out);
            }
            Err(_) => out.push_str("{}"),
        }
    }

    fn value(&mut self, rule: &Rule, raw: &RawValue, place: Place, out: &mut String) {
        match type_of(raw) {
            Type::Null => out.push_str("null"),
            Type::Bare => out.push_str(bare(raw)),
            Type::Text => match text(raw) {
                Some(text) => {
                    let text = self.leaf(rule, &text, place);
                    push_text(out, &text);
                }
                // Escapes that are no text: they stay none.
                None => out.push_str("\"\\ud800\""),
            },
            Type::Object => match rule {
                Rule::Object(fields) => self.fields(fields, raw, place, out),
                Rule::Labels => self.labels(raw, place, out),
                Rule::Reference(fields) => self.reference(fields, raw, place, out),
                Rule::Volume => self.volume(raw, place, out),
                Rule::Data => self.data(raw, out),
                Rule::Fixed
                | Rule::Word
                | Rule::TaskPhase
                | Rule::Time
                | Rule::Duration
                | Rule::Digits
                | Rule::ApiVersion
                | Rule::OwnName
                | Rule::Name(_)
                | Rule::Message
                | Rule::Image
                | Rule::Arguments
                | Rule::List(_)
                | Rule::ManagedFields => out.push_str("{}"),
            },
            Type::List => match rule {
                Rule::List(inner) => {
                    push_list(out, elements(raw), |element, out| {
                        self.value(inner, element, place, out);
                    });
                }
                Rule::Arguments => self.arguments(raw, out),
                Rule::ManagedFields => {
                    push_list(out, elements(raw), |entry, out| {
                        self.managed_entry(entry, place, out);
                    });
                }
                Rule::Fixed
                | Rule::Word
                | Rule::TaskPhase
                | Rule::Time
                | Rule::Duration
                | Rule::Digits
                | Rule::ApiVersion
                | Rule::OwnName
                | Rule::Name(_)
                | Rule::Message
                | Rule::Image
                | Rule::Object(_)
                | Rule::Labels
                | Rule::Reference(_)
                | Rule::Volume
                | Rule::Data => out.push_str("[]"),
            },
        }
    }

    /// Returns what stands for a text.
    fn leaf(&mut self, rule: &Rule, text: &str, place: Place) -> String {
        if text.is_empty() {
            return String::new();
        }
        let kept = |fits: bool| if fits { text } else { ODD }.to_owned();
        match rule {
            Rule::Word => self.word_of(text),
            Rule::TaskPhase => match Phase::parse(text) {
                Phase::Other(_) => self.word_of(text),
                Phase::New
                | Phase::Accepted
                | Phase::Prepared
                | Phase::InProgress
                | Phase::Canceling
                | Phase::Canceled
                | Phase::Completed
                | Phase::Failed => text.to_owned(),
            },
            Rule::Time => kept(
                text.len() <= 40
                    && text.bytes().all(|byte| {
                        byte.is_ascii_digit()
                            || matches!(byte, b'-' | b':' | b'.' | b'+' | b'T' | b'Z')
                    })
                    && text.parse::<jiff::Timestamp>().is_ok(),
            ),
            Rule::Duration => kept(text.len() <= 40 && parse_go_duration(text).is_some()),
            Rule::Digits => {
                kept(text.len() <= 20 && text.bytes().all(|byte| byte.is_ascii_digit()))
            }
            Rule::ApiVersion => {
                let is_known = text
                    .split('/')
                    .all(|part| vocabulary::contains(part) || is_version(part));
                // Only the group is looked at.
                kept(is_known)
            }
            Rule::OwnName => self.own(place.kind, text),
            Rule::Name(kind) => self.own(*kind, text),
            Rule::Message => match self.pass {
                Pass::Collect => String::new(),
                Pass::Write => self.prose(text),
            },
            Rule::Image => match self.pass {
                Pass::Collect => String::new(),
                Pass::Write => image(self, text),
            },
            Rule::Fixed
            | Rule::Arguments
            | Rule::Object(_)
            | Rule::List(_)
            | Rule::Labels
            | Rule::ManagedFields
            | Rule::Reference(_)
            | Rule::Volume
            | Rule::Data => ODD.to_owned(),
        }
    }

    /// A word of Kubernetes such as a reason. Those of resources that a node lacks carry the resource's name.
    fn word_of(&mut self, text: &str) -> String {
        if vocabulary::contains(text) {
            return text.to_owned();
        }
        match text.strip_prefix("OutOf") {
            Some(_) => "OutOfResource".to_owned(),
            None => self.name(NameKind::Word, text),
        }
    }

    fn fields(
        &mut self,
        fields: &'static [(&'static str, Rule)],
        raw: &RawValue,
        place: Place,
        out: &mut String,
    ) {
        let mut open = Pairs::open(out);
        for (key, value) in pairs(raw) {
            if let Some((name, rule)) = fields.iter().find(|(name, _)| *name == key) {
                self.value(rule, value, place, open.key(name));
            }
        }
        open.close();
    }

    /// A reference: what its name names depends on its kind, which may stand behind it.
    fn reference(
        &mut self,
        fields: &'static [(&'static str, Rule)],
        raw: &RawValue,
        place: Place,
        out: &mut String,
    ) {
        let all = pairs(raw);
        let kind = all
            .iter()
            .find(|(key, _)| key == "kind")
            .and_then(|(_, value)| text(value))
            .map_or(NameKind::Owner, |kind| name_of_kind(&kind));
        let mut open = Pairs::open(out);
        for (key, value) in all {
            if key == "name" {
                self.value(&Rule::Name(kind), value, place, open.key("name"));
            } else if let Some((name, rule)) = fields.iter().find(|(name, _)| *name == key) {
                self.value(rule, value, place, open.key(name));
            }
        }
        open.close();
    }

    /// A volume of a pod. The claim of an ephemeral volume is called after the pod and the volume, which their
    /// pseudonyms do not tell any more: it is named.
    fn volume(&mut self, raw: &RawValue, place: Place, out: &mut String) {
        let all = pairs(raw);
        let mut open = Pairs::open(out);
        for (key, value) in &all {
            match &**key {
                "name" => {
                    self.value(
                        &Rule::Name(NameKind::PodVolume),
                        value,
                        place,
                        open.key("name"),
                    );
                }
                "persistentVolumeClaim" => self.value(
                    &Rule::Object(&[("claimName", Rule::Name(NameKind::Claim))]),
                    value,
                    place,
                    open.key("persistentVolumeClaim"),
                ),
                "ephemeral" if type_of(value) != Type::Null => {
                    let name = all
                        .iter()
                        .find(|(key, _)| key == "name")
                        .and_then(|(_, value)| text(value))
                        .unwrap_or_default();
                    let claim = format!("{}-{name}", self.pod);
                    let claim = self.name(NameKind::Claim, &claim);
                    let has_claim = all.iter().any(|(key, value)| {
                        key == "persistentVolumeClaim" && type_of(value) != Type::Null
                    });
                    if !has_claim {
                        let out = open.key("persistentVolumeClaim");
                        out.push_str("{\"claimName\":");
                        push_text(out, &claim);
                        out.push('}');
                    }
                }
                // Other sources of volumes are not read.
                _ => {}
            }
        }
        open.close();
    }

    fn labels(&mut self, raw: &RawValue, place: Place, out: &mut String) {
        let mut open = Pairs::open(out);
        for (key, value) in pairs(raw) {
            let rule = match label_rule(&key) {
                Some(rule) => Some(rule),
                None if place.resource == ResourceKind::Node
                    && self.selector_keys.contains(&*key) =>
                {
                    None
                }
                None => {
                    if !matches!(type_of(value), Type::Text | Type::Null) {
                        // An object with such labels cannot be read, and must not become readable.
                        self.value(&Rule::Fixed, value, place, open.key("odd"));
                    }
                    continue;
                }
            };
            let name = match &rule {
                Some(_) => key.clone().into_owned(),
                None => self.label_key(&key),
            };
            let out = open.key(&name);
            match (rule, text(value)) {
                (Some(LabelRule::Names(kind)), _) => {
                    self.value(&Rule::Name(kind), value, place, out);
                }
                (Some(LabelRule::Value) | None, Some(text)) => {
                    let text = self.label_value(&text);
                    push_text(out, &text);
                }
                (Some(LabelRule::Value) | None, None) => {
                    self.value(&Rule::Fixed, value, place, out);
                }
            }
        }
        open.close();
    }

    /// Returns what stands for a label key. That a key is Kubernetes' own is looked at, so it stays visible.
    pub(super) fn label_key(&mut self, key: &str) -> String {
        let domain = key.split_once('/').map_or("", |(domain, _)| domain);
        let kind = key_kind(key);
        if kind == NameKind::LabelKey
            && (domain == "kubernetes.io" || domain.ends_with(".kubernetes.io"))
        {
            let known = self.name(kind, key);
            if known == key {
                return known;
            }
            let name = key.strip_prefix("kubernetes.io/").unwrap_or(key);
            return format!("kubernetes.io/{}", self.name(kind, name));
        }
        if label_rule(key).is_some() {
            return key.to_owned();
        }
        self.name(kind, key)
    }

    pub(super) fn label_value(&mut self, value: &str) -> String {
        self.name(value_kind(value), value)
    }

    /// One entry of managedFields: who wrote when, and of what he wrote only what is looked for.
    fn managed_entry(&mut self, raw: &RawValue, place: Place, out: &mut String) {
        if type_of(raw) != Type::Object {
            self.value(&Rule::Fixed, raw, place, out);
            return;
        }
        let mut open = Pairs::open(out);
        for (key, value) in pairs(raw) {
            match &*key {
                "manager" => {
                    self.value(
                        &Rule::Name(NameKind::Manager),
                        value,
                        place,
                        open.key("manager"),
                    );
                }
                "time" => self.value(&Rule::Time, value, place, open.key("time")),
                "fieldsV1" => self.owned(value, place, open.key("fieldsV1")),
                // Operation, apiVersion and subresource are not read.
                _ => {}
            }
        }
        open.close();
    }

    fn owned(&mut self, raw: &RawValue, place: Place, out: &mut String) {
        const KEPT: [(&str, &[&str]); 3] = [
            ("f:spec", &["f:cancel"]),
            ("f:status", &["f:progress"]),
            ("f:metadata", &["f:labels"]),
        ];
        if type_of(raw) != Type::Object {
            self.value(&Rule::Fixed, raw, place, out);
            return;
        }
        let mut open = Pairs::open(out);
        for (key, value) in pairs(raw) {
            if key == "f:data" || key == "f:binaryData" {
                open.key(&key).push_str("{}");
                continue;
            }
            let Some((_, inner)) = KEPT.iter().find(|(name, _)| *name == key) else {
                continue;
            };
            let out = open.key(&key);
            if type_of(value) != Type::Object {
                self.value(&Rule::Fixed, value, place, out);
                continue;
            }
            let mut inside = Pairs::open(out);
            for (key, value) in pairs(value) {
                if !inner.contains(&&*key) {
                    continue;
                }
                if key == "f:labels" && type_of(value) == Type::Object {
                    let mut labels = Pairs::open(inside.key(&key));
                    for (label, _) in pairs(value) {
                        let Some(label) = label.strip_prefix("f:") else {
                            continue;
                        };
                        if self.selector_keys.contains(label) {
                            let label = self.label_key(label);
                            labels.key(&format!("f:{label}")).push_str("{}");
                        }
                    }
                    labels.close();
                } else {
                    self.value(&Rule::Object(&[]), value, place, inside.key(&key));
                }
            }
            inside.close();
        }
        open.close();
    }

    /// Command and arguments: the words by which an agent is known, and the flags that are read.
    fn arguments(&mut self, raw: &RawValue, out: &mut String) {
        let all = elements(raw);
        if let Some(odd) = all
            .iter()
            .find(|word| !matches!(type_of(word), Type::Text | Type::Null))
        {
            // A list with something else in it cannot be read, and must not become readable.
            out.push('[');
            out.push_str(match type_of(odd) {
                Type::Object => "{}",
                Type::List => "[]",
                Type::Bare | Type::Text | Type::Null => "0",
            });
            out.push(']');
            return;
        }
        let texts: Vec<_> = all.into_iter().filter_map(text).collect();
        let mut words = texts.iter().flat_map(|text| text.split_whitespace());
        let mut kept: Vec<String> = Vec::new();
        while let Some(word) = words.next() {
            let known = FLAGS.iter().find_map(|(flag, value)| {
                let rest = word.strip_prefix(flag)?;
                (rest.is_empty() || rest.starts_with('=')).then_some((*flag, *value, rest))
            });
            let Some((flag, kind, rest)) = known else {
                // An agent is known by these two words, wherever they stand.
                for sign in ["node-agent", "server"] {
                    if word.contains(sign) {
                        kept.push(sign.to_owned());
                    }
                }
                continue;
            };
            let value = match rest.strip_prefix('=') {
                Some(value) => Some(value),
                None => words.next(),
            };
            let value = value.map(|value| value.trim_matches(['"', '\'']));
            kept.push(match (value, kind) {
                (None, _) => flag.to_owned(),
                (Some(""), _) => format!("{flag}="),
                (Some(value), Value::ConfigMap) => {
                    format!("{flag}={}", self.name(NameKind::ConfigMap, value))
                }
                (Some(value), Value::Duration) if parse_go_duration(value).is_some() => {
                    format!("{flag}={value}")
                }
                (Some(_), Value::Duration) => format!("{flag}={ODD}"),
            });
        }
        push_list(out, kept, |word, out| push_text(out, &word));
    }

    /// The data of a ConfigMap. The first key by name counts, so the pseudonyms keep the order.
    fn data(&mut self, raw: &RawValue, out: &mut String) {
        let mut open = Pairs::open(out);
        for (key, value) in pairs(raw) {
            let key = self.name(NameKind::DataKey, &key);
            let out = open.key(&key);
            match (text(value), self.pass) {
                (Some(value), Pass::Collect) => self.note_config(&value),
                (Some(value), Pass::Write) => {
                    let value = self.config(&value);
                    push_text(out, &value);
                }
                (None, _) => out.push_str(match type_of(value) {
                    Type::Null => "null",
                    Type::Object => "{}",
                    Type::List => "[]",
                    Type::Bare => "0",
                    Type::Text => "\"\\ud800\"",
                }),
            }
        }
        open.close();
    }
}

/// Returns `metadata.name`.
fn name_of(raw: &RawValue) -> String {
    let metadata = pairs(raw)
        .into_iter()
        .find(|(key, value)| key == "metadata" && type_of(value) == Type::Object);
    let name = metadata.and_then(|(_, metadata)| {
        let (_, name) = pairs(metadata).into_iter().find(|(key, _)| key == "name")?;
        text(name)
    });
    name.unwrap_or_default().into_owned()
}

/// What the value of a label that is read says.
#[derive(Clone, Copy)]
enum LabelRule {
    /// A name.
    Names(NameKind),
    /// A value.
    Value,
}

fn label_rule(key: &str) -> Option<LabelRule> {
    if TaskKind::ALL.iter().any(|kind| kind.mover_label() == key) {
        return Some(LabelRule::Names(NameKind::Task));
    }
    match key {
        BACKUP_NAME_LABEL => Some(LabelRule::Names(NameKind::Backup)),
        RESTORE_NAME_LABEL => Some(LabelRule::Names(NameKind::Restore)),
        "velero.io/accepted-by" => Some(LabelRule::Names(NameKind::Node)),
        EXPOSE_ON_GOING_LABEL | "name" | "role" | "component" | "deploy" => Some(LabelRule::Value),
        // Labels are the cluster's; these are all that are read.
        _ => None,
    }
}

/// `v1`, `v2alpha1`.
fn is_version(part: &str) -> bool {
    part.len() <= 12
        && part.starts_with('v')
        && part
            .split(|c: char| c.is_ascii_digit())
            .all(|word| ["", "v", "alpha", "beta"].contains(&word))
}

/// An object that is being written.
struct Pairs<'o> {
    out: &'o mut String,
    separator: &'static str,
}

impl<'o> Pairs<'o> {
    fn open(out: &'o mut String) -> Self {
        Self {
            out,
            separator: "{",
        }
    }

    /// Writes a key; the value goes to what is returned.
    fn key(&mut self, key: &str) -> &mut String {
        self.out.push_str(self.separator);
        self.separator = ",";
        push_text(self.out, key);
        self.out.push(':');
        self.out
    }

    fn close(self) {
        if self.separator == "{" {
            self.out.push('{');
        }
        self.out.push('}');
    }
}

fn push_list<T>(
    out: &mut String,
    elements: impl IntoIterator<Item = T>,
    mut push: impl FnMut(T, &mut String),
) {
    out.push('[');
    for (index, element) in elements.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push(element, out);
    }
    out.push(']');
}
