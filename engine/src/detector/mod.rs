//! A task's detector: raw records in, complex events, rejects and changes of state out. Pure: no I/O and no clock.

mod decode;
mod feeding;
mod inlets;

use std::collections::HashMap;

use crate::avro::Malformed;
use crate::batch::{Batch, CloudEvent, Record};
use crate::build::{self, Builder};
use crate::cache::Fetch;
use crate::census::Count;
use crate::event::{Event, Layout, Origin as Made, Row, RowWriter, Slot, NO_SOURCE};
use crate::forward::{Forwarding, Sent};
use crate::graph::{Destination, Graph, Outbox, Unencodable};
use crate::identity::{Reads, Topics};
use crate::json;
use crate::letter::{Reason, Reject};
use crate::nodes::emission::Emitted;
use crate::order::{Pass, Read, Refused, Source, Waiting, PARCELS};
use crate::parcel;
use crate::plan::{EventType, Nulls, Origin, Plan, Subtopology};
use crate::seen::{self, Seen};
use crate::shapes::Shapes;
use crate::state::{self, Change, Codec, Entry, Names, Progress, SourceProgress, NOTHING, TASK_KEY};
use crate::value::Value;
use crate::why::{Ending, Question};
use crate::writers::{pick, Reading, SchemaRef, Writers};
use decode::{Clock, Kind};
use inlets::{Inlets, Lanes};

/// Limits a task puts on its input.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub max_record_bytes: usize,
    /// How far ahead of the worker's clock an event time may lie.
    pub max_ahead_ms: i64,
    /// How much of the state that can be asked for again is to be in memory.
    pub cache_bytes: Option<usize>,
    /// How many events that came in parcels may wait before the sources that are ahead are passed over.
    pub max_waiting: usize,
}

/// What a commit has to write.
pub struct Changes<'a> {
    pub app: &'a str,
    pub emitted: &'a Emitted,
    pub topics: &'a [String],
    pub rejects: &'a [Reject],
    pub state: Vec<Change>,
    pub parcels: Vec<Sent>,
    pub progress: Progress,
}

/// Counts since the task began, for people.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub read: u64,
    pub handled: u64,
    pub detected: u64,
    pub late: u64,
    pub rejected: u64,
    pub not_ours: u64,
    /// Records without a value, where those are to be passed over.
    pub ignored: u64,
}

type Refusal = (Reason, String);

pub struct Detector {
    app: String,
    types: Vec<(EventType, Layout)>,
    kinds: Vec<Kind>,
    names: Names,
    /// The topics the task reads.
    topics: Topics,
    output_topics: Vec<String>,
    /// The partitions it reads, topic by topic.
    sources: Vec<Source>,
    /// How records are decoded.
    lanes: Lanes,
    /// What is sent on instead of being detected.
    forwarding: Option<Forwarding>,
    /// The topics of whose bad records this task tells: of those that read them, the first in the plan.
    told: Vec<String>,
    writers: Writers,
    waiting: Waiting,
    seen: Seen,
    graph: Graph,
    released: i64,
    /// The time of the earliest event.
    began: i64,
    /// Whether the calendar's clock runs, and whether the alarms of what was loaded are set.
    begun: bool,
    resumed: bool,
    limits: Limits,
    emitted: Emitted,
    rejects: Vec<Reject>,
    failed: Vec<Unencodable>,
    /// Where the state that was loaded says to read on.
    loaded: Option<Progress>,
    pub counts: Counts,
    /// The counts up to what was written last, and up to the last commit that stands.
    written: Counts,
    confirmed: Counts,
}

impl Detector {
    pub fn new(
        plan: &Plan,
        subtopology: &str,
        partition: i32,
        reads: &Reads,
        forwards: &HashMap<String, i32>,
        destinations: &HashMap<String, Destination>,
        limits: Limits,
    ) -> Result<Detector, String> {
        let sub = plan.subtopology(subtopology)?;
        let (nodes, subscribers) = sub.task(partition)?;
        let first = |topic: &&String| plan.first_reader(topic) == Some(subtopology);
        let told: Vec<String> = sub.topics.iter().filter(first).cloned().collect();
        let layouts = build::layouts(plan, nodes, &sub.forwards, &told);
        let types: Vec<_> = plan.types.iter().cloned().zip(layouts).collect();
        let Inlets { topics, sources, lanes } = Inlets::new(plan, sub, partition, reads, &types)?;
        let mut output_topics: Vec<String> = destinations.values().map(|d| d.topic.clone()).collect();
        output_topics.sort();
        output_topics.dedup();
        let waiting = Waiting::new(sources.len());
        let builder = Builder {
            plan,
            nodes,
            subscribers,
            forwards: &sub.forwards,
            types: &types,
            destinations,
            topics: &output_topics,
            own_partition: partition,
            parts: Shapes::default(),
            emissions: Shapes::default(),
        };
        let mut graph = builder.build()?;
        graph.bound(limits.cache_bytes);
        let key_of = |type_id: usize, field: usize| types[type_id].1.slot(field);
        let forwarding = match &sub.forwards[..] {
            [] => None,
            _ => Some(Forwarding::new(plan, sub, forwards, &sources, key_of)?),
        };
        Ok(Detector {
            forwarding,
            told,
            app: plan.app.clone(),
            seen: Seen::new(&types),
            kinds: types.iter().map(Kind::of).collect(),
            names: state::names(&types),
            types,
            topics,
            output_topics,
            sources,
            lanes,
            writers: Writers::default(),
            waiting,
            graph,
            released: i64::MIN,
            began: i64::MAX,
            begun: false,
            resumed: false,
            limits,
            emitted: Emitted::default(),
            rejects: Vec::new(),
            failed: Vec::new(),
            loaded: None,
            counts: Counts::default(),
            written: Counts::default(),
            confirmed: Counts::default(),
        })
    }

    /// The topics that are read.
    pub fn topics(&self) -> Vec<String> {
        let read = self.sources.iter().filter(|source| source.via.is_none());
        let mut topics: Vec<String> = read.map(|source| source.topic.clone()).collect();
        topics.sort();
        topics.dedup();
        topics
    }

    pub fn writers(&mut self) -> &mut Writers {
        &mut self.writers
    }

    fn source_of(&self, topic: &str, partition: Option<i32>) -> Result<usize, String> {
        let partition = partition.unwrap_or(self.topics.partition());
        self.sources
            .iter()
            .position(|source| source.via.is_none() && source.topic == topic && source.partition == partition)
            .ok_or_else(|| format!("partition {partition} of {topic} is none of the task's sources"))
    }

    /// Says where reading begins on a source the state knows nothing of.
    pub fn start(&mut self, topic: &str, partition: Option<i32>, offset: i64) -> Result<(), String> {
        let source = self.source_of(topic, partition)?;
        self.sources[source].start(offset);
        Ok(())
    }

    /// Says that nothing before `watermark` will come from a source, though it is silent.
    pub fn advance(&mut self, topic: &str, partition: Option<i32>, watermark: i64) -> Result<(), String> {
        let source = self.source_of(topic, partition)?;
        self.sources[source].is_silent(watermark);
        Ok(())
    }

    pub fn watermark(&self) -> i64 {
        self.sources.iter().map(|source| source.promises(self.released)).min().unwrap_or(i64::MIN)
    }

    /// Whether the watermark releases something that was not handled yet.
    pub fn is_behind(&self) -> bool {
        self.forwarding.is_none() && self.watermark() > self.released
    }

    /// Handles, in the total order, what the watermark releases: all of it, or whole times until there were so many
    /// positions. Says how many there were. What is not in memory is fetched; where that fails, everything since the
    /// last commit is to be undone.
    pub fn run(&mut self, positions: u64, fetch: Option<&mut Fetch>) -> Result<u64, String> {
        let watermark = self.watermark();
        if !self.is_behind() {
            return Ok(0);
        }
        let before = self.graph.seq;
        let last = before.saturating_add(positions.max(1));
        self.start_clocks(watermark);
        let Detector { waiting, seen, graph, topics, types, names, emitted, failed, rejects, .. } = self;
        let mut handled = 0;
        let mut whole = true;
        let detected = emitted.records.len();
        let mut out = Outbox { topics, types, emitted, failed, names, fetch: None, lost: None };
        if let Some(fetch) = fetch {
            out.fetch = Some(fetch);
        }
        waiting.settle();
        graph.bring_for(waiting.due(watermark, positions), &mut out);
        while let Some((source, time)) = waiting.first(watermark) {
            whole = graph.handle_due(time, last, &mut out) && graph.reaches(time, last);
            let Some(read) = whole.then(|| waiting.pop(source)).flatten() else { break };
            handled += 1;
            if seen.concerns(&read.event) && !(seen.is_new(&read.event) && read.is_wanted()) {
                continue;
            }
            let place = place(&read.event);
            graph.handle(read.event, &read.leaves, &mut out);
            if !out.failed.is_empty() {
                rejects.extend(out.failed.drain(..).map(|failure| unwritten(place, failure, topics)));
            }
        }
        whole = whole && graph.handle_due(watermark, last, &mut out);
        rejects.extend(
            out.failed.drain(..).map(|failure| unwritten((NO_SOURCE, -1, -1, watermark), failure, topics)),
        );
        out.emitted.name();
        let released = if whole { watermark } else { graph.rounds.time().saturating_add(1) };
        if let Some(lost) = out.lost {
            return Err(lost);
        }
        self.counts.handled += handled;
        self.counts.detected += (self.emitted.records.len() - detected) as u64;
        self.released = released;
        self.graph.expire(self.released, &self.topics);
        self.seen.expire(self.released);
        Ok(self.graph.seq - before)
    }

    /// Sets the alarms of what was loaded before anything is handled, and those of the calendar when time begins: with
    /// the first event there is, whether or not a rule wants it.
    fn start_clocks(&mut self, watermark: i64) {
        if !std::mem::replace(&mut self.resumed, true) {
            self.graph.resume(self.released);
        }
        if !self.begun && self.began < watermark {
            self.begun = true;
            self.graph.start(self.began.max(self.released));
        }
    }

    fn progress(&mut self) -> Progress {
        let named: Vec<String> = self.sources.iter().map(|source| source.topic.clone()).collect();
        // A channel is read on at the oldest parcel of which something waits, or that was passed over.
        let mut oldest: Vec<Option<i64>> =
            (0..self.sources.len()).map(|index| self.waiting.oldest_offset(index)).collect();
        for (index, source) in self.sources.iter().enumerate() {
            if let Some(channel) = source.via {
                let behind = [oldest[channel], oldest[index], source.passed_over];
                oldest[channel] = behind.into_iter().flatten().min();
            }
        }
        let of = |(index, source): (usize, &mut Source)| {
            let waits = oldest[source.via.unwrap_or(index)];
            let resume = waits.unwrap_or(source.position);
            match source.via {
                None => source.refused.forget_before(resume),
                // Its own offsets are not those of the parcels: what was refused may be read again as long as any waits.
                Some(_) if waits.is_none() => source.refused = Refused::default(),
                Some(_) => {}
            }
            SourceProgress {
                topic: source.topic.clone(),
                partition: source.partition,
                via: source.via.map(|channel| named[channel].clone()).unwrap_or_default(),
                resume,
                read_to: source.read_to,
                watermark: source.watermark,
                refused: source.refused.clone(),
            }
        };
        Progress {
            released: self.released,
            began: self.began,
            seq: self.graph.seq,
            sources: self.sources.iter_mut().enumerate().map(of).collect(),
        }
    }

    /// What a commit has to write for everything done since the last one. It is forgotten by `clear`, which keeps
    /// the room it took.
    pub fn changes(&mut self) -> Changes<'_> {
        // Who asks again has committed what was asked before.
        self.confirm();
        let mut state = Vec::new();
        let codec = Codec { types: &self.types, names: &self.names, topics: &self.topics };
        self.graph.changes(&codec, &mut state);
        self.seen.changes(&mut state);
        let parcels = self.forwarding.as_mut().map(|forwarding| forwarding.close(&self.sources));
        let parcels = parcels.unwrap_or_default();
        let progress = self.progress();
        state.push(Change { key: TASK_KEY.to_vec(), value: Some(state::encode_progress(&progress)) });
        self.written = self.counts;
        Changes {
            app: &self.app,
            emitted: &self.emitted,
            topics: &self.output_topics,
            rejects: &self.rejects,
            state,
            parcels,
            progress,
        }
    }

    pub fn clear(&mut self) {
        self.emitted.clear();
        self.rejects.clear();
    }

    /// What `changes` gave last was committed: it can be undone no more.
    pub fn confirm(&mut self) {
        self.graph.confirm();
        self.seen.confirm();
        self.confirmed = self.written;
    }

    /// Forgets everything that was done since the last commit that stands; returns the beginnings of the keys of the
    /// entries that are to be loaded then, before anything else.
    pub fn undo(&mut self) -> Vec<Vec<u8>> {
        self.clear();
        self.failed.clear();
        self.forwarding.iter_mut().for_each(Forwarding::clear);
        self.waiting = Waiting::new(self.sources.len());
        self.sources.iter_mut().for_each(|source| source.start(source.first));
        (self.released, self.began) = (i64::MIN, i64::MAX);
        (self.begun, self.resumed) = (false, false);
        (self.loaded, self.counts) = (None, self.confirmed);
        self.written = self.confirmed;
        let mut asked = self.graph.undo();
        self.seen.undo(&mut asked);
        asked.push(TASK_KEY.to_vec());
        asked
    }

    /// Takes an entry of the state as it was committed. An entry of a rule that is gone is passed over.
    pub fn load(&mut self, entry: &Entry) -> Result<(), Malformed> {
        if entry.key.starts_with(seen::PREFIX) {
            return self.seen.load(entry, &self.types);
        }
        if entry.key != TASK_KEY {
            let codec = Codec { types: &self.types, names: &self.names, topics: &self.topics };
            return self.graph.load(entry, &codec).map(drop);
        }
        let progress = state::decode_progress(entry.value)?;
        self.released = progress.released;
        self.began = progress.began;
        self.graph.seq = progress.seq;
        for saved in &progress.sources {
            let channel = self.sources.iter().position(|s| s.via.is_none() && s.topic == saved.via);
            if channel.is_none() && !saved.via.is_empty() {
                // Nothing is sent on to the task by that topic any more.
                continue;
            }
            let is = |source: &&mut Source| {
                let from = (&source.topic, source.partition) == (&saved.topic, saved.partition);
                from && source.via == channel
            };
            if let Some(source) = self.sources.iter_mut().find(is) {
                source.read_to = saved.read_to;
                source.position = saved.resume;
                source.watermark = saved.watermark;
                source.refused = saved.refused.clone();
            }
        }
        self.loaded = Some(progress);
        Ok(())
    }

    /// Where to read each source on, as the loaded state says; nothing where there was no state.
    pub fn resume(&self) -> Option<Vec<(String, i32, i64)>> {
        let progress = self.loaded.as_ref()?;
        // The rules may have stopped to read a topic that the state still knows.
        let is_read = |saved: &&SourceProgress| {
            let mut read = self.sources.iter().filter(|source| source.via.is_none());
            saved.via.is_empty() && read.any(|source| source.topic == saved.topic)
        };
        let read = progress.sources.iter().filter(is_read);
        Some(read.map(|source| (source.topic.clone(), source.partition, source.resume)).collect())
    }

    /// Of each partition that is read before which time nothing more comes from it. What comes in parcels is as far as
    /// the last of those that send them.
    pub fn source_watermarks(&self) -> Vec<(String, i32, i64)> {
        let behind = |channel: usize| self.sources.iter().filter(move |source| source.via == Some(channel));
        let promise = |(number, source): (usize, &Source)| {
            let own = source.promises(self.released);
            let watermark = behind(number).map(|source| source.watermark).fold(own, i64::min);
            (source.topic.clone(), source.partition, watermark)
        };
        let read = self.sources.iter().enumerate().filter(|(_, source)| source.via.is_none());
        read.map(promise).collect()
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many bytes of the state that can be away are in memory, and whether that is all of it.
    pub fn cached(&mut self) -> (usize, bool) {
        self.graph.cached()
    }

    pub fn is_full(&mut self) -> bool {
        self.graph.cache_bytes.is_some_and(|bound| self.graph.cached().0 > bound)
    }

    /// What the keys begin with of all that can be away.
    pub fn shelved(&mut self) -> Vec<Vec<u8>> {
        self.graph.shelved()
    }

    /// Lets go of all that can be away.
    pub fn let_go(&mut self) {
        self.graph.let_go();
    }

    /// All stored entries were swept through since the last time.
    pub fn swept(&mut self) {
        self.graph.swept();
    }

    /// Forgets what is stored under an entry that was committed, where it has expired.
    pub fn sweep(&mut self, entry: &Entry) -> Result<(), Malformed> {
        self.graph.sweep(entry, self.released, &self.topics)
    }

    pub fn stored(&self) -> usize {
        self.graph.stored() + self.seen.len()
    }

    /// What went through each node of the graph, and what it keeps.
    pub fn census(&self) -> Vec<Count> {
        self.graph.census()
    }

    /// The partial matches of a rule that came to nothing.
    pub fn why_not(&self, question: &Question) -> Result<Vec<Ending>, String> {
        self.graph.why_not(question, &self.types, &self.topics)
    }

    pub fn released(&self) -> i64 {
        self.released
    }
}

/// Where the record of an event lies, and its time.
fn place(event: &Event) -> (u16, i32, i64, i64) {
    (event.source, event.partition, event.offset, event.time)
}

/// The reject for an occurrence that could not be written; the place is that of the event that ended it.
fn unwritten(
    (source, partition, offset, timestamp): (u16, i32, i64, i64),
    failure: Unencodable,
    topics: &[String],
) -> Reject {
    Reject {
        reason: Reason::NoValue,
        message: failure.message,
        topic: topics.get(source as usize).cloned().unwrap_or_default(),
        partition,
        offset,
        timestamp,
        size: 0,
        key: None,
        value: None,
        headers: Vec::new(),
    }
}
