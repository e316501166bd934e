//! What may have been meant by a name that names nothing.

/// How many near names are suggested.
const SUGGESTED: usize = 5;

/// Returns the candidates nearest to a text: those that hold it or begin alike first, then by edits.
pub(crate) fn nearest(
    asked: &str,
    candidates: impl IntoIterator<Item = (String, String)>,
) -> Vec<String> {
    // The table of edits grows with the square of the length; nobody types more.
    let asked: String = asked.to_ascii_lowercase().chars().take(80).collect();
    let mut ranked: Vec<(usize, String)> = candidates
        .into_iter()
        .filter_map(|(name, text)| {
            let name: String = name.to_ascii_lowercase().chars().take(80).collect();
            let edits = edits(&asked, &name);
            let holds = name.contains(&asked) || asked.contains(&name);
            // Up to a third of the letters may be mistyped; a part of a name is always near.
            let allowed = asked.chars().count() / 3 + 1;
            if holds {
                Some((0, text))
            } else if edits <= allowed {
                Some((edits, text))
            } else {
                None
            }
        })
        .collect();
    ranked.sort();
    ranked
        .into_iter()
        .map(|(_, text)| text)
        .take(SUGGESTED)
        .collect()
}

/// Returns how many letters have to be put in, taken out or changed (Levenshtein).
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        let mut left = index + 1;
        next.push(left);
        for (pair, other) in row.windows(2).zip(&to) {
            let [diagonal, above] = pair else { continue };
            let changed = diagonal + usize::from(letter != *other);
            left = changed.min(above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted_as_a_typist_makes_them() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "ab"), 2);
        assert_eq!(edits("same", "same"), 0);
    }

    #[test]
    fn near_names_are_those_that_hold_the_text_and_those_mistyped() {
        let all = ["backup-1-abc", "backup-1-abd", "nightly"]
            .map(|name| (name.to_owned(), name.to_owned()));
        assert_eq!(nearest("abc", all.clone()), ["backup-1-abc"]);
        assert_eq!(nearest("nighlty", all.clone()), ["nightly"]);
        assert_eq!(nearest("zzz", all), Vec::<String>::new());
    }
}
