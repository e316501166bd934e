//! Files of a folder or archive that are passed over though their names say that something is in them: told once,
//! however many they are.

/// How many are named; the rest is counted.
const NAMED: usize = 3;

/// Files that are passed over, by why.
#[derive(Debug, Default)]
pub(super) struct PassedOver {
    /// Packed in a form that is not read.
    pub(super) packed: Names,
    /// Parts of logs that were rotated away.
    pub(super) rotated: Names,
}

/// The first names of many, and how many there are.
#[derive(Debug, Default)]
pub(super) struct Names {
    first: Vec<String>,
    count: usize,
}

impl Names {
    /// Adds a name, as messages show it.
    pub(super) fn add(&mut self, shown: &str) {
        self.count = self.count.saturating_add(1);
        if self.first.len() < NAMED {
            self.first.push(shown.to_owned());
        }
    }

    /// Names them for the begin of a sentence; `None` if there are none.
    pub(super) fn told(&self) -> Option<String> {
        let more = self.count.saturating_sub(self.first.len());
        let names = self.first.join(", ");
        match (self.count, more) {
            (0, _) => None,
            (_, 0) => Some(names),
            (_, more) => Some(format!("{names} and {more} more")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn a_thousand_names_are_told_in_one_line() {
        let mut names = Names::default();
        assert_eq!(names.told(), None);
        for number in 1..=1000 {
            names.add(&format!("{number}.log.xz"));
        }
        assert_eq!(
            names.told().as_deref(),
            Some("1.log.xz, 2.log.xz, 3.log.xz and 997 more")
        );
    }
}
