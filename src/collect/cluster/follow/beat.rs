//! Whether the server is there, what time it is there, and whether it knows the user.

use std::rc::Rc;
use std::time::Duration;

use http::Request;
use kube::client::Body;
use tokio::time::{Instant, sleep, timeout};

use super::super::answer::date;
use super::super::error::seconds;
use super::contact::Link;
use super::elsewhere::BURST;
use super::{Following, Silence};
use crate::collect::kubectl_compat::error_text;

/// Between two logins.
const LOGIN_EACH: Duration = Duration::from_secs(60);

impl Following<'_> {
    /// Asks every few seconds whether the server is there: a connection that is cut off without a word looks like
    /// one on which nothing changes.
    pub(super) async fn beat(&self) {
        let mut failures = 0_u32;
        loop {
            match self.ask_whether_there().await {
                Ok(()) => {
                    failures = 0;
                    self.server_is_back();
                    tokio::select! {
                        () = sleep(self.pace.beat) => {}
                        () = self.doubt.notified() => sleep(BURST).await,
                    }
                }
                Err(why) => {
                    failures += 1;
                    self.server_is_silent(why);
                    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1).min(16));
                    sleep(
                        self.pace
                            .first_pause
                            .saturating_mul(doubled)
                            .min(self.pace.beat),
                    )
                    .await;
                }
            }
        }
    }

    /// Asks for the server's version, which everybody may know, and for its time on the way.
    async fn ask_whether_there(&self) -> Result<(), String> {
        self.renew_login().await;
        let request = Request::get("/version")
            .body(Body::empty())
            .map_err(|error| error_text(&error))?;
        let limit = self.request_timeout().min(self.pace.beat);
        self.requests.set(self.requests.get() + 1);
        let cluster = self.cluster();
        let answer = timeout(limit, cluster.client().send(request)).await;
        let response = answer
            .map_err(|_elapsed| format!("no answer within {}", seconds(limit)))?
            .map_err(|error| error_text(&error))?;
        let status = response.status();
        if status == http::StatusCode::UNAUTHORIZED {
            self.log_in_again().await;
        }
        if status.is_server_error() || status.is_redirection() {
            return Err(format!("HTTP {status}"));
        }
        self.clock.tell(date(response.headers()));
        // The rest of the answer is read, so that the connection can be used again.
        let read = timeout(limit, response.into_body().collect_bytes()).await;
        match read {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error_text(&error)),
            Err(_elapsed) => Err(format!("no answer within {}", seconds(limit))),
        }
    }

    fn server_is_silent(&self, why: String) {
        let since = match &*self.lost.borrow() {
            Some(silence) => silence.since,
            None => self.clock.last_told().or_else(|| self.clock.now()),
        };
        self.lost.replace(Some(Silence {
            since,
            why,
            back: None,
        }));
        self.publish();
    }

    fn server_is_back(&self) {
        let was_silent = match &mut *self.lost.borrow_mut() {
            Some(silence) if silence.back.is_none() => {
                silence.back = Some(Instant::now());
                true
            }
            Some(_) | None => false,
        };
        if was_silent {
            for feed in &self.feeds {
                feed.link.borrow_mut().doubt(self.clock.now());
            }
            self.round
                .send_modify(|round| *round = round.wrapping_add(1));
        }
        self.end_silence();
    }

    /// Ends a silence when the server is back and the lists are up to date again, or late beyond patience.
    pub(super) fn end_silence(&self) {
        let is_over = match &*self.lost.borrow() {
            Some(Silence {
                back: Some(back), ..
            }) => {
                let any_behind = (self.feeds.iter())
                    .any(|feed| matches!(&*feed.link.borrow(), Link::Behind { .. }));
                !any_behind || back.elapsed() > self.pace.grace
            }
            Some(Silence { back: None, .. }) | None => false,
        };
        if is_over {
            self.lost.replace(None);
            self.publish();
        }
    }

    /// Logs in again before the credentials expire.
    pub(super) async fn renew_login(&self) {
        let expires = self
            .clock
            .now()
            .is_some_and(|now| self.cluster().needs_login(now));
        if expires {
            self.log_in_again().await;
        }
    }

    /// Logs in again, if that was not tried a moment ago. Without success the old credentials stay: the server's
    /// refusal says the rest.
    pub(super) async fn log_in_again(&self) {
        let mut last = self.logged_in.lock().await;
        if last.is_some_and(|last| last.elapsed() < LOGIN_EACH) {
            return;
        }
        *last = Some(Instant::now());
        match self.cluster().log_in_again(self.progress).await {
            Ok(cluster) => {
                self.cluster.replace(Rc::new(cluster));
            }
            Err(error) => (self.progress)(&format!("cannot log in again: {}", error_text(&error))),
        }
    }
}
