//! YAML: one or many documents, each turned into JSON on its own, so that a broken one costs only itself.

use super::json::{Broken, Found, Items, Shape};
use super::place::Place;
use super::transcode::transcode;

/// One document of a YAML text.
pub(super) struct Document<'a> {
    pub(super) text: &'a str,
    /// Where it starts in the file.
    pub(super) place: Place,
}

/// Takes a text apart at its document markers. Documents of nothing but comments and directives are left
/// out.
///
/// A line that starts with `---` or `...` is a marker wherever it stands: YAML allows neither in a scalar
/// at that place.
pub(super) fn documents(text: &str) -> Vec<Document<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut start_line = 1;
    let mut at = 0;
    let mut holds_something = false;
    let mut take = |start: usize, end: usize, line: usize, holds_something: bool| {
        if let Some(text) = text.get(start..end)
            && holds_something
        {
            let place = Place::START.then(line, 1);
            found.push(Document { text, place });
        }
    };
    for (number, line) in (1_usize..).zip(text.split_inclusive('\n')) {
        if is_marker(line, "---") {
            take(start, at, start_line, holds_something);
            (start, start_line) = (at, number);
            holds_something = is_content(line.get(3..).unwrap_or_default());
        } else if is_marker(line, "...") {
            take(start, at, start_line, holds_something);
            (start, start_line) = (at.saturating_add(line.len()), number.saturating_add(1));
            holds_something = false;
        } else {
            holds_something = holds_something || is_content(line);
        }
        at = at.saturating_add(line.len());
    }
    take(start, text.len(), start_line, holds_something);
    found
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// Whether a line is more than blanks, a comment or a directive.
fn is_content(line: &str) -> bool {
    let trimmed = line.trim_start();
    !trimmed.is_empty() && !trimmed.starts_with('#') && !line.starts_with('%')
}

/// A document as JSON.
pub(super) struct Converted {
    pub(super) json: String,
    /// Why the JSON breaks off, if it does; the place is in the file.
    pub(super) broken: Option<Broken>,
    /// Objects of a list that are left out of the JSON; the places are in the file.
    pub(super) lost: Vec<Broken>,
}

/// Turns a document into JSON. Of a broken list, the objects that are whole are kept.
pub(super) fn convert(document: &Document<'_>, depth: usize) -> Converted {
    let mut json = String::new();
    let Err(broken) = transcode(document.text, depth, &mut json) else {
        return Converted {
            json,
            broken: None,
            lost: Vec::new(),
        };
    };
    object_by_object(document, depth).unwrap_or_else(|| Converted {
        json,
        broken: Some(placed(broken, document.place)),
        lost: Vec::new(),
    })
}

/// Adds to the outside of a converted document what only its YAML tells.
///
/// A list that is cut off may still be YAML, so its last object may be half of one: it is left out if the
/// reading ended early, or if the `kind` that kubectl writes after the items is missing.
pub(super) fn found<'a>(
    mut found: Found<'a>,
    document: &Document<'_>,
    converted: &Converted,
    ends_early: bool,
) -> Found<'a> {
    found.broken.clone_from(&converted.broken);
    found.lost.clone_from(&converted.lost);
    if found.broken.is_some() || found.outline.shape != Shape::Object {
        return found;
    }
    match &mut found.outline.items {
        Items::Listed(items) if found.outline.kind.is_none() || ends_early => {
            items.pop();
        }
        Items::Missing | Items::Odd if ends_early => {}
        Items::Missing | Items::Null | Items::Odd | Items::Listed(_) => return found,
    }
    found.broken = Some(Broken {
        place: Place::after(document.text).within(document.place),
        message: "the document seems to be cut off here".to_owned(),
    });
    found
}

fn placed(broken: Broken, base: Place) -> Broken {
    Broken {
        place: broken.place.within(base),
        message: broken.message,
    }
}

/// Reads a list the way kubectl writes it: `items:` and then an object at each `- ` of one indentation.
/// `None` if the document has another form, or if no object of it is whole.
fn object_by_object(document: &Document<'_>, depth: usize) -> Option<Converted> {
    let list = take_apart(document.text)?;
    let mut json = String::from("{\"items\":[");
    let mut lost = Vec::new();
    let mut kept: usize = 0;
    for (line, text) in &list.items {
        let mut one = String::new();
        match transcode(text, depth, &mut one) {
            // A list of one object: `[{…}]`.
            Ok(()) => {
                let object = one
                    .strip_prefix('[')
                    .and_then(|rest| rest.strip_suffix(']'))?;
                if kept > 0 {
                    json.push(',');
                }
                json.push_str(object);
                kept = kept.saturating_add(1);
            }
            Err(broken) => {
                let place = Place::START.then(*line, 1).within(document.place);
                lost.push(placed(broken, place));
            }
        }
    }
    if kept == 0 || lost.is_empty() {
        return None;
    }
    json.push(']');
    let mut rest = String::new();
    let outside = transcode(&list.outside, depth, &mut rest)
        .ok()
        .and_then(|()| {
            rest.strip_prefix('{')
                .and_then(|fields| fields.strip_suffix('}'))
                .filter(|fields| !fields.is_empty())
        });
    if let Some(fields) = outside {
        json.push(',');
        json.push_str(fields);
    }
    json.push('}');
    Some(Converted {
        json,
        broken: None,
        lost,
    })
}

/// A list as kubectl writes it.
struct ListText<'a> {
    /// The objects, each with the line of the document that it starts at.
    items: Vec<(usize, &'a str)>,
    /// All other fields of the list.
    outside: String,
}

fn take_apart(text: &str) -> Option<ListText<'_>> {
    let mut items = Vec::new();
    let mut outside = String::new();
    let mut indent: Option<usize> = None;
    let mut inside = false;
    let mut start: Option<(usize, usize)> = None;
    let mut at: usize = 0;
    for (number, line) in (1_usize..).zip(text.split_inclusive('\n')) {
        let here = at;
        at = at.saturating_add(line.len());
        if !inside {
            inside = indent.is_none() && line.trim_end() == "items:";
            if !inside {
                outside.push_str(line);
            }
            continue;
        }
        if !is_content(line) {
            continue;
        }
        let depth = line
            .len()
            .saturating_sub(line.trim_start_matches(' ').len());
        let starts_item = line.trim_start_matches(' ').starts_with("- ");
        let wanted = *indent.get_or_insert(depth);
        if depth == wanted && starts_item {
            if let Some((line, from)) = start.replace((number, here)) {
                items.push((line, text.get(from..here)?));
            }
        } else if depth <= wanted && start.is_some() {
            if let Some((line, from)) = start.take() {
                items.push((line, text.get(from..here)?));
            }
            inside = false;
            outside.push_str(line);
        } else if start.is_none() {
            return None;
        }
    }
    if let Some((line, from)) = start {
        items.push((line, text.get(from..)?));
    }
    (!items.is_empty()).then_some(ListText { items, outside })
}

#[cfg(test)]
mod tests {
    use super::{convert, documents};

    fn texts(text: &str) -> Vec<(String, &str)> {
        documents(text)
            .into_iter()
            .map(|document| (document.place.to_string(), document.text))
            .collect()
    }

    #[test]
    fn documents_are_taken_apart_at_their_markers() {
        assert_eq!(
            texts("# head\n---\na: 1\n--- # two\nb: |\n  ---\n  x\n...\n%YAML 1.2\n---\n---\nc: 3"),
            [
                ("line 2, column 1".to_owned(), "---\na: 1\n"),
                (
                    "line 4, column 1".to_owned(),
                    "--- # two\nb: |\n  ---\n  x\n"
                ),
                ("line 11, column 1".to_owned(), "---\nc: 3"),
            ]
        );
        assert_eq!(texts("\n# nothing\n").len(), 0);
    }

    #[test]
    fn a_broken_object_of_a_list_costs_only_itself() {
        let list = "apiVersion: v1\nitems:\n- kind: A\n  x: 1\n- kind: B\n  x: [1\n- kind: C\nkind: List\n";
        for text in [
            list.to_owned(),
            list.replace("\n-", "\n  -").replace("\n  x", "\n    x"),
        ] {
            let documents = documents(&text);
            let converted = convert(&documents[0], 64);
            assert_eq!(
                converted.json,
                r#"{"items":[{"kind":"A","x":1},{"kind":"C"}],"apiVersion":"v1","kind":"List"}"#,
                "{text}"
            );
            assert_eq!(converted.lost.len(), 1);
            assert!(converted.broken.is_none());
        }
    }
}
