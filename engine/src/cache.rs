//! A bound for what is in memory: what was not used for longest goes first, and comes back in bulk when it is needed.
//!
//! Cells of operators and stores of patterns can be away, binding by binding, once what is in them is committed. What
//! stays is the binding and when it is to be looked at, so that what expires is deleted in time. Before a batch is
//! handled, all that its events need is asked for at once; what shows only on the way, then. Always in memory are: facts
//! and joins, matches, what waits for a point in time, operators some operand of which has no value for a parameter, and
//! patterns that consume, or of whose parts one is found by another than the terminator.
//!
//! Memory is estimated, by the length of keys and rows and what comes with each of them.

use std::collections::VecDeque;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use triomphe::Arc;

use crate::event::Event;
use crate::graph::{Graph, Node, Outbox};
use crate::key::Key;
use crate::occurrence::Occurrence;
use crate::order::Read;
use crate::state::{Codec, Entry};

/// What an entry takes beside its bytes.
const ENTRY: usize = 96;

/// Returns the committed entries whose keys begin with any of these.
pub type Fetch<'a> = dyn FnMut(Vec<Vec<u8>>) -> Result<Vec<(Vec<u8>, Vec<u8>)>, String> + Send + 'a;

/// About how many bytes an event takes.
pub fn weight(event: &Event) -> usize {
    ENTRY + event.row.len()
}

/// Which keys of a node are away, and which of the others go next.
#[derive(Debug, Default)]
pub struct Shelf {
    /// Whether there is a bound at all.
    pub bounded: bool,
    /// What is away → the span after which it is looked at.
    pub away: HashMap<Key, i64, FxBuildHasher>,
    /// What came back since the last commit that stands.
    pub brought: Vec<Key>,
    /// Keys in the order in which they were used last, and in which turn that was; a later one counts.
    queue: VecDeque<(u64, Key)>,
    /// Key → the turn in which it was used last, and how many bytes it takes.
    used: HashMap<Key, (u64, usize), FxBuildHasher>,
    turn: u64,
    bytes: usize,
}

impl Shelf {
    /// Notes that a key was used, and what it takes now; nothing where it is gone.
    pub fn note(&mut self, key: &[u8], bytes: Option<usize>) {
        if !self.bounded {
            return;
        }
        let before = match bytes {
            Some(bytes) => {
                self.bytes += bytes;
                self.queue.push_back((self.turn, key.into()));
                self.used.insert(key.into(), (self.turn, bytes))
            }
            None => self.used.remove(key),
        };
        self.bytes -= before.map_or(0, |(_, bytes)| bytes);
    }

    /// Notes that something of a key was loaded.
    pub fn add(&mut self, key: &[u8], bytes: usize) {
        match self.used.get_mut(key) {
            _ if !self.bounded => {}
            Some((_, known)) => {
                *known += bytes;
                self.bytes += bytes;
            }
            None => self.note(key, Some(key.len() + bytes)),
        }
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

    /// Takes what goes next, if it was used no later than in some turn.
    pub fn pop(&mut self, turn: u64) -> Option<Key> {
        self.next().filter(|next| *next <= turn)?;
        let (_, key) = self.queue.pop_front()?;
        let (_, bytes) = self.used.remove(&key)?;
        self.bytes -= bytes;
        Some(key)
    }

    /// Forgets what is undone.
    pub fn undo(&mut self) -> Vec<Key> {
        std::mem::take(&mut self.brought)
    }
}

impl Node {
    fn shelves(&mut self) -> Vec<&mut Shelf> {
        match self {
            Node::Operator(node) => vec![node.shelf()],
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

    /// How many bytes of that which can be away are in memory, and how many bindings are away.
    pub fn cached(&mut self) -> (usize, usize) {
        let shelves = self.nodes.iter_mut().flat_map(Node::shelves);
        shelves.fold((0, 0), |(bytes, away), shelf| (bytes + shelf.bytes, away + shelf.away.len()))
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
        if self.cache_bytes.is_none() {
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

    /// Brings what may have expired.
    pub fn bring_overdue(&mut self, watermark: i64, out: &mut Outbox) {
        if self.cache_bytes.is_none() {
            return;
        }
        let mut asked = Vec::new();
        for node in &mut self.nodes {
            match node {
                Node::Operator(node) => node.overdue(watermark, &mut asked),
                Node::Pattern(node) => node.overdue(watermark, &mut asked),
                _ => {}
            }
        }
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
