//! Prose: messages, log lines, refusals.
//!
//! What may stay is listed, not what must go: names of the capture become their pseudonyms, words of the
//! vocabulary, numbers, times and versions stay, and every other word gets a pseudonym of its own. So a
//! token, a key or a host that nobody has thought of does not get through either.

use super::Redactor;
use super::image::tag;
use super::markers::markers;
use super::names::{InProse, NameKind};
use super::vocabulary;
use crate::velero::{VeleroVersion, parse_go_duration};

/// What stands for a secret.
const CUT: &str = "[cut]";

/// Words before a `=` or `:` that say that a secret follows, as ends of a longer word too.
const SECRET_KEYS: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "key",
    "credential",
    "credentials",
    "authorization",
    "cookie",
];

impl Redactor {
    /// Returns prose without names and secrets.
    pub(super) fn prose(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if self.ordinary_names
                && let Some((marker, after)) = marker(rest, &out)
            {
                out.push_str(marker);
                rest = after;
            } else if let Some(after) = pem(rest) {
                self.secrets_cut += 1;
                out.push_str(CUT);
                rest = after;
            } else if first.is_alphanumeric() || rest.starts_with("::") {
                rest = self.word_at(rest, &mut out);
            } else {
                out.push(match first {
                    '\n' | '\t' | '\r' | ' '..='~' => first,
                    _ if first.is_whitespace() || first.is_control() => ' ',
                    _ => '?',
                });
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
            }
        }
        out
    }

    /// Takes one word in, and what belongs to it; returns what follows.
    fn word_at<'t>(&mut self, rest: &'t str, out: &mut String) -> &'t str {
        if let Some((time, after)) = time(rest) {
            out.push_str(time);
            return after;
        }
        if let Some((address, after)) = ipv6(rest) {
            out.push_str(&self.names.of(NameKind::Ip, address));
            return after;
        }
        let (word, after) = run(rest);
        if word.is_empty() {
            // "::" without an address.
            out.push_str("::");
            return rest.get(2..).unwrap_or_default();
        }
        if let Some(address) = after.strip_prefix("://") {
            let end = address
                .find(|c: char| {
                    c.is_whitespace()
                        || matches!(
                            c,
                            '"' | '\'' | '`' | '<' | '>' | ')' | ']' | '}' | ',' | ';' | '\\'
                        )
                })
                .unwrap_or(address.len());
            let (address, after) = address.split_at_checked(end).unwrap_or((address, ""));
            out.push_str(&self.names.of(NameKind::Url, &format!("{word}://{address}")));
            return after;
        }
        if let Some((domain, after)) = after.strip_prefix('@').map(run)
            && domain.contains('.')
        {
            out.push_str(&self.names.of(NameKind::Email, &format!("{word}@{domain}")));
            return after;
        }
        out.push_str(&self.word(word));
        if word == "User"
            && let Some((user, after)) = after.strip_prefix(" \"").and_then(|a| a.split_once('"'))
        {
            out.push_str(" \"");
            out.push_str(&self.names.of(NameKind::User, user));
            out.push('"');
            return after;
        }
        self.secret_after(word, after, out)
    }

    /// Cuts what follows a word that announces a secret; returns what follows it.
    fn secret_after<'t>(&mut self, word: &str, after: &'t str, out: &mut String) -> &'t str {
        let lower = word.to_ascii_lowercase();
        let last = lower.rsplit(['-', '_', '.']).next().unwrap_or(&lower);
        let (between, value) = if last == "bearer" || last == "basic" {
            match after.strip_prefix(' ') {
                Some(value) => (" ", value),
                None => return after,
            }
        } else if SECRET_KEYS.iter().any(|key| last.ends_with(key)) {
            match assigned(after) {
                Some(parts) => parts,
                None => return after,
            }
        } else {
            return after;
        };
        let (secret, after) = until_blank(value);
        if value.starts_with(CUT) {
            out.push_str(between);
            return value;
        }
        // "Basic" is an ordinary word, too.
        if secret.is_empty() || (last == "basic" && vocabulary::contains(secret)) {
            out.push_str(between);
            return value;
        }
        out.push_str(between);
        out.push_str(CUT);
        self.secrets_cut += 1;
        let scheme = secret.to_ascii_lowercase();
        match after.strip_prefix(' ') {
            Some(value) if scheme == "bearer" || scheme == "basic" => {
                out.push(' ');
                out.push_str(CUT);
                until_blank(value).1
            }
            Some(_) | None => after,
        }
    }

    /// Returns what stands for one word.
    pub(super) fn word(&mut self, word: &str) -> String {
        let is_ordinary = vocabulary::contains(word);
        match self.names.in_prose(word) {
            InProse::Name(pseudonym) => return pseudonym,
            InProse::Weak(pseudonym) if !is_ordinary => return pseudonym,
            InProse::Weak(_) | InProse::No => {}
        }
        if is_ordinary || is_number(word) {
            return word.to_owned();
        }
        if is_ipv4(word) {
            return self.names.of(NameKind::Ip, word);
        }
        if word.starts_with(|c: char| c.is_ascii_digit() || c == 'v')
            && word.contains('.')
            && VeleroVersion::parse(word).is_some()
        {
            return tag(self, word);
        }
        if let Some((path, line)) = word.rsplit_once('.')
            && line == "go"
            && path.split('_').all(vocabulary::contains)
        {
            return word.to_owned();
        }
        let looks_like_a_host = word.split('.').count() > 1
            && word
                .rsplit('.')
                .next()
                .is_some_and(|top| top.len() > 1 && top.bytes().all(|b| b.is_ascii_lowercase()));
        self.names.of(
            if looks_like_a_host {
                NameKind::Host
            } else {
                NameKind::Word
            },
            word,
        )
    }
}

/// Takes a run of the characters that names are made of; a mark at its end belongs to the sentence.
fn run(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.')))
        .unwrap_or(text.len());
    let whole = text.get(..end).unwrap_or_default();
    let word = whole.trim_end_matches(['-', '_', '.']);
    text.split_at_checked(word.len()).unwrap_or((text, ""))
}

/// A text that a rule looks for, at the beginning of `rest`. A marker in the middle of a word is none.
fn marker<'t>(rest: &'t str, before: &str) -> Option<(&'t str, &'t str)> {
    if before.ends_with(|c: char| c.is_alphanumeric()) {
        return None;
    }
    let found = markers()
        .filter(|marker| {
            rest.strip_prefix(marker).is_some_and(|after| {
                marker.ends_with(|c: char| !c.is_alphanumeric())
                    || !after.starts_with(|c: char| c.is_alphanumeric() || c == '-')
            })
        })
        .max_by_key(|marker| marker.len())?;
    rest.split_at_checked(found.len())
}

/// Skips a PEM block, whole or cut.
fn pem(rest: &str) -> Option<&str> {
    let inside = rest.strip_prefix("-----BEGIN ")?;
    let Some(end) = inside.find("-----END ") else {
        return Some("");
    };
    let tail = inside.get(end + "-----END ".len()..).unwrap_or_default();
    Some(tail.split_once("-----").map_or("", |(_, after)| after))
}

/// A time in RFC 3339.
fn time(rest: &str) -> Option<(&str, &str)> {
    if !rest.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, 'T' | 'Z' | ':' | '.' | '+' | '-')))
        .unwrap_or(rest.len());
    let text = rest.get(..end)?.trim_end_matches([':', '.', '-', '+']);
    let is_time = (20..=40).contains(&text.len())
        && ends_word(rest, text.len())
        && text.parse::<jiff::Timestamp>().is_ok();
    is_time.then(|| rest.split_at_checked(text.len()))?
}

/// Whether a word ends at a place.
fn ends_word(text: &str, at: usize) -> bool {
    !text
        .get(at..)
        .is_some_and(|after| after.starts_with(char::is_alphanumeric))
}

/// An IPv6 address.
fn ipv6(rest: &str) -> Option<(&str, &str)> {
    let end = rest
        .find(|c: char| !(c.is_ascii_hexdigit() || c == ':'))
        .unwrap_or(rest.len());
    let text = rest.get(..end)?;
    // A colon behind an address is one of the sentence.
    let text = if text.ends_with("::") {
        text
    } else {
        text.trim_end_matches(':')
    };
    let groups: Vec<&str> = text.split(':').collect();
    let fits = text.len() <= 45
        && ends_word(rest, text.len())
        && text.contains(|c: char| c.is_ascii_hexdigit())
        && groups.len() <= 9
        && groups.iter().all(|group| group.len() <= 4)
        && (groups.len() == 8 || (groups.len() >= 3 && text.contains("::")));
    if !fits {
        return None;
    }
    rest.split_at_checked(text.len())
}

fn is_ipv4(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    parts.len() == 4
        && parts
            .iter()
            .all(|part| part.len() <= 3 && part.parse::<u8>().is_ok())
}

/// Units behind a number.
const UNITS: [&str; 24] = [
    "", "s", "ms", "us", "ns", "m", "h", "d", "k", "K", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "B",
    "KB", "MB", "GB", "TB", "MiB", "GiB",
];

/// A number of at most ten digits, with a unit or without, or a duration. What is longer may be the number
/// of an account.
pub(super) fn is_number(word: &str) -> bool {
    if word.len() > 20 || !word.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let end = word
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(word.len());
    let Some((digits, unit)) = word.split_at_checked(end) else {
        return false;
    };
    let plain = digits.len() <= 10 && digits.matches('.').count() <= 1 && UNITS.contains(&unit);
    plain || (digits.len() <= 10 && parse_go_duration(word).is_some())
}

/// What stands between a key and its value: quotes, blanks, one `=` or `:`.
fn assigned(after: &str) -> Option<(&str, &str)> {
    let is_filler = |c: char| matches!(c, '"' | '\'' | '`' | '\\' | ' ');
    let value = after
        .trim_start_matches(is_filler)
        .strip_prefix(['=', ':'])?
        .trim_start_matches(is_filler);
    after.split_at_checked(after.len() - value.len())
}

/// Takes a value up to the next blank, quote or separator.
fn until_blank(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| {
            c.is_whitespace()
                || matches!(
                    c,
                    '"' | '\'' | '`' | '\\' | ',' | ';' | '&' | ')' | '}' | ']'
                )
        })
        .unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}
