//! What tasks name outside Velero's namespace.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::super::list::Answer;
use super::super::questions::{Named, ask_named};
use super::store::Changed;
use super::{Elsewhere, Following, REST};

/// Changes come in bursts: they are looked at together.
pub(super) const BURST: Duration = Duration::from_millis(50);

impl Following<'_> {
    /// Returns what the tasks name outside Velero's namespace.
    pub(super) fn named(&self) -> Named {
        let stores: Vec<_> = self.feeds.iter().map(|feed| feed.store.borrow()).collect();
        let tasks = stores
            .iter()
            .filter_map(|store| Some((store.question.resource.task()?, store)));
        Named::of_tasks(
            tasks.flat_map(|(kind, store)| store.objects().map(move |json| (kind, json))),
        )
    }

    pub(super) fn set_elsewhere(&self, named: Named, answers: Vec<Answer>) -> Changed {
        let mut elsewhere = Elsewhere {
            named,
            ..Elsewhere::default()
        };
        for answer in answers {
            let listing = answer.into_listing(&mut elsewhere.texts);
            elsewhere.listings.push(listing);
        }
        let old = self.elsewhere.replace(elsewhere);
        let new = self.elsewhere.borrow();
        let is_same = old.listings == new.listings
            && (old.texts.iter().map(|text| &text.body))
                .eq(new.texts.iter().map(|text| &text.body));
        if is_same { Changed::No } else { Changed::Yes }
    }

    /// Lists what tasks name outside Velero's namespace: at once when they name something else, and every few
    /// seconds while they name anything.
    pub(super) async fn keep_elsewhere(&self) {
        let mut asked = Instant::now();
        let mut took = Duration::ZERO;
        loop {
            let each = self.pace.poll.max(took * REST);
            let changed = tokio::select! {
                biased;
                () = self.tasks_changed.notified() => Changed::Yes,
                () = tokio::time::sleep_until(asked + each) => Changed::No,
            };
            if changed == Changed::Yes {
                sleep(BURST).await;
            }
            let began = Instant::now();
            let named = self.named();
            let is_new = named != self.elsewhere.borrow().named;
            let is_due = asked.elapsed() >= each && named != Named::default();
            let mut shown = changed;
            if is_new || is_due {
                asked = began;
                if let Ok(_permit) = self.lists.acquire().await {
                    self.renew_login().await;
                    let cluster = self.cluster();
                    let quiet = |_: &str| {};
                    let asker = cluster.asker(&self.options, &quiet);
                    let answers = ask_named(&asker, &self.namespace.namespace, &named).await;
                    self.requests.set(self.requests.get() + asker.sent());
                    // A server that says nothing leaves what was known.
                    if asker.verdict().is_none() {
                        if self.set_elsewhere(named, answers) == Changed::Yes {
                            shown = Changed::Yes;
                        }
                    } else {
                        self.doubt.notify_one();
                    }
                }
                took = began.elapsed();
            } else if asked.elapsed() >= each {
                asked = began;
            }
            if shown == Changed::Yes {
                self.publish();
            }
            // Changes without an end must not keep the machine busy with reading tasks.
            sleep(began.elapsed().min(self.pace.poll) * REST).await;
        }
    }
}
