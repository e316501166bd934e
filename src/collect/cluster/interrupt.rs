//! Ctrl-C while a reading is under way: the answers that are still out are given up, and what is known is told.

use std::sync::Arc;

use tokio::sync::watch;

/// Tells readings that the user wants to see what is known by now.
#[derive(Clone, Debug)]
pub struct Interrupt {
    raised: Arc<watch::Sender<State>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Quiet,
    Raised,
}

impl Default for Interrupt {
    fn default() -> Self {
        Self {
            raised: Arc::new(watch::Sender::new(State::Quiet)),
        }
    }
}

impl Interrupt {
    /// Ends the readings that know of it, with what they have.
    pub fn raise(&self) {
        self.raised.send_replace(State::Raised);
    }

    /// Returns whether it was raised.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        *self.raised.borrow() == State::Raised
    }

    /// Waits until it is raised.
    pub async fn raised(&self) {
        let mut states = self.raised.subscribe();
        if states
            .wait_for(|state| *state == State::Raised)
            .await
            .is_err()
        {
            // The sender is our own, and so never gone.
            std::future::pending::<()>().await;
        }
    }
}
