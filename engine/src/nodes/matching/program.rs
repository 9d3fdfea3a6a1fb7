//! The program of a match: its parts numbered, with what is known of them beforehand.

use crate::build::Builder;
use crate::expr::Expr;
use crate::plan::{self, Take};

/// A part of a program, by number; parts refer to their own parts by number.
pub type Number = u16;

pub enum Op {
    Step {
        slot: u16,
        condition: Option<Expr>,
    },
    /// Without a slot, the point in time is not taken.
    Wait {
        delay_ms: i64,
        slot: Option<u16>,
    },
    Then {
        left: Number,
        right: Number,
    },
    All {
        parts: Vec<Number>,
    },
    OneOf {
        parts: Vec<Number>,
    },
    Alternatives {
        parts: Vec<Number>,
    },
    Taking {
        take: Take,
        of: Number,
    },
    Every {
        of: Number,
    },
    Denied {
        of: Number,
    },
    AtMost {
        count: u64,
        of: Number,
    },
    While {
        condition: Expr,
        of: Number,
    },
    Within {
        within_ms: i64,
        since: Option<u16>,
        of: Number,
    },
    Absent {
        within_ms: i64,
        since: Option<u16>,
        of: Number,
    },
    Repeat {
        low: u64,
        high: Option<u64>,
        take: Take,
        condition: Option<Expr>,
        of: Number,
    },
    /// A repeat with an `until`.
    Collect {
        low: u64,
        high: Option<u64>,
        take: Take,
        condition: Option<Expr>,
        of: Number,
        until: Number,
    },
}

pub struct Part {
    pub op: Op,
    /// Whether nobody looks at how and when it ends, so that what cannot come true any more need not be kept.
    pub silent: bool,
    /// Times counted from what was taken: (slot, milliseconds). What comes true later is not passed on, and nobody
    /// sees that it does.
    pub bounds: Vec<(u16, i64)>,
}

pub struct Program {
    parts: Vec<Part>,
    pub root: Number,
    /// Whether some step takes the next event of the stream.
    pub streams: bool,
    /// Whether each of the parameters is mentioned by something taken, however it comes true.
    pub binds_all: bool,
}

/// The parameters that a step in a slot mentions, a bit each.
pub type Mentions<'a> = &'a dyn Fn(usize) -> u32;

struct Compiler<'a> {
    builder: &'a Builder<'a>,
    types: &'a [Option<usize>],
    steps: &'a [plan::Step],
    /// Whether a point in time in a slot is taken.
    named: &'a dyn Fn(usize) -> bool,
    parts: Vec<Part>,
    streams: bool,
}

impl Program {
    pub fn compile(
        builder: &Builder,
        matching: &plan::Matching,
        types: &[Option<usize>],
        named: &dyn Fn(usize) -> bool,
        mentions: Mentions,
    ) -> Result<Program, String> {
        let steps = &matching.steps;
        let mut compiler = Compiler { builder, types, steps, named, parts: Vec::new(), streams: false };
        let root = compiler.add(&matching.program, true, &[])?;
        let Compiler { parts, streams, .. } = compiler;
        let all = (0..matching.parameters.len()).fold(0_u32, |all, number| all | 1 << number);
        Ok(Program { parts, root, streams, binds_all: bound(&matching.program, mentions) == all })
    }

    #[inline]
    pub fn part(&self, number: Number) -> &Part {
        &self.parts[usize::from(number)]
    }

    pub fn get(&self, number: Number) -> Option<&Part> {
        self.parts.get(usize::from(number))
    }

    /// The condition between an element of a repeat and the one before.
    pub fn between(&self, repeat: Number) -> Option<&Expr> {
        match &self.part(repeat).op {
            Op::Repeat { condition, .. } | Op::Collect { condition, .. } => condition.as_ref(),
            _ => None,
        }
    }
}

impl Compiler<'_> {
    fn add(
        &mut self,
        program: &plan::Program,
        silent: bool,
        bounds: &[(u16, i64)],
    ) -> Result<Number, String> {
        use plan::Program as Given;
        // What is below something that counts or judges what comes true is seen, even if it comes too late.
        let seen: &[(u16, i64)] = &[];
        let op = match program {
            Given::Step { slot } => {
                let condition = self.builder.optional(&self.steps[*slot].condition, self.types)?;
                Op::Step { slot: *slot as u16, condition }
            }
            Given::Wait { delay_ms, slot } => {
                Op::Wait { delay_ms: *delay_ms, slot: (self.named)(*slot).then_some(*slot as u16) }
            }
            Given::Then { of } => {
                Op::Then { left: self.add(&of[0], silent, bounds)?, right: self.add(&of[1], silent, bounds)? }
            }
            Given::And { of } => Op::All { parts: self.add_all(of, false, seen)? },
            Given::Or { of } => Op::OneOf { parts: self.add_all(of, false, seen)? },
            Given::Alternatives { of } => Op::Alternatives { parts: self.add_all(of, silent, bounds)? },
            Given::Taking { take, of } => {
                self.streams |= *take == Take::Next;
                Op::Taking { take: *take, of: self.add(of, silent, bounds)? }
            }
            Given::Every { of } => Op::Every { of: self.add(of, false, seen)? },
            Given::Not { of } => Op::Denied { of: self.add(of, true, seen)? },
            Given::AtMost { count, of } => Op::AtMost { count: *count, of: self.add(of, silent, seen)? },
            Given::While { condition, of } => {
                let condition = self.builder.compile(condition, self.types)?;
                Op::While { condition, of: self.add(of, silent, seen)? }
            }
            Given::Within { within_ms, since, of } => {
                let since = since.map(|slot| slot as u16);
                let own = since.map(|slot| (slot, *within_ms)).filter(|_| silent);
                let within: Vec<_> = bounds.iter().copied().chain(own).collect();
                Op::Within { within_ms: *within_ms, since, of: self.add(of, silent, &within)? }
            }
            Given::Absent { within_ms, since, of } => Op::Absent {
                within_ms: *within_ms,
                since: since.map(|slot| slot as u16),
                of: self.add(of, true, seen)?,
            },
            Given::Repeat { low, high, take, condition, until, of } => {
                self.streams |= *take == Take::Next;
                let condition = self.builder.optional(condition, self.types)?;
                let (low, high, take) = (*low, *high, *take);
                match until {
                    None => {
                        let of = self.add(of, silent, bounds)?;
                        Op::Repeat { low, high, take, condition, of }
                    }
                    Some(until) => {
                        let (of, until) = (self.add(of, false, seen)?, self.add(until, false, seen)?);
                        Op::Collect { low, high, take, condition, of, until }
                    }
                }
            }
        };
        let number = Number::try_from(self.parts.len()).map_err(|_| "a match has too many parts")?;
        self.parts.push(Part { op, silent, bounds: bounds.to_vec() });
        Ok(number)
    }

    fn add_all(
        &mut self,
        of: &[plan::Program],
        silent: bool,
        bounds: &[(u16, i64)],
    ) -> Result<Vec<Number>, String> {
        of.iter().map(|part| self.add(part, silent, bounds)).collect()
    }
}

/// The parameters that something taken mentions, however the program comes true.
fn bound(program: &plan::Program, mentions: Mentions) -> u32 {
    use plan::Program as Given;
    let all = |of: &[Given]| of.iter().fold(0, |all, part| all | bound(part, mentions));
    match program {
        Given::Step { slot } => mentions(*slot),
        Given::Wait { .. } | Given::Not { .. } | Given::Absent { .. } => 0,
        Given::Then { of } | Given::And { of } => all(of),
        Given::Or { of } | Given::Alternatives { of } => {
            of.iter().fold(u32::MAX, |common, part| common & bound(part, mentions))
        }
        Given::Repeat { low, of, until, .. } => {
            let taken = if *low > 0 { bound(of, mentions) } else { 0 };
            taken | until.as_ref().map_or(0, |until| bound(until, mentions))
        }
        Given::Taking { of, .. }
        | Given::Every { of }
        | Given::AtMost { of, .. }
        | Given::While { of, .. }
        | Given::Within { of, .. } => bound(of, mentions),
    }
}
