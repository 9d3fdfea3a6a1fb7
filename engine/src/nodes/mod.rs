//! The event graph: one file per node type, one dispatch in `graph.rs`.

pub mod define;
pub mod pattern;
pub mod source;
pub mod store;
