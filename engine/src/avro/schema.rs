//! Writers' schemas, parsed from JSON into a table of types that refer to each other by index.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};

/// Limits on what a schema may be, so that no schema can exhaust memory or stack.
const MAX_TYPES: usize = 10_000;
const MAX_DEPTH: usize = 64;

pub type TypeId = usize;

#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    Null,
    Boolean,
    Int,
    Long {
        micros: bool,
    },
    Float,
    Double,
    Bytes,
    String,
    Fixed(usize),
    Enum(Vec<String>),
    Array(TypeId),
    Map(TypeId),
    Union(Vec<TypeId>),
    Record {
        name: String,
        fields: Vec<(String, TypeId)>,
    },
    /// A named type that is being read, for recursive schemas; never left in a finished schema.
    Pending,
}

#[derive(Debug, Clone)]
pub struct Schema {
    types: Vec<Type>,
    /// The types whose values take no bytes.
    empty: Vec<bool>,
    root: TypeId,
}

impl Schema {
    pub fn parse(json: &str) -> Result<Schema, String> {
        let json: Json = serde_json::from_str(json).map_err(|e| format!("the schema is not JSON: {e}"))?;
        let mut parser = Parser { types: Vec::new(), names: HashMap::new() };
        let root = parser.read(&json, "", 0)?;
        Ok(Schema { empty: find_empty(&parser.types), types: parser.types, root })
    }

    pub fn root(&self) -> TypeId {
        self.root
    }

    pub fn get(&self, id: TypeId) -> &Type {
        &self.types[id]
    }

    /// Whether values of the type take no bytes, however many there are.
    pub fn is_empty(&self, id: TypeId) -> bool {
        self.empty[id]
    }
}

fn find_empty(types: &[Type]) -> Vec<bool> {
    let mut empty = vec![false; types.len()];
    loop {
        let before = empty.iter().filter(|e| **e).count();
        for (id, kind) in types.iter().enumerate() {
            empty[id] = match kind {
                Type::Null | Type::Fixed(0) => true,
                Type::Record { fields, .. } => fields.iter().all(|(_, field)| empty[*field]),
                _ => false,
            };
        }
        if empty.iter().filter(|e| **e).count() == before {
            return empty;
        }
    }
}

struct Parser {
    types: Vec<Type>,
    names: HashMap<String, TypeId>,
}

impl Parser {
    fn add(&mut self, kind: Type) -> Result<TypeId, String> {
        if self.types.len() >= MAX_TYPES {
            return Err("the schema has too many types".into());
        }
        self.types.push(kind);
        Ok(self.types.len() - 1)
    }

    fn read(&mut self, json: &Json, namespace: &str, depth: usize) -> Result<TypeId, String> {
        if depth > MAX_DEPTH {
            return Err("the schema is nested too deeply".into());
        }
        match json {
            Json::String(name) => self.named(name, namespace),
            Json::Array(branches) => {
                let ids: Result<Vec<_>, _> =
                    branches.iter().map(|branch| self.read(branch, namespace, depth + 1)).collect();
                self.add(Type::Union(ids?))
            }
            Json::Object(object) => self.object(object, namespace, depth),
            _ => Err(format!("the schema has {json} where a type should stand")),
        }
    }

    fn named(&mut self, name: &str, namespace: &str) -> Result<TypeId, String> {
        let primitive = match name {
            "null" => Type::Null,
            "boolean" => Type::Boolean,
            "int" => Type::Int,
            "long" => Type::Long { micros: false },
            "float" => Type::Float,
            "double" => Type::Double,
            "bytes" => Type::Bytes,
            "string" => Type::String,
            _ => {
                return self
                    .names
                    .get(&full_name(name, namespace))
                    .or_else(|| self.names.get(name))
                    .copied()
                    .ok_or_else(|| format!("the schema names `{name}`, which it does not define"));
            }
        };
        self.add(primitive)
    }

    fn object(
        &mut self,
        object: &Map<String, Json>,
        namespace: &str,
        depth: usize,
    ) -> Result<TypeId, String> {
        let kind = object.get("type").ok_or("the schema has an object without a type")?;
        let Some(kind_name) = kind.as_str() else { return self.read(kind, namespace, depth + 1) };
        let child =
            |key: &str| object.get(key).ok_or_else(|| format!("the schema has a {kind_name} without {key}"));
        match kind_name {
            "array" => {
                let items = self.read(child("items")?, namespace, depth + 1)?;
                self.add(Type::Array(items))
            }
            "map" => {
                let values = self.read(child("values")?, namespace, depth + 1)?;
                self.add(Type::Map(values))
            }
            "long" => {
                let micros = object.get("logicalType").and_then(Json::as_str) == Some("timestamp-micros");
                self.add(Type::Long { micros })
            }
            "record" | "error" | "enum" | "fixed" => {
                let name = child("name")?.as_str().ok_or("the schema has a name that is not text")?;
                let own = object.get("namespace").and_then(Json::as_str).unwrap_or(namespace);
                let full = full_name(name, own);
                let inner = full.rsplit_once('.').map_or("", |(space, _)| space).to_owned();
                let id = self.add(Type::Pending)?;
                self.names.insert(full.clone(), id);
                self.types[id] = match kind_name {
                    "enum" => Type::Enum(symbols(child("symbols")?)?),
                    "fixed" => Type::Fixed(size(child("size")?)?),
                    _ => self.record(&full, child("fields")?, &inner, depth)?,
                };
                Ok(id)
            }
            _ => self.named(kind_name, namespace),
        }
    }

    fn record(&mut self, full: &str, fields: &Json, namespace: &str, depth: usize) -> Result<Type, String> {
        let list = fields.as_array().ok_or("the schema has a record whose fields are no list")?;
        let mut fields = Vec::with_capacity(list.len());
        for field in list {
            let name =
                field.get("name").and_then(Json::as_str).ok_or("the schema has a field without a name")?;
            let kind = field.get("type").ok_or_else(|| format!("the schema's field `{name}` has no type"))?;
            fields.push((name.to_owned(), self.read(kind, namespace, depth + 1)?));
        }
        Ok(Type::Record { name: full.to_owned(), fields })
    }
}

fn full_name(name: &str, namespace: &str) -> String {
    if name.contains('.') || namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}.{name}")
    }
}

fn symbols(json: &Json) -> Result<Vec<String>, String> {
    let list = json.as_array().ok_or("the schema has an enum whose symbols are no list")?;
    list.iter()
        .map(|s| {
            s.as_str()
                .map(str::to_owned)
                .ok_or_else(|| "the schema has an enum symbol that is not text".into())
        })
        .collect()
}

fn size(json: &Json) -> Result<usize, String> {
    json.as_u64()
        .and_then(|n| usize::try_from(n).ok())
        .ok_or_else(|| "the schema has a fixed type without a size".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Schema {
        Schema::parse(json).expect("a good schema")
    }

    #[test]
    fn names_are_looked_up_in_their_namespace() {
        let schema = parse(
            r#"{"type": "record", "name": "a.b.R", "fields": [
                {"name": "one", "type": {"type": "enum", "name": "E", "symbols": ["X"]}},
                {"name": "two", "type": "E"},
                {"name": "three", "type": "a.b.E"},
                {"name": "four", "type": {"type": "fixed", "name": "E", "namespace": "c", "size": 2}},
                {"name": "five", "type": "c.E"},
                {"name": "six", "type": "E"}
            ]}"#,
        );
        let Type::Record { name, fields } = schema.get(schema.root()) else { panic!("a record") };
        assert_eq!(name, "a.b.R");
        let is_enum = |id: &TypeId| matches!(schema.get(*id), Type::Enum(_));
        let enums: Vec<bool> = fields.iter().map(|(_, id)| is_enum(id)).collect();
        assert_eq!(enums, [true, true, true, false, false, true]);
    }

    #[test]
    fn types_without_bytes() {
        let empty = |json: &str| {
            let schema = parse(json);
            schema.is_empty(schema.root())
        };
        assert!(empty(r#""null""#));
        assert!(empty(r#"{"type": "fixed", "name": "F", "size": 0}"#));
        assert!(empty(
            r#"{"type": "record", "name": "R", "fields": [{"name": "a", "type":
                {"type": "record", "name": "S", "fields": [{"name": "b", "type": "null"}]}}]}"#
        ));
        assert!(!empty(r#"["null"]"#));
        assert!(!empty(r#"{"type": "array", "items": "null"}"#));
        assert!(!empty(r#"{"type": "record", "name": "R", "fields": [{"name": "a", "type": "R"}]}"#));
        assert!(!empty(
            r#"{"type": "record", "name": "R", "fields": [{"name": "a", "type": "null"},
                {"name": "b", "type": "int"}]}"#
        ));
    }
}
