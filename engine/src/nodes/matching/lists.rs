//! The parts of programs that run several others: one behind the other, together, again and again.

use super::machine::Machine;
use super::program::{Number, Op};
use super::run::{End, Kind, Out, Place, Run, Start, Wants};
use super::taken::{self, Taken};
use crate::journal::Reason;

const LEFT: u64 = 0;
const RIGHT: u64 = 1;
const UNTIL: u64 = 0;
const ITERATION: u64 = 1;

/// An operand that comes true where it is started would be repeated for ever; that it is not allowed more often than
/// this keeps a rule from standing still.
const MAX_AT_ONCE: u64 = 1000;

impl Machine<'_> {
    // --- one behind the other

    pub fn start_then(
        &mut self,
        number: Number,
        left: Number,
        right: Number,
        start: Start,
    ) -> (Option<Run>, Out) {
        let (run, first) = self.start(left, start.clone());
        let mut children: Vec<Run> = run.into_iter().map(|run| run.at(LEFT)).collect();
        let mut out = Out::default();
        let mut ended = None;
        for taken in first.matches {
            // Where the left took nothing, the first step is still to come.
            let behind = if taken::same(&taken, &start.taken) { start.clone() } else { Start::behind(taken) };
            self.start_right((number, right), behind, &mut children, &mut out, &mut ended);
        }
        out.end = then_end(&children, first.end, ended);
        let run = self.run(number, Kind::Then, children);
        self.settled(run, out)
    }

    pub fn advance_then(&mut self, run: &mut Run) -> Out {
        let program = self.program;
        let Op::Then { right, .. } = &program.part(run.part).op else { return Out::default() };
        let mut out = Out::default();
        let mut ended = None;
        let has_left = run.children.first().is_some_and(|child| child.place.number == LEFT);
        for child in &mut run.children[usize::from(has_left)..] {
            let of_child = self.advance(child);
            out.matches.extend(of_child.matches);
            note_end(&mut ended, of_child.end);
            self.end(child, of_child.end);
        }
        let mut left_end = None;
        if has_left {
            let of_left = self.advance(&mut run.children[0]);
            left_end = of_left.end;
            self.end(&mut run.children[0], left_end);
            for taken in of_left.matches {
                let behind = Start::behind(taken);
                self.start_right((run.part, *right), behind, &mut run.children, &mut out, &mut ended);
            }
        }
        Self::clean(&mut run.children);
        out.end = then_end(&run.children, left_end, ended);
        out
    }

    fn start_right(
        &mut self,
        (number, right): (Number, Number),
        start: Start,
        children: &mut Vec<Run>,
        out: &mut Out,
        ended: &mut Option<bool>,
    ) {
        let expires = self.expiry(number, &start.taken);
        if expires < self.now.time {
            return self.note_late(&start.taken);
        }
        let (run, of_right) = self.start(right, start);
        children.extend(run.map(|run| run.at(RIGHT).expires_at(expires)));
        out.matches.extend(of_right.matches);
        note_end(ended, of_right.end);
    }

    /// Buries a run that ended, or that nobody waits for any more.
    fn end(&mut self, run: &mut Run, end: Option<End>) {
        if end.is_none() && self.now.is_over(run.expires) {
            self.note_expired(run);
        }
        let end = end.or_else(|| self.now.is_over(run.expires).then_some(End::Through));
        if end.is_some() {
            run.over = end;
            self.bury(run);
        }
    }

    // --- together

    pub fn start_all(&mut self, number: Number, parts: &[Number], start: Start) -> (Option<Run>, Out) {
        let taken = start.taken.clone();
        let mut children = Vec::new();
        let mut outs = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let (run, out) = self.start(*part, start.clone());
            children.extend(run.map(|run| run.at(index as u64)));
            outs.push((index, out));
        }
        let mut run = self.run(number, Kind::All { taken: taken.clone() }, children);
        let out = self.combine(&mut run, &taken, outs);
        self.settled(run, out)
    }

    pub fn advance_all(&mut self, run: &mut Run) -> Out {
        let Kind::All { taken } = &run.kind else { return Out::default() };
        let taken = taken.clone();
        let mut outs = Vec::new();
        for child in &mut run.children {
            if matches!(child.kind, Kind::Kept { .. }) {
                continue;
            }
            let out = self.advance(child);
            if out.end.is_some() {
                child.over = out.end;
                self.bury(child);
            }
            outs.push((child.place.number as usize, out));
        }
        Self::clean(&mut run.children);
        outs.sort_by_key(|(index, _)| *index);
        self.combine(run, &taken, outs)
    }

    /// Every match with each combination of the others' so far; the first part that fails ends it, whatever else comes.
    fn combine(&mut self, run: &mut Run, base: &Taken, outs: Vec<(usize, Out)>) -> Out {
        let program = self.program;
        let Op::All { parts } = &program.part(run.part).op else { return Out::default() };
        if outs.iter().any(|(_, out)| out.end == Some(End::Failed)) {
            return Out::failed();
        }
        let mut out = Out::default();
        if outs.iter().any(|(_, out)| !out.matches.is_empty()) {
            let mut so_far: Vec<Vec<Taken>> = vec![Vec::new(); parts.len()];
            for child in &run.children {
                if let Kind::Kept { taken } = &child.kind {
                    so_far[child.place.number as usize].push(taken.clone());
                }
            }
            for (index, of_part) in outs {
                for taken in of_part.matches {
                    self.combinations(base, &so_far, index, &taken, &mut out.matches);
                    let expires = self.expiry(run.part, &taken);
                    let kept = self.run(run.part, Kind::Kept { taken: taken.clone() }, Vec::new());
                    run.children.push(kept.at(index as u64).expires_at(expires));
                    so_far[index].push(taken);
                }
            }
        }
        let denied = |index: usize| matches!(program.part(parts[index]).op, Op::Denied { .. });
        let mut runs = vec![false; parts.len()];
        for child in &run.children {
            runs[child.place.number as usize] |= !matches!(child.kind, Kind::Kept { .. });
        }
        let mut awaited = (0..parts.len()).filter(|index| !denied(*index)).peekable();
        if awaited.peek().is_some() && awaited.all(|index| !runs[index]) {
            out.end = Some(End::Through);
            return out;
        }
        // A match is kept for those of the other parts that may still come.
        let coming: Vec<bool> = (0..parts.len()).map(|index| runs[index] && !denied(index)).collect();
        let needed = |index: usize| coming.iter().enumerate().any(|(other, comes)| *comes && other != index);
        for child in &mut run.children {
            let spent = !needed(child.place.number as usize) || self.now.is_over(child.expires);
            if matches!(child.kind, Kind::Kept { .. }) && spent {
                child.over = Some(End::Through);
                self.bury(child);
            }
        }
        Self::clean(&mut run.children);
        out
    }

    /// One match of a part with each combination of the others', in the order of parts, the last one fastest.
    fn combinations(
        &mut self,
        base: &Taken,
        so_far: &[Vec<Taken>],
        index: usize,
        taken: &Taken,
        found: &mut Vec<Taken>,
    ) {
        let own = std::slice::from_ref(taken);
        let choices: Vec<&[Taken]> = so_far
            .iter()
            .enumerate()
            .map(|(part, matches)| if part == index { own } else { &matches[..] })
            .collect();
        if choices.iter().any(|choices| choices.is_empty()) {
            return;
        }
        let mut chosen = vec![0; choices.len()];
        loop {
            let mut joined = base.clone();
            for (choices, at) in choices.iter().zip(&chosen) {
                joined = self.links.join(&joined, &choices[*at], base, false);
            }
            found.push(joined);
            let Some(part) = (0..choices.len()).rev().find(|part| chosen[*part] + 1 < choices[*part].len())
            else {
                return;
            };
            chosen[part] += 1;
            chosen[part + 1..].fill(0);
        }
    }

    // --- one of them, or each on its own

    pub fn start_parts(
        &mut self,
        number: Number,
        parts: &[Number],
        start: Start,
        one: bool,
    ) -> (Option<Run>, Out) {
        let mut children = Vec::new();
        let mut outs = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let (run, out) = self.start(*part, start.clone());
            children.extend(run.map(|run| run.at(index as u64)));
            outs.push(out);
        }
        let out = unite(outs, children.is_empty(), one);
        let run = self.run(number, Kind::Parts, children);
        self.settled(run, out)
    }

    pub fn advance_parts(&mut self, run: &mut Run) -> Out {
        let one = matches!(self.program.part(run.part).op, Op::OneOf { .. });
        let mut outs = Vec::new();
        for child in &mut run.children {
            let out = self.advance(child);
            if out.end.is_some() {
                child.over = out.end;
                self.bury(child);
            }
            outs.push(out);
        }
        Self::clean(&mut run.children);
        unite(outs, run.children.is_empty(), one)
    }

    // --- again and again

    pub fn start_every(&mut self, number: Number, of: Number, start: Start) -> (Option<Run>, Out) {
        let mut children = Vec::new();
        self.start_afresh(of, &start, 1, &mut children);
        let silent = self.program.part(number).silent;
        let end = (silent && children.is_empty()).then_some(End::Through);
        let run = self.run(number, Kind::Every { start }, children);
        self.settled(run, Out { matches: Vec::new(), end })
    }

    pub fn advance_every(&mut self, run: &mut Run) -> Out {
        let program = self.program;
        let part = program.part(run.part);
        let (Kind::Every { start }, Op::Every { of }) = (&run.kind, &part.op) else { return Out::default() };
        let mut out = Out::default();
        let mut fresh = 0;
        for child in &mut run.children {
            let of_child = self.advance(child);
            fresh += of_child.matches.len() + usize::from(of_child.end == Some(End::Failed));
            out.matches.extend(of_child.matches);
            if of_child.end.is_some() {
                child.over = of_child.end;
                self.bury(child);
            }
        }
        Self::clean(&mut run.children);
        self.start_afresh(*of, start, fresh, &mut run.children);
        out.end = (part.silent && run.children.is_empty()).then_some(End::Through);
        out
    }

    /// Starts instances; one that comes true or ends where it is started is dropped.
    fn start_afresh(&mut self, of: Number, start: &Start, count: usize, children: &mut Vec<Run>) {
        for _ in 0..count {
            let (run, out) = self.start(of, start.clone());
            let Some(mut run) = run else { return };
            if !out.matches.is_empty() {
                self.bury(&mut run);
                return;
            }
            children.push(run);
        }
    }

    pub fn start_repeat(&mut self, number: Number, start: Start) -> (Option<Run>, Out) {
        let pending = self.pending(number, start, Place::default());
        let mut run = self.run(number, Kind::Repeat { matched: false }, vec![pending]);
        let out = self.advance_repeat(&mut run);
        self.settled(run, out)
    }

    fn pending(&mut self, number: Number, start: Start, place: Place) -> Run {
        let run = self.run(number, Kind::Pending { start }, Vec::new());
        Run { place: Place { rank: run.id, ..place }, ..run }
    }

    /// Iterations stand in a list, each before those that its matches led to: in that order they are asked.
    pub fn advance_repeat(&mut self, run: &mut Run) -> Out {
        let program = self.program;
        let Op::Repeat { low, high, take, .. } = &program.part(run.part).op else { return Out::default() };
        let Kind::Repeat { matched } = &mut run.kind else { return Out::default() };
        let children = &mut run.children;
        let mut out = Out::default();
        let mut at = 0;
        while at < children.len() {
            let place = children[at].place;
            let mut here = None;
            if let Kind::Pending { start } = &children[at].kind {
                here = Some(start.taken.clone());
                if place.number >= *low {
                    out.matches.push(start.taken.clone());
                    run.changed |= !std::mem::replace(matched, true);
                }
            }
            let of_child = self.iterate(run.part, &mut children[at]);
            let mut behind = at + 1;
            while behind < children.len() && children[behind].place.depth > place.depth {
                behind += 1;
            }
            for taken in of_child.matches {
                let idle = here.as_ref().is_some_and(|here| taken::same(here, &taken));
                if idle && high.is_none_or(|high| high > MAX_AT_ONCE) {
                    continue;
                }
                let start = Start { taken, take: *take, between: Some(run.part) };
                let (number, depth, above) = (place.number + 1, place.depth + 1, children[at].id);
                let next = self.pending(run.part, start, Place { number, depth, rank: 0, above });
                children.insert(behind, next);
                behind += 1;
            }
            at += 1;
        }
        if children.iter().all(|child| matches!(child.kind, Kind::Ended)) {
            let failed = !*matched && all_failed(children);
            out.end = Some(if failed { End::Failed } else { End::Through });
        } else if children.iter().any(|child| child.over.is_some()) {
            self.collapse(children);
        }
        out
    }

    /// Starts or goes on with an iteration; one that ended keeps its place for the time being.
    fn iterate(&mut self, repeat: Number, child: &mut Run) -> Out {
        let program = self.program;
        let Op::Repeat { high, of, .. } = &program.part(repeat).op else { return Out::default() };
        let out = match &child.kind {
            Kind::Ended => return Out::default(),
            Kind::Pending { .. } if *high == Some(child.place.number) => {
                Out { matches: Vec::new(), end: Some(End::Through) }
            }
            Kind::Pending { start } => {
                let start = start.clone();
                let (expires, place) = (self.expiry(repeat, &start.taken), child.place);
                let (run, out) = self.start(*of, start);
                if let Some(run) = run {
                    *child = Run { place, ..run }.expires_at(expires);
                }
                out
            }
            _ => self.advance(child),
        };
        let end = out.end.or_else(|| self.now.is_over(child.expires).then_some(End::Through));
        if end.is_some() {
            self.ended = true;
            child.over = end;
            self.note_end(child);
            if out.end.is_none() {
                self.note_expired(child);
            }
            self.bury_all(&mut child.children);
            (child.kind, child.over, child.changed) = (Kind::Ended, end, true);
            (child.expires, child.wants) = (i64::MAX, Wants::NOTHING);
        }
        out
    }

    /// Takes out iterations that ended and led to nothing that goes on; one that led to a single one gives up its
    /// place to it.
    fn collapse(&mut self, children: &mut Vec<Run>) {
        let mut kept: Vec<Run> = Vec::with_capacity(children.len());
        // Places in `kept`, which is built from the end, of runs whose parent is not yet met.
        let mut open: Vec<usize> = Vec::new();
        for mut child in children.drain(..).rev() {
            let below = open.iter().rev().take_while(|at| kept[**at].place.depth > child.place.depth).count();
            let dead = matches!(child.kind, Kind::Ended);
            if dead && below < 2 {
                self.bury(&mut child);
                if below == 1 {
                    let heir = &mut kept[open[open.len() - 1]];
                    heir.place = Place { number: heir.place.number, ..child.place };
                    heir.changed = true;
                }
                continue;
            }
            child.over = None;
            open.truncate(open.len() - below);
            open.push(kept.len());
            kept.push(child);
        }
        kept.reverse();
        *children = kept;
    }

    // --- until

    pub fn start_collect(
        &mut self,
        number: Number,
        of: Number,
        until: Number,
        start: Start,
    ) -> (Option<Run>, Out) {
        let Op::Collect { high, .. } = &self.program.part(number).op else { return (None, Out::failed()) };
        let base = start.taken.clone();
        let (ending, closing) = self.start(until, Start::behind(base.clone()));
        let kind = Kind::Collect {
            base: base.clone(),
            from: base.clone(),
            taken: base,
            count: 0,
            begun: self.now.seq,
        };
        let mut run = self.run(number, kind, ending.into_iter().map(|run| run.at(UNTIL)).collect());
        let out = match self.closed(&run, closing) {
            Some(out) => out,
            None if *high == Some(0) => Out::default(),
            None => {
                let (iteration, elements) = self.start(of, start);
                run.children.extend(iteration.map(|run| run.at(ITERATION)));
                self.elements(&mut run, elements)
            }
        };
        self.settled(run, out)
    }

    pub fn advance_collect(&mut self, run: &mut Run) -> Out {
        let mut closing = Out::default();
        if let Some(until) = run.children.first_mut().filter(|child| child.place.number == UNTIL) {
            closing = self.advance(until);
        }
        if let Some(out) = self.closed(run, closing) {
            return out;
        }
        let Some(iteration) = run.children.last_mut().filter(|child| child.place.number == ITERATION) else {
            return Out::default();
        };
        let elements = self.advance(iteration);
        self.elements(run, elements)
    }

    /// What comes of it when the `until` has come true or ended: that wins over an element at its position.
    fn closed(&mut self, run: &Run, closing: Out) -> Option<Out> {
        let Op::Collect { low, .. } = &self.program.part(run.part).op else { return None };
        let Kind::Collect { base, taken, count, .. } = &run.kind else { return None };
        match closing.matches.first() {
            Some(closing) if count >= low => Some(Out::through(self.links.join(taken, closing, base, false))),
            Some(closing) => Some(self.fail(Reason::Violated, Some(closing))),
            None => closing.end.map(|_| Out::failed()),
        }
    }

    /// Collects what the iteration came true with, and starts the next where it is through.
    fn elements(&mut self, run: &mut Run, mut elements: Out) -> Out {
        let program = self.program;
        let Op::Collect { high, take, of, .. } = &program.part(run.part).op else { return Out::default() };
        let Kind::Collect { from, taken, count, begun, .. } = &mut run.kind else { return Out::default() };
        loop {
            for element in elements.matches {
                if *high == Some(*count) {
                    break;
                }
                *taken = self.links.join(taken, &element, from, true);
                *count += 1;
                run.changed = true;
            }
            let full = *high == Some(*count);
            if !full && elements.end.is_none() {
                return Out::default();
            }
            if let Some(at) = run.children.iter().position(|child| child.place.number == ITERATION) {
                self.bury(&mut run.children.remove(at));
            }
            if full {
                return Out::default();
            }
            if elements.end == Some(End::Failed) {
                return Out::failed();
            }
            // One that is through where it was started would be so for ever.
            if *begun == self.now.seq {
                return Out::default();
            }
            (*begun, *from) = (self.now.seq, taken.clone());
            let start = Start { taken: taken.clone(), take: *take, between: Some(run.part) };
            let (iteration, next) = self.start(*of, start);
            run.children.extend(iteration.map(|run| run.at(ITERATION)));
            run.changed = true;
            elements = next;
        }
    }
}

/// Notes the end of one of several: whether all that ended at this position failed.
fn note_end(ended: &mut Option<bool>, end: Option<End>) {
    if let Some(end) = end {
        *ended = Some(ended.unwrap_or(true) && end == End::Failed);
    }
}

/// It ends when nothing of it is left running, as the last did.
fn then_end(children: &[Run], left: Option<End>, ended: Option<bool>) -> Option<End> {
    if !children.is_empty() {
        return None;
    }
    Some(match ended {
        Some(true) => End::Failed,
        Some(false) => End::Through,
        None => left.unwrap_or(End::Through),
    })
}

/// The matches of parts, in their order. With `one`, the first that is through ends all; otherwise it ends with the
/// last, as that did.
fn unite(outs: Vec<Out>, none_left: bool, one: bool) -> Out {
    let mut united = Out::default();
    let mut ended = None;
    for out in outs {
        united.matches.extend(out.matches);
        if one && out.end == Some(End::Through) {
            united.end = out.end;
            return united;
        }
        note_end(&mut ended, out.end);
    }
    if none_left {
        united.end = Some(if ended == Some(false) { End::Through } else { End::Failed });
    }
    united
}

/// Whether all iterations failed that ended last: those that ended here, and led to none that did.
fn all_failed(children: &[Run]) -> bool {
    children.iter().enumerate().all(|(at, child)| {
        let below = children[at + 1..].iter().take_while(|other| other.place.depth > child.place.depth);
        child.over != Some(End::Through) || below.into_iter().any(|other| other.over.is_some())
    })
}
