//! Where in an object decoding stopped, and whose object it was.

/// Returns namespace and name of an object that could not be decoded, as far as they can be read.
pub(super) fn best_effort_identity(json: &str) -> (Option<String>, Option<String>) {
    let value: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    let text = |key: &str| {
        value
            .get("metadata")
            .and_then(|metadata| metadata.get(key))
            .and_then(serde_json::Value::as_str)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    (text("namespace"), text("name"))
}

/// Returns serde's words without the position, which means nothing to who reads them.
pub(super) fn words_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rfind(" at line ")
        .and_then(|end| text.get(..end))
        .unwrap_or(&text)
        .to_owned()
}

/// Returns the field at which decoding an object stopped, such as `.status.phase`.
pub(super) fn field_of(error: &serde_json::Error, json: &str) -> String {
    let path = path_of_error(error, json);
    if path.is_empty() {
        "the object".to_owned()
    } else {
        path
    }
}

pub(super) fn path_of_error(error: &serde_json::Error, json: &str) -> String {
    let line_start: usize = json
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    let stop = line_start + error.column();
    // Serde_json stops before a list or object that it only peeked at, and behind every other value.
    let peeked = matches!(json.as_bytes().get(stop), Some(b'[' | b'{'));
    path_at(json, stop + usize::from(peeked))
}

enum Frame<'a> {
    Object { key: &'a str, at_key: AtKey },
    Array { index: usize },
}

#[derive(PartialEq, Eq)]
enum AtKey {
    No,
    Yes,
}

/// Returns the path of the last value that begins before `end`.
fn path_at(json: &str, end: usize) -> String {
    let bytes = json.as_bytes();
    let mut stack: Vec<Frame<'_>> = Vec::new();
    let mut path = String::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at).filter(|_| at < end) {
        match byte {
            b'}' | b']' => {
                stack.pop();
            }
            b',' => match stack.last_mut() {
                Some(Frame::Object { at_key, .. }) => *at_key = AtKey::Yes,
                Some(Frame::Array { index }) => *index += 1,
                None => {}
            },
            b'"' => {
                let close = string_end(bytes, at);
                match stack.last_mut() {
                    Some(Frame::Object { key, at_key }) if *at_key == AtKey::Yes => {
                        *key = json.get(at + 1..close).unwrap_or_default();
                        *at_key = AtKey::No;
                    }
                    Some(Frame::Object { .. } | Frame::Array { .. }) | None => {
                        path = path_of(&stack);
                    }
                }
                at = close;
            }
            b'{' => {
                path = path_of(&stack);
                stack.push(Frame::Object {
                    key: "",
                    at_key: AtKey::Yes,
                });
            }
            b'[' => {
                path = path_of(&stack);
                stack.push(Frame::Array { index: 0 });
            }
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => path = path_of(&stack),
            // Blanks, colons, and the rest of a number or word.
            _ => {}
        }
        at += 1;
    }
    path
}

fn string_end(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

fn path_of(stack: &[Frame<'_>]) -> String {
    stack
        .iter()
        .map(|frame| match frame {
            Frame::Object { key, .. } => format!(".{key}"),
            Frame::Array { index } => format!("[{index}]"),
        })
        .collect()
}
