//! A thread with a stack for nested YAML.

use std::io;

/// The stack that one hundred levels of YAML need, in bytes, with room to spare: the parser goes down a
/// few functions for each level, and an unoptimised build takes some 30 kB for that. Pages that are not
/// touched cost nothing.
const STACK: usize = 64 * 1024 * 1024;

/// Runs `work` on a thread with enough stack for [`super::transcode::transcode`].
pub(super) fn on_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new()
            .name("yaml".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, work)?;
        Ok(worker
            .join()
            .unwrap_or_else(|payload| std::panic::resume_unwind(payload)))
    })
}
