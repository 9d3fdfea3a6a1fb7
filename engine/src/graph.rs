//! The event graph of one task: events go in at the leaves, complex events come out at the roots.
//!
//! A node of the plan stands here once for each context it is used in, with state of its own. What happens at one
//! position flows through the nodes in the order of the plan, so that a node sees everything of its inputs at once;
//! what it keeps for later positions only, it takes in when the position is over.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use triomphe::{Arc, UniqueArc};

use crate::avro::Malformed;
use crate::cache::Fetch;
use crate::census::{Legend, Seen};
use crate::event::{Event, Layout, Spares};
use crate::filters::Filters;
use crate::identity::Topics;
use crate::journal::{Journal, Loss, Reason};
use crate::nodes::change::ChangeNode;
use crate::nodes::define::DefineNode;
use crate::nodes::emission::Emitted;
use crate::nodes::join::JoinNode;
use crate::nodes::matching::MatchingNode;
use crate::nodes::operator::OperatorNode;
use crate::nodes::pattern::{PatternNode, Received};
use crate::nodes::rule::RuleNode;
use crate::nodes::timer::TimerNode;
use crate::occurrence::Occurrence;
use crate::order::Leaves;
use crate::residence;
use crate::rounds::Rounds;
use crate::state::{Change, Codec, Entry, Names};
use crate::timers::Timers;

/// One dispatch for all kinds of nodes.
pub enum Node {
    Timer(Box<TimerNode>),
    Operator(Box<OperatorNode>),
    Pattern(Box<PatternNode>),
    Matching(Box<MatchingNode>),
    Change(ChangeNode),
    Join(Box<JoinNode>),
    Define(Box<DefineNode>),
    Rule(Box<RuleNode>),
}

/// What a node sees and uses while something happens.
pub struct Moment<'a> {
    /// The position at hand.
    pub seq: u64,
    pub time: i64,
    /// How often rules acted at this position, and what tells this moment from others of its time.
    pub round: i32,
    pub place: u64,
    /// The node itself, for alarms.
    pub node: usize,
    pub timers: &'a mut Timers,
    pub topics: &'a Topics,
    /// What the node finds.
    pub found: &'a mut Vec<Occurrence>,
    pub journal: &'a mut Journal,
}

impl Moment<'_> {
    /// Notes that something came to nothing here.
    #[inline]
    pub fn lose(&mut self, reason: Reason, occurrence: &Occurrence) {
        let time = self.time;
        self.journal.losses.note(self.seq, || Loss::new(reason, time, occurrence.items.clone()));
    }
}

/// Where the complex events of one type go, as the worker says.
pub struct Destination {
    pub topic: String,
    pub frame: Vec<u8>,
    pub partitions: i32,
    pub max_bytes: usize,
}

/// A complex event that could not be encoded, and why.
pub struct Unencodable {
    pub message: String,
}

type Agenda = BinaryHeap<Reverse<usize>>;

/// An edge: the node that reads, and as which of its inputs.
pub type Reader = (usize, u8);

#[derive(Default)]
pub struct Graph {
    /// In the order of the plan.
    pub nodes: Vec<Node>,
    /// Node → who reads it.
    pub readers: Vec<Vec<Reader>>,
    /// Leaf → who reads it.
    pub leaf_readers: Vec<Vec<Reader>>,
    /// Leaf → the pattern that alone reads it.
    pub sole: Vec<Option<Reader>>,
    /// Pattern → the definition that alone reads it and writes what it is given at once.
    pub written: Vec<Option<usize>>,
    /// Type → the leaves its events may pass, those of the types it extends among them.
    pub filters: Vec<Filters>,
    pub timers: Timers,
    /// The position handled last.
    pub seq: u64,
    pub inboxes: Vec<Vec<(u8, Occurrence)>>,
    /// Nodes with something in their inbox; the first one is next.
    pub agenda: Agenda,
    /// Nodes that want to be told when the position is over.
    pub touched: Vec<usize>,
    pub found: Vec<Occurrence>,
    pub spares: Spares,
    pub rounds: Rounds,
    /// For people: of each node, of each leaf how much passed it, and of each type.
    pub journals: Vec<Journal>,
    pub passed: Vec<u64>,
    pub seen: Vec<Seen>,
    pub legend: Legend,
    /// What entries of state begin with → the nodes they may be of.
    pub owners: HashMap<[u8; 8], Vec<usize>>,
    /// How much of that which can be asked for again is to be in memory; nothing where there is no bound.
    pub cache_bytes: Option<usize>,
}

/// What comes out of the graph.
pub struct Outbox<'a> {
    pub topics: &'a Topics,
    pub types: &'a [(crate::plan::EventType, Layout)],
    pub emitted: &'a mut Emitted,
    pub failed: &'a mut Vec<Unencodable>,
    pub names: &'a Names,
    /// Who is asked for what is not in memory, and why that failed.
    pub fetch: Option<&'a mut Fetch<'a>>,
    pub lost: Option<String>,
}

impl Node {
    /// Whether it still waits for an alarm that it set.
    fn awaits(&self, time: i64, token: &[u8]) -> bool {
        match self {
            Node::Operator(node) => node.awaits(time, token),
            Node::Pattern(node) => node.awaits(token),
            Node::Matching(node) => node.awaits(time),
            Node::Timer(_) | Node::Change(_) | Node::Join(_) | Node::Define(_) | Node::Rule(_) => true,
        }
    }
}

impl Graph {
    /// Called once, when all nodes and edges are there.
    pub fn finish(&mut self) {
        self.inboxes = self.nodes.iter().map(|_| Vec::new()).collect();
        self.journals = Journal::of_all(self.nodes.len());
        self.passed = vec![0; self.leaf_readers.len()];
        self.seen = self.filters.iter().map(|_| Seen::default()).collect();
        self.owners = residence::owners(&self.nodes);
        let sole = |readers: &Vec<Reader>| match readers[..] {
            [only @ (reader, _)] if matches!(self.nodes[reader], Node::Pattern(_)) => Some(only),
            _ => None,
        };
        self.sole = self.leaf_readers.iter().map(sole).collect();
        let written = |(node, readers): (&Node, &Vec<Reader>)| match (node, &readers[..]) {
            (Node::Pattern(pattern), [(reader, _)]) if pattern.finds_at_once() => {
                match &self.nodes[*reader] {
                    Node::Define(define) if define.writes_at_once() => Some(*reader),
                    _ => None,
                }
            }
            _ => None,
        };
        self.written = self.nodes.iter().zip(&self.readers).map(written).collect();
    }

    /// The leaves that an event passes.
    #[inline]
    pub fn leaves(&self, event: &Event) -> Leaves {
        let mut leaves = Leaves::new();
        if !event.is_of_fact() {
            self.filters[event.type_id as usize].visit(event, |leaf| leaves.push(leaf as u32));
        }
        leaves
    }

    /// Handles one event at its place in the total order; `leaves` are those it passes.
    pub fn handle(&mut self, mut event: UniqueArc<Event>, leaves: &[u32], out: &mut Outbox) {
        if event.is_of_fact() {
            return self.receive((*event).clone(), out);
        }
        self.settle_given(out);
        self.begin(event.time);
        (event.seq, event.start_seq) = (self.seq, self.seq);
        let event = event.shareable();
        self.seen[event.type_id as usize].note(&event);
        let event = match *leaves {
            // What may be away is asked for on the longer way.
            [leaf] if self.cache_bytes.is_none() => match self.handle_alone(leaf as usize, event, out) {
                Some(event) => event,
                None => return,
            },
            _ => event,
        };
        leaves.iter().for_each(|leaf| self.enter(*leaf as usize, &event));
        self.flow(event.time, out);
        self.spares.give(event);
    }

    /// Handles an event that passes one leaf, which one pattern alone reads: nothing else happens at its position, so it
    /// need not wait for that to end. Gives the event back where more is to be done about it.
    #[inline]
    fn handle_alone(&mut self, leaf: usize, event: Arc<Event>, out: &mut Outbox) -> Option<Arc<Event>> {
        let Some((id, port)) = self.sole[leaf] else { return Some(event) };
        let Graph { nodes, journals, spares, .. } = self;
        let event = match &mut nodes[id] {
            Node::Pattern(node) if port > 0 => match node.keep_alone(port, event, &mut journals[id]) {
                Ok(over) => {
                    self.passed[leaf] += 1;
                    over.into_iter().for_each(|event| spares.give(event));
                    return None;
                }
                Err(event) => event,
            },
            _ => event,
        };
        if port > 0 || !self.write_alone(id, &event, out) {
            return Some(event);
        }
        self.passed[leaf] += 1;
        self.spares.give(event);
        None
    }

    /// Lets a pattern look for what an event terminates, and writes it, where that is no more than one thing; says whether
    /// that was all.
    #[inline]
    fn write_alone(&mut self, id: usize, event: &Arc<Event>, out: &mut Outbox) -> bool {
        let Graph { nodes, journals, written, seq, .. } = self;
        let Some(writer) = written[id] else { return false };
        let (Node::Pattern(node), Node::Define(define)) = (&nodes[id], &nodes[writer]) else { return false };
        let chosen = node.choices(event, *seq, &mut journals[id]);
        if !chosen.several.is_empty() {
            return false;
        }
        journals[id].arrived += 1;
        if let Some(only) = chosen.only {
            journals[id].found += 1;
            journals[writer].arrived += 1;
            if define.write(&only.sight(), out) {
                journals[writer].found += 1;
            } else {
                let loss = || Loss::new(Reason::NoValue, event.time, only.occurrence().items);
                journals[writer].losses.note(*seq, loss);
            }
        }
        true
    }

    /// Goes on to the next position.
    pub fn begin(&mut self, time: i64) {
        self.seq += 1;
        self.rounds.begin(time);
    }

    /// Whether positions up to `last` leave room for a time: one that has begun is brought to its end.
    #[inline]
    pub fn reaches(&self, time: i64, last: u64) -> bool {
        self.seq < last || time <= self.rounds.time()
    }

    /// Handles everything that is due before a time at which nothing else happens, as far as positions up to `last`
    /// reach; says whether that was all.
    pub fn handle_due(&mut self, before: i64, last: u64, out: &mut Outbox) -> bool {
        self.settle_given_before(before, out);
        while let Some(due) = self.timers.first().filter(|due| *due < before) {
            if !self.reaches(due, last) {
                return false;
            }
            let Some((time, id, token)) = self.timers.pop_before(before) else { break };
            // What nobody waits for any more is no position: a task that starts again does not know of it.
            if !self.nodes[id].awaits(time, &token) {
                continue;
            }
            self.begin(time);
            let mut moment = Moment {
                seq: self.seq,
                time,
                round: 0,
                place: self.rounds.place(),
                node: id,
                timers: &mut self.timers,
                topics: out.topics,
                found: &mut self.found,
                journal: &mut self.journals[id],
            };
            match &mut self.nodes[id] {
                Node::Timer(node) => node.wake(&mut moment),
                Node::Operator(node) => node.wake(&token, &mut moment),
                Node::Pattern(node) => node.wake(&token, &mut moment, &mut self.spares),
                Node::Matching(node) => node.wake(&mut moment),
                Node::Change(_) | Node::Join(_) | Node::Define(_) | Node::Rule(_) => {}
            }
            self.pass_on(id);
            self.flow(time, out);
        }
        true
    }

    /// Gives an event to everyone who reads a leaf.
    fn enter(&mut self, leaf: usize, event: &Arc<Event>) {
        let Graph { nodes, leaf_readers, inboxes, agenda, touched, passed, .. } = self;
        passed[leaf] += 1;
        for &(reader, port) in &leaf_readers[leaf] {
            if let Node::Pattern(node) = &mut nodes[reader] {
                match node.receive(port, event.clone()) {
                    Received::First => agenda.push(Reverse(reader)),
                    Received::Touched => touched.push(reader),
                    Received::OneMore => {}
                }
            } else {
                put(inboxes, agenda, reader, port, Occurrence::of(event.clone()));
            }
        }
    }

    /// Lets everything at this position come to its end: what rules do may lead to more.
    pub fn flow(&mut self, time: i64, out: &mut Outbox) {
        self.drain(time, out);
        while self.act(time, out) {
            self.drain(time, out);
        }
        if self.cache_bytes.is_some() {
            for index in 0..self.touched.len() {
                self.bring_arrived(self.touched[index], &[], out);
            }
        }
        self.settle(time, out);
        self.settle_rounds(time);
    }

    /// The position is over: lets the nodes take in what they keep for later ones.
    fn settle(&mut self, time: i64, out: &Outbox) {
        for id in self.touched.drain(..) {
            match &mut self.nodes[id] {
                Node::Pattern(node) => {
                    node.settle((self.seq, time), &mut self.journals[id], &mut self.spares);
                }
                Node::Operator(node) => node.settle(&mut Moment {
                    seq: self.seq,
                    time,
                    round: self.rounds.round,
                    place: self.rounds.place(),
                    node: id,
                    timers: &mut self.timers,
                    topics: out.topics,
                    found: &mut self.found,
                    journal: &mut self.journals[id],
                }),
                _ => {}
            }
        }
    }

    /// Lets everything that occurs flow through the nodes.
    fn drain(&mut self, time: i64, out: &mut Outbox) {
        while let Some(Reverse(id)) = self.agenda.pop() {
            let mut arrived = std::mem::take(&mut self.inboxes[id]);
            if self.cache_bytes.is_some() {
                self.bring_arrived(id, &arrived, out);
            }
            let mut derived = Vec::new();
            let mut moment = Moment {
                seq: self.seq,
                time,
                round: self.rounds.round,
                place: self.rounds.place(),
                node: id,
                timers: &mut self.timers,
                topics: out.topics,
                found: &mut self.found,
                journal: &mut self.journals[id],
            };
            moment.journal.arrived += arrived.len() as u64;
            let emitted = out.emitted.records.len();
            match &mut self.nodes[id] {
                Node::Timer(_) | Node::Change(_) => {}
                Node::Operator(node) => {
                    if node.handle(&mut arrived, &mut moment) {
                        self.touched.push(id);
                    }
                }
                Node::Pattern(node) => {
                    if node.handle(&mut moment) {
                        self.touched.push(id);
                    }
                }
                Node::Matching(node) => node.handle(&mut arrived, &mut moment),
                Node::Join(node) => node.handle(&arrived, &mut moment),
                Node::Define(node) => {
                    node.handle(&mut arrived, &mut moment, out, &mut derived);
                    moment.journal.found += (out.emitted.records.len() - emitted) as u64;
                }
                Node::Rule(node) => {
                    node.handle(&mut arrived, &mut moment, out, &mut derived, &mut self.rounds.firings);
                }
            }
            arrived.clear();
            self.inboxes[id] = arrived;
            if !self.define_at_once(id, time, out, &mut derived) {
                self.pass_on(id);
            }
            for event in derived {
                self.seen[event.type_id as usize].note(&event);
                self.leaves(&event).iter().for_each(|leaf| self.enter(*leaf as usize, &event));
            }
        }
    }

    /// Gives the one thing a node found to the definition that alone reads it, if that would be next anyway: most of
    /// what is found goes this way, without a stop.
    fn define_at_once(
        &mut self,
        id: usize,
        time: i64,
        out: &mut Outbox,
        derived: &mut Vec<Arc<Event>>,
    ) -> bool {
        let ([found], [(reader, _)]) = (&self.found[..], &self.readers[id][..]) else { return false };
        let Node::Define(node) = &mut self.nodes[*reader] else { return false };
        if found.binding.is_some() || self.agenda.peek().is_some_and(|Reverse(next)| next <= reader) {
            return false;
        }
        let mut moment = Moment {
            seq: self.seq,
            time,
            round: self.rounds.round,
            place: self.rounds.place(),
            node: *reader,
            timers: &mut self.timers,
            topics: out.topics,
            found: &mut Vec::new(),
            journal: &mut self.journals[*reader],
        };
        moment.journal.arrived += 1;
        let emitted = out.emitted.records.len();
        node.take(found, 0, &mut moment, out, derived);
        moment.journal.found += (out.emitted.records.len() - emitted) as u64;
        self.journals[id].found += 1;
        self.found.clear();
        true
    }

    /// Gives what a node found to those who read it.
    pub fn pass_on(&mut self, id: usize) {
        let Graph { nodes, readers, inboxes, agenda, touched, found, journals, .. } = self;
        if found.is_empty() {
            return;
        }
        journals[id].found += found.len() as u64;
        if let [(reader, port)] = readers[id][..] {
            if !matches!(nodes[reader], Node::Pattern(_)) {
                if inboxes[reader].is_empty() {
                    agenda.push(Reverse(reader));
                }
                return inboxes[reader].extend(found.drain(..).map(|occurrence| (port, occurrence)));
            }
        }
        for occurrence in found.drain(..) {
            let Some((&(last, port), others)) = readers[id].split_last() else { continue };
            for &(reader, port) in others {
                give(nodes, inboxes, agenda, touched, (reader, port), occurrence.clone());
            }
            give(nodes, inboxes, agenda, touched, (last, port), occurrence);
        }
    }

    pub fn expire(&mut self, watermark: i64, topics: &Topics) {
        for (node, journal) in self.nodes.iter_mut().zip(&mut self.journals) {
            match node {
                Node::Timer(_) | Node::Change(_) | Node::Matching(_) => {}
                Node::Operator(node) => node.expire((self.seq, watermark), topics, journal),
                Node::Pattern(node) => node.expire((self.seq, watermark), journal),
                Node::Join(node) => node.expire((self.seq, watermark), journal),
                Node::Define(node) => node.expire(watermark),
                Node::Rule(node) => node.expire(watermark),
            }
        }
        self.rounds.memory.expire(watermark);
    }

    pub fn changes(&mut self, codec: &Codec, out: &mut Vec<Change>) {
        for node in &mut self.nodes {
            match node {
                Node::Timer(_) | Node::Change(_) => {}
                Node::Operator(node) => node.changes(codec, out),
                Node::Pattern(node) => node.changes(codec, out),
                Node::Matching(node) => node.changes(codec, out),
                Node::Join(node) => node.changes(codec, out),
                Node::Define(node) => node.changes(out),
                Node::Rule(node) => node.changes(codec, out),
            }
        }
        self.rounds.memory.changes(codec, out);
    }

    /// Gives an entry to the node it is of; false where the rules have none such any more.
    pub fn load(&mut self, entry: &Entry, codec: &Codec) -> Result<bool, Malformed> {
        if self.load_fact(entry, codec)? {
            return Ok(true);
        }
        let owners = entry.key.first_chunk().and_then(|fingerprint| self.owners.get(fingerprint));
        for id in owners.into_iter().flatten() {
            let taken = match &mut self.nodes[*id] {
                Node::Timer(_) | Node::Change(_) => false,
                Node::Join(node) => node.load(entry, codec)?,
                Node::Rule(node) => node.load(entry, codec)?,
                Node::Operator(node) => node.load(entry, codec)?,
                Node::Pattern(node) => node.load(entry, codec)?,
                Node::Matching(node) => node.load(entry, codec)?,
                Node::Define(node) => node.load(entry)?,
            };
            if taken {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Sets the alarms of what was loaded, once it is known up to where the task had come.
    pub fn resume(&mut self, released: i64) {
        let Graph { nodes, timers, .. } = self;
        for (id, node) in nodes.iter().enumerate() {
            match node {
                Node::Operator(node) => node.resume(id, released, timers),
                Node::Pattern(node) => node.resume(id, timers),
                _ => {}
            }
        }
    }

    /// Starts what depends on nothing but the time: alarms of the calendar, and matches.
    pub fn start(&mut self, from: i64) {
        let Graph { nodes, timers, seq, .. } = self;
        for (id, node) in nodes.iter_mut().enumerate() {
            match node {
                Node::Timer(node) => node.start(id, from, timers),
                Node::Matching(node) => node.start(id, *seq, from, timers),
                _ => {}
            }
        }
    }

    pub fn stored(&self) -> usize {
        let count = |node: &Node| match node {
            Node::Timer(_) | Node::Change(_) | Node::Define(_) | Node::Rule(_) => 0,
            Node::Operator(node) => node.stored(),
            Node::Pattern(node) => node.stored(),
            Node::Matching(node) => node.stored(),
            Node::Join(node) => node.stored(),
        };
        self.nodes.iter().map(count).sum::<usize>() + self.rounds.memory.stored()
    }
}

/// Gives an occurrence to one who reads it; a pattern takes the events of which its inputs consist.
#[inline]
fn give(
    nodes: &mut [Node],
    inboxes: &mut [Vec<(u8, Occurrence)>],
    agenda: &mut Agenda,
    touched: &mut Vec<usize>,
    (reader, port): Reader,
    occurrence: Occurrence,
) {
    let Node::Pattern(node) = &mut nodes[reader] else {
        return put(inboxes, agenda, reader, port, occurrence);
    };
    for item in occurrence.items {
        match node.receive(port, item.event) {
            Received::First => agenda.push(Reverse(reader)),
            Received::Touched => touched.push(reader),
            Received::OneMore => {}
        }
    }
}

/// Puts something into a node's inbox, and the node on the agenda.
#[inline]
fn put(
    inboxes: &mut [Vec<(u8, Occurrence)>],
    agenda: &mut Agenda,
    id: usize,
    port: u8,
    occurrence: Occurrence,
) {
    let inbox = &mut inboxes[id];
    if inbox.is_empty() {
        agenda.push(Reverse(id));
    }
    inbox.push((port, occurrence));
}
