//! Expressions of rules, compiled from the plan's nested arrays and evaluated over bound constituents.
//!
//! An absent value is neither equal nor unequal nor ordered to anything: comparisons with it are false.

use std::cmp::Ordering;

use serde_json::Value as Json;

use crate::event::{Event, Slot, Value};

/// Deeper nesting is refused, so that evaluation cannot exhaust the stack.
const MAX_DEPTH: usize = 200;

#[derive(Debug, Clone)]
pub enum Expr {
    Field { constituent: usize, slot: Slot },
    Boolean(bool),
    Long(i64),
    Double(f64),
    Text(Box<[u8]>),
    Compare(Comparison, Box<[Expr; 2]>),
    And(Box<[Expr; 2]>),
    Or(Box<[Expr; 2]>),
    Not(Box<Expr>),
    Arithmetic(Operator, Box<[Expr; 2]>),
    Negate(Box<Expr>),
    ToDouble(Box<Expr>),
}

#[derive(Debug, Clone, Copy)]
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

/// Finds the slot of (constituent, field), or says that there is none.
pub type Resolve<'a> = &'a dyn Fn(usize, usize) -> Option<Slot>;

pub fn compile(json: &Json, resolve: Resolve) -> Result<Expr, String> {
    compile_at(json, resolve, 0)
}

/// Every (constituent, field) the expression reads.
pub fn fields(json: &Json, found: &mut Vec<(usize, usize)>) {
    let Some(parts) = json.as_array() else { return };
    if parts.first().and_then(Json::as_str) == Some("field") {
        if let (Some(c), Some(f)) = (index(parts.get(1)), index(parts.get(2))) {
            found.push((c, f));
        }
        return;
    }
    parts.iter().for_each(|part| fields(part, found));
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
    let arg = |i: usize| compile_at(parts.get(i + 2).ok_or_else(broken)?, resolve, depth + 1);
    let two = || -> Result<Box<[Expr; 2]>, String> { Ok(Box::new([arg(0)?, arg(1)?])) };
    let compare = |c| -> Result<Expr, String> { Ok(Expr::Compare(c, two()?)) };
    let arithmetic = |o| -> Result<Expr, String> { Ok(Expr::Arithmetic(o, two()?)) };
    match op {
        "field" => {
            let constituent = index(parts.get(1)).ok_or_else(broken)?;
            let field = index(parts.get(2)).ok_or_else(broken)?;
            let slot = resolve(constituent, field).ok_or_else(broken)?;
            Ok(Expr::Field { constituent, slot })
        }
        "const" => constant(parts).ok_or_else(broken),
        "eq" => compare(Comparison::Eq),
        "ne" => compare(Comparison::Ne),
        "lt" => compare(Comparison::Lt),
        "le" => compare(Comparison::Le),
        "gt" => compare(Comparison::Gt),
        "ge" => compare(Comparison::Ge),
        "and" => Ok(Expr::And(two()?)),
        "or" => Ok(Expr::Or(two()?)),
        "not" => Ok(Expr::Not(Box::new(arg(0)?))),
        "add" => arithmetic(Operator::Add),
        "sub" => arithmetic(Operator::Sub),
        "mul" => arithmetic(Operator::Mul),
        "div" => arithmetic(Operator::Div),
        "mod" => arithmetic(Operator::Mod),
        "neg" => Ok(Expr::Negate(Box::new(arg(0)?))),
        "cast" => Ok(Expr::ToDouble(Box::new(arg(0)?))),
        _ => Err(broken()),
    }
}

fn constant(parts: &[Json]) -> Option<Expr> {
    let value = parts.get(2)?;
    match parts.get(1)?.as_str()? {
        "boolean" => value.as_bool().map(Expr::Boolean),
        "int" | "long" | "timestamp" => value.as_i64().map(Expr::Long),
        "float" | "double" => value.as_f64().map(Expr::Double),
        "string" => value.as_str().map(|s| Expr::Text(s.as_bytes().into())),
        _ => None,
    }
}

impl Expr {
    pub fn holds(&self, bound: &[&Event]) -> bool {
        match self {
            Expr::Compare(op, args) => op.holds(args[0].leaf(bound), args[1].leaf(bound)),
            other => other.eval(bound) == Value::Boolean(true),
        }
    }

    /// The same as `eval`, without a call for what most comparisons are made of.
    #[inline(always)]
    fn leaf<'a>(&'a self, bound: &[&'a Event]) -> Value<'a> {
        match self {
            Expr::Field { constituent, slot } => bound[*constituent].value(*slot),
            Expr::Long(n) => Value::Long(*n),
            Expr::Double(x) => Value::Double(*x),
            Expr::Text(s) => Value::Text(s),
            other => other.eval(bound),
        }
    }

    pub fn eval<'a>(&'a self, bound: &[&'a Event]) -> Value<'a> {
        match self {
            Expr::Field { constituent, slot } => bound[*constituent].value(*slot),
            Expr::Boolean(b) => Value::Boolean(*b),
            Expr::Long(n) => Value::Long(*n),
            Expr::Double(x) => Value::Double(*x),
            Expr::Text(s) => Value::Text(s),
            Expr::Compare(op, args) => Value::Boolean(op.holds(args[0].leaf(bound), args[1].leaf(bound))),
            Expr::And(args) => Value::Boolean(args[0].holds(bound) && args[1].holds(bound)),
            Expr::Or(args) => Value::Boolean(args[0].holds(bound) || args[1].holds(bound)),
            Expr::Not(arg) => match arg.eval(bound) {
                Value::Boolean(b) => Value::Boolean(!b),
                _ => Value::Null,
            },
            Expr::Arithmetic(op, args) => op.apply(args[0].eval(bound), args[1].eval(bound)),
            Expr::Negate(arg) => match arg.eval(bound) {
                Value::Long(n) => n.checked_neg().map_or(Value::Null, Value::Long),
                Value::Double(x) => Value::Double(-x),
                _ => Value::Null,
            },
            Expr::ToDouble(arg) => match arg.eval(bound) {
                Value::Long(n) => Value::Double(n as f64),
                other => other,
            },
        }
    }
}

impl Comparison {
    fn holds(self, left: Value, right: Value) -> bool {
        let order = match (left, right) {
            (Value::Boolean(a), Value::Boolean(b)) => Some(a.cmp(&b)),
            (Value::Long(a), Value::Long(b)) => Some(a.cmp(&b)),
            (Value::Double(a), Value::Double(b)) => a.partial_cmp(&b),
            (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
            _ => None,
        };
        let Some(order) = order else { return false };
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
    /// Integer overflow and division by zero give an absent value, which no comparison accepts.
    fn apply<'a>(self, left: Value<'a>, right: Value<'a>) -> Value<'a> {
        match (left, right) {
            (Value::Long(a), Value::Long(b)) => {
                let result = match self {
                    Operator::Add => a.checked_add(b),
                    Operator::Sub => a.checked_sub(b),
                    Operator::Mul => a.checked_mul(b),
                    Operator::Div => a.checked_div(b),
                    Operator::Mod => a.checked_rem(b),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> String {
        let json = serde_json::from_str(json).expect("good JSON");
        let expr = compile(&json, &|_, _| None).expect("a good expression");
        format!("{:?}", expr.eval(&[]))
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
        assert_eq!(value(&format!(r#"["not", "boolean", {absent}]"#)), "Null");
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
