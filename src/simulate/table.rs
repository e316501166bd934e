//! A list whose indices are handed out by the model, as 32-bit numbers.

/// A list with 32-bit indices.
#[derive(Clone, Debug)]
pub(super) struct Table<T>(Vec<T>);

impl<T> Table<T> {
    pub(super) const fn new(items: Vec<T>) -> Self {
        Self(items)
    }

    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn ids(&self) -> std::ops::Range<u32> {
        0..self.len()
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "every index comes from the model that made the table; a bounds check that is answered with a default would hide a wrong one"
    )]
    pub(super) fn at(&self, id: u32) -> &T {
        &self.0[id as usize]
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "every index comes from the model that made the table; a bounds check that is answered with a default would hide a wrong one"
    )]
    pub(super) fn at_mut(&mut self, id: u32) -> &mut T {
        &mut self.0[id as usize]
    }
}
