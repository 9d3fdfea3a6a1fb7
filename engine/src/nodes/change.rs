//! Changes of facts as events: `event change Equipment(state = "ONLINE") to (state = "ACTIVE")`.

use triomphe::Arc;

use super::fact::Transition;
use crate::event::{Event, Row, RowWriter};
use crate::expr::Expr;
use crate::graph::Moment;
use crate::occurrence::{Item, Occurrence};

pub struct ChangeNode {
    pub type_id: u16,
    pub before: Option<Expr>,
    pub after: Option<Expr>,
    pub event: Option<Expr>,
}

impl ChangeNode {
    /// Finds the event that a transition is, where the fact was and is as asked.
    pub fn handle(&self, transition: &Transition, moment: &mut Moment) {
        let (Some(before), Some(after)) = (&transition.before, &transition.after) else { return };
        let fulfils = |asked: &Option<Expr>, state: &Arc<Event>| {
            asked.as_ref().is_none_or(|asked| asked.holds(&&**state))
        };
        if fulfils(&self.before, before) && fulfils(&self.after, after) && fulfils(&self.event, after) {
            let mut occurrence = Occurrence::at(moment.seq, moment.time);
            let states = [before.clone(), after.clone(), Arc::new(event_of(after))];
            occurrence.items.extend(states.into_iter().zip(0..).map(|(event, slot)| Item { slot, event }));
            moment.found.push(occurrence);
        }
    }
}

/// The event of a change: it carries what the fact carries in its new state, and is called after it.
fn event_of(state: &Event) -> Event {
    let mut row = state.row.to_vec();
    let label = [b"change ", state.bytes(state.own_id)].concat();
    let own_id = row.push_tail(&label);
    Event { own_id, row: Row::from_vec(row), ..state.clone() }
}
