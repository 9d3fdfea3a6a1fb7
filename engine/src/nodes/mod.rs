//! The event graph: one file per node type, one dispatch in `graph.rs`.

pub mod ahead;
pub mod change;
pub mod conditions;
pub mod define;
pub mod emission;
pub mod fact;
pub mod join;
mod join_why;
pub mod limit;
pub mod matching;
pub mod operator;
pub mod pattern;
mod pattern_why;
pub mod pool;
pub mod route;
pub mod rule;
pub mod store;
pub mod timer;
