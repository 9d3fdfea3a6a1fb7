//! The event graph: one file per node type, one dispatch in `graph.rs`.

pub mod change;
pub mod conditions;
pub mod define;
pub mod fact;
pub mod join;
pub mod matching;
pub mod operator;
pub mod pattern;
pub mod pool;
pub mod route;
pub mod rule;
pub mod store;
pub mod timer;
