//! What a match has taken so far: persistent lists, so that a branch shares all that came before it.
//!
//! A list is a chain of links, each behind the one before. A join stands for two lists that grew from a common base:
//! the first of them, and behind it what the second has beyond the base.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashSet;
use triomphe::Arc;

use crate::event::Event;
use crate::expr::Env;
use crate::occurrence::Item;
use crate::value::Value;

/// Nothing, or the last link of a list.
pub type Taken = Option<Arc<Link>>;

#[derive(Debug)]
pub struct Link {
    pub id: u64,
    pub before: Taken,
    pub what: What,
    /// Whether the events of one slot may stand out of order.
    scattered: bool,
    /// Whether the link is among the entries of state.
    stored: AtomicBool,
    yard: Arc<Yard>,
}

#[derive(Debug)]
pub enum What {
    Event {
        slot: u16,
        event: Arc<Event>,
    },
    Join {
        part: Taken,
        base: Taken,
    },
    /// Nothing any more: it was taken out when the link was dropped.
    Gone,
}

/// The links of stored lists that nobody holds any more: their entries are to be deleted.
#[derive(Debug, Default)]
pub struct Yard(Mutex<Vec<u64>>);

impl Yard {
    pub fn drain(&self) -> Vec<u64> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Link {
    /// Whether its entry is still to be written; from now on it counts as written.
    pub fn store(&self) -> bool {
        !self.stored.swap(true, Ordering::Relaxed)
    }
}

impl Drop for Link {
    /// A long chain is dropped link by link, not by recursion.
    fn drop(&mut self) {
        if *self.stored.get_mut() {
            self.yard.0.lock().unwrap_or_else(PoisonError::into_inner).push(self.id);
        }
        let mut open = Vec::new();
        self.give_up(&mut open);
        while let Some(link) = open.pop() {
            if let Some(mut link) = Arc::into_unique(link) {
                link.give_up(&mut open);
            }
        }
    }
}

impl Link {
    fn give_up(&mut self, open: &mut Vec<Arc<Link>>) {
        open.extend(self.before.take());
        if let What::Join { part, base } = std::mem::replace(&mut self.what, What::Gone) {
            open.extend(part);
            open.extend(base);
        }
    }
}

pub fn same(one: &Taken, other: &Taken) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.id == other.id,
        _ => false,
    }
}

/// Makes links.
#[derive(Debug, Default)]
pub struct Links {
    next: u64,
    pub yard: Arc<Yard>,
}

impl Links {
    /// New links have numbers behind this one.
    pub fn begin(&mut self, first: u64) {
        self.next = self.next.max(first);
    }

    fn link(&mut self, before: Taken, what: What, scattered: bool) -> Taken {
        self.next += 1;
        let (stored, yard) = (AtomicBool::new(false), self.yard.clone());
        Some(Arc::new(Link { id: self.next, before, what, scattered, stored, yard }))
    }

    pub fn push(&mut self, taken: &Taken, slot: u16, event: &Arc<Event>) -> Taken {
        let scattered = taken.as_ref().is_some_and(|link| link.scattered);
        self.link(taken.clone(), What::Event { slot, event: event.clone() }, scattered)
    }

    /// A list, and behind it what another one has beyond the base that both grew from. `again` where both may have
    /// events in the same slots.
    pub fn join(&mut self, one: &Taken, part: &Taken, base: &Taken, again: bool) -> Taken {
        if same(part, base) {
            return one.clone();
        }
        if same(one, base) {
            return part.clone();
        }
        let scattered = again || [one, part].into_iter().flatten().any(|link| link.scattered);
        self.link(one.clone(), What::Join { part: part.clone(), base: base.clone() }, scattered)
    }

    /// A link that was stored, as it was.
    pub fn restore(&mut self, id: u64, before: Taken, what: What, again: bool) -> Arc<Link> {
        self.next = self.next.max(id);
        let part = match &what {
            What::Join { part, .. } => part.as_ref(),
            _ => None,
        };
        let scattered = again || before.iter().chain(part).any(|link| link.scattered);
        let yard = self.yard.clone();
        Arc::new(Link { id, before, what, scattered, stored: AtomicBool::new(true), yard })
    }
}

/// Whether the entry of a join has to say that its events may stand out of order.
pub fn is_scattered(link: &Link) -> bool {
    link.scattered
}

/// Visits what was taken, the last first, until `each` says that it is enough. Recursion goes as deep as joins lie
/// in parts of joins, which is no deeper than the program.
pub fn backwards<'a>(
    taken: &'a Taken,
    base: &Taken,
    each: &mut dyn FnMut(u16, &'a Arc<Event>) -> bool,
) -> bool {
    let mut at = taken;
    while let Some(link) = at {
        if base.as_ref().is_some_and(|base| base.id == link.id) {
            break;
        }
        let goes_on = match &link.what {
            What::Event { slot, event } => each(*slot, event),
            What::Join { part, base } => backwards(part, base, each),
            What::Gone => true,
        };
        if !goes_on {
            return false;
        }
        at = &link.before;
    }
    true
}

/// The links of a list that are not among those seen, each with its event, if it has one.
pub fn new_links<'a>(taken: &'a Taken, seen: &mut FxHashSet<u64>, each: &mut dyn FnMut(Option<&'a Event>)) {
    let mut open: Vec<&'a Arc<Link>> = taken.iter().collect();
    while let Some(link) = open.pop() {
        if !seen.insert(link.id) {
            continue;
        }
        open.extend(&link.before);
        match &link.what {
            What::Event { event, .. } => each(Some(event)),
            What::Join { part, base } => {
                each(None);
                open.extend(part.iter().chain(base));
            }
            What::Gone => {}
        }
    }
}

/// The event that was taken last, and its slot.
pub fn last(taken: &Taken) -> Option<(u16, &Event)> {
    let mut found = None;
    backwards(taken, &None, &mut |slot, event| {
        found = Some((slot, &**event));
        false
    });
    found
}

/// When the first event in a slot occurred.
pub fn first_time(taken: &Taken, slot: u16) -> Option<i64> {
    let mut found: Option<&Arc<Event>> = None;
    backwards(taken, &None, &mut |own, event| {
        if own == slot && found.is_none_or(|first| event.seq < first.seq) {
            found = Some(event);
        }
        true
    });
    found.map(|event| event.time)
}

/// All that was taken, in the order in which it was.
pub fn items(taken: &Taken) -> Vec<Item> {
    let mut found = Vec::new();
    backwards(taken, &None, &mut |slot, event| {
        found.push(Item { slot, event: event.clone() });
        true
    });
    found.reverse();
    found
}

/// What a condition in a match speaks of.
pub struct View<'a> {
    /// The event whose conditions these are, and its slot.
    pub own: Option<(u16, &'a Event)>,
    pub taken: &'a Taken,
    pub parameters: &'a [Value<'static>],
    pub previous: Option<(u16, &'a Event)>,
}

impl<'a> Env<'a> for View<'a> {
    fn event(&self, slot: usize) -> Option<&'a Event> {
        if let Some((_, event)) = self.own.filter(|(own, _)| usize::from(*own) == slot) {
            return Some(event);
        }
        let scattered = self.taken.as_ref().is_some_and(|link| link.scattered);
        let mut found: Option<&'a Event> = None;
        backwards(self.taken, &None, &mut |own, event| {
            if usize::from(own) == slot && found.is_none_or(|last| event.seq > last.seq) {
                found = Some(event);
            }
            scattered || found.is_none()
        });
        found
    }

    /// Only what was taken before, the event at hand not among it.
    fn events(&self, slot: usize, each: &mut dyn FnMut(&'a Event)) {
        let mut found: Vec<&'a Event> = Vec::new();
        backwards(self.taken, &None, &mut |own, event| {
            if usize::from(own) == slot {
                found.push(event);
            }
            true
        });
        found.reverse();
        found.sort_by_key(|event| event.place());
        found.into_iter().for_each(each);
    }

    fn parameter(&self, number: usize) -> Value<'a> {
        self.parameters.get(number).cloned().unwrap_or(Value::Null)
    }

    fn previous(&self, slot: usize) -> Option<&'a Event> {
        self.previous.filter(|(own, _)| usize::from(*own) == slot).map(|(_, event)| event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(seq: u64) -> Arc<Event> {
        Arc::new(Event::point(seq as i64, seq, b""))
    }

    fn list(links: &mut Links, from: &Taken, events: &[(u16, u64)]) -> Taken {
        events.iter().fold(from.clone(), |taken, (slot, seq)| links.push(&taken, *slot, &point(*seq)))
    }

    fn seqs(taken: &Taken) -> Vec<u64> {
        let mut found = Vec::new();
        backwards(taken, &None, &mut |_, event| {
            found.push(event.seq);
            true
        });
        found.reverse();
        found
    }

    #[test]
    fn a_join_has_the_base_once() {
        let mut links = Links::default();
        let base = list(&mut links, &None, &[(0, 1), (0, 2)]);
        let one = list(&mut links, &base, &[(1, 5)]);
        let other = list(&mut links, &base, &[(2, 3), (2, 4)]);
        let joined = links.join(&one, &other, &base, false);
        assert_eq!(seqs(&joined), [1, 2, 5, 3, 4]);
        assert_eq!(last(&joined).map(|(slot, event)| (slot, event.seq)), Some((2, 4)));
        assert_eq!(first_time(&joined, 2), Some(3));
        let nested = list(&mut links, &joined, &[(3, 6)]);
        let all = links.join(&other, &nested, &base, false);
        assert_eq!(seqs(&all), [1, 2, 3, 4, 5, 3, 4, 6]);
    }

    #[test]
    fn what_adds_nothing_is_not_joined() {
        let mut links = Links::default();
        let base = list(&mut links, &None, &[(0, 1)]);
        let one = list(&mut links, &base, &[(1, 2)]);
        assert!(same(&links.join(&base, &base, &base, false), &base));
        assert!(same(&links.join(&base, &one, &base, false), &one));
        assert!(same(&links.join(&one, &base, &base, false), &one));
    }

    #[test]
    fn the_latest_of_a_slot_is_found_where_parts_are_out_of_order() {
        let mut links = Links::default();
        let late = list(&mut links, &None, &[(0, 9)]);
        let early = list(&mut links, &None, &[(0, 2)]);
        let taken = links.join(&late, &early, &None, true);
        let view = View { own: None, taken: &taken, parameters: &[], previous: None };
        assert_eq!(view.event(0).map(|event| event.seq), Some(9));
        let mut found = Vec::new();
        view.events(0, &mut |event| found.push(event.seq));
        assert_eq!(found, [2, 9]);
    }

    #[test]
    fn a_long_list_is_dropped_without_recursion() {
        let mut links = Links::default();
        let events: Vec<(u16, u64)> = (0..300_000).map(|seq| (0, seq)).collect();
        let taken = list(&mut links, &None, &events);
        if let Some(link) = &taken {
            link.store();
        }
        drop(taken);
        assert_eq!(links.yard.drain(), [300_000]);
    }
}
