//! Conditions between the operands of an operator: only those between the parts at hand are looked at.

use std::cell::Cell as Once;

use smallvec::SmallVec;

use super::shape::{Part, Shape};
use crate::build::Builder;
use crate::event::Event;
use crate::expr::{self, Env, Expr};
use crate::plan::RawExpr;
use crate::value::Value;

/// A condition, the places it has to do with, and the slot whose events it is a condition of.
pub struct Condition {
    expr: Expr,
    places: SmallVec<[usize; 4]>,
    own: u16,
}

impl Shape {
    pub fn condition(
        &self,
        builder: &Builder,
        id: usize,
        json: &RawExpr,
        of: Option<usize>,
    ) -> Result<Condition, String> {
        let (mut slots, mut parameters) = (Vec::new(), Vec::new());
        expr::slots(json, &mut slots);
        expr::parameters(json, &mut parameters);
        let own = of.ok_or("the plan is inconsistent: a condition of no constituent")?;
        let given =
            parameters.iter().filter_map(|number| self.parameters.get(*number)).flat_map(|p| &p.places);
        let slots = slots.iter().copied().chain([own]).chain(given.map(|(slot, _)| usize::from(*slot)));
        let mut places: SmallVec<[usize; 4]> = slots.filter_map(|slot| self.place_of_slot(slot)).collect();
        places.sort_unstable();
        places.dedup();
        let own =
            u16::try_from(own).map_err(|_| "the plan is inconsistent: a condition of no constituent")?;
        let expr = expr::compile(json, &|slot, field| builder.place(id, slot, field))?;
        Ok(Condition { expr, places, own })
    }

    /// Whether the conditions between exactly these two hold.
    pub fn fits(&self, one: Part, other: Part) -> bool {
        self.conditions.is_empty() || {
            let parts = [one, other];
            let between = |condition: &&Condition| condition.places.len() == 2 && condition.is_among(&parts);
            self.conditions.iter().filter(between).all(|condition| self.holds(condition, &parts))
        }
    }

    /// Whether all conditions among these hold.
    pub fn all_fit(&self, parts: &[Part]) -> bool {
        let among = |condition: &&Condition| condition.places.len() > 1 && condition.is_among(parts);
        self.conditions.iter().filter(among).all(|condition| self.holds(condition, parts))
    }

    pub fn has_conditions(&self) -> bool {
        !self.conditions.is_empty()
    }

    fn holds(&self, condition: &Condition, parts: &[Part]) -> bool {
        let scope = Together { shape: self, parts, own: Once::new(None) };
        let Some(place) = self.place_of_slot(usize::from(condition.own)) else { return true };
        let base = self.places[place].base;
        let owners = parts.iter().filter(|(other, _)| *other == place);
        let mut events = owners.flat_map(|(_, part)| part.events(condition.own - base));
        // Where one of several collected has such a condition, they all have it.
        events.all(|event| {
            scope.own.set(Some((condition.own, event)));
            condition.expr.holds(&scope)
        })
    }
}

impl Condition {
    fn is_among(&self, parts: &[Part]) -> bool {
        self.places.iter().all(|place| parts.iter().any(|(other, _)| other == place))
    }
}

/// What a condition sees: the parts at hand, and of those that have the condition one event after the other.
struct Together<'a, 'b> {
    shape: &'a Shape,
    parts: &'b [Part<'a>],
    own: Once<Option<(u16, &'a Event)>>,
}

impl<'a> Env<'a> for Together<'a, '_> {
    fn event(&self, slot: usize) -> Option<&'a Event> {
        if let Some((_, event)) = self.own.get().filter(|(own, _)| usize::from(*own) == slot) {
            return Some(event);
        }
        let place = self.shape.place_of_slot(slot)?;
        let slot = slot as u16 - self.shape.places[place].base;
        let mut parts = self.parts.iter().filter(|(other, _)| *other == place);
        let event = parts.find_map(|(_, part)| part.events(slot).next_back())?;
        Some(event)
    }

    fn parameter(&self, number: usize) -> Value<'a> {
        let places = self.shape.parameters.get(number).map_or(&[][..], |parameter| &parameter.places);
        let mut events = places.iter().filter_map(|(slot, at)| Some((self.event(usize::from(*slot))?, *at)));
        events.next().map_or(Value::Null, |(event, at)| event.value(at))
    }
}
