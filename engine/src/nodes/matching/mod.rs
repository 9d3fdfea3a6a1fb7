//! `from match`: a program that is looked for forward, event by event, for each valuation of its parameters.

mod entries;
mod lists;
mod machine;
mod program;
mod run;
mod taken;
mod valuations;
mod why;

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use triomphe::Arc;

use crate::avro::Malformed;
use crate::binding;
use crate::build::{parse_fingerprint, phase_field, Builder, Way};
use crate::event::{Event, Slot};
use crate::graph::Moment;
use crate::journal::{Journal, Reason};
use crate::key::Key;
use crate::occurrence::{Item, Occurrence, Order};
use crate::plan::Origin::Defined;
use crate::plan::{Matching, Node, Skip, SkipTo};
use crate::residence::Standing;
use crate::state::{number_from, Change, Codec, Entry};
use crate::timers::Timers;
use crate::value::Value;

use entries::Loading;
use machine::Machine;
use program::Program;
use run::{bit, Arrived, Now, Run, Start};
use taken::Links;
use valuations::{Parameters, State, States};

/// The input by which every event of the stream comes, behind those of the steps.
pub const STREAM: u8 = u8::MAX;

/// Which occurrences are passed on, after one was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passing {
    All,
    /// Those that began behind its end.
    Disjoint,
    /// Those that began behind its first event.
    Next,
    /// Those that began with its first event in some slots, or later.
    First(Vec<u16>),
    Last(Vec<u16>),
}

/// What an event must be to fill a slot, its conditions aside.
struct Filling {
    /// Type → whether it is the step's, or extends it.
    types: Vec<bool>,
    phase: Option<(Slot, Vec<u8>)>,
}

pub struct MatchingNode {
    fingerprint: [u8; 8],
    prefix: Vec<u8>,
    program: Program,
    parameters: Parameters,
    passing: Passing,
    /// Input → slot.
    inputs: Vec<u16>,
    /// Slot → what fills it; nothing for points in time.
    fillings: Vec<Option<Filling>>,
    /// Whether it takes complex events, which may have begun long ago.
    derived: bool,
    /// The slots of each role, as they are written.
    roles: Vec<Vec<u16>>,
    states: States,
    /// When states want to be woken.
    due: BTreeSet<(i64, Key)>,
    links: Links,
    last_run: u64,
    last_state: u64,
    /// States with something to be written.
    changed: Vec<Key>,
    /// Keys of entries to be deleted.
    deleted: Vec<Vec<u8>>,
    loading: Loading,
    pub standing: Standing,
}

/// What of an event goes to which states: its place among the arrivals, and slots.
type Fed = Vec<(usize, SmallVec<[u16; 4]>)>;

/// An occurrence, the number of the state that found it, and what orders it among those of its position.
struct Found {
    state: u64,
    occurrence: Occurrence,
    order: Order,
}

/// An event of this position, by the valuations it speaks of.
struct Arrival {
    event: Arc<Event>,
    slots: SmallVec<[u16; 4]>,
    streams: bool,
}

impl MatchingNode {
    pub fn new(builder: &Builder, id: usize, raw: &Matching, way: Way) -> Result<MatchingNode, String> {
        // An unnamed wait goes by a word that is no name.
        let roles = subscribed_roles(builder, id, way);
        let named = |slot: usize| roles.get(slot).is_some_and(|role| role != "wait");
        let (passing, suffix) = passing(builder, way)?;
        let types = builder.plan.slot_types(id);
        let unread = || "the plan is inconsistent: a parameter reads no attribute".to_owned();
        let mut places = Vec::new();
        for given in &raw.parameters {
            let place = |(slot, field): &(usize, usize)| {
                builder.slot(types, *slot, *field).map(|at| (*slot, at)).ok_or_else(unread)
            };
            places.push(given.iter().map(place).collect::<Result<Vec<_>, _>>()?);
        }
        let steps: Vec<usize> = (0..raw.steps.len()).filter(|slot| raw.steps[*slot].node.is_some()).collect();
        let parameters = Parameters::new(&places, &steps, raw.steps.len());
        let program = Program::compile(builder, raw, types, &named, &|slot| parameters.set(slot))?;
        let mut fillings = Vec::new();
        for step in &raw.steps {
            fillings.push(step.node.map(|node| filling(builder, node)).transpose()?);
        }
        let fingerprint = parse_fingerprint(&raw.fingerprint)?;
        Ok(MatchingNode {
            fingerprint,
            prefix: [&fingerprint[..], &suffix].concat(),
            program,
            parameters,
            passing,
            inputs: steps.iter().map(|slot| *slot as u16).collect(),
            derived: fillings.iter().flatten().any(|filling| filling.is_derived(builder)),
            fillings,
            roles: builder.players(id, roles),
            states: States::default(),
            due: BTreeSet::new(),
            links: Links::default(),
            last_run: 0,
            last_state: 0,
            changed: Vec::new(),
            deleted: Vec::new(),
            loading: Loading::default(),
            standing: Standing::default(),
        })
    }

    /// Whether it has to see every event of its stream.
    pub fn streams(&self) -> bool {
        self.program.streams
    }

    /// Goes on with what was loaded. Where there is nothing, starts the program, before every event.
    pub fn start(&mut self, node: usize, seq: u64, time: i64, timers: &mut Timers) {
        entries::assemble(self, time);
        self.due.iter().for_each(|(due, _)| timers.set(node, *due, Vec::new()));
        let key = binding::encode(&vec![None; self.parameters.count()]);
        if self.states.get(&key).is_some() {
            return;
        }
        self.begin(seq);
        let now = Now { seq, time, timer: false, events: &[], slots: 0 };
        let values = self.parameters.values(&key);
        let mut gone = Vec::new();
        let mut machine = Machine {
            program: &self.program,
            now,
            parameters: &values,
            links: &mut self.links,
            next: &mut self.last_run,
            gone: &mut gone,
            fingerprint: &self.fingerprint,
            ended: false,
            failure: None,
            journal: &mut Journal::default(),
        };
        // What comes true here, before any event, is no occurrence.
        let (root, _) = machine.start(self.program.root, Start::behind(None));
        self.states.insert(&self.parameters, key.clone(), State::new(0, None, values, root));
        self.watch(&key, node, timers);
        self.list(&key);
    }

    /// A position begins: what is made from now on has numbers behind all there was.
    fn begin(&mut self, seq: u64) {
        self.standing.touch();
        let first = number_from(seq);
        self.last_run = self.last_run.max(first);
        self.last_state = self.last_state.max(first);
        self.links.begin(first);
    }

    /// Takes in the events of a position.
    pub fn handle(&mut self, arrived: &mut Vec<(u8, Occurrence)>, moment: &mut Moment) {
        self.begin(moment.seq);
        let arrivals = self.arrivals(arrived);
        let mut fed: FxHashMap<Key, Fed> = FxHashMap::default();
        if self.parameters.count() == 0 {
            let all = arrivals.iter().enumerate().map(|(at, arrival)| (at, arrival.slots.clone()));
            fed.insert(Key::new(), all.collect());
        } else {
            self.feed(&arrivals, &mut fed);
        }
        let number = |key: &Key| self.states.get(key).map_or(u64::MAX, |state| state.number);
        let mut fed: Vec<(u64, Key, Fed)> =
            fed.into_iter().map(|(key, fed)| (number(&key), key, fed)).collect();
        fed.sort_unstable_by_key(|(number, ..)| *number);
        let mut found: Vec<Found> = Vec::new();
        for (_, key, fed) in fed {
            let events =
                fed.into_iter().map(|(at, slots)| Arrived { event: arrivals[at].event.clone(), slots });
            let events: Vec<Arrived> = events.collect();
            self.advance(&key, &events, false, moment, &mut found);
        }
        self.pass_on(found, moment);
    }

    /// Whether some state waits for a time that has come.
    pub fn awaits(&self, time: i64) -> bool {
        self.due.first().is_some_and(|(due, _)| *due <= time)
    }

    /// It is a time that some states waited for. All of them are woken at this one position.
    pub fn wake(&mut self, moment: &mut Moment) {
        self.begin(moment.seq);
        let mut woken: Vec<(u64, Key)> = Vec::new();
        for (_, key) in self.due.iter().take_while(|(due, _)| *due <= moment.time) {
            woken.extend(self.states.get(key).map(|state| (state.number, key.clone())));
        }
        woken.sort_unstable();
        let mut found = Vec::new();
        for (_, key) in woken {
            self.advance(&key, &[], true, moment, &mut found);
        }
        self.pass_on(found, moment);
    }

    /// The events of a position in their order, each once, with the slots whose filters it passed.
    fn arrivals(&self, arrived: &mut Vec<(u8, Occurrence)>) -> Vec<Arrival> {
        let mut arrivals: Vec<Arrival> = Vec::new();
        for (port, occurrence) in arrived.drain(..) {
            let Some(Item { event, .. }) = occurrence.items.into_iter().next() else { continue };
            let known = arrivals.iter_mut().find(|arrival| Arc::ptr_eq(&arrival.event, &event));
            let arrival = match known {
                Some(arrival) => arrival,
                None => {
                    arrivals.push(Arrival { event, slots: SmallVec::new(), streams: false });
                    arrivals.last_mut().expect("one was pushed")
                }
            };
            if port == STREAM {
                arrival.streams = true;
            } else if let Some(slot) = self.inputs.get(usize::from(port)) {
                arrival.slots.push(*slot);
            }
        }
        // Of the events that come by the stream, some are of a phase that no step asks for.
        let is_ours = |arrival: &Arrival| {
            let fills = |filling: &Filling| filling.admits(&arrival.event);
            !arrival.slots.is_empty() || self.fillings.iter().flatten().any(fills)
        };
        arrivals.retain(is_ours);
        arrivals.sort_by_key(|arrival| arrival.event.place());
        arrivals
    }

    /// Finds the states that events belong to, and makes those that are not there yet and would not let them pass by.
    fn feed(&mut self, arrivals: &[Arrival], fed: &mut FxHashMap<Key, Fed>) {
        let mut spoken: Vec<(usize, Key, SmallVec<[u16; 4]>)> = Vec::new();
        for (at, arrival) in arrivals.iter().enumerate() {
            let mut valuations: Vec<(Key, SmallVec<[u16; 4]>)> = Vec::new();
            for slot in 0..self.fillings.len() as u16 {
                let fits = arrival.slots.contains(&slot);
                let filling = self.fillings[usize::from(slot)].as_ref();
                let streams =
                    arrival.streams && filling.is_some_and(|filling| filling.admits(&arrival.event));
                if !fits && !streams {
                    continue;
                }
                let Some(key) = self.parameters.valuation(usize::from(slot), &arrival.event) else {
                    continue;
                };
                let place = valuations.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
                    valuations.push((key, SmallVec::new()));
                    valuations.len() - 1
                });
                if fits {
                    valuations[place].1.push(slot);
                }
            }
            spoken.extend(valuations.into_iter().map(|(key, slots)| (at, key, slots)));
        }
        for (_, key, slots) in &spoken {
            self.make_states(key, slots);
        }
        for (at, key, slots) in spoken {
            let values = self.parameters.decode(&key).unwrap_or_default();
            for (state, has_all) in self.states.agreeing(&values) {
                if !has_all {
                    continue;
                }
                let fed = fed.entry(state).or_default();
                match fed.iter_mut().find(|(other, _)| *other == at) {
                    Some((_, all)) => all.extend(slots.iter().copied()),
                    None => fed.push((at, slots.clone())),
                }
            }
        }
    }

    /// Makes the states for which an event makes a difference to what stands for them.
    fn make_states(&mut self, key: &Key, slots: &[u16]) {
        let values = self.parameters.decode(key).unwrap_or_default();
        let mask = slots.iter().fold(0, |mask, slot| mask | bit(*slot));
        for (other, has_all) in self.states.agreeing(&values) {
            let Some(state) = self.states.get(&other).filter(|_| !has_all) else { continue };
            let Some(root) = &state.root else { continue };
            if root.wants.slots & mask == 0 && !root.wants.stream {
                continue;
            }
            let theirs = self.parameters.decode(&other).unwrap_or_default();
            let Some(joined) = binding::joined(&theirs, &values) else { continue };
            let new = binding::encode(&joined);
            let stands = self.states.get(&new).is_none()
                && self.states.representative(&self.parameters, &joined, None) == other;
            if !stands {
                continue;
            }
            self.last_state += 1;
            let copy = root.copied(&mut self.last_run);
            let values = self.parameters.values(&new);
            let mut made = State::new(self.last_state, Some(other.clone()), values, Some(copy));
            made.threshold = state.threshold;
            self.states.insert(&self.parameters, new, made);
        }
    }

    /// Lets the program of a valuation see a position.
    fn advance(
        &mut self,
        key: &Key,
        events: &[Arrived],
        timer: bool,
        moment: &mut Moment,
        found: &mut Vec<Found>,
    ) {
        let Some(state) = self.states.get_mut(key) else { return };
        let fresh = !state.listed && !state.stored;
        let slots = events.iter().flat_map(|arrived| &arrived.slots).fold(0, |mask, slot| mask | bit(*slot));
        let mut gone = Vec::new();
        let mut ended = false;
        let mut matches = Vec::new();
        if let Some(mut root) = state.root.take() {
            let mut machine = Machine {
                program: &self.program,
                now: Now { seq: moment.seq, time: moment.time, timer, events, slots },
                parameters: &state.values,
                links: &mut self.links,
                next: &mut self.last_run,
                gone: &mut gone,
                fingerprint: &self.fingerprint,
                ended: false,
                failure: None,
                journal: &mut *moment.journal,
            };
            let out = machine.advance(&mut root);
            if out.end.is_some() {
                root.over = out.end;
                machine.bury(&mut root);
            }
            ended = machine.ended;
            matches = out.matches;
            state.changed |= out.end.is_some();
            state.root = out.end.is_none().then_some(root);
        }
        // Only a valuation of all parameters has occurrences.
        if !matches.is_empty() && state.values.iter().all(|value| !value.is_null()) {
            let mut own: Vec<Found> = Vec::new();
            for taken in &matches {
                let occurrence = occurrence(taken::items(taken), moment);
                let order = occurrence.order(&self.roles);
                own.push(Found { state: state.number, occurrence, order });
            }
            own.sort_by_cached_key(|one| completion(&one.occurrence));
            let before = state.threshold;
            own.retain(|one| {
                let passes = self.passing.passes(&one.occurrence, &mut state.threshold);
                if !passes {
                    moment.lose(Reason::Overlap, &one.occurrence);
                }
                passes
            });
            found.append(&mut own);
            state.changed |= state.threshold != before;
        }
        let touched = state.changed || state.root.as_ref().is_some_and(|root| root.changed || root.below);
        self.deleted.extend(gone.into_iter().map(|id| entries::run_key(&self.prefix, key, id)));
        if (ended || fresh) && self.is_at_rest(key) {
            return self.forget(key);
        }
        self.watch(key, moment.node, moment.timers);
        if touched {
            self.list(key);
        }
    }

    /// Whether what stands for a valuation without a state of its own would go on just the same.
    fn is_at_rest(&self, key: &Key) -> bool {
        let Some(state) = self.states.get(key) else { return false };
        let values = self.parameters.decode(key).unwrap_or_default();
        // Where steps mention sets that do not contain each other, several may have to stand for a partial one.
        let alone = self.parameters.nested || valuations::set_of(&values) == self.parameters.all();
        if state.above.is_none() || state.below > 0 || !alone || !self.program.binds_all {
            return false;
        }
        let other = self.states.representative(&self.parameters, &values, Some(key));
        let Some(other) = self.states.get(&other) else { return false };
        match (&state.root, &other.root) {
            (None, None) => true,
            // What is still to come begins behind the threshold, unless complex events do that began before.
            (Some(one), Some(other)) => {
                let free = state.threshold == 0 || (!self.derived && one.is_bare());
                free && one.is_like(other)
            }
            _ => false,
        }
    }

    fn forget(&mut self, key: &Key) {
        let Some(mut state) = self.states.remove(&self.parameters, key) else { return };
        self.due.remove(&(state.due, key.clone()));
        if state.stored {
            self.deleted.push(entries::state_key(&self.prefix, key));
        }
        if let Some(root) = &mut state.root {
            let mut open: Vec<&Run> = vec![root];
            while let Some(run) = open.pop() {
                if run.stored {
                    self.deleted.push(entries::run_key(&self.prefix, key, run.id));
                }
                open.extend(&run.children);
            }
        }
    }

    /// Sees to it that a state is woken when it wants to be.
    fn watch(&mut self, key: &Key, node: usize, timers: &mut Timers) {
        let Some(state) = self.states.get_mut(key) else { return };
        let due = state.root.as_ref().map_or(i64::MAX, |root| root.wants.due);
        if due == state.due {
            return;
        }
        self.due.remove(&(state.due, key.clone()));
        state.due = due;
        if due < i64::MAX {
            self.due.insert((due, key.clone()));
            timers.set(node, due, Vec::new());
        }
    }

    fn list(&mut self, key: &Key) {
        if let Some(state) = self.states.get_mut(key) {
            if !std::mem::replace(&mut state.listed, true) {
                self.changed.push(key.clone());
            }
        }
    }

    /// Gives on what was found. What several valuations have in common is one occurrence.
    fn pass_on(&mut self, mut found: Vec<Found>, moment: &mut Moment) {
        if !self.program.binds_all {
            unite(&mut found);
        }
        found.sort_by(|one, other| one.order.cmp(&other.order));
        moment.found.extend(found.into_iter().map(|one| one.occurrence));
    }

    /// The slot of what comes by an input.
    pub fn base(&self, port: u8) -> u16 {
        self.inputs.get(usize::from(port)).copied().unwrap_or_default()
    }

    pub fn stored(&self) -> usize {
        self.states.iter().filter_map(|state| state.root.as_ref()).map(Run::size).sum()
    }
}

impl Filling {
    fn is_derived(&self, builder: &Builder) -> bool {
        let mut types = builder.plan.types.iter().zip(&self.types);
        types.any(|(event_type, fills)| *fills && event_type.origin == Defined)
    }

    fn admits(&self, event: &Event) -> bool {
        let is_type = self.types.get(usize::from(event.type_id)).copied().unwrap_or_default();
        let in_phase = |(at, phase): &(Slot, Vec<u8>)| event.value(*at) == Value::text(phase);
        is_type && self.phase.as_ref().is_none_or(in_phase)
    }
}

impl Passing {
    /// Whether an occurrence is passed on, after which others may not be.
    fn passes(&self, occurrence: &Occurrence, threshold: &mut u64) -> bool {
        let began = occurrence.start_seq;
        let players = |slots: &[u16]| {
            let mut found: Vec<(u64, u64)> = occurrence
                .items
                .iter()
                .filter(|item| slots.contains(&item.slot))
                .map(|item| (item.event.seq, item.event.start_seq))
                .collect();
            found.sort_unstable();
            found
        };
        let (passes, next) = match self {
            Passing::All => return true,
            Passing::Disjoint => (began > *threshold, Some(occurrence.seq)),
            Passing::Next => (began > *threshold, Some(began)),
            Passing::First(slots) => (began >= *threshold, players(slots).first().map(|(_, began)| *began)),
            Passing::Last(slots) => (began >= *threshold, players(slots).last().map(|(_, began)| *began)),
        };
        if let Some(next) = next.filter(|_| passes) {
            *threshold = next.max(*threshold);
        }
        passes
    }
}

/// Leaves as many of equal occurrences as one valuation alone has found.
fn unite(found: &mut Vec<Found>) {
    let equal = |one: &Occurrence, other: &Occurrence| {
        let mut pairs = one.items.iter().zip(&other.items);
        one.items.len() == other.items.len() && pairs.all(|(a, b)| a.slot == b.slot && a.event.is(&b.event))
    };
    let mut united: Vec<Found> = Vec::new();
    for one in found.drain(..) {
        let alike = |other: &&Found| equal(&other.occurrence, &one.occurrence);
        let known = united.iter().filter(alike).count();
        let own = united.iter().filter(alike).filter(|other| other.state == one.state).count();
        if known == own {
            united.push(one);
        }
    }
    *found = united;
}

fn occurrence(mut items: Vec<Item>, moment: &Moment) -> Occurrence {
    items.sort_by_key(|item| (item.slot, item.event.place()));
    let mut occurrence = Occurrence::at(moment.seq, moment.time);
    for Item { slot, event } in items {
        occurrence.add_event(event, slot);
    }
    occurrence
}

/// The order in which occurrences of one position are passed on: by the first event, then by all.
fn completion(occurrence: &Occurrence) -> (u64, Vec<u64>) {
    let mut events: Vec<&Arc<Event>> = occurrence.items.iter().map(|item| &item.event).collect();
    events.sort_by_key(|event| event.place());
    events.dedup_by(|one, other| one.is(other));
    (occurrence.start_seq, events.into_iter().map(|event| event.seq).collect())
}

fn filling(builder: &Builder, node: usize) -> Result<Filling, String> {
    let Node::Source(source) = &builder.plan.nodes[node] else {
        return Err("the plan is inconsistent: a step of a match reads no events".into());
    };
    let types = (0..builder.plan.types.len()).map(|id| builder.is_one(id, source.type_id)).collect();
    let (event_type, layout) = &builder.types[source.type_id];
    let at = phase_field(event_type).and_then(|field| layout.slot(field));
    let phase = source.phase.as_ref().and_then(|phase| Some((at?, phase.as_bytes().to_vec())));
    Ok(Filling { types, phase })
}

/// The role of each slot, as the definition has them, or the first of several.
fn subscribed_roles<'a>(builder: &'a Builder, id: usize, way: Way) -> &'a [String] {
    let is_meant = |subscriber: usize| !matches!(way, Way::Of(other) if other != subscriber);
    let mut meant = builder.plan.subscribers(id).iter().filter(|subscriber| is_meant(**subscriber));
    let first = meant.next().and_then(|subscriber| builder.plan.nodes[*subscriber].subscription());
    first.map_or(&[], |(_, roles, _)| roles)
}

/// What is passed on, and what tells the entries of this use of a node from those of others.
fn passing(builder: &Builder, way: Way) -> Result<(Passing, Vec<u8>), String> {
    let subscriber = match way {
        Way::Free => return Ok((Passing::All, vec![0])),
        Way::Disjoint => return Ok((Passing::Disjoint, vec![1])),
        Way::Of(subscriber) => &builder.plan.nodes[subscriber],
    };
    let Some((_, roles, fingerprint)) = subscriber.subscription() else {
        return Err("the plan is inconsistent: a match of no definition".into());
    };
    let slots = |role: &Option<String>| {
        let is_meant = |slot: &u16| Some(&roles[usize::from(*slot)]) == role.as_ref();
        (0..roles.len() as u16).filter(is_meant).collect()
    };
    let passing = match subscriber.skip() {
        None if subscriber.is_disjoint() => Passing::Disjoint,
        None => Passing::All,
        Some(Skip { to: SkipTo::Next, .. }) => Passing::Next,
        Some(Skip { to: SkipTo::First, role }) => Passing::First(slots(role)),
        Some(Skip { to: SkipTo::Last, role }) => Passing::Last(slots(role)),
    };
    Ok((passing, [&[2][..], &parse_fingerprint(fingerprint)?].concat()))
}

impl MatchingNode {
    pub fn changes(&mut self, codec: &Codec, out: &mut Vec<Change>) {
        self.standing.write();
        entries::changes(self, codec, out);
    }

    pub fn load(&mut self, entry: &Entry, codec: &Codec) -> Result<bool, Malformed> {
        entries::load(self, entry, codec)
    }

    /// What its entries begin with.
    pub fn fingerprint(&self) -> [u8; 8] {
        self.fingerprint
    }

    /// Forgets everything, unless it is as it was when last confirmed: what was taken is shared by all valuations.
    pub fn undo(&mut self, asked: &mut Vec<Vec<u8>>) {
        if self.standing.is_as_confirmed() {
            return;
        }
        self.standing = Standing::default();
        asked.push(self.prefix.clone());
        self.states = States::default();
        self.due.clear();
        self.links = Links::default();
        (self.last_run, self.last_state) = (0, 0);
        self.changed.clear();
        self.deleted.clear();
        self.loading = Loading::default();
    }
}
