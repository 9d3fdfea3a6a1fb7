//! Expressions of rules, compiled from the plan's nested arrays and evaluated over what fills a node's slots.
//!
//! An absent value is neither equal nor unequal nor ordered to anything: comparisons with it are false. Logic has two
//! values: what is absent is not true, so `not` of it holds.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value as Json;

use crate::aggregate::Function;
use crate::event::{Event, Slot};
use crate::relation::Relation;
use crate::value::Value;

/// Deeper nesting is refused, so that evaluation cannot exhaust the stack.
const MAX_DEPTH: usize = 200;

/// What an expression speaks of: the events in the slots of a node's occurrence.
pub trait Env<'a> {
    /// The event in a slot: the latest, where there are several; none where the slot is empty.
    fn event(&self, slot: usize) -> Option<&'a Event>;

    /// All events in a slot, in order.
    fn events(&self, slot: usize, each: &mut dyn FnMut(&'a Event)) {
        if let Some(event) = self.event(slot) {
            each(event);
        }
    }

    /// The value of an equality parameter.
    fn parameter(&self, _number: usize) -> Value<'a> {
        Value::Null
    }

    /// The value of a pattern's aggregate.
    fn aggregate(&self, _number: usize) -> Value<'a> {
        Value::Null
    }

    /// The element of a repeat before the one at hand.
    fn previous(&self, _slot: usize) -> Option<&'a Event> {
        None
    }
}

impl<'a> Env<'a> for [&'a Event] {
    #[inline]
    fn event(&self, slot: usize) -> Option<&'a Event> {
        self.get(slot).copied()
    }
}

impl<'a> Env<'a> for &'a Event {
    #[inline]
    fn event(&self, _slot: usize) -> Option<&'a Event> {
        Some(self)
    }
}

#[derive(Debug, Clone)]
pub enum Expr {
    Field {
        slot: usize,
        at: Slot,
    },
    Previous {
        slot: usize,
        at: Slot,
    },
    Boolean(bool),
    Long(i64),
    Double(f64),
    Text(Box<[u8]>),
    Null,
    Parameter(usize),
    Aggregate(usize),
    /// When the event in a slot started or ended.
    Moment {
        slot: usize,
        start: bool,
    },
    Related {
        relation: Relation,
        left: usize,
        right: usize,
    },
    /// A function of what slots collected: places in their order, without an attribute the events as such.
    Collect {
        function: Function,
        places: Vec<(usize, Option<Slot>)>,
        argument: f64,
        doubles: bool,
    },
    Compare(Comparison, Box<[Expr; 2]>),
    And(Box<[Expr; 2]>),
    Or(Box<[Expr; 2]>),
    Not(Box<Expr>),
    IsNull(Box<Expr>),
    OneOf(Vec<Expr>),
    Arithmetic(Operator, Box<[Expr; 2]>),
    Negate(Box<Expr>),
    ToDouble(Box<Expr>),
    Call(Builtin, Vec<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Debug, Clone, Copy)]
pub enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
}

/// Functions of values; of an absent value they are absent.
#[derive(Debug, Clone, Copy)]
pub enum Builtin {
    Abs,
    Round,
    Floor,
    Ceil,
    Sqrt,
    Length,
    Lower,
    Upper,
    Contains,
    StartsWith,
    EndsWith,
    Coalesce,
}

/// Finds where (slot, field) stands in a row, or says that there is none.
pub type Resolve<'a> = &'a dyn Fn(usize, usize) -> Option<Slot>;

pub fn compile(json: &Json, resolve: Resolve) -> Result<Expr, String> {
    compile_at(json, resolve, 0)
}

/// Every (slot, field) the expression reads.
pub fn fields(json: &Json, found: &mut Vec<(usize, usize)>) {
    let Some(parts) = json.as_array() else { return };
    let pair = |slot: Option<&Json>, field: Option<&Json>| Some((index(slot)?, index(field)?));
    match parts.first().and_then(Json::as_str) {
        Some("field" | "previous") => found.extend(pair(parts.get(1), parts.get(2))),
        Some("collect") => {
            let places = parts.get(2).and_then(Json::as_array).into_iter().flatten();
            found.extend(places.filter_map(|place| pair(place.get(0), place.get(1))));
        }
        _ => parts.iter().for_each(|part| fields(part, found)),
    }
}

/// Every slot the expression speaks of.
pub fn slots(json: &Json, found: &mut Vec<usize>) {
    let Some(parts) = json.as_array() else { return };
    match parts.first().and_then(Json::as_str) {
        Some("field" | "previous") => found.extend(index(parts.get(1))),
        Some("time") => found.extend(index(parts.get(2))),
        Some("related") => found.extend([2, 3].into_iter().filter_map(|side| index(parts.get(side)))),
        Some("collect") => {
            let places = parts.get(2).and_then(Json::as_array).into_iter().flatten();
            found.extend(places.filter_map(|place| index(place.get(0))));
        }
        _ => parts.iter().for_each(|part| slots(part, found)),
    }
}

/// The expression with the value of each parameter taken from the first of its places where there is an event.
pub fn with_places(json: &Json, parameters: &[Vec<(usize, usize)>]) -> Json {
    let Some(parts) = json.as_array() else { return json.clone() };
    match parts.first().and_then(Json::as_str) {
        Some("parameter") => {
            let places = index(parts.get(1)).and_then(|number| parameters.get(number));
            let fields = places
                .into_iter()
                .flatten()
                .rev()
                .map(|(slot, field)| serde_json::json!(["field", slot, field]));
            let first = |rest: Json, field: Json| serde_json::json!(["coalesce", "any", field, rest]);
            let value =
                fields.fold(None, |rest, field| Some(rest.map_or(field.clone(), |rest| first(rest, field))));
            value.unwrap_or_else(|| json.clone())
        }
        Some("const") => json.clone(),
        _ => parts.iter().map(|part| with_places(part, parameters)).collect(),
    }
}

/// Every parameter the expression speaks of, by its number.
pub fn parameters(json: &Json, found: &mut Vec<usize>) {
    let Some(parts) = json.as_array() else { return };
    match parts.first().and_then(Json::as_str) {
        Some("parameter") => found.extend(index(parts.get(1))),
        Some("const") => {}
        _ => parts.iter().for_each(|part| parameters(part, found)),
    }
}

fn index(json: Option<&Json>) -> Option<usize> {
    json.and_then(Json::as_u64).and_then(|n| usize::try_from(n).ok())
}

fn compile_at(json: &Json, resolve: Resolve, depth: usize) -> Result<Expr, String> {
    let broken = || format!("the plan has an expression this engine does not understand: {json}");
    if depth > MAX_DEPTH {
        return Err("the plan has an expression that is nested too deeply".into());
    }
    let parts = json.as_array().ok_or_else(broken)?;
    let op = parts.first().and_then(Json::as_str).ok_or_else(broken)?;
    let number = |i: usize| index(parts.get(i)).ok_or_else(broken);
    let place = || -> Result<(usize, Slot), String> {
        Ok((number(1)?, resolve(number(1)?, number(2)?).ok_or_else(broken)?))
    };
    let arg = |i: usize| compile_at(parts.get(i + 2).ok_or_else(broken)?, resolve, depth + 1);
    let two = || -> Result<Box<[Expr; 2]>, String> { Ok(Box::new([arg(0)?, arg(1)?])) };
    let all = || (0..parts.len().saturating_sub(2)).map(arg).collect::<Result<Vec<_>, _>>();
    if let Some(comparison) = Comparison::parse(op) {
        return Ok(Expr::Compare(comparison, Box::new([as_is(arg(0)?), as_is(arg(1)?)])));
    }
    if let Some(operator) = Operator::parse(op) {
        return Ok(Expr::Arithmetic(operator, two()?));
    }
    if let Some(builtin) = Builtin::parse(op) {
        let args = all()?;
        return if args.len() == builtin.arity() { Ok(Expr::Call(builtin, args)) } else { Err(broken()) };
    }
    match op {
        "field" => place().map(|(slot, at)| Expr::Field { slot, at }),
        "previous" => place().map(|(slot, at)| Expr::Previous { slot, at }),
        "const" => constant(parts).ok_or_else(broken),
        "parameter" => number(1).map(Expr::Parameter),
        "aggregate" => number(1).map(Expr::Aggregate),
        "time" => match parts.get(1).and_then(Json::as_str) {
            Some(edge @ ("start" | "end")) => Ok(Expr::Moment { slot: number(2)?, start: edge == "start" }),
            _ => Err(broken()),
        },
        "related" => {
            let relation = parts.get(1).and_then(Json::as_str).zip(parts.get(4));
            let relation =
                relation.and_then(|(op, bounds)| Relation::parse(op, bounds)).ok_or_else(broken)?;
            Ok(Expr::Related { relation, left: number(2)?, right: number(3)? })
        }
        "collect" => collect(parts, resolve).ok_or_else(broken),
        "and" => Ok(Expr::And(two()?)),
        "or" => Ok(Expr::Or(two()?)),
        "not" => Ok(Expr::Not(Box::new(arg(0)?))),
        "is_null" => Ok(Expr::IsNull(Box::new(arg(0)?))),
        "in" => {
            let args: Vec<Expr> = all()?.into_iter().map(as_is).collect();
            Some(args).filter(|args| !args.is_empty()).map(Expr::OneOf).ok_or_else(broken)
        }
        "neg" => Ok(Expr::Negate(Box::new(arg(0)?))),
        "cast" => Ok(Expr::ToDouble(Box::new(arg(0)?))),
        _ => Err(broken()),
    }
}

/// Numbers of two types are compared as they are: not every whole number is a double.
fn as_is(side: Expr) -> Expr {
    match side {
        Expr::ToDouble(number) => *number,
        other => other,
    }
}

/// `["collect", function, [[slot, field or null], …], argument]`.
fn collect(parts: &[Json], resolve: Resolve) -> Option<Expr> {
    let function = Function::parse(parts.get(1)?.as_str()?)?;
    let mut doubles = false;
    let place = |place: &Json| -> Option<(usize, Option<Slot>)> {
        let slot = index(place.get(0))?;
        match place.get(1)? {
            Json::Null => Some((slot, None)),
            field => Some((slot, Some(resolve(slot, index(Some(field))?)?))),
        }
    };
    let places: Vec<_> = parts.get(2)?.as_array()?.iter().map(place).collect::<Option<_>>()?;
    for at in places.iter().filter_map(|(_, at)| *at) {
        doubles |= at.kind == crate::event::SlotKind::Double;
    }
    let argument = parts.get(3).and_then(Json::as_f64).unwrap_or_default();
    Some(Expr::Collect { function, places, argument, doubles })
}

fn constant(parts: &[Json]) -> Option<Expr> {
    let value = parts.get(2)?;
    if value.is_null() {
        return Some(Expr::Null);
    }
    match parts.get(1)?.as_str()? {
        "boolean" => value.as_bool().map(Expr::Boolean),
        "int" | "long" | "timestamp" => value.as_i64().map(Expr::Long),
        "float" | "double" => value.as_f64().map(Expr::Double),
        "string" => value.as_str().map(|s| Expr::Text(s.as_bytes().into())),
        _ => None,
    }
}

impl Expr {
    pub fn holds<'a, E: Env<'a> + ?Sized>(&'a self, env: &E) -> bool {
        match self {
            Expr::Compare(op, args) => op.holds(&args[0].eval(env), &args[1].eval(env)),
            Expr::And(args) => args[0].holds(env) && args[1].holds(env),
            Expr::Or(args) => args[0].holds(env) || args[1].holds(env),
            other => other.eval(env) == Value::Boolean(true),
        }
    }

    pub fn eval<'a, E: Env<'a> + ?Sized>(&'a self, env: &E) -> Value<'a> {
        match self {
            Expr::Field { slot, at } => env.event(*slot).map_or(Value::Null, |event| event.value(*at)),
            Expr::Previous { slot, at } => env.previous(*slot).map_or(Value::Null, |event| event.value(*at)),
            Expr::Boolean(b) => Value::Boolean(*b),
            Expr::Long(n) => Value::Long(*n),
            Expr::Double(x) => Value::Double(*x),
            Expr::Text(s) => Value::text(s),
            Expr::Null => Value::Null,
            Expr::Parameter(number) => env.parameter(*number),
            Expr::Aggregate(number) => env.aggregate(*number),
            Expr::Moment { slot, start } => env
                .event(*slot)
                .map_or(Value::Null, |event| Value::Long(if *start { event.start } else { event.time })),
            Expr::Related { relation, left, right } => {
                let interval = |slot: usize| env.event(slot).map(|event| (event.start, event.end));
                let both = interval(*left).zip(interval(*right));
                Value::Boolean(both.is_some_and(|(left, right)| relation.holds(left, right)))
            }
            Expr::Collect { function, places, argument, doubles } => {
                let mut values: Vec<(&Event, Value)> = Vec::new();
                for (slot, at) in places {
                    // The events as such are only ever counted, and an event in several places only once.
                    env.events(*slot, &mut |event| {
                        if places.len() == 1 || !values.iter().any(|(other, _)| other.is(event)) {
                            values.push((event, at.map_or(Value::Boolean(true), |at| event.value(at))));
                        }
                    });
                }
                if places.len() > 1 {
                    values.sort_by_key(|(event, _)| event.seq);
                }
                function.of(values.into_iter().map(|(_, value)| value).collect(), *argument, *doubles)
            }
            Expr::Compare(..) | Expr::And(..) | Expr::Or(..) => Value::Boolean(self.holds(env)),
            Expr::Not(arg) => Value::Boolean(!arg.holds(env)),
            Expr::IsNull(arg) => Value::Boolean(arg.eval(env).is_null()),
            Expr::OneOf(args) => {
                let value = args[0].eval(env);
                Value::Boolean(args[1..].iter().any(|option| Comparison::Eq.holds(&value, &option.eval(env))))
            }
            Expr::Arithmetic(op, args) => op.apply(&args[0].eval(env), &args[1].eval(env)),
            Expr::Negate(arg) => match arg.eval(env) {
                Value::Long(n) => n.checked_neg().map_or(Value::Null, Value::Long),
                Value::Double(x) => Value::Double(-x),
                _ => Value::Null,
            },
            Expr::ToDouble(arg) => match arg.eval(env) {
                Value::Long(n) => Value::Double(n as f64),
                other => other,
            },
            Expr::Call(Builtin::Coalesce, args) => {
                let first = args[0].eval(env);
                if first.is_null() {
                    args[1].eval(env)
                } else {
                    first
                }
            }
            Expr::Call(builtin, args) => builtin.of(args.iter().map(|arg| arg.eval(env)).collect()),
        }
    }
}

impl Comparison {
    fn parse(op: &str) -> Option<Comparison> {
        Some(match op {
            "eq" => Comparison::Eq,
            "ne" => Comparison::Ne,
            "lt" => Comparison::Lt,
            "le" => Comparison::Le,
            "gt" => Comparison::Gt,
            "ge" => Comparison::Ge,
            _ => return None,
        })
    }

    /// The comparison with its sides exchanged.
    pub fn mirrored(self) -> Comparison {
        match self {
            Comparison::Lt => Comparison::Gt,
            Comparison::Le => Comparison::Ge,
            Comparison::Gt => Comparison::Lt,
            Comparison::Ge => Comparison::Le,
            same => same,
        }
    }

    #[inline]
    pub fn holds(self, left: &Value, right: &Value) -> bool {
        let Some(order) = left.order(right) else { return false };
        match self {
            Comparison::Eq => order == Ordering::Equal,
            Comparison::Ne => order != Ordering::Equal,
            Comparison::Lt => order == Ordering::Less,
            Comparison::Le => order != Ordering::Greater,
            Comparison::Gt => order == Ordering::Greater,
            Comparison::Ge => order != Ordering::Less,
        }
    }
}

impl Operator {
    fn parse(op: &str) -> Option<Operator> {
        Some(match op {
            "add" => Operator::Add,
            "sub" => Operator::Sub,
            "mul" => Operator::Mul,
            "div" => Operator::Div,
            "mod" => Operator::Mod,
            _ => return None,
        })
    }

    /// Integer overflow and division by zero give an absent value, which no comparison accepts.
    fn apply(self, left: &Value, right: &Value) -> Value<'static> {
        match (left, right) {
            (Value::Long(a), Value::Long(b)) => {
                let result = match self {
                    Operator::Add => a.checked_add(*b),
                    Operator::Sub => a.checked_sub(*b),
                    Operator::Mul => a.checked_mul(*b),
                    Operator::Div => a.checked_div(*b),
                    Operator::Mod => a.checked_rem(*b),
                };
                result.map_or(Value::Null, Value::Long)
            }
            (Value::Double(a), Value::Double(b)) => Value::Double(match self {
                Operator::Add => a + b,
                Operator::Sub => a - b,
                Operator::Mul => a * b,
                Operator::Div => a / b,
                Operator::Mod => a % b,
            }),
            _ => Value::Null,
        }
    }
}

impl Builtin {
    fn parse(op: &str) -> Option<Builtin> {
        Some(match op {
            "abs" => Builtin::Abs,
            "round" => Builtin::Round,
            "floor" => Builtin::Floor,
            "ceil" => Builtin::Ceil,
            "sqrt" => Builtin::Sqrt,
            "length" => Builtin::Length,
            "lower" => Builtin::Lower,
            "upper" => Builtin::Upper,
            "contains" => Builtin::Contains,
            "starts_with" => Builtin::StartsWith,
            "ends_with" => Builtin::EndsWith,
            "coalesce" => Builtin::Coalesce,
            _ => return None,
        })
    }

    fn arity(self) -> usize {
        match self {
            Builtin::Contains | Builtin::StartsWith | Builtin::EndsWith | Builtin::Coalesce => 2,
            _ => 1,
        }
    }

    fn of(self, args: Vec<Value>) -> Value<'static> {
        match (self, args.as_slice()) {
            (Builtin::Abs, [Value::Long(n)]) => n.checked_abs().map_or(Value::Null, Value::Long),
            (Builtin::Round | Builtin::Floor | Builtin::Ceil, [Value::Long(n)]) => Value::Long(*n),
            (Builtin::Abs, [Value::Double(x)]) => Value::Double(x.abs()),
            // Halves are rounded away from zero.
            (Builtin::Round, [Value::Double(x)]) => Value::Double((x.abs() + 0.5).floor().copysign(*x)),
            (Builtin::Floor, [Value::Double(x)]) => Value::Double(x.floor()),
            (Builtin::Ceil, [Value::Double(x)]) => Value::Double(x.ceil()),
            (Builtin::Sqrt, [Value::Double(x)]) => Value::Double(x.sqrt()),
            (Builtin::Length, [Value::Text(s)]) => {
                Value::Long(std::str::from_utf8(s).map_or(s.len(), |s| s.chars().count()) as i64)
            }
            (Builtin::Lower, [Value::Text(s)]) => text(String::from_utf8_lossy(s).to_lowercase()),
            (Builtin::Upper, [Value::Text(s)]) => text(String::from_utf8_lossy(s).to_uppercase()),
            (Builtin::Contains, [Value::Text(s), Value::Text(part)]) => {
                let found = part.is_empty() || s.windows(part.len()).any(|window| window == &part[..]);
                Value::Boolean(found)
            }
            (Builtin::StartsWith, [Value::Text(s), Value::Text(part)]) => Value::Boolean(s.starts_with(part)),
            (Builtin::EndsWith, [Value::Text(s), Value::Text(part)]) => Value::Boolean(s.ends_with(part)),
            _ => Value::Null,
        }
    }
}

fn text(made: String) -> Value<'static> {
    Value::Text(Cow::Owned(made.into_bytes()))
}

/// The conditions that `and` joins, in their order.
pub fn conjuncts<'a>(json: &'a Json, found: &mut Vec<&'a Json>) {
    let mut open = vec![json];
    while let Some(next) = open.pop() {
        match next.as_array().map(Vec::as_slice) {
            Some([op, _, args @ ..]) if op == "and" => open.extend(args.iter().rev()),
            _ => found.push(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> String {
        let json = serde_json::from_str(json).expect("good JSON");
        let expr = compile(&json, &|_, _| None).expect("a good expression");
        format!("{:?}", expr.eval::<[&Event]>(&[]))
    }

    fn long(op: &str, a: i64, b: i64) -> String {
        value(&format!(r#"["{op}", "long", ["const", "long", {a}], ["const", "long", {b}]]"#))
    }

    #[test]
    fn what_has_no_result_is_absent() {
        assert_eq!(long("add", i64::MAX, 1), "Null");
        assert_eq!(long("sub", i64::MIN, 1), "Null");
        assert_eq!(long("mul", i64::MAX, 2), "Null");
        assert_eq!(long("div", 1, 0), "Null");
        assert_eq!(long("mod", 1, 0), "Null");
        assert_eq!(long("div", i64::MIN, -1), "Null");
        assert_eq!(value(&format!(r#"["neg", "long", ["const", "long", {}]]"#, i64::MIN)), "Null");
    }

    #[test]
    fn division_truncates() {
        assert_eq!(long("div", -7, 2), "Long(-3)");
        assert_eq!(long("mod", -7, 2), "Long(-1)");
        assert_eq!(long("mod", 7, -2), "Long(1)");
    }

    #[test]
    fn no_comparison_accepts_what_is_absent() {
        let absent = r#"["div", "long", ["const", "long", 1], ["const", "long", 0]]"#;
        for op in ["eq", "ne", "lt", "le", "gt", "ge"] {
            assert_eq!(value(&format!(r#"["{op}", "long", {absent}, {absent}]"#)), "Boolean(false)");
            let text = r#"["const", "string", "a"]"#;
            assert_eq!(value(&format!(r#"["{op}", "string", {text}, {absent}]"#)), "Boolean(false)");
        }
        assert_eq!(value(&format!(r#"["not", "boolean", {absent}]"#)), "Boolean(true)");
    }

    #[test]
    fn the_two_zeros_are_equal() {
        let equal = r#"["eq", "double", ["const", "double", 0.0], ["const", "double", -0.0]]"#;
        assert_eq!(value(equal), "Boolean(true)");
    }

    #[test]
    fn what_is_no_expression() {
        for json in [
            "5",
            "[]",
            "[5]",
            r#"["pow", "long"]"#,
            r#"["add", "long", ["const", "long", 1]]"#,
            r#"["const", "long", 1.5]"#,
            r#"["const", "date", 1]"#,
            r#"["field", 0, -1]"#,
            r#"["field", 0, 0]"#,
        ] {
            let json = serde_json::from_str(json).expect("good JSON");
            assert!(compile(&json, &|_, _| None).is_err(), "{json}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let mut json = serde_json::json!(["const", "boolean", true]);
        for _ in 0..MAX_DEPTH + 1 {
            json = serde_json::json!(["not", "boolean", json]);
        }
        assert!(compile(&json, &|_, _| None).is_err_and(|message| message.contains("too deeply")));
    }
}
