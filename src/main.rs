//! `kubectl velero-slots`.

use std::process::ExitCode;

fn main() -> ExitCode {
    velero_slots::cli::run()
}
