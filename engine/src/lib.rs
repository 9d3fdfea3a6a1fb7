//! The detection kernel: decodes records, orders them, detects, and encodes what was detected.
//!
//! Everything below `python` is plain Rust without knowledge of Python.

mod avro;
mod batch;
mod detector;
mod event;
mod expr;
mod graph;
mod identity;
mod json;
mod letter;
mod nodes;
mod order;
mod partition;
mod plan;
mod python;
mod state;
mod support;
mod time;
mod writers;

use pyo3::prelude::*;

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<python::Batch>()?;
    module.add_class::<python::Engine>()?;
    module.add_class::<python::Commit>()?;
    module.add("PLAN_FORMAT", plan::FORMAT)?;
    Ok(())
}
