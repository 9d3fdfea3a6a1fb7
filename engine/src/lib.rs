//! The detection kernel: decodes records, orders them, detects, and encodes what was detected.
//!
//! Everything below `python` is plain Rust without knowledge of Python.

mod aggregate;
mod avro;
mod batch;
mod binding;
mod build;
mod build_cycles;
mod build_leaves;
mod build_ranks;
mod build_rules;
mod cache;
mod cells;
mod census;
mod detector;
mod event;
mod expr;
mod filter;
mod filters;
mod forward;
mod graph;
mod identity;
mod journal;
mod json;
mod key;
mod letter;
mod nodes;
mod occurrence;
mod order;
mod parcel;
mod partition;
mod plan;
mod python;
mod relation;
mod report;
mod residence;
mod rounds;
mod seen;
mod shapes;
mod state;
mod time;
mod timers;
mod value;
mod why;
mod writers;

use pyo3::prelude::*;

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<python::Batch>()?;
    module.add_class::<python::Engine>()?;
    module.add_class::<python::Commit>()?;
    module.add_class::<report::NodeCounts>()?;
    module.add_class::<report::Participant>()?;
    module.add_class::<report::Ending>()?;
    module.add("PLAN_FORMAT", plan::FORMAT)?;
    Ok(())
}
