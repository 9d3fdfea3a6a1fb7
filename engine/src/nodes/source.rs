//! A leaf of the event graph: the events of one type that pass a filter.

use crate::event::Event;
use crate::expr::Expr;

pub struct SourceNode {
    pub filter: Option<Expr>,
    /// The nodes that read this one, and through which port.
    pub readers: Vec<(usize, usize)>,
}

impl SourceNode {
    #[inline]
    pub fn passes(&self, event: &Event) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.holds(&[event]))
    }
}
