//! The equality parameters of an operator: for which of their values what its operands signal holds.

use smallvec::SmallVec;
use triomphe::Arc;

use super::shape::Shape;
use crate::binding::{self, Binding, Values};
use crate::build::Builder;
use crate::event::Slot;
use crate::key::{self, Key};
use crate::occurrence::Occurrence;
use crate::plan;

/// An equality parameter.
pub struct Parameter {
    /// The slots that hold its value, and where.
    pub places: Vec<(u16, Slot)>,
    /// For each place of the node, its number among the parameters of that operand.
    below: Vec<Option<usize>>,
}

/// For which values of the node's parameters an operand's occurrence holds.
pub struct Bound {
    pub values: Key,
    pub except: Vec<Key>,
    /// Whether there is a value for each.
    pub complete: bool,
}

impl Shape {
    pub fn parameter(
        &self,
        builder: &Builder,
        id: usize,
        raw: &plan::Operator,
        places: &[plan::Place],
    ) -> Result<Parameter, String> {
        let unread = || "the plan is inconsistent: a parameter reads no attribute".to_owned();
        let mut below = vec![None; self.places.len()];
        for (&input, &place) in raw.inputs.iter().zip(&self.ports) {
            let Some(operand) = builder.plan.nodes[input].operator() else { continue };
            let base = usize::from(self.places[place].base);
            let range = base..base + usize::from(self.places[place].width);
            let there: Vec<plan::Place> = places
                .iter()
                .filter(|(slot, _)| range.contains(slot))
                .map(|(slot, field)| (slot - base, *field))
                .collect();
            if !there.is_empty() {
                // Two parameters may have the same places there.
                let taken =
                    |number: usize| self.parameters.iter().any(|other| other.below[place] == Some(number));
                let mut alike = (0..operand.parameters.len()).filter(|n| operand.parameters[*n] == there);
                below[place] = Some(alike.find(|number| !taken(*number)).ok_or_else(unread)?);
            }
        }
        let at =
            |&(slot, field): &plan::Place| Some((u16::try_from(slot).ok()?, builder.place(id, slot, field)?));
        let places: Option<Vec<_>> = places.iter().map(at).collect();
        Ok(Parameter { places: places.ok_or_else(unread)?, below })
    }

    pub fn parameters(&self) -> usize {
        self.parameters.len()
    }

    /// For which values an operand's occurrence holds; for none where one of its own is absent.
    pub fn bound(&self, place: usize, occurrence: &Occurrence) -> Option<Bound> {
        let mut own: SmallVec<[Option<Key>; 2]> = SmallVec::new();
        let range = self.places[place];
        for parameter in &self.parameters {
            let there = parameter.places.iter().filter(|(slot, _)| range.holds(*slot));
            let mut events =
                there.flat_map(|(slot, at)| occurrence.events(slot - range.base).map(|event| (event, *at)));
            own.push(match events.next() {
                Some((event, at)) => Some(key::key_of(std::iter::once(event.value(at)))?),
                None => None,
            });
        }
        let mut except = Vec::new();
        let mut values: Values = own.iter().map(Option::as_deref).collect();
        if let Some(binding) = &occurrence.binding {
            let count = self.parameters.iter().filter(|parameter| parameter.below[place].is_some()).count();
            let there = self.here(place, &binding.values, count)?;
            values.iter_mut().zip(there).for_each(|(value, there)| *value = value.or(there));
            for other in &binding.except {
                except.push(binding::encode(&self.here(place, other, count)?));
            }
        }
        let complete = values.iter().all(Option::is_some);
        if !self.are_apart(&values) {
            return None;
        }
        Some(Bound { values: binding::encode(&values), except, complete })
    }

    /// Whether values can be those of one binding.
    pub fn are_apart(&self, values: &Values) -> bool {
        let value = |number: &usize| values.get(*number).copied().flatten();
        let known: SmallVec<[&[u8]; 2]> = self.apart.iter().filter_map(value).collect();
        (1..known.len()).all(|n| !known[..n].contains(&known[n]))
    }

    /// The values of an operand's parameters as those of the node's own.
    fn here<'a>(&self, place: usize, key: &'a [u8], count: usize) -> Option<Values<'a>> {
        let there = binding::decode(key, count)?;
        Some(self.parameters.iter().map(|parameter| there[parameter.below[place]?]).collect())
    }

    /// Whether the events of an occurrence of the node say for which values it holds.
    pub fn tells_values(&self, occurrence: &Occurrence) -> bool {
        let known = |parameter: &Parameter| {
            parameter.places.iter().any(|(slot, _)| occurrence.items.iter().any(|item| item.slot == *slot))
        };
        self.parameters.iter().all(known)
    }

    /// What an occurrence of the node that an operand passed on holds for, where its events do not tell.
    pub fn binding(&self, occurrence: &Occurrence, bound: Bound) -> Option<Arc<Binding>> {
        let Bound { values, except, .. } = bound;
        (!self.tells_values(occurrence)).then(|| Arc::new(Binding { values, except }))
    }
}
