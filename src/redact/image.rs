//! Images: the version stays, since the rules depend on it; registry, folder and digest do not.

use super::Redactor;
use super::names::NameKind;
use crate::velero::VeleroVersion;

/// Returns an image whose version reads as that of the original.
pub(super) fn image(redactor: &mut Redactor, image: &str) -> String {
    let plain = image.split('@').next().unwrap_or_default();
    let (folder, name) = plain
        .rsplit_once('/')
        .map_or((None, plain), |(folder, name)| (Some(folder), name));
    let mut out = String::new();
    if let Some(folder) = folder {
        let folder = folder.strip_prefix("docker.io/").unwrap_or(folder);
        out.push_str(&redactor.names.of(NameKind::Registry, folder));
        out.push('/');
    }
    match name.split_once(':') {
        Some((name, version)) => {
            out.push_str(&redactor.names.of(NameKind::Image, name));
            out.push(':');
            out.push_str(&tag(redactor, version));
        }
        None => out.push_str(&redactor.names.of(NameKind::Image, name)),
    }
    out
}

/// Returns a tag, or a version of a log, whose numbers are those of the original.
pub(super) fn tag(redactor: &mut Redactor, tag: &str) -> String {
    if VeleroVersion::parse(tag).is_none() || tag.contains(char::is_whitespace) {
        return redactor.names.of(NameKind::Tag, tag);
    }
    let at = numbers_end(tag);
    let (numbers, suffix) = tag.split_at_checked(at).unwrap_or((tag, ""));
    if suffix.is_empty() || is_everybodys(suffix) {
        return tag.to_owned();
    }
    let suffix = suffix.trim_start_matches('-');
    format!("{numbers}-{}", redactor.names.of(NameKind::Tag, suffix))
}

/// Where the part ends that says which release it is: `v1.17.1`, `release-1.17`, `main`.
fn numbers_end(tag: &str) -> usize {
    let word = if tag.starts_with("main") {
        return "main".len();
    } else if tag.starts_with("release-") {
        "release-".len()
    } else {
        usize::from(tag.starts_with('v'))
    };
    let rest = tag.get(word..).unwrap_or_default();
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(rest.len());
    word + end
}

/// Suffixes of Velero's own pre-releases and of builds that everybody can get.
fn is_everybodys(suffix: &str) -> bool {
    let name = suffix
        .trim_start_matches('-')
        .trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    suffix.len() <= 12 && ["rc", "alpha", "beta", "dev", "OADP", "oadp"].contains(&name)
}
