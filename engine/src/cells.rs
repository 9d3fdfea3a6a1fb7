//! What a node keeps: occurrences in lists, one set of lists for each binding of its parameters, and what of it
//! changed since the last commit.
//!
//! Entry of a kept occurrence. Key: the node's prefix, length (4, big-endian) and bytes of the binding, the list (1
//! byte), the occurrence's number (8, big-endian: numbers rise, so that a list comes back in its order). Value: the
//! occurrence. Entry of a cell's memo: the same key with list 255 and without a number; value: 1 where there is
//! such a cell even if nothing is in it, else 0, and the numbers of the memo.

use std::collections::{BTreeMap, VecDeque};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::avro::Malformed;
use crate::cache::{self, Shelf};
use crate::census::ENTRY;
use crate::key::Key;
use crate::occurrence::Occurrence;
use crate::state::{self, Change, Codec, Entry};

/// A horizon is cut into this many spans of expiry: an occurrence outlives its horizon by at most one of them.
const SPANS: i64 = 16;

/// The list number of a cell's memo.
const MEMO: u8 = u8::MAX;

#[derive(Debug, Clone)]
pub struct Kept {
    pub occurrence: Occurrence,
    number: u64,
    persisted: bool,
}

/// Occurrences in the order in which they came.
#[derive(Debug, Clone, Default)]
struct List {
    kept: VecDeque<Kept>,
    /// Whether some began earlier than those before them.
    unordered: bool,
}

/// What is kept for one binding.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    lists: SmallVec<[List; 3]>,
    /// Numbers a node remembers beside its lists.
    memo: Vec<i64>,
    memo_changed: bool,
    /// Whether it is remembered even if nothing is in it.
    marked: bool,
    changed: bool,
    /// The span of time after which it is looked at.
    watched: Option<i64>,
}

pub struct Cells {
    prefix: Vec<u8>,
    lists: usize,
    horizon_ms: Option<i64>,
    cells: HashMap<Key, Cell, FxBuildHasher>,
    /// Span of time → bindings to look at when it has passed.
    expiry: BTreeMap<i64, Vec<Key>>,
    next: u64,
    changed: Vec<Key>,
    deleted: Vec<Vec<u8>>,
    /// Bindings of what was written, but may still be undone; and which number was the next one when that was written,
    /// and when it was last confirmed.
    unconfirmed: Vec<Key>,
    written_next: u64,
    confirmed_next: u64,
    pub shelf: Shelf,
}

/// One cell, to be changed.
pub struct CellMut<'a> {
    key: &'a Key,
    cell: &'a mut Cell,
    prefix: &'a [u8],
    next: &'a mut u64,
    changed: &'a mut Vec<Key>,
    deleted: &'a mut Vec<Vec<u8>>,
}

impl Cells {
    pub fn new(prefix: Vec<u8>, lists: usize, horizon_ms: Option<i64>) -> Cells {
        Cells {
            prefix,
            lists,
            horizon_ms,
            cells: HashMap::default(),
            expiry: BTreeMap::new(),
            next: 0,
            changed: Vec::new(),
            deleted: Vec::new(),
            unconfirmed: Vec::new(),
            written_next: 0,
            confirmed_next: 0,
            shelf: Shelf::default(),
        }
    }

    /// A position begins: what is put in from now on comes behind all that was there.
    pub fn begin(&mut self, seq: u64) {
        self.next = self.next.max(state::number_from(seq));
    }

    pub fn get(&self, key: &[u8]) -> Option<&Cell> {
        self.cells.get(key)
    }

    /// All bindings there are cells of, in the order of their bytes.
    pub fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.cells.keys().cloned().collect();
        keys.sort_unstable();
        keys
    }

    /// The cell of a binding, made if need be; `time` is that of the earliest occurrence that may be put into it.
    pub fn entry<'a>(&'a mut self, key: &'a Key, time: i64) -> CellMut<'a> {
        if !self.cells.contains_key(key) {
            let lists = (0..self.lists).map(|_| List::default()).collect();
            self.cells.insert(key.clone(), Cell { lists, ..Cell::default() });
            self.watch(key, time);
        }
        self.get_mut(key).expect("the cell was just made")
    }

    /// The cell of a binding, where there is one.
    pub fn get_mut<'a>(&'a mut self, key: &'a Key) -> Option<CellMut<'a>> {
        let Cells { prefix, next, changed, deleted, cells, .. } = self;
        let cell = cells.get_mut(key)?;
        Some(CellMut { key, cell, prefix, next, changed, deleted })
    }

    fn span(&self, time: i64) -> i64 {
        let horizon = self.horizon_ms.unwrap_or_default();
        time.saturating_add(horizon).div_euclid(horizon / SPANS + 1)
    }

    /// Sees to it that a cell is looked at when what began at a time has expired.
    pub fn watch(&mut self, key: &Key, time: i64) {
        // With a bound, what has expired is found by those who sweep through the store.
        if self.horizon_ms.is_none() || self.shelf.bounded {
            return;
        }
        let span = self.span(time);
        if let Some(cell) =
            self.cells.get_mut(key).filter(|cell| cell.watched.is_none_or(|known| span < known))
        {
            cell.watched = Some(span);
            self.expiry.entry(span).or_default().push(key.clone());
        }
    }

    /// The current span, and the earliest time that counts, seen from `watermark`. Whole spans go at once: when cells
    /// were looked at before makes no difference.
    fn oldest(&self, watermark: i64) -> Option<(i64, i64)> {
        let horizon = self.horizon_ms?;
        let now = self.span(watermark.saturating_sub(horizon));
        Some((now, now.saturating_mul(horizon / SPANS + 1).saturating_sub(horizon)))
    }

    /// The earliest time that counts, seen from `watermark`, and the cells that may hold something earlier. Who asks
    /// purges them, and removes them or watches them again.
    pub fn overdue(&mut self, watermark: i64) -> (i64, Vec<Key>) {
        let Some((now, oldest)) = self.oldest(watermark) else { return (i64::MIN, Vec::new()) };
        let mut found = Vec::new();
        while let Some(first) = self.expiry.first_entry().filter(|first| *first.key() < now) {
            let (span, keys) = first.remove_entry();
            for key in keys {
                let cell = self.cells.get_mut(&key).filter(|cell| cell.watched == Some(span));
                if let Some(cell) = cell {
                    cell.watched = None;
                    found.push(key);
                }
            }
        }
        (oldest, found)
    }

    /// Forgets a cell.
    pub fn remove(&mut self, key: &Key) {
        if let Some(mut cell) = self.get_mut(key) {
            cell.touch();
            for list in 0..cell.cell.lists.len() {
                cell.clear(list);
            }
            if cell.cell.marked || cell.cell.memo_changed || !cell.cell.memo.is_empty() {
                cell.deleted.push(entry_key(cell.prefix, MEMO, key, None));
            }
        }
        self.cells.remove(key);
        self.shelf.leave(key);
    }

    pub fn stored(&self) -> usize {
        self.cells.values().flat_map(|cell| &cell.lists).map(|list| list.kept.len()).sum()
    }

    /// How many bindings there are cells of.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// About how many bytes its entries take.
    pub fn bytes(&self) -> usize {
        let events = |kept: &Kept| kept.occurrence.items.iter().map(|item| item.event.size()).sum::<usize>();
        let of_cell = |(key, cell): (&Key, &Cell)| {
            let kept = cell.lists.iter().flat_map(|list| &list.kept);
            kept.map(|kept| ENTRY + key.len() + events(kept)).sum::<usize>()
        };
        self.cells.iter().map(of_cell).sum()
    }

    /// What changed since the last time, as entries to write and to delete.
    pub fn changes(&mut self, codec: &Codec, out: &mut Vec<Change>) {
        self.written_next = self.next;
        self.shelf.write();
        out.extend(self.deleted.drain(..).map(|key| Change { key, value: None }));
        for key in std::mem::take(&mut self.changed) {
            self.unconfirmed.push(key);
            let key = self.unconfirmed.last().expect("one was pushed");
            let Some(cell) = self.cells.get_mut(key) else {
                self.shelf.note(key, None);
                continue;
            };
            cell.changed = false;
            for (number, list) in cell.lists.iter_mut().enumerate() {
                for kept in list.kept.iter_mut().filter(|kept| !kept.persisted) {
                    kept.persisted = true;
                    out.push(Change {
                        key: entry_key(&self.prefix, number as u8, key, Some(kept.number)),
                        value: Some(codec.encode_occurrence(&kept.occurrence)),
                    });
                }
            }
            if std::mem::take(&mut cell.memo_changed) {
                let told = cell.marked || !cell.memo.is_empty();
                let numbers = || [&[i64::from(cell.marked)], &cell.memo[..]].concat();
                let value = told.then(|| state::encode_numbers(&numbers()));
                out.push(Change { key: entry_key(&self.prefix, MEMO, key, None), value });
            }
            if self.shelf.bounded {
                self.shelf.note(key, Some(cell.weight()));
            }
        }
    }

    /// What was written stands.
    pub fn confirm(&mut self) {
        self.unconfirmed.clear();
        self.shelf.confirm();
        self.confirmed_next = self.written_next;
    }

    /// Lets go of what was used no later than in some turn, while it is too much; says how much is still too much.
    pub fn evict(&mut self, turn: u64, mut too_much: usize) -> usize {
        while too_much > 0 {
            let Some((key, bytes)) = self.shelf.pop(turn) else { break };
            // What changed since is not committed; it comes to the end of the queue with its next commit.
            if self.cells.get(&key).is_none_or(|cell| cell.changed) {
                continue;
            }
            too_much = too_much.saturating_sub(bytes);
            self.cells.remove(&key);
            self.shelf.partial = true;
        }
        too_much
    }

    /// Lets go of all of it.
    pub fn let_go(&mut self) {
        self.cells.clear();
        self.shelf.let_go();
    }

    /// Says what is to be loaded for a binding, where it may be away.
    pub fn ask(&mut self, key: &Key, asked: &mut Vec<Vec<u8>>) {
        if !self.cells.contains_key(key) && self.shelf.ask(key) {
            asked.push(state::keyed(&self.prefix, key));
        }
    }

    /// What all entries begin with.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Looks whether a stored entry has expired. What is not in memory is deleted; returns otherwise the earliest time
    /// that counts and the binding, which is to be purged.
    pub fn sweep(&mut self, entry: &Entry, watermark: i64) -> Result<Option<(i64, Key)>, Malformed> {
        let (key, list, _) = self.parse(entry.key)?;
        self.shelf.see(&key);
        let Some((_, oldest)) = self.oldest(watermark) else { return Ok(None) };
        let start = match list {
            MEMO => match &state::decode_numbers(entry.value)?[..] {
                [0, .., time] => *time,
                _ => return Ok(None),
            },
            _ => state::decode_start(entry.value)?,
        };
        if start >= oldest {
            return Ok(None);
        }
        if self.cells.contains_key(&key) {
            return Ok(Some((oldest, key)));
        }
        if !self.shelf.knows(&key) {
            self.deleted.push(entry.key.to_vec());
        }
        Ok(None)
    }

    /// The binding, the list and the number in the key of an entry of this node.
    fn parse<'a>(&self, key: &'a [u8]) -> Result<(Key, u8, &'a [u8]), Malformed> {
        let short = || Malformed::new("a state entry has a key that is too short");
        let rest = key.get(self.prefix.len()..).ok_or_else(short)?;
        let (length, rest) = rest.split_at_checked(4).ok_or_else(short)?;
        let length = u32::from_be_bytes(length.try_into().expect("4 bytes were taken")) as usize;
        let (key, rest) = rest.split_at_checked(length).ok_or_else(short)?;
        let (&list, number) = rest.split_first().ok_or_else(short)?;
        Ok((Key::from_slice(key), list, number))
    }

    /// Forgets the cells that are not as they were when last confirmed, and says which.
    pub fn undo(&mut self, asked: &mut Vec<Vec<u8>>) -> Vec<Key> {
        self.deleted.clear();
        self.next = self.confirmed_next;
        let mut keys = std::mem::take(&mut self.unconfirmed);
        keys.append(&mut self.changed);
        keys.append(&mut self.shelf.undo());
        keys.sort_unstable();
        keys.dedup();
        for key in &keys {
            self.cells.remove(key);
            self.shelf.note(key, None);
            asked.push(state::keyed(&self.prefix, key));
        }
        keys
    }

    /// Takes an entry that `changes` gave, when it is of this node, and says of which binding it is.
    pub fn load(
        &mut self,
        entry: &Entry,
        codec: &Codec,
        accepts: impl Fn(usize, &Occurrence) -> bool,
    ) -> Result<Option<Key>, Malformed> {
        if !entry.key.starts_with(&self.prefix) {
            return Ok(None);
        }
        let (key, list, number) = self.parse(entry.key)?;
        if list == MEMO {
            let mut memo = state::decode_numbers(entry.value)?;
            let marked = !memo.is_empty() && memo.remove(0) != 0;
            let time = memo.last().copied().unwrap_or(i64::MIN);
            let cell = self.entry(&key, time).cell;
            (cell.memo, cell.marked) = (memo, marked);
            self.shelf.add(&key, cache::slot::<Cell>(), 0);
            self.watch(&key, time);
            return Ok(Some(key));
        }
        if usize::from(list) >= self.lists {
            return Err(Malformed::new("a state entry of a list the node does not have"));
        }
        let torn = |_| Malformed::new("a state entry of a list has no number");
        let number = u64::from_be_bytes(number.try_into().map_err(torn)?);
        let occurrence = codec.decode_occurrence(entry.value)?;
        if !accepts(usize::from(list), &occurrence) {
            return Err(Malformed::new("a stored occurrence that does not fit its node"));
        }
        self.next = self.next.max(number.saturating_add(1));
        self.confirmed_next = self.confirmed_next.max(number.saturating_add(1));
        let start = occurrence.start;
        let events: usize = occurrence.items.iter().map(|item| cache::weight(&item.event)).sum();
        self.shelf.add(&key, cache::slot::<Cell>() + 2 * size_of::<Kept>(), 2 * size_of::<Kept>() + events);
        let list = &mut self.entry(&key, start).cell.lists[usize::from(list)];
        let at = list.kept.partition_point(|other| other.number < number);
        let starts =
            |at: Option<usize>| at.and_then(|at| list.kept.get(at)).map(|kept| kept.occurrence.start);
        let in_order = starts(at.checked_sub(1)).is_none_or(|before| before <= start)
            && starts(Some(at)).is_none_or(|behind| start <= behind);
        list.kept.insert(at, Kept { occurrence, number, persisted: true });
        list.unordered |= !in_order;
        self.watch(&key, start);
        Ok(Some(key))
    }
}

impl Cell {
    /// About how many bytes it takes.
    fn weight(&self) -> usize {
        let room: usize = self.lists.iter().map(|list| list.kept.capacity() * size_of::<Kept>()).sum();
        let events = self.lists.iter().flat_map(|list| &list.kept).flat_map(|kept| &kept.occurrence.items);
        cache::slot::<Cell>() + room + events.map(|item| cache::weight(&item.event)).sum::<usize>()
    }

    pub fn list(&self, list: usize) -> &VecDeque<Kept> {
        &self.lists[list].kept
    }

    pub fn is_empty(&self) -> bool {
        self.memo.is_empty() && self.lists.iter().all(|list| list.kept.is_empty())
    }

    /// Whether both hold the same.
    pub fn equals(&self, other: &Cell) -> bool {
        let kept = |one: &List, other: &List| {
            let mut pairs = one.kept.iter().zip(&other.kept);
            one.kept.len() == other.kept.len()
                && pairs.all(|(one, other)| one.occurrence.equals(&other.occurrence))
        };
        self.memo == other.memo && self.lists.iter().zip(&other.lists).all(|(one, other)| kept(one, other))
    }

    pub fn memo(&self) -> &[i64] {
        &self.memo
    }
}

impl CellMut<'_> {
    pub fn key(&self) -> &Key {
        self.key
    }

    pub fn list(&self, list: usize) -> &VecDeque<Kept> {
        self.cell.list(list)
    }

    pub fn push(&mut self, list: usize, occurrence: Occurrence) {
        self.touch();
        let number = *self.next;
        *self.next = self.next.wrapping_add(1);
        let list = &mut self.cell.lists[list];
        let last = list.kept.back().map_or(i64::MIN, |last| last.occurrence.start);
        list.unordered = (list.unordered && !list.kept.is_empty()) || occurrence.start < last;
        list.kept.push_back(Kept { occurrence, number, persisted: false });
    }

    /// Takes one out of a list.
    pub fn take(&mut self, list: usize, index: usize) -> Option<Occurrence> {
        let kept = self.cell.lists[list].kept.remove(index)?;
        self.note_gone(list, &kept);
        Some(kept.occurrence)
    }

    pub fn clear(&mut self, list: usize) {
        for kept in std::mem::take(&mut self.cell.lists[list].kept) {
            self.note_gone(list, &kept);
        }
    }

    /// Keeps only what fulfils a condition, and says how many are gone.
    pub fn retain(&mut self, list: usize, mut keep: impl FnMut(&Occurrence) -> bool) -> usize {
        let mut kept = std::mem::take(&mut self.cell.lists[list].kept);
        let before = kept.len();
        kept.retain(|kept| {
            let keeps = keep(&kept.occurrence);
            if !keeps {
                self.note_gone(list, kept);
            }
            keeps
        });
        let gone = before - kept.len();
        self.cell.lists[list].kept = kept;
        gone
    }

    /// Forgets the first ones, as long as they fulfil a condition.
    pub fn pop_while(&mut self, list: usize, mut goes: impl FnMut(&Occurrence) -> bool) -> usize {
        let mut gone = 0;
        while self.cell.lists[list].kept.front().is_some_and(|first| goes(&first.occurrence)) {
            gone += usize::from(self.take(list, 0).is_some());
        }
        gone
    }

    /// Forgets what began before a time.
    pub fn purge(&mut self, list: usize, oldest: i64) -> usize {
        if self.cell.lists[list].unordered {
            self.retain(list, |kept| kept.start >= oldest)
        } else {
            self.pop_while(list, |kept| kept.start < oldest)
        }
    }

    fn note_gone(&mut self, list: usize, kept: &Kept) {
        if kept.persisted {
            self.touch();
            self.deleted.push(entry_key(self.prefix, list as u8, self.key, Some(kept.number)));
        }
    }

    pub fn memo(&self) -> &[i64] {
        &self.cell.memo
    }

    pub fn set_memo(&mut self, memo: Vec<i64>) {
        self.touch();
        self.cell.memo = memo;
        self.cell.memo_changed = true;
    }

    /// Sees to it that there is such a cell after a loss, even if nothing is in it.
    pub fn mark(&mut self) {
        if !self.cell.marked {
            self.touch();
            (self.cell.marked, self.cell.memo_changed) = (true, true);
        }
    }

    /// Takes over what another cell holds, as things of its own.
    pub fn copy_from(&mut self, other: &Cell) {
        for (number, list) in other.lists.iter().enumerate() {
            for kept in &list.kept {
                self.push(number, kept.occurrence.clone());
            }
        }
        if !other.memo.is_empty() {
            self.set_memo(other.memo.clone());
        }
    }

    fn touch(&mut self) {
        if !self.cell.changed {
            self.cell.changed = true;
            self.changed.push(self.key.clone());
        }
    }
}

fn entry_key(prefix: &[u8], list: u8, key: &[u8], number: Option<u64>) -> Vec<u8> {
    let mut out = Vec::with_capacity(prefix.len() + key.len() + 13);
    out.extend_from_slice(prefix);
    out.extend_from_slice(&(key.len() as u32).to_be_bytes());
    out.extend_from_slice(key);
    out.push(list);
    if let Some(number) = number {
        out.extend_from_slice(&number.to_be_bytes());
    }
    out
}
