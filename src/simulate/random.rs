//! Chance that repeats: the same seed, run and question give the same number, in whatever order they are
//! asked. So the same task has the same timer phase and the same duration under every design, and two
//! designs differ by the design alone.

/// What a number is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// The phase of a task's timer.
    Phase,
    /// How long a task runs.
    Duration,
    /// How long a task takes from Accepted to Prepared.
    Prepare,
    /// The node of a task that has none.
    Node,
    /// The minute phase of a node's periodic look.
    Minute,
    /// When a New task is looked at.
    NewPhase,
    /// How soon a task that is about to end does.
    Ending,
}

/// The chance of one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    bits: u64,
    run: u32,
}

impl Chance {
    /// The chance of run `run` under a seed.
    pub(super) fn of(seed: u64, run: u32) -> Self {
        Self {
            bits: mix(seed ^ mix(u64::from(run).wrapping_add(0x5851_F42D_4C95_7F2D))),
            run,
        }
    }

    /// Returns the number of the run.
    pub(super) const fn run(self) -> u32 {
        self.run
    }

    /// Draws a number from 0 up to and without `below`; 0 where `below` is not above 0.
    pub(super) fn draw(self, question: Question, about: u32, below: i64) -> i64 {
        let code = match question {
            Question::Phase => 1,
            Question::Duration => 2,
            Question::Prepare => 3,
            Question::Node => 4,
            Question::Minute => 5,
            Question::NewPhase => 6,
            Question::Ending => 7,
        };
        let bits = mix(self.bits ^ mix((u64::from(about) << 8) | code));
        let bits = i64::try_from(bits >> 1).unwrap_or(0);
        if below <= 0 { 0 } else { bits % below }
    }
}

/// The finaliser of `SplitMix64`: every bit of the answer depends on every bit of the question.
const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_question_has_the_same_answer_and_another_run_another() {
        let draw = |seed, run| Chance::of(seed, run).draw(Question::Phase, 7, 1_000_000);
        assert_eq!(draw(1, 0), draw(1, 0));
        assert_ne!(draw(1, 0), draw(1, 1));
        assert_ne!(draw(1, 0), draw(2, 0));
    }

    #[test]
    fn the_numbers_fill_their_range() {
        let mut seen = [0_u32; 10];
        for about in 0..10_000 {
            let number = Chance::of(0, 0).draw(Question::Duration, about, 10);
            seen[usize::try_from(number).unwrap()] += 1;
        }
        assert!(
            seen.iter().all(|count| (800..1200).contains(count)),
            "{seen:?}"
        );
    }
}
