//! The state of a match, as entries.
//!
//! Keys begin with the node's prefix and a byte for the kind of entry.
//!
//! 0, a valuation: length (4, big-endian) and bytes of its values. Value: version, number, the key of the one it was
//! copied from (empty where there is none, with a 1 before it where there is), threshold.
//! 1, a run: the same, and its id (8, big-endian). Value: version, id of the run above (0: it is the root), place there
//! (number, rank, id of the iteration above), part of the program, when it expires, a tag for its kind, and what that
//! kind has.
//! 2, a link of what was taken: its id (8, big-endian). Value: version, id of the link before (0: none), 0 or 1 for in
//! order or scattered, then 0, slot and event, or 1 and the ids of part and base.
//!
//! Entries come back in any order, so they are put together when the task goes on. What does not fit together, because
//! some are missing, is left out.

use rustc_hash::FxHashMap;
use triomphe::Arc;

use super::program::{Number, Op, Program};
use super::run::{Kind, Place, Run, Start};
use super::taken::{is_scattered, Link, Links, Taken, What};
use super::valuations::State;
use super::MatchingNode;
use crate::avro::cursor::Cursor;
use crate::avro::{encode, Malformed};
use crate::event::{Event, NO_TYPE};
use crate::key::Key;
use crate::plan::{Take, MAX_PROGRAM_DEPTH};
use crate::state::{self, number, within_reason, Change, Codec, Entry, VERSION};

const STATE: u8 = 0;
const RUN: u8 = 1;
const LINK: u8 = 2;

/// What was loaded, until it is put together.
#[derive(Default)]
pub struct Loading {
    states: Vec<(Key, StateEntry)>,
    /// By valuation, then by the id of the run above.
    runs: FxHashMap<Key, FxHashMap<u64, Vec<RunEntry>>>,
    links: Vec<LinkEntry>,
}

struct StateEntry {
    number: u64,
    above: Option<Key>,
    threshold: u64,
}

struct RunEntry {
    id: u64,
    place: Place,
    part: Number,
    expires: i64,
    kind: Stored,
}

/// What a kind of run has, with links by their ids.
enum Stored {
    Step { since: u64, start: StoredStart },
    Wait { due: i64, taken: u64 },
    Then,
    All { taken: u64 },
    Parts,
    Every { start: StoredStart },
    Denied,
    AtMost { seen: u64 },
    While,
    Within { deadline: Option<i64> },
    Absent { due: i64, taken: u64 },
    Repeat { matched: bool },
    Collect { base: u64, from: u64, taken: u64, count: u64, begun: u64 },
    Kept { taken: u64 },
    Ended,
}

struct StoredStart {
    taken: u64,
    take: Take,
    between: Option<Number>,
}

struct LinkEntry {
    id: u64,
    before: u64,
    scattered: bool,
    what: StoredWhat,
}

enum StoredWhat {
    Event { slot: u16, event: Arc<Event> },
    Join { part: u64, base: u64 },
}

// --- keys -----------------------------------------------------------------------------------------------------------

pub fn state_key(prefix: &[u8], valuation: &[u8]) -> Vec<u8> {
    state::keyed(&[prefix, &[STATE]].concat(), valuation)
}

pub fn run_key(prefix: &[u8], valuation: &[u8], id: u64) -> Vec<u8> {
    let mut key = state::keyed(&[prefix, &[RUN]].concat(), valuation);
    key.extend_from_slice(&id.to_be_bytes());
    key
}

fn link_key(prefix: &[u8], id: u64) -> Vec<u8> {
    [prefix, &[LINK], &id.to_be_bytes()].concat()
}

// --- writing --------------------------------------------------------------------------------------------------------

pub fn changes(node: &mut MatchingNode, codec: &Codec, out: &mut Vec<Change>) {
    let MatchingNode { prefix, states, changed, deleted, links, .. } = node;
    out.extend(deleted.drain(..).map(|key| Change { key, value: None }));
    for key in changed.drain(..) {
        let Some(state) = states.get_mut(&key) else { continue };
        state.listed = false;
        if std::mem::take(&mut state.changed) {
            state.stored = true;
            out.push(Change { key: state_key(prefix, &key), value: Some(encode_state(state)) });
        }
        if let Some(root) = &mut state.root {
            write_run(root, 0, &mut Writer { prefix, valuation: &key, codec, out });
        }
    }
    // A link that was written and let go in between is deleted behind its writing.
    out.extend(links.yard.drain().into_iter().map(|id| Change { key: link_key(prefix, id), value: None }));
}

fn encode_state(state: &State) -> Vec<u8> {
    let mut out = Vec::new();
    encode::long(&mut out, VERSION);
    encode::long(&mut out, state.number as i64);
    encode::long(&mut out, i64::from(state.above.is_some()));
    encode::blob(&mut out, state.above.as_deref().unwrap_or_default());
    encode::long(&mut out, state.threshold as i64);
    out
}

struct Writer<'a> {
    prefix: &'a [u8],
    valuation: &'a [u8],
    codec: &'a Codec<'a>,
    out: &'a mut Vec<Change>,
}

/// Writes a run and those below it that changed.
fn write_run(run: &mut Run, above: u64, writer: &mut Writer) {
    if std::mem::take(&mut run.changed) {
        run.stored = true;
        let mut value = Vec::with_capacity(32);
        for number in [VERSION, above as i64, run.place.number as i64, run.place.rank as i64] {
            encode::long(&mut value, number);
        }
        encode::long(&mut value, run.place.above as i64);
        encode::long(&mut value, i64::from(run.part));
        encode::long(&mut value, run.expires);
        writer.kind(&run.kind, &mut value);
        writer.out.push(Change { key: run_key(writer.prefix, writer.valuation, run.id), value: Some(value) });
    }
    if std::mem::take(&mut run.below) {
        for child in run.children.iter_mut().filter(|child| child.changed || child.below) {
            write_run(child, run.id, writer);
        }
    }
}

impl Writer<'_> {
    fn kind(&mut self, kind: &Kind, out: &mut Vec<u8>) {
        let numbers = |out: &mut Vec<u8>, numbers: &[i64]| numbers.iter().for_each(|n| encode::long(out, *n));
        match kind {
            Kind::Step { since, start } => {
                numbers(out, &[0, *since as i64]);
                self.start(start, out);
            }
            Kind::Wait { due, taken } => {
                numbers(out, &[1, *due]);
                self.taken(taken, out);
            }
            Kind::Then => numbers(out, &[2]),
            Kind::All { taken } => {
                numbers(out, &[3]);
                self.taken(taken, out);
            }
            Kind::Parts => numbers(out, &[4]),
            Kind::Every { start } => {
                numbers(out, &[5]);
                self.start(start, out);
            }
            Kind::Denied => numbers(out, &[6]),
            Kind::AtMost { seen } => numbers(out, &[7, *seen as i64]),
            Kind::While => numbers(out, &[8]),
            Kind::Within { deadline } => {
                numbers(out, &[9, i64::from(deadline.is_some()), deadline.unwrap_or_default()]);
            }
            Kind::Absent { due, taken } => {
                numbers(out, &[10, *due]);
                self.taken(taken, out);
            }
            Kind::Repeat { matched } => numbers(out, &[11, i64::from(*matched)]),
            Kind::Collect { base, from, taken, count, begun } => {
                numbers(out, &[12, *count as i64, *begun as i64]);
                [base, from, taken].into_iter().for_each(|taken| self.taken(taken, out));
            }
            Kind::Kept { taken } => {
                numbers(out, &[13]);
                self.taken(taken, out);
            }
            // One that is about to be started is started at the same position.
            Kind::Ended | Kind::Pending { .. } => numbers(out, &[14]),
        }
    }

    fn start(&mut self, start: &Start, out: &mut Vec<u8>) {
        self.taken(&start.taken, out);
        encode::long(out, start.take as i64);
        encode::long(out, start.between.map_or(-1, i64::from));
    }

    /// Refers to what was taken; its links are written where they are not yet.
    fn taken(&mut self, taken: &Taken, out: &mut Vec<u8>) {
        encode::long(out, taken.as_ref().map_or(0, |link| link.id as i64));
        let mut open: Vec<&Arc<Link>> = taken.iter().collect();
        while let Some(link) = open.pop() {
            if !link.store() {
                continue;
            }
            let id = |taken: &Taken| taken.as_ref().map_or(0, |link| link.id as i64);
            let mut value = Vec::with_capacity(96);
            encode::long(&mut value, VERSION);
            encode::long(&mut value, id(&link.before));
            encode::long(&mut value, i64::from(is_scattered(link)));
            match &link.what {
                What::Event { slot, event } => {
                    encode::long(&mut value, 0);
                    encode::long(&mut value, i64::from(*slot));
                    self.codec.write_event(event, &mut value);
                }
                What::Join { part, base } => {
                    encode::long(&mut value, 1);
                    encode::long(&mut value, id(part));
                    encode::long(&mut value, id(base));
                    open.extend(part.iter().chain(base));
                }
                What::Gone => {}
            }
            self.out.push(Change { key: link_key(self.prefix, link.id), value: Some(value) });
            open.extend(&link.before);
        }
    }
}

// --- reading --------------------------------------------------------------------------------------------------------

pub fn load(node: &mut MatchingNode, entry: &Entry, codec: &Codec) -> Result<bool, Malformed> {
    let Some(rest) = entry.key.strip_prefix(&node.prefix[..]) else { return Ok(false) };
    let short = || Malformed::new("a state entry has a key that is too short");
    let (&kind, rest) = rest.split_first().ok_or_else(short)?;
    let mut cursor = Cursor::new(entry.value);
    state::version(&mut cursor)?;
    if kind == LINK {
        let link = read_link(node, id_of(rest)?, &mut cursor, codec)?;
        node.loading.links.push(link);
        return Ok(true);
    }
    let (length, rest) = rest.split_at_checked(4).ok_or_else(short)?;
    let length = u32::from_be_bytes(length.try_into().map_err(|_| short())?) as usize;
    let (valuation, rest) = rest.split_at_checked(length).ok_or_else(short)?;
    let known = node.parameters.decode(valuation).is_some();
    if !known || (kind == STATE) != rest.is_empty() || kind > RUN {
        return Err(Malformed::new("a state entry that is none of a match"));
    }
    let valuation = Key::from_slice(valuation);
    if kind == STATE {
        let order = number(&mut cursor)?;
        let has_above = cursor.long()? != 0;
        let above = Key::from_slice(cursor.blob()?);
        let threshold = number(&mut cursor)?;
        let above = has_above.then_some(above);
        node.loading.states.push((valuation, StateEntry { number: order, above, threshold }));
        return Ok(true);
    }
    let above = number(&mut cursor)?;
    let run = read_run(&node.program, id_of(rest)?, &mut cursor)?;
    node.loading.runs.entry(valuation).or_default().entry(above).or_default().push(run);
    Ok(true)
}

fn id_of(key: &[u8]) -> Result<u64, Malformed> {
    let id = key.try_into().map(u64::from_be_bytes);
    within_reason(id.map_err(|_| Malformed::new("a state entry has a key of a wrong length"))?)
}

fn read_link(
    node: &MatchingNode,
    id: u64,
    cursor: &mut Cursor,
    codec: &Codec,
) -> Result<LinkEntry, Malformed> {
    let wrong = || Malformed::new("a stored event that a match cannot have taken");
    let before = number(cursor)?;
    let scattered = cursor.long()? != 0;
    let what = match cursor.long()? {
        0 => {
            let slot = u16::try_from(cursor.long()?).map_err(|_| wrong())?;
            let event = codec.read_event(cursor)?;
            let fits = match node.fillings.get(usize::from(slot)).ok_or_else(wrong)? {
                Some(filling) => filling.types.get(usize::from(event.type_id)) == Some(&true),
                None => event.type_id == NO_TYPE,
            };
            if !fits {
                return Err(wrong());
            }
            StoredWhat::Event { slot, event: Arc::new(event) }
        }
        1 => StoredWhat::Join { part: number(cursor)?, base: number(cursor)? },
        _ => return Err(wrong()),
    };
    Ok(LinkEntry { id, before, scattered, what })
}

fn read_run(program: &Program, id: u64, cursor: &mut Cursor) -> Result<RunEntry, Malformed> {
    let wrong = || Malformed::new("a stored part of a match that its program does not have");
    let (place, rank, above) = (number(cursor)?, number(cursor)?, number(cursor)?);
    let part = Number::try_from(cursor.long()?).map_err(|_| wrong())?;
    let op = &program.get(part).ok_or_else(wrong)?.op;
    let expires = cursor.long()?;
    let start = |cursor: &mut Cursor| -> Result<StoredStart, Malformed> {
        let taken = number(cursor)?;
        let take = match cursor.long()? {
            0 => Take::First,
            1 => Take::Each,
            2 => Take::Next,
            _ => return Err(wrong()),
        };
        let between = match cursor.long()? {
            -1 => None,
            repeat => Some(Number::try_from(repeat).map_err(|_| wrong())?),
        };
        if between.is_some_and(|repeat| program.get(repeat).is_none()) {
            return Err(wrong());
        }
        Ok(StoredStart { taken, take, between })
    };
    let kind = match (cursor.long()?, op) {
        (0, Op::Step { .. }) => Stored::Step { since: number(cursor)?, start: start(cursor)? },
        (1, Op::Wait { .. }) => Stored::Wait { due: cursor.long()?, taken: number(cursor)? },
        (2, Op::Then { .. }) => Stored::Then,
        (3, Op::All { .. }) => Stored::All { taken: number(cursor)? },
        (4, Op::OneOf { .. } | Op::Alternatives { .. }) => Stored::Parts,
        (5, Op::Every { .. }) => Stored::Every { start: start(cursor)? },
        (6, Op::Denied { .. }) => Stored::Denied,
        (7, Op::AtMost { .. }) => Stored::AtMost { seen: number(cursor)? },
        (8, Op::While { .. }) => Stored::While,
        (9, Op::Within { .. }) => {
            let (known, deadline) = (cursor.long()? != 0, cursor.long()?);
            Stored::Within { deadline: known.then_some(deadline) }
        }
        (10, Op::Absent { .. }) => Stored::Absent { due: cursor.long()?, taken: number(cursor)? },
        (11, Op::Repeat { .. }) => Stored::Repeat { matched: cursor.long()? != 0 },
        (12, Op::Collect { .. }) => {
            let (count, begun) = (number(cursor)?, number(cursor)?);
            let (base, from, taken) = (number(cursor)?, number(cursor)?, number(cursor)?);
            Stored::Collect { base, from, taken, count, begun }
        }
        (13, Op::All { .. }) => Stored::Kept { taken: number(cursor)? },
        (14, _) => Stored::Ended,
        _ => return Err(wrong()),
    };
    Ok(RunEntry { id, place: Place { number: place, depth: 0, rank, above }, part, expires, kind })
}

// --- putting together -----------------------------------------------------------------------------------------------

/// Nothing is due before the time from which the task goes on.
pub fn assemble(node: &mut MatchingNode, from: i64) {
    let Loading { mut states, mut runs, links } = std::mem::take(&mut node.loading);
    let links = restore_links(links, &mut node.links);
    // What others were copied from comes before them.
    states.sort_by_key(|(_, state)| state.number);
    for (key, entry) in states {
        let runs = runs.remove(&key).unwrap_or_default();
        let mut open = Assembly { program: &node.program, links: &links, runs, from };
        for run in open.runs.values().flatten() {
            node.last_run = node.last_run.max(run.id);
        }
        let root = open.runs.remove(&0).and_then(|roots| roots.into_iter().next());
        let root = root.filter(|root| root.part == resolve(&node.program, node.program.root));
        let root = root.and_then(|root| open.run(root));
        let mut state = State::new(entry.number, entry.above, node.parameters.values(&key), root);
        (state.threshold, state.stored, state.changed) = (entry.threshold, true, false);
        state.due = state.root.as_ref().map_or(i64::MAX, |root| root.wants.due);
        if state.due < i64::MAX {
            node.due.insert((state.due, key.clone()));
        }
        node.last_state = node.last_state.max(entry.number);
        node.states.insert(&node.parameters, key, state);
    }
}

/// Links refer to earlier ones only. A join that goes deeper than any program, or again and again through the same
/// links, was not made by a match: what it joins is left out.
fn restore_links(mut entries: Vec<LinkEntry>, links: &mut Links) -> FxHashMap<u64, Arc<Link>> {
    entries.sort_by_key(|entry| entry.id);
    let most = entries.len().saturating_mul(SHARED);
    let mut restored: FxHashMap<u64, Arc<Link>> = FxHashMap::default();
    let mut joins: FxHashMap<u64, Joined> = FxHashMap::default();
    for entry in entries {
        let found = |id: u64| restored.get(&id).cloned();
        let what = match entry.what {
            StoredWhat::Event { slot, event } => What::Event { slot, event },
            StoredWhat::Join { part, base } => {
                let joined = joined(found(part), base, &joins, most);
                let sound = joined.depth <= MAX_PROGRAM_DEPTH && joined.links <= most;
                joins.insert(entry.id, if sound { joined } else { Joined::default() });
                What::Join { part: found(part).filter(|_| sound), base: found(base).filter(|_| sound) }
            }
        };
        let link = links.restore(entry.id, found(entry.before), what, entry.scattered);
        restored.insert(entry.id, link);
    }
    restored
}

/// How often the links of a state may be gone through at most, on the way through one list.
const SHARED: usize = 16;

/// How deep joins lie in what a join joins, and how many links it has.
#[derive(Default, Clone, Copy)]
struct Joined {
    depth: usize,
    links: usize,
}

fn joined(part: Taken, base: u64, joins: &FxHashMap<u64, Joined>, most: usize) -> Joined {
    let mut all = Joined { depth: 1, links: 0 };
    let mut at = part;
    while let Some(link) = at.filter(|link| link.id != base && all.links <= most) {
        let own = joins.get(&link.id).copied().unwrap_or_default();
        all.depth = all.depth.max(1 + own.depth);
        all.links = all.links.saturating_add(1 + own.links);
        at = link.before.clone();
    }
    all
}

/// The part that a run is of: what only says which event is taken has none of its own.
fn resolve(program: &Program, mut number: Number) -> Number {
    while let Op::Taking { of, .. } = &program.part(number).op {
        number = *of;
    }
    number
}

struct Assembly<'a> {
    program: &'a Program,
    links: &'a FxHashMap<u64, Arc<Link>>,
    runs: FxHashMap<u64, Vec<RunEntry>>,
    from: i64,
}

impl Assembly<'_> {
    /// A run with all below it; each is of a part below that of the one above, so that this comes to an end.
    fn run(&mut self, entry: RunEntry) -> Option<Run> {
        let program = self.program;
        let op = &program.part(entry.part).op;
        let leaf = matches!(entry.kind, Stored::Kept { .. } | Stored::Ended);
        let mut below = self.runs.remove(&entry.id).unwrap_or_default();
        if leaf {
            below.clear();
        }
        below.retain(|child| self.fits(op, child));
        let below = if matches!(op, Op::Repeat { .. }) { parents_first(below) } else { in_order(below) };
        let children = below.into_iter().filter_map(|child| self.run(child)).collect();
        let mut run = Run::new(entry.id, entry.part, self.kind(entry.kind), children);
        if let (Kind::Step { .. }, Op::Step { slot, .. }) = (&run.kind, op) {
            run = run.awaits(*slot);
        }
        (run.place, run.stored, run.changed, run.below) = (entry.place, true, false, false);
        Some(run.expires_at(entry.expires.max(self.from)))
    }

    /// Whether a run can stand below one of this part.
    fn fits(&self, op: &Op, child: &RunEntry) -> bool {
        let number = usize::try_from(child.place.number).unwrap_or(usize::MAX);
        let part = match op {
            Op::Step { .. } | Op::Wait { .. } | Op::Taking { .. } => return false,
            Op::All { parts } if matches!(child.kind, Stored::Kept { .. }) => return number < parts.len(),
            Op::Repeat { .. } if matches!(child.kind, Stored::Ended) => return true,
            Op::Then { left, right } => [*left, *right].get(number).copied(),
            Op::All { parts } | Op::OneOf { parts } | Op::Alternatives { parts } => {
                parts.get(number).copied()
            }
            Op::Collect { of, until, .. } => [*until, *of].get(number).copied(),
            Op::Every { of }
            | Op::Denied { of }
            | Op::AtMost { of, .. }
            | Op::While { of, .. }
            | Op::Within { of, .. }
            | Op::Absent { of, .. }
            | Op::Repeat { of, .. } => Some(*of),
        };
        let leaf = matches!(child.kind, Stored::Kept { .. } | Stored::Ended);
        !leaf && part.is_some_and(|part| resolve(self.program, part) == child.part)
    }

    fn taken(&self, id: u64) -> Taken {
        self.links.get(&id).cloned()
    }

    fn start(&self, start: StoredStart) -> Start {
        Start { taken: self.taken(start.taken), take: start.take, between: start.between }
    }

    fn kind(&self, stored: Stored) -> Kind {
        match stored {
            Stored::Step { since, start } => Kind::Step { since, start: self.start(start) },
            Stored::Wait { due, taken } => Kind::Wait { due: due.max(self.from), taken: self.taken(taken) },
            Stored::Then => Kind::Then,
            Stored::All { taken } => Kind::All { taken: self.taken(taken) },
            Stored::Parts => Kind::Parts,
            Stored::Every { start } => Kind::Every { start: self.start(start) },
            Stored::Denied => Kind::Denied,
            Stored::AtMost { seen } => Kind::AtMost { seen },
            Stored::While => Kind::While,
            Stored::Within { deadline } => {
                Kind::Within { deadline: deadline.map(|deadline| deadline.max(self.from)) }
            }
            Stored::Absent { due, taken } => {
                Kind::Absent { due: due.max(self.from), taken: self.taken(taken) }
            }
            Stored::Repeat { matched } => Kind::Repeat { matched },
            Stored::Collect { base, from, taken, count, begun } => {
                let (base, from, taken) = (self.taken(base), self.taken(from), self.taken(taken));
                Kind::Collect { base, from, taken, count, begun }
            }
            Stored::Kept { taken } => Kind::Kept { taken: self.taken(taken) },
            Stored::Ended => Kind::Ended,
        }
    }
}

fn in_order(mut runs: Vec<RunEntry>) -> Vec<RunEntry> {
    runs.sort_by_key(|run| (run.place.number, run.id));
    runs
}

/// Iterations, each before those it led to.
fn parents_first(runs: Vec<RunEntry>) -> Vec<RunEntry> {
    let mut below: FxHashMap<u64, Vec<RunEntry>> = FxHashMap::default();
    for run in runs {
        below.entry(run.place.above).or_default().push(run);
    }
    // The last of them is the next: the one with the smallest rank.
    let mut take = |above: u64, depth: u32| {
        let mut found = below.remove(&above).unwrap_or_default();
        found.sort_by_key(|run| std::cmp::Reverse(run.place.rank));
        found.iter_mut().for_each(|run| run.place.depth = depth);
        found
    };
    let mut open = take(0, 0);
    let mut ordered = Vec::new();
    while let Some(run) = open.pop() {
        let behind = take(run.id, run.place.depth.saturating_add(1));
        ordered.push(run);
        open.extend(behind);
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::super::taken::backwards;
    use super::*;

    /// Each entry: its id, what it stands behind, and the part and the base it joins, if it is a join.
    /// Id, what is behind it, and the two sides of a join.
    type Given = (u64, u64, Option<(u64, u64)>);

    fn list(given: &[Given]) -> Vec<LinkEntry> {
        let what = |join: &Option<(u64, u64)>| match join {
            Some((part, base)) => StoredWhat::Join { part: *part, base: *base },
            None => StoredWhat::Event { slot: 0, event: Arc::new(Event::point(1, 1, b"x")) },
        };
        let entry = |(id, before, join): &(u64, u64, Option<(u64, u64)>)| LinkEntry {
            id: *id,
            before: *before,
            scattered: false,
            what: what(join),
        };
        given.iter().map(entry).collect()
    }

    fn visited(restored: &FxHashMap<u64, Arc<Link>>, id: u64) -> usize {
        let mut count = 0;
        backwards(&restored.get(&id).cloned(), &None, &mut |_, _| {
            count += 1;
            true
        });
        count
    }

    #[test]
    fn two_lists_from_one_base_come_back_joined() {
        let links = list(&[(1, 0, None), (2, 1, None), (3, 1, None), (4, 2, Some((3, 1)))]);
        assert_eq!(visited(&restore_links(links, &mut Links::default()), 4), 3);
    }

    #[test]
    fn joins_that_no_match_makes_are_left_out() {
        let deep: Vec<_> = (2..50_000).map(|id| (id, 1, Some((id - 1, 0)))).collect();
        let deep = list(&[&[(1, 0, None)], &deep[..]].concat());
        assert!(visited(&restore_links(deep, &mut Links::default()), 49_999) < 10_000);
        let doubled: Vec<_> = (2..80).map(|id| (id, id - 1, Some((id - 1, 0)))).collect();
        let doubled = list(&[&[(1, 0, None)], &doubled[..]].concat());
        assert!(visited(&restore_links(doubled, &mut Links::default()), 79) < 1_000_000);
    }
}
