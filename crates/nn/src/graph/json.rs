//! JSON from untrusted files: a tree that keeps integers exact and rejects a key that occurs twice.
//!
//! The parser limits nesting to 128 levels.

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::collections::HashSet;
use std::fmt;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer above the maximum of [`Json::Int`].
    Large(u64),
    Float(f64),
    Text(String),
    List(Vec<Json>),
    Map(Vec<(String, Json)>),
}

impl Json {
    /// Parses a whole text.
    pub(crate) fn parse(text: &[u8]) -> serde_json::Result<Json> {
        serde_json::from_slice(text)
    }

    /// What it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a truth value",
            Json::Int(_) | Json::Large(_) => "an integer",
            Json::Float(_) => "a number",
            Json::Text(_) => "a text",
            Json::List(_) => "a list",
            Json::Map(_) => "an object",
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Json, D::Error> {
        struct Tree;

        impl<'de> Visitor<'de> for Tree {
            type Value = Json;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
                Ok(Json::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
                Ok(Json::Int(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
                Ok(i64::try_from(value).map_or(Json::Large(value), Json::Int))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
                Ok(Json::Float(value))
            }

            fn visit_str<E>(self, value: &str) -> Result<Json, E> {
                Ok(Json::Text(value.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Json::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
                let (mut map, mut seen) = (Vec::new(), HashSet::new());
                while let Some(key) = entries.next_key::<String>()? {
                    if !seen.insert(key.clone()) {
                        return Err(A::Error::custom(format!("'{}' occurs twice in one object", key.escape_debug())));
                    }
                    map.push((key, entries.next_value()?));
                }
                Ok(Json::Map(map))
            }
        }

        from.deserialize_any(Tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact_and_keys_unique() {
        let parsed = Json::parse(b"[18446744073709551615, -9223372036854775808, 2.0, {\"a\": null}]").unwrap();
        let map = Json::Map(vec![("a".to_owned(), Json::Null)]);
        assert_eq!(parsed, Json::List(vec![Json::Large(u64::MAX), Json::Int(i64::MIN), Json::Float(2.0), map]));
        let error = Json::parse(b"{\"a\": 1, \"a\": 2}").unwrap_err().to_string();
        assert!(error.starts_with("'a' occurs twice in one object"), "{error}");
        assert!(Json::parse("[".repeat(1000).as_bytes()).unwrap_err().to_string().contains("recursion limit"));
        assert!(Json::parse(b"1 2").is_err());
    }
}
