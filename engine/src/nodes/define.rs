//! A rule's head: turns an occurrence into a complex event, encoded, and into an event for the rules that build on it.

use rustc_hash::FxHashMap;
use triomphe::Arc;

use super::emission::Emission;
use super::limit::Limit;
use crate::avro::Malformed;
use crate::event::{Event, Layout, Origin, Row, RowWriter, NO_SOURCE};
use crate::expr::Expr;
use crate::graph::{Moment, Outbox, Unencodable};
use crate::identity::{identity, DIGITS};
use crate::journal::Reason;
use crate::key::{key_of, Key};
use crate::occurrence::{distinct, Occurrence, Scope, Sight};
use crate::state::{Change, Entry, NOTHING};

pub struct DefineNode {
    pub emission: Emission,
    pub type_id: u16,
    pub condition: Option<Expr>,
    pub limit: Option<Box<Limit>>,
    /// The place of the definition in the file, which orders what is simultaneous.
    pub order: usize,
    /// The position at which it made something last, and how much.
    pub made: (u64, i64),
    /// Whether other rules read what this one makes.
    pub derives: bool,
    /// Whether records go anywhere: not where the definition belongs to another task, and is only read here.
    pub sent: bool,
}

impl DefineNode {
    pub fn handle(
        &mut self,
        arrived: &mut Vec<(u8, Occurrence)>,
        moment: &mut Moment,
        out: &mut Outbox,
        derived: &mut Vec<Arc<Event>>,
    ) {
        arrange(arrived, &self.emission.places);
        // Of those with the same constituents, so that it does not depend on what else happens in the task.
        let mut alike: FxHashMap<[u8; DIGITS], usize> = FxHashMap::default();
        for (_, occurrence) in arrived.iter() {
            let mut ordinal = 0;
            if self.emission.repeats && arrived.len() > 1 {
                let sight = Sight::of(occurrence);
                let constituents = identity(&self.emission.fingerprint, &sight, None, out.topics);
                let count = alike.entry(constituents).or_default();
                ordinal = std::mem::replace(count, *count + 1);
            }
            self.take(occurrence, ordinal, moment, out, derived);
        }
    }

    /// Takes one occurrence; `ordinal` is its place among those that are simultaneous and of the same constituents.
    pub fn take(
        &mut self,
        occurrence: &Occurrence,
        ordinal: usize,
        moment: &mut Moment,
        out: &mut Outbox,
        derived: &mut Vec<Arc<Event>>,
    ) {
        let scope = Scope::of(occurrence);
        if self.condition.as_ref().is_some_and(|condition| !condition.holds(&scope)) {
            moment.lose(Reason::If, occurrence);
            return;
        }
        let binding = self.limit.as_ref().and_then(|_| self.binding(&scope));
        if let (Some(limit), Some(key)) = (&mut self.limit, &binding) {
            if !limit.admits(key, moment.time) {
                moment.lose(Reason::Rate, occurrence);
                return;
            }
        }
        let written = self.emission.emit(&Sight::of(occurrence), ordinal, out.topics, out.emitted);
        match written {
            Ok(identity) => {
                if !self.sent {
                    out.emitted.take_back();
                }
                if let (Some(limit), Some(key)) = (&mut self.limit, binding) {
                    limit.note(key, moment.time);
                }
                if self.derives {
                    let layout = &out.types[self.type_id as usize].1;
                    let event = self.derive(occurrence, &identity, layout);
                    derived.push(Arc::new(Event { offset: self.number(occurrence.seq), ..event }));
                }
            }
            Err(message) => {
                moment.lose(Reason::NoValue, occurrence);
                if self.sent {
                    out.failed.push(Unencodable { message });
                }
            }
        }
    }

    /// Whether an occurrence that is alone at its position is written and has no other effect.
    pub fn writes_at_once(&self) -> bool {
        self.condition.is_none() && self.limit.is_none() && !self.derives && self.sent
    }

    /// Writes such an occurrence; says whether it could be written.
    #[inline]
    pub fn write<'a>(&'a self, sight: &Sight<'a>, out: &mut Outbox) -> bool {
        let written = self.emission.emit_alone(sight, out.topics, out.emitted);
        written.map_err(|message| out.failed.push(Unencodable { message })).is_ok()
    }

    /// The place of the next complex event among those of its type and position.
    pub fn number(&mut self, seq: u64) -> i64 {
        let count = if self.made.0 == seq { self.made.1 + 1 } else { 0 };
        self.made = (seq, count);
        ((self.order as i64) << 32) + count
    }

    /// The values of the equality parameters.
    fn binding(&self, scope: &Scope) -> Option<Key> {
        key_of(self.emission.bindings.iter().filter(|binding| binding.equality).map(|b| b.value.eval(scope)))
    }

    /// The complex event as an event.
    pub fn derive(&self, occurrence: &Occurrence, identity: &[u8; DIGITS], layout: &Layout) -> Event {
        let scope = Scope::of(occurrence);
        let mut row = Vec::new();
        layout.start_row(&mut row);
        for (index, attribute) in self.emission.attributes.iter().enumerate() {
            let Some(slot) = layout.slot(index) else { continue };
            row.put_value(slot, &attribute.value.eval(&scope));
        }
        let own_id = row.push_tail(identity);
        Event {
            time: occurrence.time,
            start: occurrence.start,
            end: occurrence.end,
            seq: occurrence.seq,
            start_seq: occurrence.start_seq,
            origin: Origin::Derived,
            offset: 0,
            partition: occurrence.round(),
            type_id: self.type_id,
            source: NO_SOURCE,
            key: NOTHING,
            own_id,
            row: Row::from_vec(row),
        }
    }

    pub fn expire(&mut self, watermark: i64) {
        if let Some(limit) = &mut self.limit {
            limit.expire(watermark);
        }
    }

    pub fn changes(&mut self, out: &mut Vec<Change>) {
        if let Some(limit) = &mut self.limit {
            limit.changes(out);
        }
    }

    pub fn load(&mut self, entry: &Entry) -> Result<bool, Malformed> {
        self.limit.as_mut().map_or(Ok(false), |limit| limit.load(entry))
    }
}

/// Brings simultaneous occurrences of a pattern or an event expression into order, each once; `places` are the slots of
/// each role.
pub fn arrange(arrived: &mut Vec<(u8, Occurrence)>, places: &[Vec<u16>]) {
    // An equality parameter has a value in every occurrence of a definition or rule.
    arrived.retain(|(_, occurrence)| occurrence.binding.is_none());
    if arrived.len() < 2 || places.is_empty() {
        return;
    }
    let order = |one: &(u8, Occurrence)| one.1.order(places);
    let alike = |one: &(u8, Occurrence), other: &(u8, Occurrence)| one.1.plays_as(&other.1, places);
    *arrived = distinct(std::mem::take(arrived), order, alike);
}
