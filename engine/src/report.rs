//! What people want to know of a task, as Python sees it.

use pyo3::prelude::*;

use crate::census::Count;
use crate::plan::Context;
use crate::value::Value;
use crate::why;

/// One node of the event graph in one context, or a leaf: how much came, how much it keeps, found and forgot.
#[pyclass(frozen, get_all, module = "tocsin._engine")]
pub struct NodeCounts {
    /// The number of the node in the plan.
    node: usize,
    kind: &'static str,
    context: Option<&'static str>,
    arrived: u64,
    stored: usize,
    found: u64,
    expired: u64,
    /// About how many bytes its entries of state take.
    bytes: usize,
    /// The rules that use it.
    rules: Vec<String>,
}

impl From<Count> for NodeCounts {
    fn from(count: Count) -> NodeCounts {
        NodeCounts {
            node: count.place.planned,
            kind: count.place.kind,
            context: count.place.context.map(name),
            arrived: count.arrived,
            stored: count.stored,
            found: count.found,
            expired: count.expired,
            bytes: count.bytes,
            rules: count.rules,
        }
    }
}

/// An event in the story of a partial match.
#[pyclass(frozen, get_all, module = "tocsin._engine")]
#[derive(Clone)]
pub struct Participant {
    role: Option<String>,
    #[pyo3(name = "type")]
    type_name: String,
    time: i64,
    topic: String,
    partition: i32,
    offset: i64,
    label: String,
}

impl From<why::Participant> for Participant {
    fn from(given: why::Participant) -> Participant {
        let why::Participant { role, type_name, time, topic, partition, offset, label } = given;
        Participant { role, type_name, time, topic, partition, offset, label }
    }
}

/// A partial match, and what ended it.
#[pyclass(frozen, get_all, module = "tocsin._engine")]
pub struct Ending {
    time: i64,
    reason: &'static str,
    node: usize,
    kind: &'static str,
    context: Option<&'static str>,
    constituents: Vec<Participant>,
    missing: Option<String>,
    nearest: Option<Participant>,
    by: Option<Participant>,
}

impl From<why::Ending> for Ending {
    fn from(given: why::Ending) -> Ending {
        Ending {
            time: given.time,
            reason: given.reason.name(),
            node: given.place.planned,
            kind: given.place.kind,
            context: given.place.context.map(name),
            constituents: given.constituents.into_iter().map(Participant::from).collect(),
            missing: given.missing,
            nearest: given.nearest.map(Participant::from),
            by: given.by.map(Participant::from),
        }
    }
}

/// A value of an attribute that is asked for.
#[derive(FromPyObject)]
pub enum Asked {
    Boolean(bool),
    Long(i64),
    Double(f64),
    Text(String),
}

impl From<Asked> for Value<'static> {
    fn from(asked: Asked) -> Value<'static> {
        match asked {
            Asked::Boolean(b) => Value::Boolean(b),
            Asked::Long(n) => Value::Long(n),
            Asked::Double(x) => Value::Double(x),
            Asked::Text(text) => Value::Text(text.into_bytes().into()),
        }
    }
}

fn name(context: Context) -> &'static str {
    match context {
        Context::Unrestricted => "unrestricted",
        Context::Recent => "recent",
        Context::Chronicle => "chronicle",
        Context::Continuous => "continuous",
        Context::Cumulative => "cumulative",
    }
}
