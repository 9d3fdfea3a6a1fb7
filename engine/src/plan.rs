//! The compiled plan as the topology package writes it: plain data, checked here once, so that the rest of the
//! engine can index without asking.

use serde::Deserialize;

use crate::support::refuse_unsupported;

/// The plan format this engine understands; another one is refused.
pub const FORMAT: u32 = 2;

/// What the engine's compact forms have room for.
const MAX_TYPES: usize = u16::MAX as usize;
const MAX_FIELDS: usize = 4096;
const MAX_CONSTITUENTS: usize = u8::MAX as usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    Boolean,
    Int,
    Long,
    Float,
    Double,
    /// Bytes are refused where a rule reads or writes them; types that none uses may have them.
    #[serde(alias = "bytes")]
    String,
    Timestamp,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Field {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: Type,
    pub optional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Input,
    Defined,
}

#[derive(Debug, Clone, Deserialize)]
pub struct EventType {
    pub name: String,
    pub origin: Origin,
    pub fields: Vec<Field>,
    pub topic: String,
    pub key: Option<usize>,
    pub time: Option<usize>,
    pub lateness_ms: i64,
}

/// An expression as nested arrays; `expr::compile` gives it a meaning.
pub type RawExpr = serde_json::Value;

#[derive(Debug, Clone, Deserialize)]
pub struct Input {
    pub node: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Select {
    Last,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Match {
    pub field: usize,
    /// (constituent, field) of an earlier constituent.
    pub equals: (usize, usize),
}

#[derive(Debug, Clone, Deserialize)]
pub struct Constituent {
    pub node: usize,
    pub select: Select,
    pub within_ms: i64,
    pub from: usize,
    #[serde(rename = "match")]
    pub matches: Vec<Match>,
    #[serde(rename = "where")]
    pub condition: Option<RawExpr>,
    pub horizon_ms: i64,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Binding {
    pub name: String,
    pub value: RawExpr,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Node {
    Source {
        #[serde(rename = "type")]
        type_id: usize,
        filter: Option<RawExpr>,
    },
    Pattern {
        terminator: Input,
        constituents: Vec<Constituent>,
        fingerprint: String,
    },
    Define {
        input: usize,
        #[serde(rename = "type")]
        type_id: usize,
        rule: String,
        version: i32,
        /// A name for the terminator and each constituent.
        roles: Vec<String>,
        values: Vec<RawExpr>,
        bindings: Vec<Binding>,
        fingerprint: String,
    },
}

#[derive(Debug, Clone, Deserialize)]
pub struct Subtopology {
    pub name: String,
    pub topics: Vec<String>,
    pub nodes: Vec<usize>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Plan {
    pub app: String,
    pub types: Vec<EventType>,
    pub nodes: Vec<Node>,
    pub subtopologies: Vec<Subtopology>,
}

#[derive(Deserialize)]
struct Header {
    format: u32,
}

impl Plan {
    pub fn parse(json: &str) -> Result<Plan, String> {
        let header: Header = serde_json::from_str(json).map_err(|e| format!("not a plan: {e}"))?;
        if header.format != FORMAT {
            return Err(format!(
                "the plan has format {}, this engine understands format {FORMAT}: upgrade the older side",
                header.format
            ));
        }
        let raw: serde_json::Value = serde_json::from_str(json).map_err(|e| format!("not a plan: {e}"))?;
        refuse_unsupported(&raw)?;
        let plan: Plan = serde_json::from_value(raw).map_err(|e| format!("not a plan: {e}"))?;
        plan.check()?;
        Ok(plan)
    }

    pub fn subtopology(&self, name: &str) -> Result<&Subtopology, String> {
        self.subtopologies
            .iter()
            .find(|s| s.name == name)
            .ok_or_else(|| format!("the plan has no sub-topology `{name}`"))
    }

    fn check(&self) -> Result<(), String> {
        ensure(self.types.len() <= MAX_TYPES, "the number of types")?;
        for event_type in &self.types {
            let fields = event_type.fields.len();
            ensure(fields <= MAX_FIELDS, "the number of a type's attributes")?;
            ensure(event_type.lateness_ms >= 0, "a lateness")?;
            for index in [event_type.key, event_type.time].into_iter().flatten() {
                ensure(index < fields, "a key or time attribute")?;
            }
        }
        for (id, node) in self.nodes.iter().enumerate() {
            self.check_node(id, node)?;
        }
        for sub in &self.subtopologies {
            ensure(sub.topics.len() <= MAX_TYPES, "the number of a sub-topology's topics")?;
            for &node in &sub.nodes {
                ensure(node < self.nodes.len(), "a node of a sub-topology")?;
            }
        }
        Ok(())
    }

    fn check_node(&self, id: usize, node: &Node) -> Result<(), String> {
        match node {
            Node::Source { type_id, .. } => ensure(*type_id < self.types.len(), "a source's type"),
            Node::Pattern { terminator, constituents, .. } => {
                self.source_type(id, terminator.node)?;
                ensure(constituents.len() <= MAX_CONSTITUENTS, "the number of a pattern's constituents")?;
                for (index, constituent) in constituents.iter().enumerate() {
                    let own = self.source_type(id, constituent.node)?;
                    ensure(constituent.from <= index, "`from` of a constituent")?;
                    ensure(constituent.within_ms >= 0 && constituent.horizon_ms >= 0, "a window")?;
                    for tie in &constituent.matches {
                        let (other, field) = tie.equals;
                        ensure(tie.field < own.fields.len() && other <= index, "a match")?;
                        let node = if other == 0 { terminator.node } else { constituents[other - 1].node };
                        ensure(field < self.source_type(id, node)?.fields.len(), "a match")?;
                    }
                }
                Ok(())
            }
            Node::Define { input, type_id, values, roles, fingerprint, .. } => {
                let Some(Node::Pattern { constituents, .. }) = self.nodes[..id].get(*input) else {
                    return ensure(false, "a define's input");
                };
                ensure(roles.len() == constituents.len() + 1, "the number of a define's roles")?;
                let defined = self.types.get(*type_id).ok_or("a define's type does not exist")?;
                ensure(values.len() == defined.fields.len(), "the number of a define's values")?;
                ensure(fingerprint.len() == 16, "a fingerprint")
            }
        }
    }

    /// The event type behind a source node that node `reader` refers to.
    pub fn source_type(&self, reader: usize, node: usize) -> Result<&EventType, String> {
        match self.nodes.get(node) {
            Some(Node::Source { type_id, .. }) if node < reader => Ok(&self.types[*type_id]),
            _ => Err("the plan is inconsistent: an input is not an earlier source".into()),
        }
    }
}

fn ensure(holds: bool, what: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(format!("the plan is inconsistent: {what} is out of range"))
    }
}
