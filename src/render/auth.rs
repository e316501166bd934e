//! `auth` for people.

use std::io::{self, Write};

use super::Terminal;
use super::columns::{Column, Room, Table};
use super::screen::{Line, Span, Style, wrap, write_lines};
use super::words::UNKNOWN;
use crate::report::{AuthReport, Need, RightRow, RightScope, RoleKind};

/// Columns go in this order: FOR, NEED, ROLE.
const COLUMNS: [Column; 6] = [
    Column::always("GRANTED"),
    Column::always("RIGHT"),
    Column::always("IN"),
    Column::until("ROLE", 2),
    Column::until("NEED", 1),
    Column::until("FOR", 0),
];

/// Writes a row for each right.
pub(super) fn table(
    out: &mut dyn Write,
    report: &AuthReport,
    terminal: &Terminal,
) -> io::Result<()> {
    let mut lines = vec![Line::new(
        &format!(
            "{}{}namespace {}",
            report.server,
            terminal.marks.dot(),
            report.namespace
        ),
        Style::Plain,
    )];
    let (mark, style, text) = if report.can_read() {
        (
            terminal.marks.good(),
            Style::Good,
            "every right that reading needs is granted",
        )
    } else {
        (
            terminal.marks.warn(),
            Style::Warn,
            "rights that reading needs are missing: answers will be unknown in part",
        )
    };
    lines.extend(wrap(
        &Line::new(&format!("{mark} "), style),
        text,
        style,
        terminal,
    ));
    let mut table = Table::new(&COLUMNS);
    for right in &report.rows {
        table.row(row(right, &report.namespace));
    }
    lines.extend(table.lines(terminal, Room::Terminal));
    write_lines(out, &lines, terminal)
}

fn row(row: &RightRow, namespace: &str) -> [Span; 6] {
    let plain = |text: &str| Span::new(text, Style::Plain);
    let granted = match row.granted {
        Some(true) => plain("yes"),
        Some(false) => Span::new("no", Style::Warn),
        None => Span::new(UNKNOWN, Style::Unknown),
    };
    let scope = match row.right.scope {
        RightScope::Velero => namespace,
        RightScope::Cluster => "the cluster",
    };
    let role = match row.right.role {
        RoleKind::Viewer => "viewer",
        RoleKind::Operator => "operator",
    };
    let need = match row.right.need {
        Need::Required => "required",
        Need::Optional => "optional",
    };
    [
        granted,
        plain(&format!("{} {}", row.verb, row.right.path())),
        plain(scope),
        plain(role),
        plain(need),
        plain(row.right.feature),
    ]
}
