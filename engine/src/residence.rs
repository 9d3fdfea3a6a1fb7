//! What of the state is in memory, and how it comes back: which node an entry is of, and what is to be loaded again when
//! a transaction was aborted.
//!
//! Between two commits every node notes what of it changed: cells and stores by binding, limits too; a match, and the
//! facts with all joins, only whether. What is noted stays noted until the commit is known to stand (`confirm`). An abort
//! (`undo`) forgets exactly that in memory, and says under which beginnings of keys the committed entries are to be found
//! that take its place. Alarms are no state: they are set again from what is there then.

use std::collections::HashMap;

use crate::graph::{Graph, Node};
use crate::nodes::limit::Limit;

/// Whether something is as it was when last confirmed, where what changed is not noted piece by piece.
#[derive(Debug, Default)]
pub struct Standing {
    changed: bool,
    /// Whether it had changed when it was written last.
    written: bool,
}

impl Standing {
    pub fn touch(&mut self) {
        self.changed = true;
    }

    pub fn write(&mut self) {
        self.written |= std::mem::take(&mut self.changed);
    }

    pub fn confirm(&mut self) {
        self.written = false;
    }

    pub fn is_as_confirmed(&self) -> bool {
        !self.changed && !self.written
    }
}

/// Which nodes an entry may be of, by the first 8 bytes of its key.
pub fn owners(nodes: &[Node]) -> HashMap<[u8; 8], Vec<usize>> {
    let mut owners: HashMap<[u8; 8], Vec<usize>> = HashMap::new();
    let of_limit = |limit: Option<&Limit>| limit.and_then(|limit| limit.prefix().first_chunk().copied());
    for (id, node) in nodes.iter().enumerate() {
        let fingerprint = match node {
            Node::Timer(_) | Node::Change(_) => None,
            Node::Operator(node) => Some(node.fingerprint()),
            Node::Pattern(node) => Some(node.fingerprint()),
            Node::Matching(node) => Some(node.fingerprint()),
            Node::Join(node) => Some(node.fingerprint()),
            Node::Define(node) => of_limit(node.limit.as_deref()),
            Node::Rule(node) => of_limit(node.limit.as_ref()),
        };
        if let Some(fingerprint) = fingerprint {
            owners.entry(fingerprint).or_default().push(id);
        }
    }
    owners
}

impl Graph {
    /// What was written last stands: it can be undone no more.
    pub fn confirm(&mut self) {
        for node in &mut self.nodes {
            match node {
                Node::Timer(_) | Node::Change(_) => {}
                Node::Operator(node) => node.confirm(),
                Node::Pattern(node) => node.confirm(),
                Node::Matching(node) => node.standing.confirm(),
                Node::Join(node) => node.standing.confirm(),
                Node::Define(node) => node.limit.iter_mut().for_each(|limit| limit.confirm()),
                Node::Rule(node) => node.limit.iter_mut().for_each(Limit::confirm),
            }
        }
        self.rounds.memory.standing.confirm();
        self.evict();
    }

    /// Forgets what is not as it was when last confirmed; returns the beginnings of the keys of what is to be loaded.
    pub fn undo(&mut self) -> Vec<Vec<u8>> {
        let mut asked = Vec::new();
        // Joins hold facts: all of them are loaded again together.
        let joined = self
            .nodes
            .iter()
            .any(|node| matches!(node, Node::Join(join) if !join.standing.is_as_confirmed()));
        let facts = joined || !self.rounds.memory.standing.is_as_confirmed();
        for node in &mut self.nodes {
            match node {
                Node::Timer(_) | Node::Change(_) => {}
                Node::Operator(node) => node.undo(&mut asked),
                Node::Pattern(node) => node.undo(&mut asked),
                Node::Matching(node) => node.undo(&mut asked),
                Node::Join(node) if facts => node.undo(&mut asked),
                Node::Join(_) => {}
                Node::Define(node) => {
                    node.made = (0, 0);
                    node.limit.iter_mut().for_each(|limit| limit.undo(&mut asked));
                }
                Node::Rule(node) => {
                    node.made = (0, 0);
                    node.limit.iter_mut().for_each(|limit| limit.undo(&mut asked));
                }
            }
        }
        if facts {
            self.rounds.memory.undo(&mut asked);
        }
        self.rounds.undo();
        self.timers.clear();
        self.inboxes.iter_mut().for_each(Vec::clear);
        self.agenda.clear();
        self.touched.clear();
        self.found.clear();
        self.seq = 0;
        asked
    }
}
