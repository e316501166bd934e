//! What is left to chance.

use super::Run;
use crate::simulate::EXCEPTION_SECONDS;
use crate::simulate::model::{LANES, NEVER, TaskSpec};
use crate::simulate::random::Question;

impl<'m> Run<'m> {
    /// Gives a task without a node one: the scheduler's choice is not known.
    pub(super) fn place(&mut self, id: u32) {
        let nodes = self.model.nodes.len();
        let from = self.chance.draw(Question::Node, id, i64::from(nodes));
        let from = u32::try_from(from).unwrap_or(0);
        let node = (0..nodes)
            .map(|step| (from + step) % nodes.max(1))
            .find(|node| self.model.nodes.at(*node).works);
        if let Some(node) = node {
            self.tasks.at_mut(id).lane = node * LANES + self.model.tasks.at(id).kind;
        }
    }

    pub(super) fn duration(&self, id: u32) -> i64 {
        let group = self.group(id);
        let count = i64::try_from(group.len()).unwrap_or(i64::MAX);
        let index = self.chance.draw(Question::Duration, id, count);
        usize::try_from(index)
            .ok()
            .and_then(|index| group.get(index))
            .copied()
            .unwrap_or(NEVER)
    }

    pub(super) fn group(&self, id: u32) -> &'m [i64] {
        usize::try_from(self.model.tasks.at(id).group)
            .ok()
            .and_then(|group| self.model.groups.get(group))
            .map_or(&[], |group| group.samples.as_slice())
    }

    /// How long a task still runs that has run this long: like those that took longer; where none did, as
    /// long as it has run already.
    pub(super) fn beyond(&self, id: u32, _spec: &TaskSpec, elapsed: i64) -> i64 {
        let group = self.group(id);
        let longer = group
            .get(group.partition_point(|sample| *sample <= elapsed)..)
            .unwrap_or_default();
        let count = i64::try_from(longer.len()).unwrap_or(i64::MAX);
        let index = self.chance.draw(Question::Duration, id, count);
        let whole = usize::try_from(index)
            .ok()
            .and_then(|index| longer.get(index))
            .copied();
        match whole {
            Some(whole) => whole - elapsed,
            None if group.is_empty() => NEVER,
            None => elapsed.max(1000),
        }
    }

    /// How long an Accepted task still takes to become Prepared; `None` where that is not known: no other
    /// took so long, and Expose may take as long as the prepare timeout.
    pub(super) fn prepare_beyond(&self, id: u32, age: i64) -> Option<i64> {
        let longer = self.model.prepare.partition_point(|sample| *sample <= age);
        let longer = self.model.prepare.get(longer..).unwrap_or_default();
        let count = i64::try_from(longer.len()).unwrap_or(i64::MAX);
        let index = self.chance.draw(Question::Prepare, id, count);
        match usize::try_from(index)
            .ok()
            .and_then(|index| longer.get(index))
        {
            Some(whole) => Some(whole - age),
            // Young enough to be no exception: as long again.
            None if age < EXCEPTION_SECONDS * 1000 => Some(age),
            None => None,
        }
    }
}
