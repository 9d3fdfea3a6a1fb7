//! Points in time that match a pattern of calendar fields, on the clock of a time zone.
//!
//! What a change of the clock skips does not occur on that day, what it repeats occurs twice: a point is a second at
//! which that clock shows what is asked for.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use jiff::Timestamp;

use crate::build::parse_fingerprint;
use crate::event::Event;
use crate::graph::Moment;
use crate::identity::timer_label;
use crate::occurrence::Occurrence;
use crate::plan::Timer;
use crate::timers::Timers;

const SECOND_MS: i64 = 1000;

pub struct TimerNode {
    fingerprint: [u8; 8],
    fields: Fields,
    zone: TimeZone,
}

/// What each field must be; none where it may be anything.
#[derive(Debug, Default)]
struct Fields {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    weekday: Option<i64>,
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
}

impl TimerNode {
    pub fn new(timer: &Timer) -> Result<TimerNode, String> {
        let zone = TimeZoneDatabase::bundled().get(&timer.zone);
        let mut fields = Fields::default();
        for (name, value) in &timer.pattern {
            *match name.as_str() {
                "year" => &mut fields.year,
                "month" => &mut fields.month,
                "day" => &mut fields.day,
                "weekday" => &mut fields.weekday,
                "hour" => &mut fields.hour,
                "minute" => &mut fields.minute,
                "second" => &mut fields.second,
                _ => return Err(format!("the plan is inconsistent: a timer has a field `{name}`")),
            } = *value;
        }
        Ok(TimerNode {
            fingerprint: parse_fingerprint(&timer.fingerprint)?,
            fields,
            zone: zone.map_err(|_| format!("this engine knows no time zone `{}`", timer.zone))?,
        })
    }

    /// Asks for the first point in time, from a time on.
    pub fn start(&mut self, id: usize, from: i64, timers: &mut Timers) {
        if let Some(due) = self.next(from) {
            timers.set(id, due, Vec::new());
        }
    }

    pub fn wake(&mut self, moment: &mut Moment) {
        let label = timer_label(&self.fingerprint, &[], moment.time, moment.topics);
        moment.found.push(Occurrence::of(Event::point(moment.time, moment.seq, &label).into()));
        self.start(moment.node, moment.time.saturating_add(1), moment.timers);
    }

    /// The first point in time that matches, at a time or after it.
    fn next(&self, from_ms: i64) -> Option<i64> {
        let second = from_ms.div_euclid(SECOND_MS) + i64::from(from_ms.rem_euclid(SECOND_MS) != 0);
        let mut from = Timestamp::from_second(second).ok()?;
        loop {
            // From one change of the clock to the next, it runs evenly.
            let change = self.zone.following(from).next().map(|transition| transition.timestamp());
            let offset = self.zone.to_offset(from);
            let until = change.map(|change| offset.to_datetime(change));
            if let Some(found) = self.fields.next(offset.to_datetime(from), until) {
                return timestamp(found, offset).map(|found| found.as_millisecond());
            }
            from = change?;
        }
    }
}

fn timestamp(local: DateTime, offset: Offset) -> Option<Timestamp> {
    offset.to_timestamp(local).ok()
}

impl Fields {
    /// The first moment that matches, at a moment or after it, and before another.
    fn next(&self, from: DateTime, until: Option<DateTime>) -> Option<DateTime> {
        let mut date = from.date();
        let mut earliest = from.time();
        loop {
            if until.is_some_and(|until| date > until.date()) {
                return None;
            }
            match self.passed_over(date) {
                Some(next) => date = next?,
                None => {
                    if let Some(time) = self.time(earliest) {
                        let found = date.to_datetime(time);
                        return until.is_none_or(|until| found < until).then_some(found);
                    }
                    date = date.tomorrow().ok()?;
                }
            }
            earliest = Time::midnight();
        }
    }

    /// Where to go on when a day does not match; the inner none where the calendar is over.
    fn passed_over(&self, date: Date) -> Option<Option<Date>> {
        let differs = |field: Option<i64>, value: i64| field.is_some_and(|field| field != value);
        if differs(self.year, i64::from(date.year())) {
            let year = self.year.filter(|year| *year > i64::from(date.year()));
            return Some(year.and_then(|year| Date::new(i16::try_from(year).ok()?, 1, 1).ok()));
        }
        if differs(self.month, i64::from(date.month())) {
            return Some(date.last_of_month().tomorrow().ok());
        }
        let weekday = i64::from(date.weekday().to_monday_one_offset());
        let other = differs(self.day, i64::from(date.day())) || differs(self.weekday, weekday);
        other.then(|| date.tomorrow().ok())
    }

    /// The first time of a day that matches, at a time or after it.
    fn time(&self, from: Time) -> Option<Time> {
        let all = |field: Option<i64>, count: i64| match field {
            Some(value) => value..=value,
            None => 0..=count - 1,
        };
        let (hour, minute, second) =
            (i64::from(from.hour()), i64::from(from.minute()), i64::from(from.second()));
        for h in all(self.hour, 24).filter(|h| *h >= hour) {
            for m in all(self.minute, 60).filter(|m| h > hour || *m >= minute) {
                let found = all(self.second, 60).find(|s| h > hour || m > minute || *s >= second);
                if let Some(s) = found {
                    return Time::new(i8::try_from(h).ok()?, i8::try_from(m).ok()?, i8::try_from(s).ok()?, 0)
                        .ok();
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer(zone: &str, fields: &[(&str, i64)]) -> TimerNode {
        let pattern = fields.iter().map(|(name, value)| ((*name).to_owned(), Some(*value))).collect();
        let raw = Timer { pattern, zone: zone.into(), fingerprint: "1".repeat(16) };
        TimerNode::new(&raw).expect("a good timer")
    }

    fn points(node: &TimerNode, from: &str, count: usize) -> Vec<String> {
        let mut at: Timestamp = from.parse().expect("a time");
        let mut found = Vec::new();
        while let Some(next) = node.next(at.as_millisecond()).filter(|_| found.len() < count) {
            found.push(Timestamp::from_millisecond(next).expect("a time").to_string());
            at = Timestamp::from_millisecond(next + 1).expect("a time");
        }
        found
    }

    #[test]
    fn a_point_occurs_when_the_clock_shows_it() {
        let daily = timer("UTC", &[("hour", 9), ("minute", 0), ("second", 0)]);
        assert_eq!(
            points(&daily, "2024-05-01T09:00:00Z", 2),
            ["2024-05-01T09:00:00Z", "2024-05-02T09:00:00Z"]
        );
        assert_eq!(points(&daily, "2024-05-01T09:00:00.001Z", 1), ["2024-05-02T09:00:00Z"]);
        let leap = timer(
            "UTC",
            &[("month", 2), ("day", 29), ("weekday", 1), ("hour", 0), ("minute", 0), ("second", 0)],
        );
        assert_eq!(points(&leap, "2024-05-01T00:00:00Z", 1), ["2044-02-29T00:00:00Z"]);
    }

    #[test]
    fn a_field_that_is_not_asked_for_may_be_anything() {
        let often = timer("UTC", &[("minute", 59), ("second", 30)]);
        let found = ["2024-12-31T22:59:30Z", "2024-12-31T23:59:30Z", "2025-01-01T00:59:30Z"];
        assert_eq!(points(&often, "2024-12-31T22:59:01Z", 3), found);
        assert_eq!(points(&timer("UTC", &[]), "2024-12-31T23:59:59Z", 2).len(), 2);
    }

    #[test]
    fn what_the_clock_skips_does_not_occur_and_what_it_repeats_occurs_twice() {
        let early = timer("Europe/Rome", &[("hour", 2), ("minute", 30), ("second", 0)]);
        assert_eq!(
            points(&early, "2024-03-30T00:00:00Z", 2),
            ["2024-03-30T01:30:00Z", "2024-04-01T00:30:00Z"]
        );
        assert_eq!(
            points(&early, "2024-10-26T12:00:00Z", 3),
            ["2024-10-27T00:30:00Z", "2024-10-27T01:30:00Z", "2024-10-28T01:30:00Z"]
        );
    }

    #[test]
    fn what_can_never_be_is_never() {
        assert!(points(&timer("UTC", &[("month", 2), ("day", 30)]), "2024-01-01T00:00:00Z", 1).is_empty());
        assert!(points(&timer("Europe/Rome", &[("year", 1999)]), "2024-01-01T00:00:00Z", 1).is_empty());
        let unknown =
            Timer { pattern: Default::default(), zone: "Moon/Base".into(), fingerprint: "1".repeat(16) };
        assert!(TimerNode::new(&unknown).is_err_and(|message| message.contains("Moon/Base")));
    }
}
