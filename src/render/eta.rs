//! When a task is expected to end, in words.

use jiff::Timestamp;

use super::screen::{Span, Style};
use super::words::age;
use crate::report::{Ending, Eta};

/// Writes when a task is expected to end: in half of the simulated runs, and in nine of ten.
pub(super) fn eta(eta: &Eta, now: Timestamp) -> Span {
    if eta.ending == Ending::NotKnown {
        return Span::new("unknown", Style::Unknown);
    }
    let Some(half) = eta.end else {
        return Span::new("never", Style::Warn);
    };
    match eta.ending {
        Ending::DeadlineWaiting | Ending::DeadlineRunning => {
            let text = format!("cancelled {}", from_now(half, now));
            return Span::new(&text, Style::Warn);
        }
        Ending::Completed
        | Ending::PrepareTimeout
        | Ending::EndedByALook
        | Ending::EndedByRestart
        | Ending::NoSlotLeft
        | Ending::NobodyLooks
        | Ending::MissingOwner
        | Ending::Target
        | Ending::NeverEnds
        | Ending::NoRoomInQueue
        | Ending::NotKnown => {}
    }
    let half = from_now(half, now);
    let most = eta
        .end_p90
        .map_or_else(|| "never".to_owned(), |most| from_now(most, now));
    let most = most.trim_start_matches("in ");
    if half.ends_with(&format!(" {most}")) {
        Span::new(&half, Style::Plain)
    } else {
        Span::new(&format!("{half}..{most}"), Style::Plain)
    }
}

/// Writes an instant as `in 5m` or `5m ago`.
pub(super) fn from_now(at: Timestamp, now: Timestamp) -> String {
    let seconds = at.duration_since(now).as_secs();
    if seconds >= 0 {
        format!("in {}", age(seconds))
    } else {
        format!("{} ago", age(seconds.saturating_neg()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_767_355_200 + seconds).unwrap()
    }

    #[test]
    fn an_expectation_is_a_range_a_cancellation_or_never() {
        let expected = |end: Option<i64>, p90: Option<i64>, ending| {
            let one = Eta {
                start: None,
                ending,
                end: end.map(at),
                end_p90: p90.map(at),
                deadline: None,
            };
            eta(&one, at(0)).text().to_owned()
        };
        let completed = Ending::Completed;
        assert_eq!(expected(Some(60), Some(90), completed), "in 60s..90s");
        assert_eq!(expected(Some(60), Some(60), completed), "in 60s");
        assert_eq!(expected(Some(60), None, completed), "in 60s..never");
        assert_eq!(expected(None, None, Ending::NoSlotLeft), "never");
        assert_eq!(
            expected(Some(600), Some(600), Ending::DeadlineWaiting),
            "cancelled in 10m"
        );
    }
}
