//! Where a task has its events from: partitions of their own topics, or parcels that others send it.

use super::*;

/// How the records of a source are decoded: the number of their topic, the types it carries, those of them that come to
/// this task another way, and whether records without a value are passed over.
#[derive(Default)]
pub struct Lanes {
    pub topics: Vec<u16>,
    pub carried: Vec<Vec<usize>>,
    pub elsewhere: Vec<Vec<usize>>,
    pub ignores_nulls: Vec<bool>,
}

pub struct Inlets {
    pub topics: Topics,
    pub sources: Vec<Source>,
    pub lanes: Lanes,
}

impl Inlets {
    pub fn new(
        plan: &Plan,
        sub: &Subtopology,
        partition: i32,
        reads: &Reads,
        types: &[(EventType, Layout)],
    ) -> Result<Inlets, String> {
        let mut channels: Vec<(&str, Vec<usize>)> = Vec::new();
        let mut direct: Vec<&str> = Vec::new();
        for topic in &sub.topics {
            let forwards = plan.subtopologies.iter().flat_map(|from| &from.forwards);
            let mut sent: Vec<usize> =
                forwards.filter(|forward| forward.topic == *topic).map(|forward| forward.type_id).collect();
            sent.sort_unstable();
            sent.dedup();
            match &sent[..] {
                [] => direct.push(topic),
                _ => channels.push((topic, sent)),
            }
        }
        let of = |id: &usize| plan.types[*id].topic.as_str();
        let behind = |topic: &str| channels.iter().any(|(_, sent)| sent.iter().any(|id| of(id) == topic));
        let sent = channels.iter().flat_map(|(_, sent)| sent.iter().map(of));
        let mut names: Vec<String> = direct.iter().copied().chain(sent).map(str::to_owned).collect();
        names.sort();
        names.dedup();
        if let Some(unknown) = reads.keys().find(|topic| !names.contains(topic)) {
            return Err(format!("topic {unknown} is none that the rules read"));
        }
        if let Some(unknown) = names.iter().find(|topic| behind(topic) && !reads.contains_key(*topic)) {
            return Err(format!("which partitions {unknown} has was not said"));
        }
        let mut made = Inlets {
            topics: Topics::new(names, partition, reads),
            sources: Vec::new(),
            lanes: Lanes::default(),
        };
        let carries =
            |id: &usize, topic: &str| types[*id].0.origin == Origin::Input && types[*id].0.topic == topic;
        let carried =
            |topic: &str| -> Vec<usize> { (0..types.len()).filter(|id| carries(id, topic)).collect() };
        let forwarded = |id: &usize| channels.iter().any(|(_, sent)| sent.contains(id));
        for topic in direct {
            let types_here = carried(topic);
            // Several tasks of another application write its complex events: it tells how far they have come.
            let told = types_here.iter().any(|&id| types[id].0.application.is_some());
            let lateness = types_here.iter().map(|&id| types[id].0.lateness_ms).max().unwrap_or_default();
            let lateness = (!told).then_some(lateness);
            let elsewhere = types_here.iter().copied().filter(forwarded).collect();
            // Where others send events of the topic too, this task reads its own partition of it alone.
            let own = vec![partition];
            let read = if behind(topic) { &own } else { reads.get(topic).unwrap_or(&own) };
            let lane = made.lane(topic, types_here, elsewhere, types)?;
            for &partition in read {
                made.sources.push(source(topic, partition, None, lane, lateness));
            }
        }
        for (topic, sent) in &channels {
            let channel = made.sources.len();
            // It holds nothing back by itself: those do that send.
            let watermark = i64::MAX;
            made.sources.push(Source { watermark, ..source(topic, partition, None, PARCELS, None) });
            let mut from: Vec<&str> = sent.iter().map(of).collect();
            from.sort_unstable();
            from.dedup();
            for origin in from {
                let types_here = carried(origin);
                let elsewhere = types_here.iter().copied().filter(|id| !sent.contains(id)).collect();
                let lane = made.lane(origin, types_here, elsewhere, types)?;
                for &partition in &reads[origin] {
                    made.sources.push(source(origin, partition, Some(channel), lane, None));
                }
            }
        }
        Ok(made)
    }

    fn lane(
        &mut self,
        topic: &str,
        carried: Vec<usize>,
        elsewhere: Vec<usize>,
        types: &[(EventType, Layout)],
    ) -> Result<usize, String> {
        // The compiler holds that the types of a topic agree.
        let ignores_nulls = carried.iter().any(|&id| types[id].0.nulls == Nulls::Ignore);
        self.lanes.ignores_nulls.push(ignores_nulls);
        self.lanes.topics.push(self.topics.number(topic)? as u16);
        self.lanes.carried.push(carried);
        self.lanes.elsewhere.push(elsewhere);
        Ok(self.lanes.topics.len() - 1)
    }
}

fn source(topic: &str, partition: i32, via: Option<usize>, lane: usize, lateness_ms: Option<i64>) -> Source {
    Source {
        topic: topic.to_owned(),
        partition,
        via,
        lane,
        lateness_ms,
        first: 0,
        read_to: 0,
        position: 0,
        watermark: i64::MIN,
        refused: Refused::default(),
        passed_over: None,
    }
}
