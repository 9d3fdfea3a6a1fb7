//! What a pattern keeps: how it expires, is written and undone, leaves memory and comes back.

use super::*;

impl PatternNode {
    pub fn expire(&mut self, now: (u64, i64), journal: &mut Journal) {
        let asked = self.constituents.len();
        for part in self.parts() {
            let Part { store, shape } = part;
            let PartShape { slot, own_slots, .. } = &**shape;
            store.expire(now.1, &mut |event| note_expired(event, *slot, own_slots, asked, now, journal));
        }
        self.ahead.expire(now.1);
    }

    pub fn changes(&mut self, codec: &Codec, out: &mut Vec<Change>) {
        self.parts().for_each(|part| part.store.changes(codec, out));
        if let Some(pending) = &mut self.pending {
            pending.changes(codec, out);
        }
    }

    /// Whether what it looks up can be away: the events that arrive tell all that is needed.
    fn is_told(&self) -> bool {
        let parts = self.constituents.iter().map(|constituent| &constituent.part);
        let parts = parts.chain(self.negations.iter().map(|negation| &negation.part));
        let mut parts = parts.chain(self.aggregates.iter().map(|aggregate| &aggregate.part));
        self.consuming.is_empty() && parts.all(|part| part.probe.iter().all(|(slot, _)| *slot == 0))
    }

    pub fn shelves(&mut self) -> Vec<&mut Shelf> {
        if self.is_told() {
            self.parts().map(|part| &mut *part.store.shelf).collect()
        } else {
            Vec::new()
        }
    }

    /// Says what is away of that which some arrivals need.
    pub fn missing(&mut self, arrived: &[(u8, Arc<Event>)], asked: &mut Vec<Vec<u8>>) {
        for (port, event) in arrived {
            for part in self.parts().filter(|part| part.store.shelf.partial) {
                let slot = part.slot;
                let places: SmallVec<[Slot; 4]> = match usize::from(*port) {
                    0 => part.probe.iter().map(|(_, at)| *at).collect(),
                    port if port == slot => part.own_slots.iter().copied().collect(),
                    _ => continue,
                };
                if let Some(key) = Probe::new(places.iter().map(|at| event.value(*at))) {
                    part.store.ask(key.bytes(), asked);
                }
            }
        }
    }

    /// The same of what is in its inbox.
    pub fn missing_for_inbox(&mut self, asked: &mut Vec<Vec<u8>>) {
        let arrived = std::mem::take(&mut self.inbox);
        self.missing(&arrived, asked);
        self.inbox = arrived;
        let incoming: Vec<_> =
            self.incoming.iter().map(|(index, event)| (*index as u8 + 1, event.clone())).collect();
        self.missing(&incoming, asked);
    }

    /// What the keys begin with of that which can be away.
    pub fn shelved(&mut self) -> Vec<Vec<u8>> {
        let told = self.is_told();
        self.parts().filter(|_| told).map(|part| part.store.prefix().to_vec()).collect()
    }

    pub fn let_go(&mut self) {
        self.parts().filter(|part| part.store.shelf.bounded).for_each(|part| part.store.let_go());
    }

    /// Forgets what is stored under an entry, where it has expired.
    pub fn sweep(&mut self, entry: &Entry, now: (u64, i64), journal: &mut Journal) -> Result<(), Malformed> {
        let asked = self.constituents.len();
        for part in self.parts() {
            let Part { store, shape } = part;
            let PartShape { slot, own_slots, .. } = &**shape;
            if store.shelf.bounded && entry.key.starts_with(store.prefix()) {
                let note = &mut |event| note_expired(event, *slot, own_slots, asked, now, journal);
                store.sweep(entry, now.1, note)?;
            }
        }
        Ok(())
    }

    pub fn evict(&mut self, turn: u64, too_much: usize) -> usize {
        self.parts().fold(too_much, |too_much, part| part.store.evict(turn, too_much))
    }

    /// What its entries begin with.
    pub fn fingerprint(&self) -> [u8; 8] {
        self.fingerprint
    }

    pub fn confirm(&mut self) {
        self.parts().for_each(|part| part.store.confirm());
        self.pending.iter_mut().for_each(|pending| pending.confirm());
    }

    /// Forgets what is not as it was when last confirmed, and says what is to be loaded instead.
    pub fn undo(&mut self, asked: &mut Vec<Vec<u8>>) {
        self.inbox.clear();
        self.touched = false;
        self.incoming.clear();
        self.consumed.clear();
        self.parts().for_each(|part| part.store.undo(asked));
        self.pending.iter_mut().for_each(|pending| drop(pending.undo(asked)));
    }

    /// Asks for the times that what was loaded waits for.
    pub fn resume(&self, id: usize, timers: &mut Timers) {
        for key in self.pending.iter().flat_map(|pending| pending.keys()) {
            if let Some(place) = Place::read(&key) {
                timers.set(id, place.due, key.to_vec());
            }
        }
    }

    /// Takes an entry when it is of this node.
    pub fn load(&mut self, entry: &Entry, codec: &Codec) -> Result<bool, Malformed> {
        let count = 1 + self.constituents.len();
        if let Some(pending) = &mut self.pending {
            let loaded = Once::new(None);
            let fits = |_, waiting: &Occurrence| {
                let mut slots = waiting.items.iter().map(|item| usize::from(item.slot));
                loaded.set(Some(waiting.clone()));
                waiting.items.len() == count && (0..count).all(|slot| slots.next() == Some(slot))
            };
            if let Some(key) = pending.load(entry, codec, fits)? {
                let torn = || Malformed::new("a waiting occurrence that is not of its rule");
                let place = Place::read(&key).ok_or_else(torn)?;
                loaded.take().iter().for_each(|waiting| self.note(waiting, place));
                return Ok(true);
            }
        }
        for part in self.parts() {
            if part.store.load(entry, codec)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn stores(&self) -> impl Iterator<Item = &Store> {
        let parts = self.constituents.iter().map(|constituent| &constituent.part);
        let parts = parts.chain(self.negations.iter().map(|negation| &negation.part));
        let parts = parts.chain(self.aggregates.iter().map(|aggregate| &aggregate.part));
        parts.map(|part| &part.store)
    }

    pub fn stored(&self) -> usize {
        self.stores().map(Store::len).sum::<usize>()
            + self.pending.as_ref().map_or(0, |pending| pending.stored())
    }

    /// About how many bytes its entries take.
    pub fn bytes(&self) -> usize {
        self.stores().map(Store::bytes).sum::<usize>()
            + self.pending.as_ref().map_or(0, |pending| pending.bytes())
    }
}

/// Notes that an event of a part has expired; those of constituents are told to who asks why nothing came of them.
fn note_expired(
    event: Arc<Event>,
    slot: usize,
    own_slots: &[Slot],
    constituents: usize,
    (seq, watermark): (u64, i64),
    journal: &mut Journal,
) {
    journal.expired += 1;
    if slot <= constituents {
        let item = Item { slot: slot as u16, event };
        journal.gone.note(seq, || gone(Reason::Expired, own_slots, item.clone(), None));
        let items = || SmallVec::from_iter([item]);
        journal.losses.note(seq, || Loss::new(Reason::Expired, watermark, items()));
    }
}
