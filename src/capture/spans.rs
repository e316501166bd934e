//! Where a borrowed piece of a text lies in it.

use std::ops::Range;

/// Returns the byte range of `part` in `whole`, if `part` is borrowed from it.
///
/// This is what lets a list of many megabytes be held once: a JSON parser hands out borrowed pieces,
/// and only their ranges are kept.
#[must_use]
pub(crate) fn span_of(whole: &str, part: &str) -> Option<Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let end = start.checked_add(part.len())?;
    (end <= whole.len()).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::span_of;

    #[test]
    fn a_borrowed_piece_is_found_where_it_lies() {
        let whole = "abcdef";
        assert_eq!(span_of(whole, &whole[2..4]), Some(2..4));
        assert_eq!(span_of(whole, whole), Some(0..6));
    }

    #[test]
    fn a_piece_of_another_text_is_not_found() {
        let both = String::from("abcdef");
        let (left, right) = both.split_at(3);
        assert_eq!(span_of(left, right), None);
        assert_eq!(span_of(right, left), None);
    }
}
