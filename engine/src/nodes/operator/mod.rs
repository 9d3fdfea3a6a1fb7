//! Operators of the event algebra: nodes that keep what their operands signal until it makes an occurrence.
//!
//! What is kept is kept apart for each binding of the node's equality parameters. An operand that lacks one of them
//! counts for all its values: what it signals goes to every binding that there is, and to one that stands for all
//! values not seen yet (`valuations.rs`). What a context does with it stands in a file each.

mod activation;
mod chronicle;
mod combinations;
mod conditions;
mod continuous;
mod cumulative;
mod parameters;
mod procedure;
mod recent;
mod shape;
mod temporal;
mod unrestricted;
mod valuations;
mod why;

use std::collections::BTreeSet;

use self::activation::Activation;
use self::procedure::deliver;
use self::shape::{Kind, Shape, LEFT, MIDDLE};
use triomphe::Arc;

use crate::avro::Malformed;
use crate::binding::Binding;
use crate::build::Builder;
use crate::cache::Shelf;
use crate::cells::Cells;
use crate::graph::Moment;
use crate::identity::Topics;
use crate::journal::Journal;
use crate::key::Key;
use crate::occurrence::Occurrence;
use crate::plan::{Context, Node};
use crate::state::{Change, Codec, Entry};
use crate::timers::Timers;

/// In the prefix of a node's entries, behind its fingerprint: the context, and these.
const DISJOINT: u8 = 8;
const WAITING: u8 = 16;

pub struct OperatorNode {
    shape: Shape,
    context: Context,
    /// Whether what is found must not overlap.
    disjoint: bool,
    cells: Cells,
    /// The cells that stand for any value of some parameter.
    open: BTreeSet<Key>,
    /// `E + d`: what waits for its time, by that time and the position it is counted from.
    waiting: Option<Cells>,
    /// What is signalled to one cell, by place.
    signalled: Vec<Vec<Occurrence>>,
    /// Whether something may still arrive at a position that it has handled: its own occurrences lead to that. What
    /// can only begin an occurrence waits then until the position is over.
    recursive: bool,
    incoming: Vec<(u8, Occurrence)>,
}

impl OperatorNode {
    pub fn new(
        builder: &Builder,
        id: usize,
        node: &Node,
        context: Context,
        disjoint: bool,
    ) -> Result<OperatorNode, String> {
        let shape = Shape::new(builder, id, node)?;
        let mark = context as u8 + if disjoint { DISJOINT } else { 0 };
        let prefix = |mark: u8| [&shape.fingerprint[..], &[mark]].concat();
        let waits = matches!(shape.kind, Kind::Plus { .. });
        Ok(OperatorNode {
            cells: Cells::new(prefix(mark), shape.lists(), shape.within_ms),
            open: BTreeSet::new(),
            waiting: waits.then(|| Cells::new(prefix(mark + WAITING), 1, None)),
            signalled: vec![Vec::new(); shape.operands()],
            recursive: false,
            incoming: Vec::new(),
            shape,
            context,
            disjoint,
        })
    }

    /// It depends on what its own occurrences lead to.
    pub fn recur(&mut self) {
        self.recursive = true;
    }

    /// Takes in what arrived; true where it wants to be told when the position is over.
    pub fn handle(&mut self, arrived: &mut Vec<(u8, Occurrence)>, moment: &mut Moment) -> bool {
        self.begin(moment.seq);
        if self.recursive {
            self.hold_back(arrived);
        }
        self.take(arrived, moment);
        !self.incoming.is_empty()
    }

    /// Keeps what can only begin an occurrence for the end of the position, and with it what may forbid that.
    fn hold_back(&mut self, arrived: &mut Vec<(u8, Occurrence)>) {
        let forbids = self.shape.kind == Kind::Not && self.context != Context::Unrestricted;
        let mut now = Vec::with_capacity(arrived.len());
        for (port, occurrence) in arrived.drain(..) {
            let place = self.shape.place_of(port);
            if self.shape.only_begins(place) {
                self.incoming.push((port, occurrence));
                continue;
            }
            if forbids && place == MIDDLE {
                self.incoming.push((port, occurrence.clone()));
            }
            now.push((port, occurrence));
        }
        *arrived = now;
    }

    /// The position is over.
    pub fn settle(&mut self, moment: &mut Moment) {
        let mut incoming = std::mem::take(&mut self.incoming);
        incoming.sort_by_cached_key(|(_, occurrence)| {
            let places: Vec<(u64, i64)> = occurrence.items.iter().map(|item| item.event.place()).collect();
            (occurrence.start_seq, places)
        });
        self.take(&mut incoming, moment);
    }

    /// Takes in what the operands signal at a position.
    fn take(&mut self, arrived: &mut Vec<(u8, Occurrence)>, moment: &mut Moment) {
        arrived.sort_by_key(|(port, occurrence)| self.shape.turn(*port, occurrence));
        let arrived = arrived.drain(..).map(|(port, occurrence)| (self.shape.place_of(port), occurrence));
        let arrived: Vec<(usize, Occurrence)> = arrived.collect();
        match self.shape.kind {
            Kind::Plus { delay_ms } => self.wait(arrived, delay_ms, moment),
            Kind::Or | Kind::Modified { .. } if !self.disjoint => self.pass_through(arrived, moment),
            _ => self.activate(arrived, moment),
        }
    }

    fn begin(&mut self, seq: u64) {
        self.cells.begin(seq);
        self.waiting.iter_mut().for_each(|waiting| waiting.begin(seq));
    }

    /// Passes on what needs no state, whatever it holds for.
    fn pass_through(&self, arrived: Vec<(usize, Occurrence)>, moment: &mut Moment) {
        let mut passed = Vec::with_capacity(arrived.len());
        for (place, occurrence) in arrived {
            let Some(bound) = self.shape.bound(place, &occurrence) else { continue };
            let mut one = self.shape.union(&[(place, &occurrence)]);
            if let Kind::Modified { begin } = self.shape.kind {
                modify(&mut one, begin, self.shape.is_of_event());
            }
            one.binding = self.shape.binding(&one, bound);
            passed.push(one);
        }
        moment.found.extend(self.shape.arranged(passed));
    }

    /// Gives what is signalled to the cells it is for.
    fn activate(&mut self, arrived: Vec<(usize, Occurrence)>, moment: &mut Moment) {
        let bound =
            arrived.into_iter().filter_map(|(place, one)| Some((self.shape.bound(place, &one)?, place, one)));
        let mut bound: Vec<_> = bound.collect();
        // Cells for any value come first: the others are made as copies of them.
        for complete in [false, true] {
            let bound = bound.iter().map(|(bound, ..)| bound).filter(|bound| bound.complete == complete);
            bound.for_each(|bound| self.prepare(bound, moment));
        }
        if let [(only, place, _)] = &bound[..] {
            if only.complete && only.except.is_empty() {
                let (place, key) = (*place, only.values.clone());
                self.signalled[place].extend(bound.pop().map(|(.., one)| one));
                return self.run(&key, None, moment);
            }
        }
        for key in self.concerned(bound.iter().map(|(bound, ..)| bound)) {
            for (bound, place, one) in &bound {
                if self.holds_for(bound, &key) {
                    self.signalled[*place].push(one.clone());
                }
            }
            self.run(&key, None, moment);
        }
    }

    /// Activates one cell with what is signalled to it, or with the ticks that are counted from a position.
    fn run(&mut self, key: &Key, ticks_of: Option<u64>, moment: &mut Moment) {
        let OperatorNode { shape, context, disjoint, cells, signalled, .. } = self;
        let (context, disjoint) = (*context, *disjoint);
        let here = (moment.seq, moment.time);
        let earliest = signalled.iter().flatten().map(|one| one.start).min().unwrap_or(moment.time);
        let known = cells.get(key);
        let others = cells.len() > usize::from(known.is_some());
        let last_end = known.and_then(|cell| cell.memo().first()).map(|seq| *seq as u64);
        let last_end = last_end.filter(|_| disjoint);
        if let Some(last_end) = last_end.filter(|_| context != Context::Unrestricted) {
            // What began before the last occurrence was over can be no part of the next one.
            let constituents =
                signalled.iter_mut().enumerate().filter(|(place, _)| shape.is_constituent(*place));
            constituents.for_each(|(_, events)| events.retain(|one| one.start_seq > last_end));
        }
        let (cell, journal) = (cells.entry(key, earliest), &mut *moment.journal);
        let (topics, passed) = (moment.topics, Vec::new());
        let mut a = Activation { shape, cell, topics, beside: &[], passed, here, journal };
        if let Some(within) = shape.within_ms {
            a.purge(moment.time.saturating_sub(within), context);
        }
        if let Some(of) = ticks_of {
            signalled[MIDDLE] = a.ticks(of, here);
        }
        if shape.kind == Kind::Not && context != Context::Unrestricted {
            a.beside = &signalled[MIDDLE];
        }
        match context {
            Context::Unrestricted => deliver::<unrestricted::Unrestricted>(&mut a, signalled),
            Context::Recent => deliver::<recent::Recent>(&mut a, signalled),
            Context::Chronicle => deliver::<chronicle::Chronicle>(&mut a, signalled),
            Context::Continuous => deliver::<continuous::Continuous>(&mut a, signalled),
            Context::Cumulative => deliver::<cumulative::Cumulative>(&mut a, signalled),
        }
        if a.passed.is_empty() {
            a.explain(signalled, others);
        }
        let mut found = shape.arranged(std::mem::take(&mut a.passed));
        if disjoint {
            let overlaps = |one: &Occurrence| last_end.is_some_and(|last_end| one.start_seq <= last_end);
            found.iter().filter(|one| overlaps(one)).for_each(|one| a.note_overlap(one));
            found.retain(|one| !overlaps(one));
            found.iter().skip(1).for_each(|one| a.note_overlap(one));
            found.truncate(1);
            // The point in time of `E + d` overlaps nothing, and what waits for its time goes on waiting.
            if !found.is_empty() && !matches!(shape.kind, Kind::Plus { .. }) {
                a.cell.set_memo(vec![moment.seq as i64, moment.time]);
                if context != Context::Unrestricted {
                    (0..shape.expiring()).for_each(|list| a.cell.clear(list));
                }
            }
        }
        if shape.is_periodic() {
            let mut new = a
                .cell
                .list(LEFT)
                .iter()
                .map(|kept| &kept.occurrence)
                .filter(|e1| Some(e1.seq) == ticks_of.or(Some(here.0)));
            if let Some(e1) = new.next() {
                let due = shape.next_tick(e1, moment.time.saturating_add(1));
                moment.timers.set(moment.node, due, token(e1.seq, key));
            }
        }
        self.signalled.iter_mut().for_each(Vec::clear);
        self.pass_on(key, found, moment);
        self.tidy(key);
    }

    /// Passes on what was found for a binding.
    fn pass_on(&self, key: &Key, found: Vec<Occurrence>, moment: &mut Moment) {
        let mut binding = None;
        for mut one in found {
            if !self.shape.tells_values(&one) {
                let made = || Arc::new(Binding { values: key.clone(), except: self.more_special(key) });
                one.binding = Some(binding.get_or_insert_with(made).clone());
            }
            moment.found.push(one);
        }
    }

    // --- time -----------------------------------------------------------------------------------------------

    fn wait(&mut self, arrived: Vec<(usize, Occurrence)>, delay_ms: i64, moment: &mut Moment) {
        let Some(waiting) = &mut self.waiting else { return };
        let due = moment.time.saturating_add(delay_ms);
        let key = token(moment.seq, &due.to_be_bytes());
        for (place, occurrence) in arrived {
            if self.shape.bound(place, &occurrence).is_some() {
                moment.timers.set(moment.node, due, key.clone());
                waiting.entry(&Key::from_slice(&key), due).push(0, occurrence);
            }
        }
    }

    /// Whether something still waits for a time that the node asked for.
    pub fn awaits(&self, time: i64, asked: &[u8]) -> bool {
        if let Some(waiting) = &self.waiting {
            return waiting.get(&Key::from_slice(asked)).is_some_and(|cell| !cell.list(0).is_empty());
        }
        let Some((of, key)) = asked.split_at_checked(8) else { return false };
        let initiators = self.cells.get(&Key::from_slice(key)).into_iter().flat_map(|cell| cell.list(LEFT));
        let oldest = self.shape.within_ms.map_or(i64::MIN, |within| time.saturating_sub(within));
        initiators.map(|kept| &kept.occurrence).any(|e1| e1.seq.to_be_bytes() == of && e1.start >= oldest)
    }

    /// A time has come that the node asked for.
    pub fn wake(&mut self, woken: &[u8], moment: &mut Moment) {
        self.begin(moment.seq);
        if self.waiting.is_some() {
            return self.wake_waiting(woken, moment);
        }
        let Some((of, _)) = woken.split_at_checked(8) else { return };
        let mut tokens = vec![woken.to_vec()];
        // All that is counted from one position stands at one position.
        tokens.extend(std::iter::from_fn(|| moment.timers.pop_beside(moment.node, moment.time, of)));
        let of = u64::from_be_bytes(of.try_into().expect("8 bytes were taken"));
        for token in tokens {
            let key = Key::from_slice(&token[8..]);
            if self.cells.get(&key).is_some() {
                self.run(&key, Some(of), moment);
            }
        }
    }

    fn wake_waiting(&mut self, woken: &[u8], moment: &mut Moment) {
        let Some(waiting) = &mut self.waiting else { return };
        let key = Key::from_slice(woken);
        let here = (moment.seq, moment.time);
        let due: Vec<Occurrence> = waiting.get(&key).map_or(Vec::new(), |cell| {
            cell.list(0).iter().map(|kept| self.shape.later(&kept.occurrence, here, moment.topics)).collect()
        });
        waiting.remove(&key);
        if self.disjoint {
            self.activate(due.into_iter().map(|one| (0, one)).collect(), moment);
        } else {
            moment.found.extend(self.shape.arranged(due));
        }
    }

    /// Asks for the times that what was loaded waits for.
    pub fn resume(&self, id: usize, released: i64, timers: &mut Timers) {
        for key in self.waiting.iter().flat_map(Cells::keys) {
            if let Some(due) = key.get(8..16).and_then(|due| due.try_into().ok()) {
                timers.set(id, i64::from_be_bytes(due), key.to_vec());
            }
        }
        if self.shape.is_periodic() {
            for key in self.cells.keys() {
                let initiators = self.cells.get(&key).into_iter().flat_map(|cell| cell.list(LEFT));
                for e1 in initiators.map(|kept| &kept.occurrence) {
                    timers.set(id, self.shape.next_tick(e1, released), token(e1.seq, &key));
                }
            }
        }
    }

    /// Forgets what no later event can reach.
    pub fn expire(&mut self, (seq, watermark): (u64, i64), topics: &Topics, journal: &mut Journal) {
        let (oldest, keys) = self.cells.overdue(watermark);
        for key in keys {
            self.expire_key(&key, oldest, (seq, watermark), topics, journal);
        }
    }

    fn expire_key(
        &mut self,
        key: &Key,
        oldest: i64,
        here: (u64, i64),
        topics: &Topics,
        journal: &mut Journal,
    ) {
        let Some(cell) = self.cells.get_mut(key) else { return };
        let (shape, passed) = (&self.shape, Vec::new());
        let mut a = Activation { shape, cell, topics, beside: &[], passed, here, journal };
        a.purge(oldest, self.context);
        // An end that lies so far back overlaps nothing that is still to come.
        if a.cell.memo().last().is_some_and(|time| *time < oldest) {
            a.cell.set_memo(Vec::new());
        }
        let kept = (0..self.shape.expiring()).flat_map(|list| a.cell.list(list));
        let earliest = kept.map(|kept| kept.occurrence.start).chain(a.cell.memo().last().copied());
        let earliest = earliest.min().unwrap_or(here.1);
        if self.is_needless(key) {
            self.forget(key);
        } else {
            self.cells.watch(key, earliest);
            self.tidy(key);
        }
    }

    // --- state ----------------------------------------------------------------------------------------------

    pub fn changes(&mut self, codec: &Codec, out: &mut Vec<Change>) {
        self.cells.changes(codec, out);
        if let Some(waiting) = &mut self.waiting {
            waiting.changes(codec, out);
        }
    }

    /// Whether what it keeps can be away: what arrives tells of which binding it is.
    fn is_told(&self) -> bool {
        self.shape.is_closed && !self.shape.is_periodic()
    }

    pub fn shelf(&mut self) -> Option<&mut Shelf> {
        self.is_told().then_some(&mut self.cells.shelf)
    }

    /// What the keys begin with of that which can be away.
    pub fn shelved(&self) -> Vec<Vec<u8>> {
        self.is_told().then(|| self.cells.prefix().to_vec()).into_iter().collect()
    }

    pub fn let_go(&mut self) {
        if self.cells.shelf.bounded {
            self.cells.let_go();
        }
    }

    /// Says what is away of that which some arrivals need.
    pub fn missing(&mut self, arrived: &[(u8, Occurrence)], asked: &mut Vec<Vec<u8>>) {
        if !self.cells.shelf.partial {
            return;
        }
        for (port, occurrence) in arrived {
            if let Some(bound) = self.shape.bound(self.shape.place_of(*port), occurrence) {
                self.cells.ask(&bound.values, asked);
            }
        }
    }

    /// Forgets what a stored entry is about, where it has expired.
    pub fn sweep(
        &mut self,
        entry: &Entry,
        now: (u64, i64),
        topics: &Topics,
        journal: &mut Journal,
    ) -> Result<(), Malformed> {
        if self.cells.shelf.bounded && entry.key.starts_with(self.cells.prefix()) {
            if let Some((oldest, key)) = self.cells.sweep(entry, now.1)? {
                self.expire_key(&key, oldest, now, topics, journal);
            }
        }
        Ok(())
    }

    pub fn evict(&mut self, turn: u64, too_much: usize) -> usize {
        self.cells.evict(turn, too_much)
    }

    /// What its entries begin with.
    pub fn fingerprint(&self) -> [u8; 8] {
        self.shape.fingerprint
    }

    pub fn confirm(&mut self) {
        self.cells.confirm();
        self.waiting.iter_mut().for_each(Cells::confirm);
    }

    /// Forgets what is not as it was when last confirmed, and says what is to be loaded instead.
    pub fn undo(&mut self, asked: &mut Vec<Vec<u8>>) {
        self.signalled.iter_mut().for_each(Vec::clear);
        self.incoming.clear();
        for key in self.cells.undo(asked) {
            self.open.remove(&key);
        }
        self.waiting.iter_mut().for_each(|waiting| drop(waiting.undo(asked)));
    }

    /// Takes an entry when it is of this node.
    pub fn load(&mut self, entry: &Entry, codec: &Codec) -> Result<bool, Malformed> {
        let shape = &self.shape;
        if let Some(waiting) = &mut self.waiting {
            if let Some(key) = waiting.load(entry, codec, |_, one| shape.accepts(0, one))? {
                return if key.len() == 16 {
                    Ok(true)
                } else {
                    Err(Malformed::new("what waits has no time"))
                };
            }
        }
        let Some(key) = self.cells.load(entry, codec, |list, one| shape.accepts(list, one))? else {
            return Ok(false);
        };
        self.recognize(&key)?;
        Ok(true)
    }

    /// About how many bytes its entries take.
    pub fn bytes(&self) -> usize {
        self.cells.bytes() + self.waiting.as_ref().map_or(0, Cells::bytes)
    }

    /// The first slot of what comes by an input.
    pub fn base(&self, port: u8) -> u16 {
        self.shape.ports.get(usize::from(port)).map_or(0, |place| self.shape.places[*place].base)
    }

    pub fn stored(&self) -> usize {
        self.cells.stored() + self.waiting.as_ref().map_or(0, Cells::stored)
    }
}

/// `begin E`, `end E`: the same occurrence, of which only the point of its begin or of its end is taken.
fn modify(occurrence: &mut Occurrence, begin: bool, of_event: bool) {
    if begin {
        occurrence.end = occurrence.start;
    } else {
        (occurrence.start, occurrence.start_seq) = (occurrence.end, occurrence.seq);
    }
    if of_event {
        for item in &mut occurrence.items {
            let event = Arc::make_mut(&mut item.event);
            (event.start, event.end, event.start_seq) =
                (occurrence.start, occurrence.end, occurrence.start_seq);
        }
    }
}

/// What a node wants to be told: a position, and what for.
fn token(seq: u64, rest: &[u8]) -> Vec<u8> {
    [&seq.to_be_bytes()[..], rest].concat()
}
