//! What a task reads: records of its topics, and parcels of what others read for it.

use triomphe::UniqueArc;

use super::*;

impl Detector {
    /// The schemas that the records of a batch are written with and that are not known.
    pub fn missing(&self, batch: &Batch) -> Vec<SchemaRef> {
        let source = self.sources.iter().find(|source| source.via.is_none() && source.topic == batch.topic);
        if source.is_none_or(|source| source.lane != PARCELS) {
            return self.writers.missing(batch);
        }
        let values = batch.records.iter().filter_map(|record| record.value);
        let parcels = values.filter_map(|span| parcel::open(batch.bytes(span)).ok());
        let mut missing: Vec<SchemaRef> =
            parcels.flat_map(|parcel| self.writers.missing(&parcel.records)).collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// Reads a batch: decodes, refuses what is bad or late, and lets the rest wait for its turn. Says how many events
    /// were good and in time.
    pub fn feed(&mut self, batch: &Batch, now_ms: i64) -> Result<usize, String> {
        let source = self.source_of(&batch.topic, Some(batch.partition))?;
        let clock = Clock::new(now_ms, self.limits.max_ahead_ms);
        if self.sources[source].lane == PARCELS {
            return Ok(self.feed_parcels(batch, source));
        }
        let mut event = self.graph.spares.take();
        let mut accepted = 0;
        for record in &batch.records {
            let pass = self.sources[source].read(record.offset);
            if pass != Pass::Done {
                accepted +=
                    usize::from(self.take(batch, record, source, (pass, record.offset), &clock, &mut event));
            }
        }
        self.graph.spares.put(event);
        Ok(accepted)
    }

    /// Reads what others sent on: records of other topics and partitions, and up to where those have come. Where too
    /// much waits, the sources that are ahead of the slowest are passed over until they are read again: the log keeps
    /// what memory need not.
    fn feed_parcels(&mut self, batch: &Batch, channel: usize) -> usize {
        let mut event = self.graph.spares.take();
        let mut accepted = 0;
        for record in &batch.records {
            let pass = self.sources[channel].read(record.offset);
            if pass == Pass::Done {
                continue;
            }
            let value = record.value.map(|span| batch.bytes(span)).unwrap_or_default();
            let opened = parcel::open(value).map_err(|Malformed(message)| message).and_then(|parcel| {
                let Batch { topic, partition, .. } = &parcel.records;
                let from =
                    |s: &Source| s.via == Some(channel) && s.topic == *topic && s.partition == *partition;
                let source = self.sources.iter().position(from);
                let source = source
                    .ok_or_else(|| format!("nothing comes here from partition {partition} of {topic}"))?;
                Ok((parcel, source))
            });
            match opened {
                Ok((_, source)) if self.is_held_back(source) => {
                    self.sources[source].passed_over.get_or_insert(record.offset);
                }
                Ok((parcel, source)) => {
                    // What was passed over before is read for the first time, and what was not is done.
                    let pass = self.sources[source].read(record.offset);
                    if pass == Pass::Done {
                        continue;
                    }
                    let records = parcel.records;
                    for sent in &records.records {
                        if pass == Pass::Again && self.sources[source].refused.contains(sent.offset) {
                            continue;
                        }
                        // What is too far ahead of the clock was refused by who sent it.
                        let read = (pass, record.offset);
                        accepted +=
                            usize::from(self.take(&records, sent, source, read, &Clock::END, &mut event));
                    }
                    self.sources[source].advance(parcel.watermark);
                }
                Err(message) if pass == Pass::First => {
                    self.counts.rejected += 1;
                    self.reject(batch, record, (Reason::Undecodable, message));
                }
                Err(_) => {}
            }
        }
        self.graph.spares.put(event);
        accepted
    }

    fn is_held_back(&self, source: usize) -> bool {
        let of = &self.sources[source];
        of.passed_over.is_some()
            || self.waiting.len() >= self.limits.max_waiting && of.promises(self.released) > self.watermark()
    }

    /// Where a topic of parcels is to be read again, because something was passed over there, and it is its turn now, or
    /// there is room again.
    pub fn passed_over(&self) -> Option<(String, i64)> {
        let watermark = self.watermark();
        let has_room = self.waiting.len() < self.limits.max_waiting / 2;
        let is_due = |source: &Source| source.promises(self.released) == watermark;
        let held = || self.sources.iter().filter(|source| source.passed_over.is_some());
        let channel = held().find(|source| has_room || is_due(source))?.via?;
        let first =
            held().filter(|source| source.via == Some(channel)).filter_map(|source| source.passed_over);
        Some((self.sources[channel].topic.clone(), first.min()?))
    }

    /// Says that a topic of parcels is read on from there, as `passed_over` asked.
    pub fn read_again(&mut self, topic: &str, offset: i64) -> Result<(), String> {
        let channel = self.source_of(topic, None)?;
        self.sources[channel].position = offset;
        let behind = self.sources.iter_mut().filter(|source| source.via == Some(channel));
        behind.for_each(|source| source.passed_over = None);
        Ok(())
    }

    /// Takes one record of a source that was read in some pass, with the offset that was read; says whether it is good and
    /// in time.
    #[inline]
    fn take(
        &mut self,
        batch: &Batch,
        record: &Record,
        source: usize,
        (pass, offset): (Pass, i64),
        clock: &Clock,
        event: &mut UniqueArc<Event>,
    ) -> bool {
        // What a predecessor accepted stays accepted, whatever the clock says now.
        let first = pass == Pass::First;
        let clock = if first { clock } else { &Clock::END };
        self.counts.read += u64::from(first);
        if record.value.is_none() && self.lanes.ignores_nulls[self.sources[source].lane] {
            self.counts.ignored += u64::from(first);
            return false;
        }
        match self.decode(batch, record, self.sources[source].lane, clock, event) {
            Ok(true) if event.time < self.released => {
                // Read before and not waiting any more: it was released, or judged late then.
                if first {
                    self.counts.late += 1;
                    let message = format!("{} ms behind what was released", self.released - event.time);
                    self.reject(batch, record, (Reason::Late, message));
                    self.graph.come_late(event);
                }
                false
            }
            Ok(true) => {
                if self.sources[source].via.is_none() {
                    self.sources[source].saw(event.time);
                }
                self.began = self.began.min(event.time);
                let leaves = self.graph.leaves(event);
                if let Some(forwarding) = &mut self.forwarding {
                    forwarding.send(batch, record, source, event, &leaves);
                } else if self.seen.concerns(event) || !leaves.is_empty() || event.is_of_fact() {
                    // What no rule wants may still be what a later record repeats.
                    let event = std::mem::replace(event, self.graph.spares.take());
                    self.waiting.push(source, Read::new(event, offset, leaves));
                } else {
                    self.graph.pass_by(event);
                }
                true
            }
            Ok(false) => {
                self.counts.not_ours += 1;
                false
            }
            // What is bad in itself was refused when it was read before, too.
            Err((reason, _)) if !first && !reason.may_pass() => false,
            Err(refusal) => {
                self.counts.rejected += 1;
                if refusal.0.may_pass() {
                    self.sources[source].refused.push(record.offset);
                }
                self.reject(batch, record, refusal);
                false
            }
        }
    }
}
