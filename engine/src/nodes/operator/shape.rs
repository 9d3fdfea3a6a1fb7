//! What is fixed about an operator: its places, the conditions between them, and how occurrences are put together.

use smallvec::SmallVec;

use super::conditions::Condition;
use super::parameters::Parameter;
use crate::build::{self, Builder};
use crate::event::NO_TYPE;
use crate::expr;
use crate::occurrence::{distinct, Item, Items, Occurrence};
use crate::plan;

/// The operands of A, A*, NOT, P and P*, and their lists; in the periodic operators the ticks are in the middle.
pub const LEFT: usize = 0;
pub const MIDDLE: usize = 1;
pub const RIGHT: usize = 2;
/// Of the periodic operators: what they sample. The last one of it is kept, however old it is.
pub const SAMPLE: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Or,
    And,
    Seq,
    Any {
        count: usize,
        star: bool,
    },
    Aperiodic {
        star: bool,
    },
    Periodic {
        star: bool,
        every_ms: i64,
    },
    Not,
    Plus {
        delay_ms: i64,
    },
    /// The point of an occurrence's begin, or of its end.
    Modified {
        begin: bool,
    },
}

/// The slots of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub base: u16,
    pub width: u16,
}

impl Place {
    pub fn holds(self, slot: u16) -> bool {
        (self.base..self.base.saturating_add(self.width)).contains(&slot)
    }
}

/// An occurrence in a place.
pub type Part<'a> = (usize, &'a Occurrence);
pub type Parts<'a> = SmallVec<[Part<'a>; 4]>;

pub struct Shape {
    pub kind: Kind,
    pub fingerprint: [u8; 8],
    pub within_ms: Option<i64>,
    pub places: Vec<Place>,
    /// Input → its place.
    pub ports: Vec<usize>,
    pub conditions: Vec<Condition>,
    pub parameters: Vec<Parameter>,
    /// Whether all that is signalled has a value for each of them, so that no cell stands for others.
    pub is_closed: bool,
    /// Those of which no two have one value.
    pub apart: Vec<usize>,
    /// The slots in the order in which their constituents are written, which decides between simultaneous occurrences.
    order: Vec<Vec<u16>>,
    /// The slot of the points in time that the node makes.
    pub tick: u16,
    /// The row of a tick that sampled nothing, and its type.
    pub unsampled: Option<(u16, Vec<u8>)>,
    /// Slot → the types of what may be in it.
    types: Vec<Vec<u16>>,
    /// Input → whether it is a leaf, and signals single events.
    leaves: Vec<bool>,
}

impl Shape {
    pub fn new(builder: &Builder, id: usize, node: &plan::Node) -> Result<Shape, String> {
        let raw = node.operator().ok_or("the plan is inconsistent: a node is no operator")?;
        let kind = kind(node, raw)?;
        let plan = builder.plan;
        let inputs = operands(plan, raw, kind)?;
        let tick = inputs.iter().map(|place| place.width).sum();
        let (places, ports) = match (kind, &inputs[..]) {
            (Kind::Periodic { .. }, [first, last, rest @ ..]) => {
                let ticks = Place { base: tick, width: 1 };
                ([&[*first, ticks, *last][..], rest].concat(), vec![LEFT, RIGHT, SAMPLE])
            }
            _ => (inputs.clone(), (0..inputs.len()).collect()),
        };
        let mut shape = Shape {
            kind,
            fingerprint: build::parse_fingerprint(&raw.fingerprint)?,
            within_ms: raw.within_ms,
            places,
            ports,
            conditions: Vec::new(),
            parameters: Vec::new(),
            is_closed: raw.parameters.iter().all(|places| is_everywhere(plan, id, places)),
            apart: raw.apart.clone(),
            order: plan.written_order(id).iter().map(|slot| vec![*slot]).collect(),
            tick,
            unsampled: plan.sampled(id, usize::from(tick)).map(|(type_id, _)| {
                let mut row = Vec::new();
                builder.types[type_id].1.start_row(&mut row);
                (type_id as u16, row)
            }),
            types: (0..raw.slots).map(|slot| accepted(builder, id, slot)).collect(),
            leaves: raw.inputs.iter().map(|input| plan.nodes[*input].operator().is_none()).collect(),
        };
        for places in &raw.parameters {
            let parameter = shape.parameter(builder, id, raw, places)?;
            shape.parameters.push(parameter);
        }
        let mut conditions = Vec::new();
        raw.condition.iter().for_each(|condition| expr::conjuncts(condition, &mut conditions));
        for (number, condition) in conditions.into_iter().enumerate() {
            let condition = shape.condition(builder, id, condition, raw.of.get(number).copied())?;
            shape.conditions.push(condition);
        }
        Ok(shape)
    }

    pub fn place_of_slot(&self, slot: usize) -> Option<usize> {
        let slot = u16::try_from(slot).ok()?;
        self.places.iter().position(|place| place.holds(slot))
    }

    /// How many lists the node keeps.
    pub fn lists(&self) -> usize {
        match self.kind {
            Kind::Or | Kind::Plus { .. } | Kind::Modified { .. } => 0,
            _ => self.places.len(),
        }
    }

    /// How many of them hold what is not needed any more when its time is over.
    pub fn expiring(&self) -> usize {
        if self.is_periodic() {
            SAMPLE
        } else {
            self.lists()
        }
    }

    pub fn operands(&self) -> usize {
        self.places.len()
    }

    pub fn place_of(&self, port: u8) -> usize {
        self.ports[usize::from(port)]
    }

    /// Whether what is signalled in a place takes part in later occurrences only, or ends what began.
    pub fn only_begins(&self, place: usize) -> bool {
        match self.kind {
            Kind::Seq | Kind::Not | Kind::Aperiodic { star: true } => place == LEFT,
            Kind::Aperiodic { star: false } => place == LEFT || place == RIGHT,
            Kind::Periodic { star, .. } => place == LEFT || place == SAMPLE || (!star && place == RIGHT),
            Kind::Or | Kind::And | Kind::Any { .. } | Kind::Plus { .. } | Kind::Modified { .. } => false,
        }
    }

    /// What orders what is signalled: operand by operand, and the events of one as they occurred.
    pub fn turn(&self, port: u8, occurrence: &Occurrence) -> (u8, (u64, i64)) {
        let leaf = self.leaves[usize::from(port)];
        let event = occurrence.items.first().filter(|_| leaf).map(|item| &item.event);
        (port, event.map_or((0, 0), |event| event.place()))
    }

    /// Of a modifier: whether it is said of a single event, whose own interval it changes.
    pub fn is_of_event(&self) -> bool {
        self.leaves[0]
    }

    pub fn is_periodic(&self) -> bool {
        matches!(self.kind, Kind::Periodic { .. })
    }

    /// Whether what is in a place becomes part of what is found; the rest only forbids, closes or is sampled.
    pub fn is_constituent(&self, place: usize) -> bool {
        match self.kind {
            Kind::Plus { .. } => false,
            Kind::Not => place != MIDDLE,
            Kind::Aperiodic { star: false } | Kind::Periodic { star: false, .. } => place < RIGHT,
            Kind::Periodic { .. } => place < SAMPLE,
            _ => true,
        }
    }

    /// Whether an occurrence that was stored can be one of a place.
    pub fn accepts(&self, place: usize, occurrence: &Occurrence) -> bool {
        let Some(place) = self.places.get(place) else { return false };
        occurrence.items.iter().all(|item| {
            let slot = usize::from(place.base) + usize::from(item.slot);
            item.slot < place.width && self.types[slot].contains(&item.event.type_id)
        })
    }

    /// The occurrence of the node that is made of occurrences of its operands. It stands where the last one stands.
    pub fn union(&self, parts: &[Part]) -> Occurrence {
        let last = parts.iter().map(|(_, part)| (part.seq, part.time)).max().unwrap_or_default();
        let mut whole = Occurrence::at(last.0, last.1);
        let mut items = Items::new();
        for (number, (place, part)) in parts.iter().enumerate() {
            let base = self.places[*place].base;
            items.extend(
                part.items.iter().map(|item| Item { slot: base + item.slot, event: item.event.clone() }),
            );
            whole.start_seq = whole.start_seq.min(part.start_seq);
            whole.start = if number == 0 { part.start } else { whole.start.min(part.start) };
            whole.end = if number == 0 { part.end } else { whole.end.max(part.end) };
        }
        items.sort_by_key(|item| (item.slot, item.event.place()));
        for item in items {
            let mut beside = whole
                .items
                .iter()
                .rev()
                .take_while(|other| other.slot == item.slot && other.event.seq == item.event.seq);
            if !beside.any(|other| other.event.is(&item.event)) {
                whole.items.push(item);
            }
        }
        whole
    }

    /// What is found at one position: each once, in order, and none that took too long.
    pub fn arranged(&self, mut found: Vec<Occurrence>) -> Vec<Occurrence> {
        if let Some(within) = self.within_ms {
            found.retain(|one| one.end.saturating_sub(one.start) <= within);
        }
        let order = |one: &Occurrence| one.order(&self.order);
        let alike = |one: &Occurrence, other: &Occurrence| one.equals(other) && one.binding == other.binding;
        distinct(found, order, alike)
    }
}

/// The slots of each input, one behind the other.
fn operands(plan: &plan::Plan, raw: &plan::Operator, kind: Kind) -> Result<Vec<Place>, String> {
    let sampled = usize::from(raw.sample.is_some());
    let (count, own) = match kind {
        Kind::Or | Kind::And | Kind::Seq => (2, 0),
        Kind::Any { star: false, .. } => (raw.inputs.len().max(1), 0),
        Kind::Any { star: true, .. } | Kind::Modified { .. } => (1, 0),
        Kind::Plus { .. } => (1, 1),
        Kind::Aperiodic { .. } | Kind::Not => (3, 0),
        Kind::Periodic { .. } => (2 + sampled, 1),
    };
    let widths: Vec<usize> = raw.inputs.iter().map(|&input| plan.slot_types(input).len()).collect();
    if widths.len() != count || raw.slots != widths.iter().sum::<usize>() + own {
        return Err("the plan is inconsistent: an operator with too few or too many operands".into());
    }
    // A plan is refused that has nodes with more slots than numbers for them.
    let base = |number: usize| widths[..number].iter().sum::<usize>() as u16;
    Ok(widths.iter().enumerate().map(|(n, width)| Place { base: base(n), width: *width as u16 }).collect())
}

/// Whether a parameter is an attribute of every event below a node.
fn is_everywhere(plan: &plan::Plan, id: usize, places: &[plan::Place]) -> bool {
    let Some(operator) = plan.nodes[id].operator() else { return !places.is_empty() };
    let mut base = 0;
    operator.inputs.iter().all(|&input| {
        let range = base..base + plan.slot_types(input).len();
        base = range.end;
        let within = |(slot, field): &plan::Place| range.contains(slot).then(|| (slot - range.start, *field));
        let there: Vec<plan::Place> = places.iter().filter_map(within).collect();
        is_everywhere(plan, input, &there)
    })
}

fn kind(node: &plan::Node, raw: &plan::Operator) -> Result<Kind, String> {
    let positive = |time: i64| {
        let refused = || "the plan is inconsistent: a time that is not longer than 0".to_owned();
        (time > 0).then_some(time).ok_or_else(refused)
    };
    Ok(match node {
        plan::Node::And(_) => Kind::And,
        plan::Node::Seq(_) => Kind::Seq,
        plan::Node::Any(_) if raw.count == 0 => return Err("the plan is inconsistent: `any` of none".into()),
        plan::Node::Any(_) => Kind::Any { count: raw.count, star: raw.star },
        plan::Node::Aperiodic(_) => Kind::Aperiodic { star: raw.star },
        plan::Node::Periodic(_) => Kind::Periodic { star: raw.star, every_ms: positive(raw.every_ms)? },
        plan::Node::Not(_) => Kind::Not,
        plan::Node::Plus(_) => Kind::Plus { delay_ms: positive(raw.delay_ms)? },
        plan::Node::Modified(_) => Kind::Modified { begin: raw.modifier.as_deref() == Some("begin") },
        _ => Kind::Or,
    })
}

/// The types of what may be in a slot.
fn accepted(builder: &Builder, id: usize, slot: usize) -> Vec<u16> {
    let plan = builder.plan;
    let sampled = plan.sampled(id, slot).map(|(type_id, _)| type_id);
    let Some(type_id) = sampled.or(plan.slot_types(id).get(slot).copied().flatten()) else {
        return vec![NO_TYPE];
    };
    plan.extending(type_id).iter().map(|id| *id as u16).collect()
}
