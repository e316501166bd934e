//! The events of a run and what each does.

mod accepting;
mod drawing;
mod endings;
mod looks;

use super::accept::{Asking, Exposers};
use super::lane::{Lane, Round};
use super::pool::Pool;
use super::{Event, Events, Tally};
use crate::simulate::model::{Ending, LANES, Model, NEVER, NONE, Remaining, Start, TaskSpec};
use crate::simulate::random::{Chance, Question};
use crate::simulate::scenario::Scenario;
use crate::simulate::table::Table;
use crate::simulate::{
    CHECK_MILLIS, Fault, GET_EXPOSED_DATA_MOVEMENT_MILLIS, GET_EXPOSED_POD_VOLUME_MILLIS,
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
    /// Nothing tells what becomes of it.
    is_unknown: bool,
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
    /// The numbers of the prepare queue: that of DataUploads and DataDownloads, then each different one of
    /// an agent.
    gates: Vec<Option<i64>>,
    gate_of_node: Vec<usize>,
    /// What is wrong with a lane in this run.
    faults: Table<Option<Fault>>,
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
        let faults: Vec<Option<Fault>> = (0..lanes)
            .map(|lane| fault(model, scenario, chance, lane))
            .collect();
        let blocked = |lane: u32| {
            let fault = usize::try_from(lane)
                .ok()
                .and_then(|lane| faults.get(lane).copied());
            fault.flatten() == Some(Fault::BlockedWorker)
        };
        let works = |node: &u32| model.nodes.at(*node).works;
        let agents = model.nodes.ids().filter(works).count();
        let agents = i64::try_from(agents).unwrap_or(i64::MAX).max(1);
        let exposers = [0, 1].map(|kind| {
            let lane = |node: u32| node.saturating_mul(LANES).saturating_add(kind);
            let free = |node: &u32| !blocked(lane(*node));
            let nodes = model.nodes.ids().filter(works).filter(free);
            Exposers::new(
                nodes.map(|node| (chance.draw(Question::Node, lane(node), i64::MAX), node)),
            )
        });
        let (gates, gate_of_node) = gates(model);
        let pools = (0..lanes).map(|lane| {
            let node = model.nodes.at(lane / LANES);
            let limit = usize::try_from(lane / LANES)
                .ok()
                .and_then(|node| limits.get(node))
                .copied()
                .unwrap_or(node.limit);
            let kinds = if node.pool_per_kind {
                lane..lane + 1
            } else {
                lane..lane + LANES
            };
            // The entries of a shared pool are leaked once, whichever of its kinds waits.
            let ghosts = kinds
                .filter_map(|lane| faults.get(usize::try_from(lane).ok()?).copied()?)
                .map(|fault| match fault {
                    Fault::LeakedSlots(entries) => entries.max(0),
                    Fault::LostTimers | Fault::BlockedWorker | Fault::Undetermined(_) => 0,
                })
                .max();
            Pool::new(limit, node.limited_when, ghosts.unwrap_or(0), NONE)
        });
        let pools = Table::new(pools.collect());
        let asking = Asking::every(model.requeue_new_ms, agents, gates.len());
        Self {
            model,
            scenario,
            chance,
            now: 0,
            events: Events::default(),
            lanes: Table::new(vec![Lane::default(); usize::try_from(lanes).unwrap_or(0)]),
            pools,
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
                        is_unknown: false,
                    })
                    .collect(),
            ),
            asking,
            exposers,
            ask_plan: 0,
            asked: None,
            queue: model.labelled_beside,
            gates,
            gate_of_node,
            faults: Table::new(faults),
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

    fn begin_task(&mut self, id: u32, spec: &TaskSpec) {
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
            Start::HoldsForEver => {
                self.tally_has_slot(id, 0);
                if self.tasks.at(id).lane != NONE {
                    let lane = self.tasks.at(id).lane;
                    let pool = self.model.pool(lane);
                    let _over = self.pools.at_mut(pool).take(0, lane);
                }
            }
            Start::Waits => {
                let lost = self
                    .lane_of(id)
                    .is_some_and(|lane| *self.faults.at(lane) == Some(Fault::LostTimers));
                let blocked = self.lane_of(id).is_some_and(|lane| self.is_blocked(lane));
                if lost || blocked {
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
                    Some(_) => self.events.push(spec.prepare_deadline, Event::Finish(id)),
                    None => {
                        // It leaves the prepare queue then at the latest.
                        self.tasks.at_mut(id).is_unknown = true;
                        self.events.push(spec.prepare_deadline, Event::Finish(id));
                    }
                }
            }
            Start::BecomesPrepared => {
                self.tasks.at_mut(id).at = At::Exposing;
                self.events.push(1000, Event::Arrive(id));
            }
            Start::New => {
                let phase = self.chance.draw(Question::NewPhase, id, self.asking.period);
                let own = self.lane_of(id).filter(|_| !spec.any_agent);
                if own.is_none_or(|lane| !self.is_blocked(lane)) {
                    let task = self.tasks.at_mut(id);
                    task.at = At::Asking;
                    task.phase = phase;
                    self.asking.join(self.gate(id), phase, id);
                }
            }
            Start::Ends(within, _) => {
                let at = self.chance.draw(Question::Ending, id, within);
                self.events.push(at, Event::Finish(id));
            }
            Start::Stays(how) => {
                if how == Ending::NeverEnds {
                    self.tally_has_slot(id, 0);
                }
                self.events.push(spec.prepare_deadline, Event::Finish(id));
            }
        }
        self.events.push(spec.deadline, Event::Deadline(id));
    }

    /// Whether the one worker of a lane does not go on.
    fn is_blocked(&self, lane: u32) -> bool {
        *self.faults.at(lane) == Some(Fault::BlockedWorker)
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

    /// A task that holds a slot from the beginning.
    fn enter(&mut self, id: u32) {
        if let Some(lane) = self.lane_of(id) {
            let pool = self.model.pool(lane);
            let _over = self.pools.at_mut(pool).take(0, lane);
        }
    }

    fn tally_start(&mut self, id: u32, at: i64) {
        self.tasks.at_mut(id).at = At::Running;
        self.tally_has_slot(id, at);
    }

    fn tally_has_slot(&mut self, id: u32, at: i64) {
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
}

/// What is wrong with a lane in a run. A second worker looks at what the first does not.
fn fault(model: &Model, scenario: &Scenario, chance: Chance, lane: u32) -> Option<Fault> {
    let trouble = model.nodes.at(lane / LANES).trouble?;
    if !trouble.kinds.has_lane(lane % LANES) {
        return None;
    }
    let fault = trouble.fault.in_run(chance.run());
    (fault != Fault::BlockedWorker || scenario.workers <= 1).then_some(fault)
}

/// The different numbers of the prepare queue, and which of them each node has.
fn gates(model: &Model) -> (Vec<Option<i64>>, Vec<usize>) {
    let mut gates = vec![model.prepare_queue];
    let of_node = model
        .nodes
        .iter()
        .map(|node| {
            let own = node.prepare_queue;
            // The first gate is not theirs.
            let found = gates.iter().skip(1).position(|gate| *gate == own);
            found.map_or_else(
                || {
                    gates.push(own);
                    gates.len() - 1
                },
                |place| place + 1,
            )
        })
        .collect();
    (gates, of_node)
}

/// How long `GetExposed` of a lane's kind takes.
const fn get_exposed(kind: u32) -> i64 {
    if kind < 2 {
        GET_EXPOSED_DATA_MOVEMENT_MILLIS
    } else {
        GET_EXPOSED_POD_VOLUME_MILLIS
    }
}
