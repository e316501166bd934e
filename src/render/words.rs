//! Words that several views use: ages, counts, times.

use jiff::Timestamp;

/// Absent.
pub(super) const NONE: &str = "<none>";
/// Not known.
pub(super) const UNKNOWN: &str = "<unknown>";

/// Writes a duration as kubectl writes ages (k8s.io/apimachinery pkg/util/duration, `HumanDuration`).
pub(super) fn age(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let minutes = seconds / 60;
    let hours = minutes / 60;
    let days = hours / 24;
    let two = |big: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 {
            format!("{big}{unit}")
        } else {
            format!("{big}{unit}{small}{small_unit}")
        }
    };
    if seconds < 120 {
        format!("{seconds}s")
    } else if minutes < 10 {
        two(minutes, "m", seconds % 60, "s")
    } else if minutes < 180 {
        format!("{minutes}m")
    } else if hours < 8 {
        two(hours, "h", minutes % 60, "m")
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        two(days, "d", hours % 24, "h")
    } else if days < 2 * 365 {
        format!("{days}d")
    } else if days < 8 * 365 {
        two(days / 365, "y", days % 365, "d")
    } else {
        format!("{}y", days / 365)
    }
}

/// Writes a time as the documents do.
pub(super) fn time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Writes a number and its noun: `1 node`, `2 nodes`.
pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_those_of_kubectl() {
        let ages = [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (150, "2m30s"),
            (600, "10m"),
            (2 * 3600, "120m"),
            (3 * 3600, "3h"),
            (3 * 3600 + 300, "3h5m"),
            (18 * 3600, "18h"),
            (47 * 3600, "47h"),
            (3 * 86_400 + 4 * 3600, "3d4h"),
            (30 * 86_400, "30d"),
            (800 * 86_400, "2y70d"),
            (9 * 365 * 86_400, "9y"),
        ];
        for (seconds, written) in ages {
            assert_eq!(age(seconds), written);
        }
    }

    #[test]
    fn a_time_in_the_future_has_no_negative_age() {
        assert_eq!(age(-5), "0s");
    }

    #[test]
    fn one_node_is_not_one_nodes() {
        assert_eq!(count(1, "node", "nodes"), "1 node");
        assert_eq!(count(0, "node", "nodes"), "0 nodes");
    }
}
