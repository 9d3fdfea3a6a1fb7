//! Relative temporal events and the ticks of the periodic operators: points in time that an operator makes.
//!
//! A point in time stands behind every event of its time. It belongs to the occurrence it is counted from, its
//! initiator: each initiator has a clock of its own.

use super::shape::{Kind, Shape};
use crate::event::Event;
use crate::identity::{timer_label, Topics};
use crate::occurrence::{Item, Occurrence};

impl Shape {
    /// The point in time at a position that is counted from an occurrence, with what was sampled for it.
    pub fn point(
        &self,
        initiator: &Occurrence,
        sample: Option<&Event>,
        at: (u64, i64),
        topics: &Topics,
    ) -> Event {
        let label = timer_label(&self.fingerprint, &initiator.items, at.1, topics);
        let mut point = Event::point(at.1, at.0, &label);
        if let Some((type_id, unsampled)) = &self.unsampled {
            let (type_id, row) =
                sample.map_or((*type_id, &unsampled[..]), |event| (event.type_id, &event.row[..]));
            point.type_id = type_id;
            point.own_id.at = row.len() as u32;
            point.row = [row, &label].concat().into();
        }
        point
    }

    /// Whether a tick is counted from an occurrence.
    pub fn is_tick_of(&self, tick: &Occurrence, initiator: &Occurrence, topics: &Topics) -> bool {
        let label = |event: &Event| timer_label(&self.fingerprint, &initiator.items, event.time, topics);
        // A label is a hash: most clocks do not even strike then.
        self.strikes(initiator, tick.time)
            && tick
                .items
                .first()
                .is_some_and(|item| item.event.bytes(item.event.own_id) == label(&item.event))
    }

    /// `E + d`: an occurrence of E whose time has come, as that point in time.
    pub fn later(&self, initiator: &Occurrence, at: (u64, i64), topics: &Topics) -> Occurrence {
        let mut there = Occurrence::at(at.0, at.1);
        there.items = initiator.items.clone();
        let event = self.point(initiator, None, at, topics).into();
        there.items.push(Item { slot: self.tick, event });
        there.binding = initiator.binding.clone();
        there
    }

    /// When the clock of an initiator strikes next, at a time or after it.
    pub fn next_tick(&self, initiator: &Occurrence, from: i64) -> i64 {
        let Kind::Periodic { every_ms, .. } = self.kind else { return i64::MAX };
        let passed = from.saturating_sub(initiator.time).max(1);
        let ticks = passed.div_euclid(every_ms) + i64::from(passed.rem_euclid(every_ms) != 0);
        initiator.time.saturating_add(ticks.saturating_mul(every_ms))
    }

    pub fn strikes(&self, initiator: &Occurrence, at: i64) -> bool {
        self.next_tick(initiator, at) == at
    }
}
