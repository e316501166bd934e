//! `diagnose`.

use std::io::{self, Write};

use super::super::diagnosis::{Detail, headline_texts, next_command};
use super::{Inline, PAPER, Page, context, finding, gaps, next};
use crate::report::DiagnosisReport;

/// Writes the answer.
pub(in crate::render) fn diagnosis(
    out: &mut dyn Write,
    report: &DiagnosisReport,
) -> io::Result<()> {
    let mut page = Page::default();
    let mut headlines = headline_texts(report, &PAPER, Detail::Everything).into_iter();
    if let Some((_, _, text)) = headlines.next() {
        page.title(&Inline::words(&text));
    }
    context(&mut page, &report.head);
    for (_, _, text) in headlines {
        page.paragraph(&Inline::words(text.trim()));
    }
    for row in &report.findings {
        finding(&mut page, row, report.head.taken_at);
    }
    gaps(&mut page, &report.head);
    // The first finding has told its command already.
    let is_told = report
        .findings
        .first()
        .is_some_and(|row| !row.finding.actions.is_empty());
    if !is_told {
        next(&mut page, next_command(report));
    }
    page.write(out)
}
