//! A bound for what is in memory: what was not used for longest goes first, and comes back in bulk when it is needed.
//!
//! Cells of operators and stores of patterns can be away, binding by binding, once what is in them is committed; nothing
//! of them stays, not even that they are there. So a binding that is not in memory is asked for, unless the node is known
//! to be whole. Before a batch is handled, all that its events need is asked for at once; what shows only on the way,
//! then. What has expired is found by sweeping through the stored entries: whoever keeps them shows them to the engine
//! by and by. Always in memory are: facts and joins, matches, what waits for a point in time, periodic operators,
//! operators some operand of which has no value for a parameter, and patterns that consume, or of whose parts one is
//! found by another than the terminator.
//!
//! Memory is estimated, by the sizes of keys, rows and what comes with each of them.

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;
use triomphe::Arc;

use crate::avro::Malformed;
use crate::event::Event;
use crate::filter::Filter;
use crate::graph::{Graph, Node, Outbox};
use crate::identity::Topics;
use crate::key::Key;
use crate::occurrence::Occurrence;
use crate::order::Read;
use crate::state::{Codec, Entry};

/// What an allocation takes beside its bytes.
const ALLOCATION: usize = 16;

/// What a binding takes on its shelf: tables are half empty, and the queue has some that do not count.
const SHELVED: usize = 2 * (size_of::<(Key, (u64, usize))>() + size_of::<(u64, Key)>());

/// What the cell of a binding takes in its table, half of which is empty.
pub const fn slot<C>() -> usize {
    2 * size_of::<(Key, C)>()
}

/// Returns the committed entries whose keys begin with any of these.
pub type Fetch<'a> = dyn FnMut(Vec<Vec<u8>>) -> Result<Vec<(Vec<u8>, Vec<u8>)>, String> + Send + 'a;

/// About how many bytes an event takes.
pub fn weight(event: &Event) -> usize {
    size_of::<Event>() + event.row.len() + 2 * ALLOCATION
}

/// What of a node is in memory, and what of that goes next.
#[derive(Debug, Default)]
pub struct Shelf {
    /// Whether there is a bound at all.
    pub bounded: bool,
    /// Whether something may be stored that is not in memory.
    pub partial: bool,
    /// Keys that are as memory says, whether or not it has anything of them: what is stored of them is loaded, or does
    /// not count any more.
    known: HashSet<Key, FxBuildHasher>,
    /// The same of what was written, but may still be undone.
    written: HashSet<Key, FxBuildHasher>,
    /// Keys in the order in which they were used last, and in which turn that was; a later one counts.
    queue: VecDeque<(u64, Key)>,
    /// Key → the turn in which it was used last, and how many bytes it takes.
    used: HashMap<Key, (u64, usize), FxBuildHasher>,
    turn: u64,
    bytes: usize,
    /// Which keys may be stored.
    filter: Filter,
}

impl Shelf {
    /// Notes that a key was used, and what its cell takes now; nothing where it is gone.
    pub fn note(&mut self, key: &[u8], bytes: Option<usize>) {
        if !self.bounded {
            return;
        }
        let before = match bytes {
            Some(bytes) => {
                // Short keys are in their places; of the others there are copies.
                let copies =
                    if key.len() > Key::default().inline_size() { 4 * (key.len() + ALLOCATION) } else { 0 };
                let bytes = SHELVED + copies + bytes;
                self.bytes += bytes;
                self.filter.insert(key);
                let before = self.used.insert(key.into(), (self.turn, bytes));
                if before.is_none_or(|(turn, _)| turn != self.turn) {
                    self.queue.push_back((self.turn, key.into()));
                }
                before
            }
            None => self.used.remove(key),
        };
        self.bytes -= before.map_or(0, |(_, bytes)| bytes);
        if self.queue.len() > 2 * self.used.len() + 64 {
            let Shelf { queue, used, .. } = self;
            queue.retain(|(turn, key)| used.get(key).is_some_and(|(last, _)| last == turn));
        }
    }

    /// Notes that something of a key was loaded, into a cell that takes so much when it is empty.
    pub fn add(&mut self, key: &[u8], cell: usize, bytes: usize) {
        match self.used.get_mut(key) {
            _ if !self.bounded => {}
            Some((_, known)) => {
                *known += bytes;
                self.bytes += bytes;
            }
            None => self.note(key, Some(cell + bytes)),
        }
    }

    /// Whether what is stored of a key, that is not in memory, does not count.
    pub fn knows(&self, key: &[u8]) -> bool {
        self.known.contains(key) || self.written.contains(key)
    }

    /// Notes that a key is about to be loaded; says whether there is anything to load.
    pub fn ask(&mut self, key: &[u8]) -> bool {
        self.partial && self.filter.may_hold(key) && !self.knows(key) && self.known.insert(key.into())
    }

    /// Notes that a key is gone, though it is still stored.
    pub fn leave(&mut self, key: &[u8]) {
        if self.bounded {
            self.known.insert(key.into());
        }
    }

    pub fn write(&mut self) {
        self.written.extend(self.known.drain());
    }

    pub fn confirm(&mut self) {
        self.written.clear();
    }

    /// Forgets what was known of keys, and says which.
    pub fn undo(&mut self) -> Vec<Key> {
        self.known.drain().chain(self.written.drain()).collect()
    }

    /// Forgets everything: all of it is away.
    pub fn let_go(&mut self) {
        let (bounded, turn, filter) = (self.bounded, self.turn, Filter::unknown());
        *self = Shelf { bounded, partial: true, turn, filter, ..Shelf::default() };
    }

    /// Notes that something of a key is stored.
    pub fn see(&mut self, key: &[u8]) {
        self.filter.see(key);
    }

    /// The turn of what goes next.
    fn next(&mut self) -> Option<u64> {
        while let Some((turn, key)) = self.queue.front() {
            if self.used.get(key).is_some_and(|(last, _)| last == turn) {
                return Some(*turn);
            }
            self.queue.pop_front();
        }
        None
    }

    /// Takes what goes next, if it was used no later than in some turn; says how many bytes that gives.
    pub fn pop(&mut self, turn: u64) -> Option<(Key, usize)> {
        self.next().filter(|next| *next <= turn)?;
        let (_, key) = self.queue.pop_front()?;
        let (_, bytes) = self.used.remove(&key)?;
        self.bytes -= bytes;
        Some((key, bytes))
    }
}

impl Node {
    fn shelves(&mut self) -> Vec<&mut Shelf> {
        match self {
            Node::Operator(node) => node.shelf().into_iter().collect(),
            Node::Pattern(node) => node.shelves(),
            _ => Vec::new(),
        }
    }

    /// Says what is away of that which some arrivals need.
    fn missing(&mut self, arrived: &[(u8, Occurrence)], asked: &mut Vec<Vec<u8>>) {
        match self {
            Node::Operator(node) => node.missing(arrived, asked),
            // A pattern has an inbox of its own.
            Node::Pattern(node) => node.missing_for_inbox(asked),
            _ => {}
        }
    }
}

impl Graph {
    /// Sets the bound.
    pub fn bound(&mut self, bytes: Option<usize>) {
        self.cache_bytes = bytes;
        let shelves = self.nodes.iter_mut().flat_map(Node::shelves);
        shelves.for_each(|shelf| shelf.bounded = bytes.is_some());
    }

    /// How many bytes of that which can be away are in memory, and whether that is all of it.
    pub fn cached(&mut self) -> (usize, bool) {
        let shelves = self.nodes.iter_mut().flat_map(Node::shelves);
        shelves.fold((0, true), |(bytes, all), shelf| {
            (bytes + shelf.bytes + shelf.filter.bytes(), all && !shelf.partial)
        })
    }

    /// What the keys begin with of all that can be away.
    pub fn shelved(&mut self) -> Vec<Vec<u8>> {
        let prefixes = self.nodes.iter_mut().flat_map(|node| match node {
            _ if self.cache_bytes.is_none() => Vec::new(),
            Node::Operator(node) => node.shelved(),
            Node::Pattern(node) => node.shelved(),
            _ => Vec::new(),
        });
        prefixes.collect()
    }

    /// Lets go of all that can be away.
    pub fn let_go(&mut self) {
        for node in &mut self.nodes {
            match node {
                Node::Operator(node) => node.let_go(),
                Node::Pattern(node) => node.let_go(),
                _ => {}
            }
        }
    }

    /// All stored entries were swept through since the last time.
    pub fn swept(&mut self) {
        self.nodes.iter_mut().flat_map(Node::shelves).for_each(|shelf| shelf.filter.renew());
    }

    /// Forgets what is stored under an entry, where it has expired.
    pub fn sweep(&mut self, entry: &Entry, watermark: i64, topics: &Topics) -> Result<(), Malformed> {
        let Graph { nodes, owners, journals, seq, .. } = self;
        let owners = entry.key.first_chunk().and_then(|fingerprint| owners.get(fingerprint));
        for id in owners.into_iter().flatten() {
            let (now, journal) = ((*seq, watermark), &mut journals[*id]);
            match &mut nodes[*id] {
                Node::Operator(node) => node.sweep(entry, now, topics, journal)?,
                Node::Pattern(node) => node.sweep(entry, now, journal)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Lets go of what is too much, now that all that was written is committed.
    pub fn evict(&mut self) {
        let Some(bound) = self.cache_bytes else { return };
        let mut too_much = self.cached().0.saturating_sub(bound);
        while too_much > 0 {
            let shelves = self.nodes.iter_mut().flat_map(Node::shelves);
            let Some(turn) = shelves.filter_map(Shelf::next).min() else { break };
            for node in &mut self.nodes {
                too_much = match node {
                    Node::Operator(node) => node.evict(turn, too_much),
                    Node::Pattern(node) => node.evict(turn, too_much),
                    _ => too_much,
                };
            }
        }
        self.nodes.iter_mut().flat_map(Node::shelves).for_each(|shelf| shelf.turn += 1);
    }

    /// Brings what the events need that are about to be handled.
    pub fn bring_for<'a>(&mut self, due: impl Iterator<Item = &'a Read>, out: &mut Outbox) {
        if self.cache_bytes.is_none() || self.cached().1 {
            return;
        }
        let mut asked = Vec::new();
        let Graph { nodes, leaf_readers, .. } = self;
        for Read { event, leaves, .. } in due {
            let event = Arc::new((**event).clone());
            for &(reader, port) in leaves.iter().flat_map(|leaf| &leaf_readers[*leaf as usize]) {
                match &mut nodes[reader] {
                    Node::Pattern(node) => node.missing(&[(port, event.clone())], &mut asked),
                    node => node.missing(&[(port, Occurrence::of(event.clone()))], &mut asked),
                }
            }
        }
        self.bring(asked, out);
    }

    /// Brings what a node needs for what arrived at it.
    pub fn bring_arrived(&mut self, id: usize, arrived: &[(u8, Occurrence)], out: &mut Outbox) {
        let mut asked = Vec::new();
        self.nodes[id].missing(arrived, &mut asked);
        self.bring(asked, out);
    }

    fn bring(&mut self, asked: Vec<Vec<u8>>, out: &mut Outbox) {
        if asked.is_empty() || out.lost.is_some() {
            return;
        }
        let fetched = match &mut out.fetch {
            Some(fetch) => fetch(asked),
            None => Err("what is not in memory is needed, and nobody was named to ask for it".to_owned()),
        };
        let codec = Codec { types: out.types, names: out.names, topics: out.topics };
        let loaded = fetched.and_then(|entries| {
            entries.iter().try_for_each(|(key, value)| {
                self.load(&Entry { key, value }, &codec).map(drop).map_err(|malformed| malformed.0)
            })
        });
        out.lost = loaded.err();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_again_and_again_is_remembered_once() {
        let mut shelf = Shelf { bounded: true, ..Shelf::default() };
        for number in 0..10_000 {
            shelf.turn = number / 2;
            shelf.note(b"a", Some(1));
            shelf.note(b"b", Some(1));
        }
        assert!(shelf.queue.len() < 100);
        let mut gone = || shelf.pop(u64::MAX).map(|(key, _)| key.to_vec());
        assert_eq!([gone(), gone(), gone()], [Some(b"a".to_vec()), Some(b"b".to_vec()), None]);
        assert_eq!(shelf.bytes, 0);
    }

    #[test]
    fn what_is_gone_is_not_asked_for_until_that_is_committed() {
        let mut shelf = Shelf { bounded: true, partial: true, ..Shelf::default() };
        [b"a", b"b"].iter().for_each(|key| shelf.note(*key, Some(1)));
        shelf.leave(b"a");
        assert!(!shelf.ask(b"a"));
        shelf.write();
        shelf.leave(b"b");
        assert!(!shelf.ask(b"a"));
        shelf.confirm();
        assert!(shelf.ask(b"a"));
        assert!(!shelf.ask(b"b"), "it was gone when something else was committed");
        assert!(!shelf.ask(b"a"), "it is there now");
    }
}
