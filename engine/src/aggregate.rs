//! Functions of many values, in the order of their occurrences; absent values are left out.

use std::cmp::Ordering;

use rustc_hash::FxHashSet;

use crate::key::Key;
use crate::value::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Count,
    Distinct,
    Sum,
    Avg,
    Min,
    Max,
    Stddev,
    First,
    Last,
    Percentile,
    List,
}

impl Function {
    pub fn parse(name: &str) -> Option<Function> {
        Some(match name {
            "count" => Function::Count,
            "distinct" => Function::Distinct,
            "sum" => Function::Sum,
            "avg" => Function::Avg,
            "min" => Function::Min,
            "max" => Function::Max,
            "stddev" => Function::Stddev,
            "first" => Function::First,
            "last" => Function::Last,
            "percentile" => Function::Percentile,
            "list" => Function::List,
            _ => return None,
        })
    }

    /// The value of the function; `doubles` says of which type a sum is, that of nothing too.
    pub fn of<'a>(self, values: Vec<Value<'a>>, argument: f64, doubles: bool) -> Value<'a> {
        let mut values: Vec<Value> = values.into_iter().filter(|value| !value.is_null()).collect();
        match self {
            Function::Count => Value::Long(values.len() as i64),
            Function::Distinct => Value::Long(distinct(&values) as i64),
            // The sum of nothing is 0, not -0 as that of an iterator.
            Function::Sum if doubles => Value::Double(doubled(&values).fold(0.0, |sum, value| sum + value)),
            Function::Sum => values
                .iter()
                .try_fold(0_i64, |sum, value| match value {
                    Value::Long(n) => sum.checked_add(*n),
                    _ => None,
                })
                .map_or(Value::Null, Value::Long),
            Function::List => Value::List(values),
            _ if values.is_empty() => Value::Null,
            Function::Avg => Value::Double(mean(&values)),
            Function::Stddev => Value::Double(deviation(&values)),
            Function::Min => values
                .into_iter()
                .reduce(|a, b| if b.order(&a) == Some(Ordering::Less) { b } else { a })
                .unwrap_or(Value::Null),
            Function::Max => values
                .into_iter()
                .reduce(|a, b| if b.order(&a) == Some(Ordering::Greater) { b } else { a })
                .unwrap_or(Value::Null),
            Function::First => values.swap_remove(0),
            Function::Last => values.pop().unwrap_or(Value::Null),
            Function::Percentile => percentile(values, argument),
        }
    }
}

fn doubled<'a>(values: &'a [Value]) -> impl Iterator<Item = f64> + 'a {
    values.iter().filter_map(Value::as_double)
}

fn mean(values: &[Value]) -> f64 {
    // Whole numbers are added exactly.
    let whole: Option<i128> = values
        .iter()
        .map(|value| match value {
            Value::Long(n) => Some(i128::from(*n)),
            _ => None,
        })
        .sum();
    let sum = whole.map_or_else(|| doubled(values).sum(), |sum| sum as f64);
    sum / values.len() as f64
}

/// Of the values themselves, not an estimate from a sample: 0 for one value.
fn deviation(values: &[Value]) -> f64 {
    let middle = mean(values);
    let squares: f64 = doubled(values).map(|x| (x - middle).powi(2)).sum();
    (squares / values.len() as f64).sqrt()
}

/// By nearest rank: always one of the values. What is not a number stands behind all numbers.
fn percentile(mut values: Vec<Value>, percentage: f64) -> Value {
    let is_number = |value: &Value| !matches!(value, Value::Double(x) if x.is_nan());
    values.sort_by(|a, b| a.order(b).unwrap_or_else(|| is_number(b).cmp(&is_number(a))));
    let rank = (percentage * values.len() as f64 / 100.0).ceil() as usize;
    let index = rank.clamp(1, values.len()) - 1;
    values.swap_remove(index)
}

fn distinct(values: &[Value]) -> usize {
    let mut seen: FxHashSet<Key> = FxHashSet::default();
    values
        .iter()
        .filter(|value| {
            let mut key = Key::new();
            // What is not a number equals nothing, itself included.
            !crate::key::push(&mut key, value) || seen.insert(key)
        })
        .count()
}
