//! The events of a run and what each does.

use super::accept::{Asking, Exposers};
use super::lane::{Lane, Round, looks_between};
use super::pool::Pool;
use super::{Event, Events, Tally};
use crate::replay::DeadlineWhat;
use crate::replay::gates::{self, Passage};
use crate::simulate::build::STOP_MS;
use crate::simulate::model::{Ending, LANES, Model, NEVER, NONE, Remaining, Start, TaskSpec};
use crate::simulate::random::{Chance, Question};
use crate::simulate::scenario::{GhostSlots, Order, RequeuePrepared, Scenario};
use crate::simulate::table::Table;
use crate::simulate::{
    CHECK_MILLIS, EXPOSE_DATA_MOVEMENT_MILLIS, EXPOSE_POD_VOLUME_MILLIS,
    GET_EXPOSED_DATA_MOVEMENT_MILLIS, GET_EXPOSED_POD_VOLUME_MILLIS,
};

/// The periodic look of `--requeue-prepared`.
const MINUTE_MS: i64 = 60 * 1000;

/// Where a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// In its lane.
    Waiting,
    /// Waiting, and no timer brings it back.
    WaitingUnseen,
    /// A look at it is under way.
    Looked,
    Running,
    /// New: it asks at the prepare queue.
    Asking,
    Exposing,
    /// Nothing happens to it.
    Standing,
    Ended,
}

#[derive(Clone, Copy, Debug)]
struct Task {
    at: At,
    lane: u32,
    /// What it was put into its ring with.
    phase: i64,
    /// The clock time of its first look.
    first: i64,
    /// When it joined its lane.
    joined: i64,
    end: i64,
    counted: bool,
    ends_by_deadline: bool,
}

struct Run<'m> {
    model: &'m Model,
    scenario: &'m Scenario,
    chance: Chance,
    now: i64,
    events: Events,
    lanes: Table<Lane>,
    pools: Table<Pool>,
    tasks: Table<Task>,
    asking: Asking,
    exposers: [Exposers; 2],
    ask_plan: u32,
    asked: Option<(i64, u32)>,
    queue: i64,
    /// For DataUploads and DataDownloads, and for pod volumes.
    queue_limits: [Option<i64>; 2],
    tally: Tally,
    turns: i64,
}

/// Plays one future of a scenario.
pub(in crate::simulate) fn run(
    model: &Model,
    scenario: &Scenario,
    limits: &[i64],
    chance: Chance,
) -> Tally {
    let mut run = Run::new(model, scenario, limits, chance);
    run.begin();
    while let Some((at, event)) = run.events.pop() {
        run.now = at;
        run.happen(event);
    }
    run.close()
}

impl<'m> Run<'m> {
    fn new(model: &'m Model, scenario: &'m Scenario, limits: &[i64], chance: Chance) -> Self {
        let lanes = model.nodes.len().saturating_mul(LANES);
        let works = |node: &u32| model.nodes.at(*node).works;
        let agents = model.nodes.ids().filter(works).count();
        let agents = i64::try_from(agents).unwrap_or(i64::MAX).max(1);
        let exposers = [0, 1].map(|kind| {
            Exposers::new(model.nodes.ids().filter(works).map(|node| {
                let about = node.saturating_mul(LANES).saturating_add(kind);
                (chance.draw(Question::Node, about, i64::MAX), node)
            }))
        });
        let pools = (0..lanes).map(|lane| {
            let node = model.nodes.at(lane / LANES);
            let limit = usize::try_from(lane / LANES)
                .ok()
                .and_then(|node| limits.get(node))
                .copied()
                .unwrap_or(node.limit);
            let ghosts = match scenario.ghost_slots {
                GhostSlots::Stay => node.ghosts,
                GhostSlots::Gone => 0,
            };
            Pool::new(limit, node.limited_when, ghosts, NONE)
        });
        Self {
            model,
            scenario,
            chance,
            now: 0,
            events: Events::default(),
            lanes: Table::new(vec![Lane::default(); usize::try_from(lanes).unwrap_or(0)]),
            pools: Table::new(pools.collect()),
            tasks: Table::new(
                model
                    .tasks
                    .iter()
                    .map(|spec| Task {
                        at: At::Standing,
                        lane: spec.lane,
                        phase: 0,
                        first: 0,
                        joined: 0,
                        end: NEVER,
                        counted: spec.labelled,
                        ends_by_deadline: false,
                    })
                    .collect(),
            ),
            asking: Asking::every(model.requeue_new_ms, agents),
            exposers,
            ask_plan: 0,
            asked: None,
            queue: model.labelled_beside,
            queue_limits: model
                .prepare_queue
                .map(|present| scenario.prepare_queue.or(present)),
            tally: Tally {
                started: vec![NEVER; model.tasks.iter().len()],
                ended: vec![NEVER; model.tasks.iter().len()],
                ending: vec![Ending::NeverEnds; model.tasks.iter().len()],
                missed: vec![false; model.tasks.iter().len()],
                ..Tally::default()
            },
            turns: 0,
        }
    }

    fn begin(&mut self) {
        let model = self.model;
        for id in model.tasks.ids() {
            let spec = model.tasks.at(id);
            self.queue += i64::from(spec.labelled);
            if spec.lane == NONE {
                self.place(id);
            }
        }
        for id in model.tasks.ids() {
            self.begin_task(id, model.tasks.at(id));
        }
        for lane in self.lanes.ids() {
            if model.pool(lane) == lane {
                self.plan(lane);
            }
        }
        self.plan_ask();
    }

    /// Gives a task without a node one: the scheduler's choice is not known.
    fn place(&mut self, id: u32) {
        let nodes = self.model.nodes.len();
        let from = self.chance.draw(Question::Node, id, i64::from(nodes));
        let from = u32::try_from(from).unwrap_or(0);
        let node = (0..nodes)
            .map(|step| (from + step) % nodes.max(1))
            .find(|node| self.model.nodes.at(*node).works);
        if let Some(node) = node {
            self.tasks.at_mut(id).lane = node * LANES + self.model.tasks.at(id).kind;
        }
    }

    fn begin_task(&mut self, id: u32, spec: &TaskSpec) {
        let gone = self.scenario.ghost_slots == GhostSlots::Gone;
        match spec.start {
            Start::Holds(remaining) => {
                let left = match remaining {
                    Remaining::Known(left) => left,
                    Remaining::Beyond(elapsed) => self.beyond(id, spec, elapsed),
                };
                self.enter(id);
                self.tally_start(id, 0);
                self.ends_at(id, left);
            }
            Start::HoldsForEver if gone => self.events.push(0, Event::Finish(id)),
            Start::HoldsForEver => {
                if self.tasks.at(id).lane != NONE {
                    let lane = self.tasks.at(id).lane;
                    let pool = self.model.pool(lane);
                    let _over = self.pools.at_mut(pool).take(0, lane);
                }
            }
            Start::Waits => {
                let lost = self
                    .lane_of(id)
                    .is_some_and(|lane| self.model.nodes.at(lane / LANES).lost_timers);
                if lost {
                    self.wait_unseen(id);
                } else {
                    // A share of the period, so that the order of the timers is the same under every design.
                    let share = self.chance.draw(Question::Phase, id, 1_000_000);
                    self.wait(id, share * self.round_of(id).period / 1_000_000);
                }
            }
            Start::Exposes { age_ms } => {
                self.tasks.at_mut(id).at = At::Exposing;
                match self.prepare_beyond(id, age_ms) {
                    Some(left) if left < spec.prepare_deadline => {
                        self.events.push(left, Event::Arrive(id));
                    }
                    Some(_) | None => self.events.push(spec.prepare_deadline, Event::Finish(id)),
                }
            }
            Start::BecomesPrepared => {
                self.tasks.at_mut(id).at = At::Exposing;
                self.events.push(1000, Event::Arrive(id));
            }
            Start::New => {
                let phase = self
                    .chance
                    .draw(Question::NewPhase, id, self.asking.own_period);
                let task = self.tasks.at_mut(id);
                task.at = At::Asking;
                task.phase = phase;
                self.asking.join(spec.any_agent, phase, id);
            }
            Start::Ends(within, _) => {
                let at = self.chance.draw(Question::Ending, id, within);
                self.events.push(at, Event::Finish(id));
            }
            Start::Stays(_) => {
                self.events.push(spec.prepare_deadline, Event::Finish(id));
            }
        }
        self.events.push(spec.deadline, Event::Deadline(id));
    }

    fn lane_of(&self, id: u32) -> Option<u32> {
        Some(self.tasks.at(id).lane).filter(|lane| *lane != NONE)
    }

    fn round_of(&self, id: u32) -> Round {
        self.lane_of(id).map_or(
            Round {
                period: 5000,
                cost: 1,
                workers: 1,
            },
            |lane| self.round(lane),
        )
    }

    fn round(&self, lane: u32) -> Round {
        let cost = if self.scenario.design.asks_the_slot_first() {
            CHECK_MILLIS
        } else {
            get_exposed(lane % LANES)
        };
        Round {
            period: self.model.nodes.at(lane / LANES).requeue_ms + cost,
            cost,
            workers: i64::from(self.scenario.workers.max(1)),
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::End(id) => {
                if self.tasks.at(id).at == At::Running && self.tasks.at(id).end == self.now {
                    let ending = if self.tasks.at(id).ends_by_deadline {
                        Ending::DeadlineRunning
                    } else {
                        Ending::Completed
                    };
                    self.end(id, ending);
                    if let Some(lane) = self.lane_of(id) {
                        let pool = self.model.pool(lane);
                        self.pools.at_mut(pool).release(self.now);
                        self.plan(pool);
                    }
                }
            }
            Event::Arrive(id) => match self.tasks.at(id).at {
                At::Exposing | At::WaitingUnseen => self.arrive(id),
                At::Waiting | At::Looked | At::Running | At::Asking | At::Standing | At::Ended => {}
            },
            Event::Look { lane, plan } => self.look(lane, plan),
            Event::Request(id) => self.request(id),
            Event::Ask { plan } => self.ask(plan),
            Event::Deadline(id) => self.deadline(id),
            Event::Finish(id) => self.finish(id),
        }
    }

    fn arrive(&mut self, id: u32) {
        if self.tasks.at(id).at == At::WaitingUnseen {
            self.leave_pool(id);
        }
        self.wait(id, 0);
        if let Some(lane) = self.lane_of(id) {
            self.plan(self.model.pool(lane));
        }
    }

    /// Puts a task into its lane; its first look is `wait` from now.
    fn wait(&mut self, id: u32, wait: i64) {
        let Some(lane) = self.lane_of(id) else {
            return;
        };
        let pool = self.model.pool(lane);
        self.pools.at_mut(pool).wait(self.now, 1);
        self.join(id, lane, wait);
    }

    fn join(&mut self, id: u32, lane: u32, wait: i64) {
        let round = self.round(lane);
        let turn = match self.scenario.order {
            Order::OwnTimers => None,
            Order::FirstComeFirstServed => {
                self.turns += 1;
                Some(self.turns)
            }
        };
        let first = self
            .lanes
            .at_mut(lane)
            .join(self.now, round, wait, id, turn);
        let task = self.tasks.at_mut(id);
        task.at = At::Waiting;
        task.first = first;
        task.phase = turn.unwrap_or_else(|| first.rem_euclid(round.period));
        task.joined = self.now;
    }

    fn wait_unseen(&mut self, id: u32) {
        let Some(lane) = self.lane_of(id) else {
            return;
        };
        self.pools.at_mut(self.model.pool(lane)).wait(self.now, 1);
        self.tasks.at_mut(id).at = At::WaitingUnseen;
        if self.scenario.requeue_prepared == RequeuePrepared::EveryMinute {
            self.events
                .push(self.minute(lane, self.now), Event::Arrive(id));
        }
    }

    /// Returns when the periodic source of a lane's node enqueues next.
    fn minute(&self, lane: u32, after: i64) -> i64 {
        let phase = self.chance.draw(Question::Minute, lane / LANES, MINUTE_MS);
        after + (phase - after).rem_euclid(MINUTE_MS)
    }

    fn leave_pool(&mut self, id: u32) {
        if let Some(lane) = self.lane_of(id) {
            let pool = self.model.pool(lane);
            self.pools.at_mut(pool).wait(self.now, -1);
        }
    }

    /// Takes a task out of its lane and counts the looks that changed nothing.
    fn unlane(&mut self, id: u32, lane: u32) {
        let round = self.round(lane);
        let task = *self.tasks.at(id);
        let clock = self.lanes.at_mut(lane).clock(self.now, round);
        self.lanes
            .at_mut(lane)
            .leave(self.now, round, task.phase, id);
        if self.scenario.design.asks_the_slot_first() || !self.model.tasks.at(id).has_pod {
            return;
        }
        let mut looks = looks_between(task.first, clock, round.period);
        if self.scenario.requeue_prepared == RequeuePrepared::EveryMinute {
            let first = self.minute(lane, task.joined);
            looks += looks_between(first, self.now, MINUTE_MS);
        }
        self.tally.calls += looks;
        self.tally.wasted += looks;
    }

    /// Plans the next look of each lane of a pool that has a free slot.
    fn plan(&mut self, pool: u32) {
        if !self.pools.at(pool).is_open() {
            return;
        }
        let node = self.model.nodes.at(pool / LANES);
        if !node.works {
            return;
        }
        let lanes = if node.pool_per_kind {
            pool..pool + 1
        } else {
            pool..pool + LANES
        };
        match self.scenario.order {
            Order::OwnTimers => {
                for lane in lanes {
                    self.plan_lane(lane);
                }
            }
            Order::FirstComeFirstServed => {
                let looking = lanes.clone().any(|lane| self.lanes.at(lane).looking > 0);
                let first = lanes
                    .filter_map(|lane| Some((self.lanes.at(lane).head()?, lane)))
                    .min();
                if let Some(((_, task), lane)) = first
                    && !looking
                {
                    self.push_look(lane, self.now, task);
                }
            }
        }
    }

    fn plan_lane(&mut self, lane: u32) {
        let round = self.round(lane);
        let state = self.lanes.at_mut(lane);
        if state.is_empty() || state.looking >= self.scenario.workers.max(1) {
            return;
        }
        let Some((mut at, mut task)) = state.next(self.now, round) else {
            return;
        };
        if self.scenario.requeue_prepared == RequeuePrepared::EveryMinute {
            let tick = self.minute(lane, self.now);
            if tick < at
                && let Some((_, first)) = self.lanes.at(lane).head()
            {
                (at, task) = (tick, first);
            }
        }
        self.push_look(lane, at, task);
    }

    fn push_look(&mut self, lane: u32, at: i64, task: u32) {
        let state = self.lanes.at_mut(lane);
        if state.planned == Some((at, task)) {
            return;
        }
        state.plan = state.plan.wrapping_add(1);
        state.planned = Some((at, task));
        let plan = state.plan;
        self.events.push(at, Event::Look { lane, plan });
    }

    fn look(&mut self, lane: u32, plan: u32) {
        let state = self.lanes.at_mut(lane);
        if state.plan != plan {
            return;
        }
        let Some((_, id)) = state.planned.take() else {
            return;
        };
        let pool = self.model.pool(lane);
        // Somebody was faster: this look is one of those that are counted when the task leaves.
        if !self.pools.at(pool).is_open() || self.tasks.at(id).at != At::Waiting {
            if self.tasks.at(id).at != At::Waiting {
                self.plan(pool);
            }
            return;
        }
        self.unlane(id, lane);
        self.tasks.at_mut(id).at = At::Looked;
        self.lanes.at_mut(lane).looking += 1;
        let has_pod = self.model.tasks.at(id).has_pod;
        self.tally.calls += i64::from(has_pod);
        if !self.scenario.design.asks_the_slot_last() {
            self.take(pool, lane);
        }
        let cost = if has_pod {
            get_exposed(lane % LANES)
        } else {
            CHECK_MILLIS
        };
        self.events.push(self.now + cost, Event::Request(id));
        self.plan(pool);
    }

    fn take(&mut self, pool: u32, lane: u32) {
        let over = self.pools.at_mut(pool).take(self.now, lane);
        self.tally.over_limit = self.tally.over_limit.max(over);
    }

    fn request(&mut self, id: u32) {
        let Some(lane) = self.lane_of(id) else {
            return;
        };
        let pool = self.model.pool(lane);
        self.lanes.at_mut(lane).looking -= 1;
        let late = self.scenario.design.asks_the_slot_last();
        if self.tasks.at(id).at != At::Looked {
            // Its deadline came during the look.
            if !late {
                self.pools.at_mut(pool).release(self.now);
            }
            self.plan(pool);
            return;
        }
        if late && !self.pools.at(pool).is_open() {
            if self.model.tasks.at(id).has_pod {
                self.tally.wasted += 1;
                if self.pools.at(pool).last_taker == lane {
                    self.tally.raced_same_kind += 1;
                } else {
                    self.tally.raced_other_kind += 1;
                }
            }
            let requeue = self.model.nodes.at(lane / LANES).requeue_ms;
            self.join(id, lane, requeue);
            return;
        }
        if late {
            self.take(pool, lane);
        }
        self.leave_pool(id);
        self.tally_start(id, self.now);
        let duration = self.duration(id);
        self.ends_at(id, self.now.saturating_add(duration));
        self.unlabel(id);
        self.plan(pool);
    }

    /// A task that holds a slot from the beginning.
    fn enter(&mut self, id: u32) {
        if let Some(lane) = self.lane_of(id) {
            let pool = self.model.pool(lane);
            let _over = self.pools.at_mut(pool).take(0, lane);
        }
    }

    fn tally_start(&mut self, id: u32, at: i64) {
        self.tasks.at_mut(id).at = At::Running;
        if let Some(started) = usize::try_from(id)
            .ok()
            .and_then(|id| self.tally.started.get_mut(id))
        {
            *started = at;
        }
    }

    fn ends_at(&mut self, id: u32, at: i64) {
        let task = self.tasks.at_mut(id);
        task.at = At::Running;
        task.end = at;
        self.events.push(at, Event::End(id));
    }

    fn duration(&self, id: u32) -> i64 {
        let group = self.group(id);
        let count = i64::try_from(group.len()).unwrap_or(i64::MAX);
        let index = self.chance.draw(Question::Duration, id, count);
        usize::try_from(index)
            .ok()
            .and_then(|index| group.get(index))
            .copied()
            .unwrap_or(NEVER)
    }

    fn group(&self, id: u32) -> &'m [i64] {
        usize::try_from(self.model.tasks.at(id).group)
            .ok()
            .and_then(|group| self.model.groups.get(group))
            .map_or(&[], |group| group.samples.as_slice())
    }

    /// How long a task still runs that has run this long: like those that took longer; where none did, as
    /// long as it has run already.
    fn beyond(&self, id: u32, _spec: &TaskSpec, elapsed: i64) -> i64 {
        let group = self.group(id);
        let longer = group
            .get(group.partition_point(|sample| *sample <= elapsed)..)
            .unwrap_or_default();
        let count = i64::try_from(longer.len()).unwrap_or(i64::MAX);
        let index = self.chance.draw(Question::Duration, id, count);
        let whole = usize::try_from(index)
            .ok()
            .and_then(|index| longer.get(index))
            .copied();
        match whole {
            Some(whole) => whole - elapsed,
            None if group.is_empty() => NEVER,
            None => elapsed.max(1000),
        }
    }

    /// How long an Accepted task still takes to become Prepared; `None` where no other took so long.
    fn prepare_beyond(&self, id: u32, age: i64) -> Option<i64> {
        let longer = self.model.prepare.partition_point(|sample| *sample <= age);
        let longer = self.model.prepare.get(longer..).unwrap_or_default();
        let count = i64::try_from(longer.len()).unwrap_or(i64::MAX);
        let index = self.chance.draw(Question::Prepare, id, count);
        match usize::try_from(index)
            .ok()
            .and_then(|index| longer.get(index))
        {
            Some(whole) => Some(whole - age),
            // Young enough to be no exception: as long again.
            None if age < 5 * MINUTE_MS => Some(age),
            None => None,
        }
    }

    fn plan_ask(&mut self) {
        if self.asking.is_empty() {
            return;
        }
        let open = self.queue_limits.map(|limit| self.has_room(limit));
        let Some((at, task)) = self.asking.next(self.now, open) else {
            return;
        };
        if self.asked == Some((at, task)) {
            return;
        }
        self.asked = Some((at, task));
        self.ask_plan = self.ask_plan.wrapping_add(1);
        self.events.push(
            at,
            Event::Ask {
                plan: self.ask_plan,
            },
        );
    }

    fn has_room(&self, limit: Option<i64>) -> bool {
        limit.is_none_or(|limit| gates::prepare_queue(self.queue, limit) == Passage::Open)
    }

    /// A New task asks at the prepare queue and is accepted, if there is room.
    fn ask(&mut self, plan: u32) {
        if self.ask_plan != plan {
            return;
        }
        let Some((_, id)) = self.asked.take() else {
            return;
        };
        let [any, own] = self.queue_limits;
        let limit = if self.model.tasks.at(id).any_agent {
            any
        } else {
            own
        };
        if !self.has_room(limit) || self.tasks.at(id).at != At::Asking {
            self.plan_ask();
            return;
        }
        let spec = self.model.tasks.at(id);
        self.asking
            .leave(spec.any_agent, self.tasks.at(id).phase, id);
        let expose = if spec.any_agent {
            EXPOSE_DATA_MOVEMENT_MILLIS
        } else {
            EXPOSE_POD_VOLUME_MILLIS
        };
        let own = self.lane_of(id).map(|lane| lane / LANES);
        let acceptor = if spec.any_agent {
            usize::try_from(spec.kind)
                .ok()
                .and_then(|kind| self.exposers.get_mut(kind))
                .and_then(|exposers| exposers.take(self.now, expose))
        } else {
            own.map(|node| (node, self.now))
        };
        let Some((node, begin)) = acceptor else {
            self.tasks.at_mut(id).at = At::Standing;
            self.plan_ask();
            return;
        };
        let lane = node * LANES + spec.kind;
        let round = self.round(lane);
        if self.scenario.workers <= 1 {
            self.lanes
                .at_mut(lane)
                .block(self.now, begin + expose, round);
        }
        let task = self.tasks.at_mut(id);
        task.at = At::Exposing;
        if !task.counted {
            task.counted = true;
            self.queue += 1;
        }
        let prepare = self.prepare_beyond(id, 0).unwrap_or(0).max(expose);
        if prepare >= self.model.prepare_timeout_ms {
            self.events
                .push(begin + self.model.prepare_timeout_ms, Event::Finish(id));
        } else {
            self.events.push(begin + prepare, Event::Arrive(id));
        }
        self.plan_ask();
    }

    /// Takes the label off: the prepare queue has room for another.
    fn unlabel(&mut self, id: u32) {
        let task = self.tasks.at_mut(id);
        if task.counted {
            task.counted = false;
            self.queue -= 1;
            self.plan_ask();
        }
    }

    fn deadline(&mut self, id: u32) {
        if self.tasks.at(id).at == At::Ended {
            return;
        }
        let spec = self.model.tasks.at(id);
        if let Some(missed) = usize::try_from(id)
            .ok()
            .and_then(|id| self.tally.missed.get_mut(id))
        {
            *missed = true;
        }
        // The timeout of the file system backup ends the server's patience, not the task.
        if spec.deadline_what == Some(DeadlineWhat::FsBackupTimeout) {
            return;
        }
        match self.tasks.at(id).at {
            At::Running => {
                let stop = self.now.saturating_add(STOP_MS);
                if self.tasks.at(id).end > stop {
                    self.tasks.at_mut(id).ends_by_deadline = true;
                    self.ends_at(id, stop);
                }
            }
            At::Exposing | At::Standing if spec.cancel_delay > 0 => {
                self.events
                    .push(self.now + spec.cancel_delay, Event::Finish(id));
            }
            At::Waiting
            | At::WaitingUnseen
            | At::Looked
            | At::Asking
            | At::Exposing
            | At::Standing => {
                self.finish(id);
            }
            At::Ended => {}
        }
    }

    /// Ends a task that does not run.
    fn finish(&mut self, id: u32) {
        let at = self.tasks.at(id).at;
        let spec = self.model.tasks.at(id);
        let lane = self.lane_of(id);
        match at {
            At::Waiting => {
                if let Some(lane) = lane {
                    self.unlane(id, lane);
                }
                self.leave_pool(id);
            }
            At::WaitingUnseen | At::Looked => self.leave_pool(id),
            At::Asking => self
                .asking
                .leave(spec.any_agent, self.tasks.at(id).phase, id),
            At::Exposing | At::Standing => {}
            // A look that comes too late.
            At::Running | At::Ended => return,
        }
        let missed = usize::try_from(id)
            .ok()
            .and_then(|id| self.tally.missed.get(id))
            .copied();
        let ending = match spec.start {
            Start::Ends(_, how) => how,
            // Cancelling it does not give its slot back.
            Start::HoldsForEver if missed == Some(true) => Ending::DeadlineRunning,
            _ if missed == Some(true) => Ending::DeadlineWaiting,
            Start::HoldsForEver => Ending::EndedByALook,
            Start::Holds(_)
            | Start::Waits
            | Start::Exposes { .. }
            | Start::BecomesPrepared
            | Start::New
            | Start::Stays(_) => Ending::PrepareTimeout,
        };
        self.end(id, ending);
        if let Some(lane) = lane {
            self.plan(self.model.pool(lane));
        }
        self.plan_ask();
    }

    fn end(&mut self, id: u32, how: Ending) {
        self.tasks.at_mut(id).at = At::Ended;
        self.tally.drained = self.tally.drained.max(self.now);
        if let Ok(index) = usize::try_from(id) {
            if let Some(ended) = self.tally.ended.get_mut(index) {
                *ended = self.now;
            }
            if let Some(ending) = self.tally.ending.get_mut(index) {
                *ending = how;
            }
        }
        self.unlabel(id);
    }

    /// Counts what is left when nothing happens any more.
    fn close(mut self) -> Tally {
        let ids = self.tasks.ids();
        for id in ids {
            let how = match self.tasks.at(id).at {
                At::Ended => continue,
                At::Waiting | At::Looked => {
                    if let Some(lane) = self.lane_of(id) {
                        self.unlane(id, lane);
                        if self.model.nodes.at(lane / LANES).works {
                            Ending::NoSlotLeft
                        } else {
                            Ending::MissingOwner
                        }
                    } else {
                        Ending::MissingOwner
                    }
                }
                At::WaitingUnseen | At::Exposing => Ending::NobodyLooks,
                At::Asking => Ending::NoRoomInQueue,
                At::Running => Ending::NeverEnds,
                At::Standing => match self.model.tasks.at(id).start {
                    Start::Stays(how) => how,
                    Start::New => Ending::MissingOwner,
                    Start::HoldsForEver
                    | Start::Holds(_)
                    | Start::Waits
                    | Start::Exposes { .. }
                    | Start::BecomesPrepared
                    | Start::Ends(..) => {
                        if self.lane_of(id).is_none() {
                            Ending::MissingOwner
                        } else {
                            Ending::NeverEnds
                        }
                    }
                },
            };
            if let Some(ending) = usize::try_from(id)
                .ok()
                .and_then(|id| self.tally.ending.get_mut(id))
            {
                *ending = how;
            }
        }
        for pool in self.pools.ids() {
            self.pools.at_mut(pool).settle(self.now);
            self.tally.idle = self.tally.idle.saturating_add(self.pools.at(pool).idle());
        }
        self.tally
    }
}

/// How long `GetExposed` of a lane's kind takes.
const fn get_exposed(kind: u32) -> i64 {
    if kind < 2 {
        GET_EXPOSED_DATA_MOVEMENT_MILLIS
    } else {
        GET_EXPOSED_POD_VOLUME_MILLIS
    }
}
