//! The total order: events wait here until the task's watermark says that nothing earlier will come.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::hint::black_box;

use smallvec::SmallVec;
use triomphe::UniqueArc;

use crate::event::Event;

/// Whether a record was read before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    First,
    /// By a predecessor, for which it waited or was released.
    Again,
    /// By this task, or refused by a predecessor: there is nothing to do.
    Done,
}

/// Offsets of the records of a source that were refused, in order, as runs (first, last), for what made them bad then and
/// may be good by now, like a time too far ahead of the clock: reading them again must not judge them again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refused(pub Vec<(i64, i64)>);

impl Refused {
    pub fn push(&mut self, offset: i64) {
        match self.0.last_mut() {
            Some((_, last)) if *last + 1 == offset => *last = offset,
            _ => self.0.push((offset, offset)),
        }
    }

    pub fn contains(&self, offset: i64) -> bool {
        let at = self.0.partition_point(|(_, last)| *last < offset);
        self.0.get(at).is_some_and(|(first, _)| *first <= offset)
    }

    /// Forgets what will not be read again.
    pub fn forget_before(&mut self, offset: i64) {
        self.0.drain(..self.0.partition_point(|(_, last)| *last < offset));
    }
}

/// The lane of sources that bring parcels: they are no records.
pub const PARCELS: usize = usize::MAX;

/// One source partition of a task.
#[derive(Debug, Clone)]
pub struct Source {
    pub topic: String,
    pub partition: i32,
    /// The source whose parcels bring its records, where they are not read from their own topic.
    pub via: Option<usize>,
    /// How its records are decoded.
    pub lane: usize,
    /// Largest lateness of the event types the topic carries; none where the times of its records do not tell how far it
    /// has come.
    pub lateness_ms: Option<i64>,
    /// Where reading began, as far as the state does not say.
    pub first: i64,
    /// One past the last offset that was ever read: of a record, or of the parcel that brought it.
    pub read_to: i64,
    /// Where reading stands. Short of `read_to` while a task that starts again reads again what waited.
    pub position: i64,
    /// Nothing before this time will come from the source.
    pub watermark: i64,
    pub refused: Refused,
    /// The first parcel that was passed over because too much waited: from there on it is to be read again.
    pub passed_over: Option<i64>,
}

impl Source {
    /// Reading begins there, and nothing is known of the source yet.
    pub fn start(&mut self, offset: i64) {
        (self.first, self.read_to, self.position) = (offset, offset, offset);
        // Parcels hold nothing back by themselves: those do of which they tell.
        self.watermark = if self.lane == PARCELS { i64::MAX } else { i64::MIN };
        self.refused = Refused::default();
        self.passed_over = None;
    }

    /// Notes that the record at `offset` is read.
    #[inline]
    pub fn read(&mut self, offset: i64) -> Pass {
        if offset < self.position {
            return Pass::Done;
        }
        self.position = offset + 1;
        if offset >= self.read_to {
            self.read_to = offset + 1;
            return Pass::First;
        }
        if self.refused.contains(offset) {
            Pass::Done
        } else {
            Pass::Again
        }
    }

    /// Notes the time of a record; neither that nor the lateness is negative.
    #[inline]
    pub fn saw(&mut self, time: i64) {
        if let Some(lateness_ms) = self.lateness_ms {
            self.advance(time - lateness_ms);
        }
    }

    #[inline]
    pub fn advance(&mut self, watermark: i64) {
        self.watermark = self.watermark.max(watermark);
    }

    /// Nothing is left to be read, and nothing before `watermark` will come.
    pub fn is_silent(&mut self, watermark: i64) {
        self.position = self.read_to;
        self.advance(watermark);
    }

    /// Before which time nothing more comes from the source, given what is `released`: what is read again may lie
    /// before the source's watermark, but not before that.
    pub fn promises(&self, released: i64) -> i64 {
        // Of what comes in parcels, each source behind them knows what it has read.
        if self.position < self.read_to && self.lane != PARCELS {
            released
        } else {
            self.watermark
        }
    }
}

/// How far ahead events are looked at.
const AHEAD: usize = 4;

/// The leaves of the graph that an event passes.
pub type Leaves = SmallVec<[u32; 2]>;

/// An event that was read, and the leaves it will go to.
pub struct Read {
    /// Nobody else holds it before it is released.
    pub event: UniqueArc<Event>,
    /// When it occurred, to be seen without going there.
    pub time: i64,
    /// The offset of the record, or of the parcel, that brought it.
    pub offset: i64,
    pub leaves: Leaves,
}

impl Read {
    pub fn new(event: UniqueArc<Event>, offset: i64, leaves: Leaves) -> Read {
        Read { time: event.time, event, offset, leaves }
    }

    /// Whether anyone will have it.
    pub fn is_wanted(&self) -> bool {
        !self.leaves.is_empty() || self.event.is_of_fact()
    }

    #[inline]
    fn order(&self, other: &Read) -> Ordering {
        self.time.cmp(&other.time).then_with(|| self.event.order(&other.event))
    }
}

/// Events that were read and not yet released, by source.
pub struct Waiting {
    queues: Vec<Queue>,
}

#[derive(Default)]
struct Queue {
    sorted: VecDeque<Read>,
    /// What came out of order since the last time, still to be sorted in.
    incoming: Vec<Read>,
}

impl Waiting {
    pub fn new(sources: usize) -> Waiting {
        Waiting { queues: (0..sources).map(|_| Queue::default()).collect() }
    }

    pub fn push(&mut self, source: usize, read: Read) {
        let queue = &mut self.queues[source];
        let in_order = queue.sorted.back().is_none_or(|last| last.order(&read).is_le());
        if in_order && queue.incoming.is_empty() {
            queue.sorted.push_back(read);
        } else {
            queue.incoming.push(read);
        }
    }

    pub fn len(&self) -> usize {
        self.queues.iter().map(|queue| queue.sorted.len() + queue.incoming.len()).sum()
    }

    /// Brings what was read into the total order.
    pub fn settle(&mut self) {
        self.queues.iter_mut().for_each(Queue::settle);
    }

    /// The source and the time of the first event in the total order over all sources, when it is before the watermark.
    pub fn first(&self, watermark: i64) -> Option<(usize, i64)> {
        let heads = self.queues.iter().enumerate().filter_map(|(index, queue)| {
            let head = queue.sorted.front()?;
            (head.time < watermark).then_some((index, head))
        });
        let first = heads.reduce(|a, b| if b.1.order(a.1).is_lt() { b } else { a });
        first.map(|(index, head)| (index, head.time))
    }

    /// Takes the first event of a source.
    pub fn pop(&mut self, source: usize) -> Option<Read> {
        let sorted = &mut self.queues[source].sorted;
        // A look ahead: what is not in the processor's cache is on its way when its turn comes.
        if let Some(read) = sorted.get(AHEAD) {
            black_box((read.event.time, read.event.type_id));
        }
        sorted.pop_front()
    }

    /// The events before the watermark, no more than so many of each source.
    pub fn due(&self, watermark: i64, most: u64) -> impl Iterator<Item = &Read> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let due =
            move |queue: &'_ Queue| queue.sorted.partition_point(|read| read.time < watermark).min(most);
        self.queues.iter().flat_map(move |queue| queue.sorted.range(..due(queue)))
    }

    /// The smallest offset of a source that still waits.
    pub fn oldest_offset(&self, source: usize) -> Option<i64> {
        let queue = &self.queues[source];
        queue.sorted.iter().chain(&queue.incoming).map(|read| read.offset).min()
    }
}

impl Queue {
    /// Sorts in what came out of order: only the part of the queue that it reaches into is touched.
    fn settle(&mut self) {
        if self.incoming.is_empty() {
            return;
        }
        self.incoming.sort_by(Read::order);
        let overlap = self.sorted.partition_point(|waiting| waiting.order(&self.incoming[0]).is_le());
        if overlap < self.sorted.len() {
            self.incoming.extend(self.sorted.drain(overlap..));
            self.incoming.sort_by(Read::order);
        }
        self.sorted.extend(self.incoming.drain(..));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Source {
        Source {
            topic: "t".into(),
            partition: 0,
            via: None,
            lane: 0,
            lateness_ms: Some(5),
            first: 0,
            read_to: 0,
            position: 0,
            watermark: i64::MIN,
            refused: Refused::default(),
            passed_over: None,
        }
    }

    #[test]
    fn refused_offsets_are_kept_as_runs() {
        let mut refused = Refused::default();
        [3, 4, 5, 9, 10, 20].into_iter().for_each(|offset| refused.push(offset));
        assert_eq!(refused.0, [(3, 5), (9, 10), (20, 20)]);
        let found: Vec<i64> = (0..30).filter(|offset| refused.contains(*offset)).collect();
        assert_eq!(found, [3, 4, 5, 9, 10, 20]);
        refused.forget_before(10);
        assert_eq!(refused.0, [(9, 10), (20, 20)]);
    }

    #[test]
    fn a_source_knows_what_it_reads_again() {
        let mut source = source();
        assert_eq!(source.read(7), Pass::First);
        assert_eq!(source.read(7), Pass::Done);
        assert_eq!(source.read(9), Pass::First);
        source.refused.push(8);
        source.position = 7;
        assert_eq!(
            [7, 8, 9, 10].map(|offset| source.read(offset)),
            [Pass::Again, Pass::Done, Pass::Again, Pass::First]
        );
    }

    #[test]
    fn a_source_whose_records_do_not_tell_waits_to_be_told() {
        let mut source = Source { lateness_ms: None, ..source() };
        source.saw(105);
        assert_eq!(source.watermark, i64::MIN);
        source.is_silent(60);
        source.saw(105);
        assert_eq!(source.watermark, 60);
    }

    #[test]
    fn a_source_that_is_read_again_promises_no_more_than_what_was_released() {
        let mut source = source();
        source.read(7);
        source.saw(105);
        assert_eq!(source.promises(50), 100);
        source.position = 7;
        assert_eq!(source.promises(50), 50);
        source.read(7);
        assert_eq!(source.promises(50), 100);
        source.position = 7;
        source.is_silent(60);
        assert_eq!(source.promises(50), 100);
    }
}
