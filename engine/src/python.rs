//! The module as Python sees it: batches of the client's messages in, what to commit out.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::batch;
use crate::detector::{Changes, Detector, Limits};
use crate::graph::Destination;
use crate::letter::Reason;
use crate::plan::Plan;
use crate::report::{Asked, Ending, NodeCounts};
use crate::state::Entry;
use crate::why::Question;
use crate::writers::SchemaRef;

fn refuse(message: impl ToString) -> PyErr {
    PyValueError::new_err(message.to_string())
}

/// Records of one topic partition.
#[pyclass(frozen, module = "tocsin._engine")]
pub struct Batch(batch::Batch);

type RawRecord<'py> = (
    i64,
    i64,
    Option<Bound<'py, PyBytes>>,
    Option<Bound<'py, PyBytes>>,
    Option<Vec<(String, Bound<'py, PyBytes>)>>,
);

#[pymethods]
impl Batch {
    /// Sorts the messages of one poll by topic and partition; messages that carry an error come back as they are.
    #[staticmethod]
    fn split<'py>(messages: &Bound<'py, PyList>) -> PyResult<(Vec<Batch>, Vec<Bound<'py, PyAny>>)> {
        let py = messages.py();
        let mut batches: Vec<Batch> = Vec::new();
        let mut errors = Vec::new();
        let mut current = 0;
        for message in messages.iter() {
            if !message.call_method0(intern!(py, "error"))?.is_none() {
                errors.push(message);
                continue;
            }
            let topic = message.call_method0(intern!(py, "topic"))?;
            let topic = topic.downcast::<PyString>()?.to_str()?;
            let partition: i32 = message.call_method0(intern!(py, "partition"))?.extract()?;
            let is_of = |b: &Batch| b.0.partition == partition && b.0.topic == topic;
            // Messages of one partition come in runs.
            if !batches.get(current).is_some_and(is_of) {
                current = batches.iter().position(is_of).unwrap_or_else(|| {
                    batches.push(Batch(batch::Batch::new(topic, partition)));
                    batches.len() - 1
                });
            }
            push_message(&mut batches[current].0, &message)?;
        }
        Ok((batches, errors))
    }

    /// A batch from records given as (offset, timestamp, key, value, headers).
    #[staticmethod]
    fn build(topic: &str, partition: i32, records: Vec<RawRecord>) -> Batch {
        let mut batch = batch::Batch::new(topic, partition);
        for (offset, timestamp, key, value, headers) in &records {
            batch.push(
                *offset,
                *timestamp,
                key.as_ref().map(|k| k.as_bytes()),
                value.as_ref().map(|v| v.as_bytes()),
            );
            if let Some(headers) = headers {
                batch.push_headers(headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
            }
        }
        Batch(batch)
    }

    #[getter]
    fn topic(&self) -> &str {
        &self.0.topic
    }

    #[getter]
    fn partition(&self) -> i32 {
        self.0.partition
    }

    /// One past the last offset.
    #[getter]
    fn end(&self) -> i64 {
        self.0.records.last().map_or(0, |record| record.offset + 1)
    }

    /// The latest timestamp of a record.
    #[getter]
    fn latest_ms(&self) -> i64 {
        self.0.records.iter().map(|record| record.timestamp).max().unwrap_or(i64::MIN)
    }

    fn __len__(&self) -> usize {
        self.0.records.len()
    }
}

fn push_message(batch: &mut batch::Batch, message: &Bound<PyAny>) -> PyResult<()> {
    let py = message.py();
    let offset: i64 = message.call_method0(intern!(py, "offset"))?.extract()?;
    let (_, timestamp): (i32, i64) = message.call_method0(intern!(py, "timestamp"))?.extract()?;
    let key = message.call_method0(intern!(py, "key"))?;
    let value = message.call_method0(intern!(py, "value"))?;
    let key: Option<&Bound<PyBytes>> = if key.is_none() { None } else { Some(key.downcast()?) };
    let value: Option<&Bound<PyBytes>> = if value.is_none() { None } else { Some(value.downcast()?) };
    batch.push(offset, timestamp, key.map(|k| k.as_bytes()), value.map(|v| v.as_bytes()));
    // The client fails over a header whose name is not UTF-8; such a record counts as one without headers.
    let Ok(headers) = message.call_method0(intern!(py, "headers")) else { return Ok(()) };
    if !headers.is_none() {
        let headers: Vec<(String, Option<Bound<PyBytes>>)> = headers.extract()?;
        let bytes = |value: &'_ Option<Bound<'_, PyBytes>>| {
            value.as_ref().map_or(Vec::new(), |v| v.as_bytes().to_vec())
        };
        let owned: Vec<(String, Vec<u8>)> =
            headers.iter().map(|(name, value)| (name.clone(), bytes(value))).collect();
        batch.push_headers(owned.iter().map(|(name, value)| (name.as_str(), value.as_slice())));
    }
    Ok(())
}

/// What one commit of a task writes.
#[pyclass(frozen, get_all, module = "tocsin._engine")]
pub struct Commit {
    /// Complex events as (topic, partition, key, value, timestamp).
    outputs: Py<PyList>,
    /// Entries of state as (key, value); value is None for a deleted one. The last is the task's own.
    state: Py<PyList>,
    /// Letters for what took no part, as (whether it was late, key, value without a frame).
    letters: Py<PyList>,
    /// Where to read on after this commit, as (topic, partition, offset).
    offsets: Vec<(String, i32, i64)>,
    /// What is sent on, as (topic, partition, value).
    parcels: Py<PyList>,
}

impl Commit {
    fn new(py: Python, changes: &Changes) -> PyResult<Commit> {
        let topics: Vec<_> = changes.topics.iter().map(|topic| PyString::new(py, topic)).collect();
        let outputs = changes.emitted.records.iter().map(|record| {
            (
                &topics[record.topic as usize],
                record.partition,
                PyBytes::new(py, &record.identity),
                PyBytes::new(py, &changes.emitted.bytes[record.start..record.end]),
                record.timestamp,
            )
                .into_pyobject(py)
        });
        let state = changes.state.iter().map(|change| {
            (PyBytes::new(py, &change.key), change.value.as_ref().map(|value| PyBytes::new(py, value)))
        });
        let letters = changes.rejects.iter().map(|reject| {
            let key = reject.key.as_ref().map(|key| PyBytes::new(py, key));
            (reject.reason == Reason::Late, key, PyBytes::new(py, &reject.encode(changes.app)))
        });
        let parcels = changes.parcels.iter().map(|(topic, partition, value)| {
            (PyString::new(py, topic), *partition, PyBytes::new(py, value)).into_pyobject(py)
        });
        Ok(Commit {
            parcels: PyList::new(py, parcels.collect::<PyResult<Vec<_>>>()?)?.unbind(),
            outputs: PyList::new(py, outputs.collect::<PyResult<Vec<_>>>()?)?.unbind(),
            state: PyList::new(py, state.collect::<Vec<_>>())?.unbind(),
            letters: PyList::new(py, letters.collect::<Vec<_>>())?.unbind(),
            offsets: changes
                .progress
                .sources
                .iter()
                .filter(|source| source.via.is_empty())
                .map(|source| (source.topic.clone(), source.partition, source.resume))
                .collect(),
        })
    }
}

/// The detector of one task.
#[pyclass(module = "tocsin._engine")]
pub struct Engine(Detector);

#[pymethods]
impl Engine {
    /// `destinations`: complex event type → (topic, frame before the Avro bytes, partitions). `reads`: topic → the
    /// partitions of it that are read, where they are others than the task's own, or all it has, where its events are
    /// sent on to the task. `forwards`: topic that is sent on to → how many partitions it has.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
    #[pyo3(signature = (plan, subtopology, partition, destinations, *, reads=None, forwards=None, max_record_bytes=1_048_576, max_output_bytes=5_242_880, max_ahead_ms=3_600_000, cache_bytes=None, max_waiting=None))]
    fn new(
        py: Python,
        plan: &str,
        subtopology: &str,
        partition: i32,
        destinations: HashMap<String, (String, Vec<u8>, i32)>,
        reads: Option<HashMap<String, Vec<i32>>>,
        forwards: Option<HashMap<String, i32>>,
        max_record_bytes: usize,
        max_output_bytes: usize,
        max_ahead_ms: i64,
        cache_bytes: Option<usize>,
        max_waiting: Option<usize>,
    ) -> PyResult<Engine> {
        let destinations = destinations
            .into_iter()
            .map(|(name, (topic, frame, partitions))| {
                (name, Destination { topic, frame, partitions, max_bytes: max_output_bytes })
            })
            .collect();
        let limits = Limits {
            max_record_bytes,
            max_ahead_ms,
            cache_bytes,
            max_waiting: max_waiting.unwrap_or(usize::MAX),
        };
        let (reads, forwards) = (reads.unwrap_or_default(), forwards.unwrap_or_default());
        // Large plans take a while, which is no reason for other tasks to wait.
        py.detach(|| {
            let plan = Plan::parse(plan).map_err(|error| error.to_string())?;
            Detector::new(&plan, subtopology, partition, &reads, &forwards, &destinations, limits)
        })
        .map(Engine)
        .map_err(refuse)
    }

    /// Refuses a plan that the engine does not understand, or of which it cannot run something yet.
    #[staticmethod]
    fn check(plan: &str) -> PyResult<()> {
        Plan::parse(plan).map(drop).map_err(refuse)
    }

    /// The topics the task reads.
    #[getter]
    fn topics(&self) -> Vec<String> {
        self.0.topics()
    }

    /// Frames of the writers' schemas in the batch that the engine does not know.
    fn missing_schemas<'py>(&mut self, py: Python<'py>, batch: &Batch) -> Vec<Bound<'py, PyBytes>> {
        self.0.missing(&batch.0).into_iter().map(|reference| PyBytes::new(py, &reference.prefix())).collect()
    }

    fn add_schema(&mut self, frame: &[u8], schema: &str) -> PyResult<()> {
        self.0.writers().add(reference(frame)?, schema).map_err(refuse)
    }

    /// Records of this schema are rejected with the reason.
    fn refuse_schema(&mut self, frame: &[u8], reason: String) -> PyResult<()> {
        self.0.writers().refuse(reference(frame)?, reason);
        Ok(())
    }

    /// Says where reading begins on a source the state knows nothing of; without `partition` it is the task's own.
    #[pyo3(signature = (topic, offset, partition=None))]
    fn start(&mut self, topic: &str, offset: i64, partition: Option<i32>) -> PyResult<()> {
        self.0.start(topic, partition, offset).map_err(refuse)
    }

    /// Reads a batch and returns how many events were good and in time; what the watermark releases is handled by
    /// `run`.
    fn feed(&mut self, py: Python, batch: &Batch, now_ms: i64) -> PyResult<usize> {
        py.detach(|| self.0.feed(&batch.0, now_ms)).map_err(refuse)
    }

    /// Says that a silent source will bring nothing before `watermark_ms`.
    #[pyo3(signature = (topic, watermark_ms, partition=None))]
    fn advance(&mut self, topic: &str, watermark_ms: i64, partition: Option<i32>) -> PyResult<()> {
        self.0.advance(topic, partition, watermark_ms).map_err(refuse)
    }

    /// Handles what the watermark releases, and returns how many positions that were, alarms among them. After about
    /// `at_most` positions it leaves the rest for the next time, so that what was done can be committed in between.
    ///
    /// With `cache_bytes`, `fetch` is called with beginnings of keys, once for all that is known before, and returns all
    /// committed entries whose keys begin so. What it raises comes out; everything since the last commit is to be undone
    /// then.
    #[pyo3(signature = (at_most=100_000, fetch=None))]
    fn run(&mut self, py: Python, at_most: u64, fetch: Option<Py<PyAny>>) -> PyResult<u64> {
        let mut raised = None;
        let handled = py.detach(|| {
            let Some(fetch) = fetch else { return self.0.run(at_most, None) };
            let mut call = |asked: Vec<Vec<u8>>| {
                Python::attach(|py| fetched(fetch.bind(py), &asked)).map_err(|error: PyErr| {
                    raised = Some(error);
                    String::new()
                })
            };
            self.0.run(at_most, Some(&mut call))
        });
        handled.map_err(|lost| raised.unwrap_or_else(|| refuse(lost)))
    }

    /// Whether there is something left for `run`.
    #[getter]
    fn is_behind(&self) -> bool {
        self.0.is_behind()
    }

    /// What a commit has to write for everything done since the last one, which counts as committed from now on.
    fn take(&mut self, py: Python) -> PyResult<Commit> {
        let commit = Commit::new(py, &self.0.changes())?;
        self.0.clear();
        Ok(commit)
    }

    /// Says that what `take` gave was committed: from now on `undo` goes back to here.
    fn committed(&mut self) {
        self.0.confirm();
    }

    /// Undoes everything since the last commit that `committed` spoke of, or since the task began: `fetch` is called
    /// once, with beginnings of keys, and returns all committed entries whose keys begin so. Afterwards the engine is as
    /// one that was just loaded: `resume` says where to read on. Where it fails the engine is of no use any more.
    fn undo(&mut self, fetch: &Bound<PyAny>) -> PyResult<()> {
        for (key, value) in fetched(fetch, &self.0.undo())? {
            self.0.load(&Entry { key: &key, value: &value }).map_err(refuse)?;
        }
        Ok(())
    }

    /// With `cache_bytes`: about how many bytes are in memory of what may be away, and whether that is all of it.
    #[getter]
    fn cached(&mut self) -> (usize, bool) {
        self.0.cached()
    }

    /// With `cache_bytes`: what the keys begin with of all entries that may be away. All others are to be loaded before
    /// the first batch; of these either all, or none, if `let_go` is called then.
    #[getter]
    fn shelved<'py>(&mut self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.0.shelved().iter().map(|prefix| PyBytes::new(py, prefix)).collect()
    }

    /// Whether more than `cache_bytes` is in memory of what may be away.
    #[getter]
    fn is_full(&mut self) -> bool {
        self.0.is_full()
    }

    /// Lets go of all that may be away; it is asked for when it is needed.
    fn let_go(&mut self) {
        self.0.let_go();
    }

    /// With `cache_bytes`: forgets what is stored under committed entries that have expired, and learns what is stored
    /// at all. Nobody else finds out, so all entries are to be shown from time to time; `swept` says that they were.
    fn sweep(&mut self, entries: Vec<(Bound<PyBytes>, Bound<PyBytes>)>) -> PyResult<()> {
        for (key, value) in &entries {
            self.0.sweep(&Entry { key: key.as_bytes(), value: value.as_bytes() }).map_err(refuse)?;
        }
        Ok(())
    }

    /// Says that all entries were shown to `sweep` since the last time, or since the task began.
    fn swept(&mut self) {
        self.0.swept();
    }

    /// Takes entries of committed state, in any order, before the first batch.
    fn load(&mut self, entries: Vec<(Bound<PyBytes>, Bound<PyBytes>)>) -> PyResult<()> {
        for (key, value) in &entries {
            self.0.load(&Entry { key: key.as_bytes(), value: value.as_bytes() }).map_err(refuse)?;
        }
        Ok(())
    }

    /// (topic, partition) → offset to read on from, as the loaded state says; None where there was no state.
    #[getter]
    fn resume(&self) -> Option<HashMap<(String, i32), i64>> {
        Some(self.0.resume()?.into_iter().map(|(topic, partition, at)| ((topic, partition), at)).collect())
    }

    /// (topic, partition) → watermark of that source.
    #[getter]
    fn source_watermarks_ms(&self) -> HashMap<(String, i32), i64> {
        self.0
            .source_watermarks()
            .into_iter()
            .map(|(topic, partition, at)| ((topic, partition), at))
            .collect()
    }

    #[getter]
    fn watermark_ms(&self) -> i64 {
        self.0.watermark()
    }

    #[getter]
    fn released_ms(&self) -> i64 {
        self.0.released()
    }

    /// Where a topic that brings parcels is to be read again, and from which offset: more than `max_waiting` events
    /// waited, and what was ahead was passed over. Once it is, `read_again` is to be called.
    #[getter]
    fn passed_over(&self) -> Option<(String, i64)> {
        self.0.passed_over()
    }

    fn read_again(&mut self, topic: &str, offset: i64) -> PyResult<()> {
        self.0.read_again(topic, offset).map_err(refuse)
    }

    /// Events that wait for the watermark.
    #[getter]
    fn waiting(&self) -> usize {
        self.0.waiting()
    }

    /// Events kept for later occurrences.
    #[getter]
    fn stored(&self) -> usize {
        self.0.stored()
    }

    /// How much went through each leaf and node since the task began, and what each keeps now.
    fn census(&self) -> Vec<NodeCounts> {
        self.0.census().into_iter().map(NodeCounts::from).collect()
    }

    /// The partial matches of a rule that are remembered to have come to nothing, those that came furthest first;
    /// `key`: attribute → value of their constituents.
    #[pyo3(signature = (rule, *, key=None, from_ms=i64::MIN, to_ms=i64::MAX, limit=20))]
    fn why_not(
        &self,
        rule: &str,
        key: Option<HashMap<String, Asked>>,
        from_ms: i64,
        to_ms: i64,
        limit: usize,
    ) -> PyResult<Vec<Ending>> {
        let key = key.unwrap_or_default().into_iter().map(|(name, value)| (name, value.into())).collect();
        let endings = self.0.why_not(&Question { rule, key, from: from_ms, to: to_ms }).map_err(refuse)?;
        Ok(endings.into_iter().take(limit).map(Ending::from).collect())
    }

    #[getter]
    fn counts(&self) -> HashMap<&'static str, u64> {
        let counts = self.0.counts;
        HashMap::from([
            ("read", counts.read),
            ("handled", counts.handled),
            ("detected", counts.detected),
            ("late", counts.late),
            ("rejected", counts.rejected),
            ("not_ours", counts.not_ours),
            ("ignored", counts.ignored),
        ])
    }
}

/// The committed entries whose keys begin so.
fn fetched(fetch: &Bound<PyAny>, asked: &[Vec<u8>]) -> PyResult<Vec<(Vec<u8>, Vec<u8>)>> {
    let py = fetch.py();
    let asked = PyList::new(py, asked.iter().map(|prefix| PyBytes::new(py, prefix)))?;
    let entries: Vec<(Bound<PyBytes>, Bound<PyBytes>)> = fetch.call1((asked,))?.extract()?;
    Ok(entries.iter().map(|(key, value)| (key.as_bytes().to_vec(), value.as_bytes().to_vec())).collect())
}

fn reference(frame: &[u8]) -> PyResult<SchemaRef> {
    SchemaRef::read(frame).map(|(reference, _)| reference).ok_or_else(|| refuse("not the frame of a schema"))
}
