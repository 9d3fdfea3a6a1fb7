//! What a task sends on: the records that some leaves let pass, to where the tasks read them that need them by another
//! key, or in the one place of global rules.
//!
//! Each of those is told of each source of this task how far it has come, whether or not anything was sent to it.

use std::collections::HashMap;

use crate::batch::{Batch, Record};
use crate::event::{Event, Origin, Slot};
use crate::order::Source;
use crate::parcel::Packing;
use crate::partition::{partition, partition_of};
use crate::plan::{Plan, Subtopology};

/// A parcel is closed when it holds so many bytes.
const FULL: usize = 256 * 1024;

/// Where the records of a leaf go.
struct Target {
    topic: usize,
    type_id: u16,
    to: To,
}

enum To {
    /// By the value of an attribute.
    Key(Slot),
    /// To the partitions whose rules read the leaf.
    Partitions(Vec<i32>),
}

/// A topic that is sent to.
struct Topic {
    name: String,
    partitions: i32,
    /// The sources of which something may be sent there.
    sources: Vec<usize>,
}

/// What goes to one partition of one topic, of one source.
#[derive(Default)]
struct Open {
    packing: Packing,
    /// The watermark that was told last.
    told: Option<i64>,
}

/// One parcel: topic, partition and value.
pub type Sent = (String, i32, Vec<u8>);

pub struct Forwarding {
    topics: Vec<Topic>,
    /// Leaf → where to.
    targets: Vec<Target>,
    /// (topic, partition, source) → what is on its way.
    open: HashMap<(usize, i32, usize), Open>,
    closed: Vec<Sent>,
}

impl Forwarding {
    /// What a sub-topology sends on; `partitions` has how many each topic has that is sent to, `key_of` where the rows
    /// of a type have a field, and the leaves stand in the order of the forwards and their nodes.
    pub fn new(
        plan: &Plan,
        sub: &Subtopology,
        partitions: &HashMap<String, i32>,
        sources: &[Source],
        key_of: impl Fn(usize, usize) -> Option<Slot>,
    ) -> Result<Forwarding, String> {
        let mut topics: Vec<Topic> = Vec::new();
        let mut targets = Vec::new();
        for forward in &sub.forwards {
            let known = topics.iter().position(|topic| topic.name == forward.topic);
            let topic = match known {
                Some(topic) => topic,
                None => {
                    let count = partitions.get(&forward.topic).copied().filter(|count| *count > 0);
                    let count = count
                        .ok_or_else(|| format!("how many partitions {} has was not said", forward.topic))?;
                    let name = forward.topic.clone();
                    topics.push(Topic { name, partitions: count, sources: Vec::new() });
                    topics.len() - 1
                }
            };
            let from = &plan.types[forward.type_id].topic;
            for (number, _) in sources.iter().enumerate().filter(|(_, source)| source.topic == *from) {
                if !topics[topic].sources.contains(&number) {
                    topics[topic].sources.push(number);
                }
            }
            for &node in &forward.nodes {
                let to = match forward.key {
                    Some(field) => To::Key(key_of(forward.type_id, field).ok_or("a key that is not read")?),
                    None => To::Partitions(readers(plan, &forward.topic, node, topics[topic].partitions)?),
                };
                targets.push(Target { topic, type_id: forward.type_id as u16, to });
            }
        }
        Ok(Forwarding { topics, targets, open: HashMap::new(), closed: Vec::new() })
    }

    /// Sends a record on to all that want it, and to each of them once.
    pub fn send(&mut self, batch: &Batch, record: &Record, source: usize, event: &Event, leaves: &[u32]) {
        let mut places: Vec<(usize, i32)> = Vec::new();
        let mut add = |target: &Target, count: i32| match &target.to {
            To::Key(at) => {
                // What has no value for a key equals nothing there, but what asks for no key may want it. A fact that is
                // no more has its key alone.
                let key = if event.origin == Origin::Retraction {
                    partition(event.bytes(event.key), count)
                } else {
                    partition_of(&event.value(*at), count).unwrap_or_default()
                };
                places.push((target.topic, key));
            }
            To::Partitions(partitions) => places.extend(partitions.iter().map(|at| (target.topic, *at))),
        };
        // Facts are asked for as they are, and of two records with one id the first counts, whether or not it is wanted.
        if event.is_of_fact() || event.own_id.len > 0 {
            let of = self.targets.iter().filter(|target| target.type_id == event.type_id);
            of.for_each(|target| add(target, self.topics[target.topic].partitions));
        } else {
            for leaf in leaves {
                let target = &self.targets[*leaf as usize];
                add(target, self.topics[target.topic].partitions);
            }
        }
        places.sort_unstable();
        places.dedup();
        for (topic, partition) in places {
            let open = self.open.entry((topic, partition, source)).or_default();
            open.packing.put(batch, record);
            if open.packing.len() >= FULL {
                // How far the source has come is told with the last parcel only: the order within a batch is not known.
                let told = open.told.unwrap_or(i64::MIN);
                let parcel = std::mem::take(&mut open.packing);
                let value = parcel.close(&batch.topic, batch.partition, told);
                self.closed.push((self.topics[topic].name.clone(), partition, value));
            }
        }
    }

    /// Closes what is to be sent, and tells everyone how far the sources have come.
    pub fn close(&mut self, sources: &[Source]) -> Vec<Sent> {
        let mut sent = std::mem::take(&mut self.closed);
        for (number, topic) in self.topics.iter().enumerate() {
            for partition in 0..topic.partitions {
                for &source in &topic.sources {
                    let open = self.open.entry((number, partition, source)).or_default();
                    let Source { topic: from, partition: at, watermark, .. } = &sources[source];
                    let news = *watermark > i64::MIN && open.told != Some(*watermark);
                    if news || !open.packing.is_empty() {
                        open.told = Some(*watermark);
                        let parcel = std::mem::take(&mut open.packing);
                        sent.push((topic.name.clone(), partition, parcel.close(from, *at, *watermark)));
                    }
                }
            }
        }
        sent
    }

    /// Forgets what was not sent; everyone is told again how far the sources have come.
    pub fn clear(&mut self) {
        self.open.clear();
        self.closed.clear();
    }
}

/// The partitions of the global rules that read a leaf: each has a group of rules.
fn readers(plan: &Plan, topic: &str, node: usize, partitions: i32) -> Result<Vec<i32>, String> {
    let reading = plan.subtopologies.iter().find(|sub| sub.topics.iter().any(|read| read == topic));
    let groups = reading.map(|sub| &sub.groups[..]).unwrap_or_default();
    if groups.len() > partitions as usize {
        return Err(format!("{topic} has {partitions} partitions, and needs {}", groups.len()));
    }
    let reads = groups.iter().enumerate().filter(|(_, group)| group.nodes.contains(&node));
    Ok(reads.map(|(number, _)| number as i32).collect())
}
