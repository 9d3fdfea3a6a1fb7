//! Occurrences as they flow through the event graph: events in the numbered slots of the node they are of.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use triomphe::Arc;

use crate::binding::Binding;
use crate::event::Event;
use crate::expr::Env;
use crate::value::Value;

/// An event in a slot.
#[derive(Debug, Clone)]
pub struct Item {
    pub slot: u16,
    pub event: Arc<Event>,
}

/// In the order of slots, those of one slot in the order of their positions.
pub type Items = SmallVec<[Item; 3]>;

#[derive(Debug, Clone)]
pub struct Occurrence {
    /// The position of its terminator, which is its own, and the time of that.
    pub seq: u64,
    pub time: i64,
    /// The position of its initiator.
    pub start_seq: u64,
    pub start: i64,
    pub end: i64,
    pub items: Items,
    /// The values of a pattern's aggregates.
    pub computed: Vec<Value<'static>>,
    /// For which values of its node's equality parameters it holds, where its items do not tell.
    pub binding: Option<Arc<Binding>>,
}

impl Occurrence {
    /// The occurrence of a leaf: one event, in slot 0.
    pub fn of(event: Arc<Event>) -> Occurrence {
        let (start_seq, start, end) = (event.start_seq, event.start, event.end);
        let occurrence = Occurrence::at(event.seq, event.time);
        let mut items = Items::new();
        items.push(Item { slot: 0, event });
        Occurrence { start_seq, start, end, items, ..occurrence }
    }

    /// Nothing yet, at a position: what parts are added to.
    pub fn at(seq: u64, time: i64) -> Occurrence {
        Occurrence {
            seq,
            time,
            start_seq: seq,
            start: time,
            end: time,
            items: Items::new(),
            computed: Vec::new(),
            binding: None,
        }
    }

    pub fn add_event(&mut self, event: Arc<Event>, slot: u16) {
        self.start_seq = self.start_seq.min(event.start_seq);
        self.start = self.start.min(event.start);
        self.items.push(Item { slot, event });
    }

    /// In which round of its position rules led to it.
    pub fn round(&self) -> i32 {
        let here = self.items.iter().filter(|item| item.event.seq == self.seq);
        here.map(|item| item.event.round()).max().unwrap_or_default()
    }

    pub fn events(&self, slot: u16) -> impl DoubleEndedIterator<Item = &Arc<Event>> {
        self.items.iter().filter(move |item| item.slot == slot).map(|item| &item.event)
    }

    /// What orders simultaneous occurrences; `places` are the slots of each role. A role that nobody plays is passed over.
    pub fn order(&self, places: &[Vec<u16>]) -> Order {
        let mut cast = Cast::default();
        for (role, place) in places.iter().enumerate() {
            let items = self.items.iter().filter(|item| place.contains(&item.slot));
            let mut found: Vec<_> = items.map(|item| item.event.place()).collect();
            if !found.is_empty() {
                found.sort_unstable();
                found.dedup();
                cast.players.push(found);
                cast.roles.push(role);
            }
        }
        Order { start_seq: self.start_seq, cast, start: self.start, end: self.end }
    }

    /// Whether it is the same occurrence of the same node.
    pub fn equals(&self, other: &Occurrence) -> bool {
        let place = |one: &Occurrence| (one.seq, one.start_seq, one.start, one.end);
        let mut items = self.items.iter().zip(&other.items);
        place(self) == place(other)
            && self.items.len() == other.items.len()
            && items.all(|(one, other)| one.slot == other.slot && one.event.is(&other.event))
    }

    /// Whether it is made of the same events as another, whatever their slots.
    pub fn same_events(&self, other: &Occurrence) -> bool {
        // What stands at another position has another terminator.
        self.seq == other.seq && self.agrees(other, |_, _| true)
    }

    /// Whether it has the same events in the same places as another.
    pub fn plays_as(&self, other: &Occurrence, places: &[Vec<u16>]) -> bool {
        let place = |slot: u16| places.iter().position(|place| place.contains(&slot));
        self.agrees(other, |one, other| one == other || place(one) == place(other))
    }

    /// Whether each has every event of the other, in slots that are alike.
    fn agrees(&self, other: &Occurrence, alike: impl Fn(u16, u16) -> bool) -> bool {
        let is = |one: &Item, other: &Item| one.event.is(&other.event) && alike(one.slot, other.slot);
        self.items.iter().all(|item| other.items.iter().any(|their| is(item, their)))
            && other.items.iter().all(|item| self.items.iter().any(|their| is(item, their)))
    }
}

/// What orders simultaneous occurrences: the initiator, then who plays in them, then the interval.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order {
    pub start_seq: u64,
    pub cast: Cast,
    pub start: i64,
    pub end: i64,
}

/// The places of the constituents, role by role, and the roles that these play.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cast {
    pub players: Vec<Vec<(u64, i64)>>,
    pub roles: Vec<usize>,
}

/// Brings things into order, each once: the first of those that are alike. Only those are compared that have the same cast.
pub fn distinct<T>(found: Vec<T>, order: impl Fn(&T) -> Order, alike: impl Fn(&T, &T) -> bool) -> Vec<T> {
    if found.len() < 2 {
        return found;
    }
    let mut ordered: Vec<(Order, T)> = found.into_iter().map(|one| (order(&one), one)).collect();
    ordered.sort_by(|one, other| one.0.cmp(&other.0));
    let mut kept: Vec<T> = Vec::with_capacity(ordered.len());
    let mut by_cast: FxHashMap<Cast, SmallVec<[usize; 2]>> = FxHashMap::default();
    for (order, one) in ordered {
        let others = by_cast.entry(order.cast).or_default();
        if !others.iter().any(|other| alike(&kept[*other], &one)) {
            others.push(kept.len());
            kept.push(one);
        }
    }
    kept
}

/// What the expressions of a node see: an occurrence, and values of parameters.
pub struct Scope<'a> {
    pub items: &'a [Item],
    pub parameters: &'a [Value<'a>],
    pub computed: &'a [Value<'static>],
}

impl<'a> Scope<'a> {
    pub fn of(occurrence: &'a Occurrence) -> Scope<'a> {
        Scope { items: &occurrence.items, parameters: &[], computed: &occurrence.computed }
    }
}

impl<'a> Env<'a> for Scope<'a> {
    fn event(&self, slot: usize) -> Option<&'a Event> {
        self.items.iter().rev().find(|item| usize::from(item.slot) == slot).map(|item| &*item.event)
    }

    fn events(&self, slot: usize, each: &mut dyn FnMut(&'a Event)) {
        self.items.iter().filter(|item| usize::from(item.slot) == slot).for_each(|item| each(&item.event));
    }

    fn parameter(&self, number: usize) -> Value<'a> {
        self.parameters.get(number).cloned().unwrap_or(Value::Null)
    }

    fn aggregate(&self, number: usize) -> Value<'a> {
        self.computed.get(number).cloned().unwrap_or(Value::Null)
    }
}

/// An event and its slot.
pub type Sighted<'a> = (u16, &'a Event);

/// An occurrence as a definition sees it: the time of its position, its interval, and what fills its slots.
pub struct Sight<'a> {
    pub time: i64,
    pub start: i64,
    pub end: i64,
    pub items: SmallVec<[Sighted<'a>; 4]>,
    pub computed: &'a [Value<'static>],
    /// Whether there is one event in every slot, from the first on, as in most occurrences.
    pub plain: bool,
}

impl<'a> Sight<'a> {
    pub fn of(occurrence: &'a Occurrence) -> Sight<'a> {
        let items = &occurrence.items;
        Sight {
            time: occurrence.time,
            start: occurrence.start,
            end: occurrence.end,
            plain: items.iter().enumerate().all(|(slot, item)| usize::from(item.slot) == slot),
            items: items.iter().map(|item| (item.slot, &*item.event)).collect(),
            computed: &occurrence.computed,
        }
    }
}

impl<'a> Env<'a> for Sight<'a> {
    #[inline]
    fn event(&self, slot: usize) -> Option<&'a Event> {
        if self.plain {
            return self.items.get(slot).map(|item| item.1);
        }
        self.items.iter().rev().find(|item| usize::from(item.0) == slot).map(|item| item.1)
    }

    fn events(&self, slot: usize, each: &mut dyn FnMut(&'a Event)) {
        self.items.iter().filter(|item| usize::from(item.0) == slot).for_each(|item| each(item.1));
    }

    fn aggregate(&self, number: usize) -> Value<'a> {
        self.computed.get(number).cloned().unwrap_or(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_the_same_cast_is_compared() {
        let compared = std::cell::Cell::new(0);
        let alike = |one: &(i64, char), other: &(i64, char)| {
            compared.set(compared.get() + 1);
            one == other
        };
        let cast = |n: i64| Cast { players: vec![vec![(1, n)]], roles: vec![0] };
        let order = |one: &(i64, char)| Order { cast: cast(one.0), ..Order::default() };
        let found: Vec<(i64, char)> = (0..1000).rev().flat_map(|n| [(n, 'a'), (n, 'b'), (n, 'a')]).collect();
        let kept = distinct(found, order, alike);
        assert_eq!(kept, (0..1000).flat_map(|n| [(n, 'a'), (n, 'b')]).collect::<Vec<_>>());
        assert_eq!(compared.get(), 2000);
    }
}
