//! Allen's thirteen relations between two intervals, as bounds on the distances of their ends.
//!
//! Seven are written out, the other six are the same seen from the other side. Bounds are included.

use serde_json::Value as Json;

/// An end of one of the two intervals.
#[derive(Debug, Clone, Copy)]
enum Point {
    LeftStart,
    LeftEnd,
    RightStart,
    RightEnd,
}

/// `low <= later - earlier <= high`.
#[derive(Debug, Clone, Copy)]
struct Difference {
    later: Point,
    earlier: Point,
    low: i64,
    high: i64,
}

#[derive(Debug, Clone)]
pub struct Relation(Vec<Difference>);

/// Start and end.
pub type Interval = (i64, i64);

impl Relation {
    pub fn parse(op: &str, bounds: &Json) -> Option<Relation> {
        let bounds: Vec<Option<i64>> = bounds
            .as_array()?
            .iter()
            .map(|bound| if bound.is_null() { Some(None) } else { bound.as_i64().map(Some) })
            .collect::<Option<_>>()?;
        let (said, mirrored) = match op {
            "after" => (after(&bounds), false),
            "before" => (after(&bounds), true),
            "meets" => (vec![same(Point::LeftEnd, Point::RightStart, &bounds)], false),
            "metby" => (vec![same(Point::LeftEnd, Point::RightStart, &bounds)], true),
            "overlaps" => (overlaps(&bounds), false),
            "overlappedby" => (overlaps(&bounds), true),
            "starts" => (starts(&bounds), false),
            "startedby" => (starts(&bounds), true),
            "during" => (during(&bounds), false),
            "includes" => (during(&bounds), true),
            "finishes" => (finishes(&bounds), false),
            "finishedby" => (finishes(&bounds), true),
            "coincides" => (coincides(&bounds), false),
            _ => return None,
        };
        Some(Relation(if mirrored { said.into_iter().map(Difference::mirrored).collect() } else { said }))
    }

    pub fn holds(&self, left: Interval, right: Interval) -> bool {
        self.0.iter().all(|difference| {
            let at = |point: Point| match point {
                Point::LeftStart => left.0,
                Point::LeftEnd => left.1,
                Point::RightStart => right.0,
                Point::RightEnd => right.1,
            };
            let distance = at(difference.later).saturating_sub(at(difference.earlier));
            (difference.low..=difference.high).contains(&distance)
        })
    }
}

impl Relation {
    /// Between which times an interval must end that is to stand in the relation, as the left or the right one, to
    /// another.
    pub fn reach(&self, left: bool, other: Interval) -> Interval {
        let mut reach = (i64::MIN, i64::MAX);
        for difference in &self.0 {
            let (later, earlier) = (difference.later.side(), difference.earlier.side());
            let (own, low, high) = match (later.0 == left, earlier.0 == left) {
                (true, false) => {
                    let from = if earlier.1 { other.0 } else { other.1 };
                    (later.1, from.saturating_add(difference.low), from.saturating_add(difference.high))
                }
                (false, true) => {
                    let from = if later.1 { other.0 } else { other.1 };
                    (earlier.1, from.saturating_sub(difference.high), from.saturating_sub(difference.low))
                }
                _ => continue,
            };
            reach.0 = reach.0.max(low);
            // What begins until then may end whenever.
            if !own {
                reach.1 = reach.1.min(high);
            }
        }
        reach
    }
}

impl Point {
    /// Whether it is of the left interval, and whether it is a start.
    fn side(self) -> (bool, bool) {
        match self {
            Point::LeftStart => (true, true),
            Point::LeftEnd => (true, false),
            Point::RightStart => (false, true),
            Point::RightEnd => (false, false),
        }
    }
}

impl Difference {
    fn mirrored(self) -> Difference {
        let mirror = |point: Point| match point {
            Point::LeftStart => Point::RightStart,
            Point::LeftEnd => Point::RightEnd,
            Point::RightStart => Point::LeftStart,
            Point::RightEnd => Point::LeftEnd,
        };
        Difference { later: mirror(self.later), earlier: mirror(self.earlier), ..self }
    }
}

type Bounds<'a> = &'a [Option<i64>];

/// One bound is the lower one; without any, at least 1 ms. Bounds in the wrong order are read in the right one.
fn after(bounds: Bounds) -> Vec<Difference> {
    let low = bounds.first().map_or(1, |bound| bound.unwrap_or(i64::MIN));
    let high = bounds.get(1).map_or(i64::MAX, |bound| bound.unwrap_or(i64::MAX));
    let (low, high) = (low.min(high), low.max(high));
    vec![Difference { later: Point::LeftStart, earlier: Point::RightEnd, low, high }]
}

/// `[m, M]`, or `[M]` with m = 1 ms, which is what "strictly" means in whole milliseconds.
fn limits(bounds: Bounds) -> (i64, i64) {
    match bounds {
        [] => (1, i64::MAX),
        [high] => (1, high.unwrap_or(i64::MAX)),
        [low, high, ..] => (low.unwrap_or(i64::MIN), high.unwrap_or(i64::MAX)),
    }
}

fn same(one: Point, other: Point, bounds: Bounds) -> Difference {
    let tolerance = bounds.first().map_or(0, |bound| bound.unwrap_or(i64::MAX));
    Difference { later: one, earlier: other, low: tolerance.saturating_neg(), high: tolerance }
}

fn strictly(earlier: Point, later: Point) -> Difference {
    Difference { later, earlier, low: 1, high: i64::MAX }
}

fn overlaps(bounds: Bounds) -> Vec<Difference> {
    let (low, high) = limits(bounds);
    vec![
        strictly(Point::LeftStart, Point::RightStart),
        strictly(Point::RightStart, Point::LeftEnd),
        strictly(Point::LeftEnd, Point::RightEnd),
        Difference { later: Point::LeftEnd, earlier: Point::RightStart, low, high },
    ]
}

fn starts(bounds: Bounds) -> Vec<Difference> {
    vec![same(Point::LeftStart, Point::RightStart, bounds), strictly(Point::LeftEnd, Point::RightEnd)]
}

fn during(bounds: Bounds) -> Vec<Difference> {
    let first = limits(&bounds[..bounds.len().min(2)]);
    let second = limits(if bounds.len() > 2 { &bounds[2..] } else { bounds });
    vec![
        Difference { later: Point::LeftStart, earlier: Point::RightStart, low: first.0, high: first.1 },
        Difference { later: Point::RightEnd, earlier: Point::LeftEnd, low: second.0, high: second.1 },
    ]
}

fn finishes(bounds: Bounds) -> Vec<Difference> {
    vec![strictly(Point::RightStart, Point::LeftStart), same(Point::LeftEnd, Point::RightEnd, bounds)]
}

fn coincides(bounds: Bounds) -> Vec<Difference> {
    let ends = if bounds.len() > 1 { &bounds[1..] } else { bounds };
    vec![
        same(Point::LeftStart, Point::RightStart, &bounds[..bounds.len().min(1)]),
        same(Point::LeftEnd, Point::RightEnd, ends),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPS: [&str; 13] = [
        "after",
        "before",
        "meets",
        "metby",
        "overlaps",
        "overlappedby",
        "starts",
        "startedby",
        "during",
        "includes",
        "finishes",
        "finishedby",
        "coincides",
    ];

    #[test]
    fn what_stands_in_a_relation_is_within_reach() {
        let intervals = || (0..5).flat_map(|start| (start..5).map(move |end| (start, end)));
        for op in OPS {
            for bounds in ["[]", "[2]", "[0, 3]", "[1, null]"] {
                let bounds = serde_json::from_str(bounds).expect("good JSON");
                let Some(relation) = Relation::parse(op, &bounds) else { continue };
                for (one, other) in intervals().flat_map(|one| intervals().map(move |other| (one, other))) {
                    if relation.holds(one, other) {
                        let (first, last) = relation.reach(true, other);
                        assert!((first..=last).contains(&one.1), "{one:?} {op} {bounds} {other:?}");
                        let (first, last) = relation.reach(false, one);
                        assert!((first..=last).contains(&other.1), "{one:?} {op} {bounds} {other:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn reach_is_no_wider_than_need_be() {
        let bounds = serde_json::json!([1, 5]);
        let after = Relation::parse("after", &bounds).expect("a relation");
        assert_eq!(after.reach(false, (10, 12)), (5, 9));
        assert_eq!(after.reach(true, (10, 12)), (13, i64::MAX));
    }
}
