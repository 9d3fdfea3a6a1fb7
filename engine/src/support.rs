//! What of a plan this engine can run: the language is larger than the engine, and what is missing is named.

use serde_json::Value as Json;

/// Says what the engine cannot run yet, if anything: the first such construct of the plan.
pub fn refuse_unsupported(plan: &Json) -> Result<(), String> {
    match list(&plan["nodes"]).find_map(|node| missing(node, plan)) {
        None => Ok(()),
        Some(construct) => Err(format!("this engine cannot run {construct} yet")),
    }
}

fn missing(node: &Json, plan: &Json) -> Option<String> {
    match text(&node["kind"]) {
        "source" => missing_in_source(node, plan),
        "pattern" => missing_in_pattern(node),
        "define" => missing_in_define(node, plan),
        "timer" => Some("timers".into()),
        "match" => Some("`match`".into()),
        "join" | "fact" | "change" => Some("`when`".into()),
        "rule" => Some(format!("rules with actions ({})", text(&node["rule"]))),
        operator => Some(format!("the operator `{}`", if operator == "seq" { ";" } else { operator })),
    }
}

fn missing_in_source(source: &Json, plan: &Json) -> Option<String> {
    let event = &plan["types"][index(&source["type"])];
    let name = text(&event["name"]);
    if event["origin"] == "defined" {
        return Some(format!("rules that use defined events ({name})"));
    }
    if is_given(&event["kind"]) && event["kind"] != "event" {
        return Some(format!("{}s ({name})", text(&event["kind"])));
    }
    let extended = list(&plan["types"]).any(|other| !name.is_empty() && text(&other["parent"]) == name);
    if extended || is_given(&event["parent"]) {
        return Some(format!("`extends` ({name})"));
    }
    if let Some(clause) = ["id", "start"].into_iter().find(|clause| is_given(&event[*clause])) {
        return Some(format!("the clause `{clause}` ({name})"));
    }
    if is_given(&source["within_ms"]) {
        return Some("`within` behind an event".into());
    }
    missing_attribute(event)
}

fn missing_attribute(event: &Json) -> Option<String> {
    let odd = |field: &&Json| {
        field["type"] == "bytes" || ["enum", "many"].into_iter().any(|what| is_given(&field[what]))
    };
    let field = list(&event["fields"]).find(odd)?;
    let kind = ["enum", "many"].into_iter().find(|what| is_given(&field[*what]));
    let kind = match kind {
        Some("enum") => "of enums",
        Some(_) => "that are lists",
        None => "of type bytes",
    };
    Some(format!("attributes {kind} ({}.{})", text(&event["name"]), text(&field["name"])))
}

fn missing_in_pattern(pattern: &Json) -> Option<String> {
    let constructs = [
        ("bounds", "further bounds of a constituent"),
        ("negations", "`not`"),
        ("aggregates", "aggregates"),
        ("where", "conditions on parameters"),
        ("consuming", "`consuming`"),
    ];
    list(&pattern["constituents"]).find_map(missing_in_constituent).or_else(|| {
        let found = constructs.iter().find(|(field, _)| is_given(&pattern[*field]));
        found.map(|(_, name)| (*name).into())
    })
}

fn missing_in_constituent(constituent: &Json) -> Option<String> {
    match text(&constituent["select"]) {
        "last" if constituent["count"].as_u64().is_some_and(|count| count > 1) => Some("`k last`".into()),
        "last" if constituent["horizon_ms"].is_null() => Some("constituents without a bound".into()),
        "last" => None,
        select => Some(format!("`{select}` selections")),
    }
}

fn missing_in_define(define: &Json, plan: &Json) -> Option<String> {
    let constructs = [
        ("condition", "`if`"),
        ("rate", "`at most`"),
        ("disjoint", "`disjoint`"),
        ("skip", "`skip`"),
        ("context", "contexts"),
    ];
    let found = constructs.iter().find(|(field, _)| is_given(&define[*field]));
    let named = found.map(|(_, name)| format!("{name} ({})", text(&define["rule"])));
    named.or_else(|| missing_attribute(&plan["types"][index(&define["type"])]))
}

/// Whether a field says anything: it is there, not empty and not false.
fn is_given(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(false) => false,
        Json::Array(items) => !items.is_empty(),
        _ => true,
    }
}

fn list(value: &Json) -> impl Iterator<Item = &Json> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Json) -> &str {
    value.as_str().unwrap_or_default()
}

fn index(value: &Json) -> usize {
    value.as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX)
}
