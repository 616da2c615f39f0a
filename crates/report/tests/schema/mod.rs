//! A validator for the part of JSON Schema (draft 2020-12) that `docs/report-schema.json` uses. It
//! refuses keywords that it does not know, so that no rule of the schema is silently ignored.

use serde_json::{Map, Value};

/// The schema in `docs/`.
pub struct Schema {
    root: Value,
}

/// Keywords that say nothing about which documents are right.
const SILENT: [&str; 4] = ["$schema", "$defs", "title", "description"];

impl Schema {
    pub fn load() -> Schema {
        let text = include_str!("../../../../docs/report-schema.json");
        Schema { root: serde_json::from_str(text).expect("the schema is right JSON") }
    }

    pub fn validate(&self, document: &Value) -> Result<(), String> {
        self.check(&self.root, document, "")
    }

    /// Validates against one of the definitions.
    pub fn validate_as(&self, definition: &str, document: &Value) -> Result<(), String> {
        self.check(&self.root["$defs"][definition], document, "")
    }

    fn check(&self, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
        let rules = schema.as_object().expect("a schema is an object");
        for (keyword, rule) in rules {
            if !SILENT.contains(&&keyword[..]) {
                self.check_keyword((keyword, rule), rules, value, place)?;
            }
        }
        Ok(())
    }

    fn check_keyword(
        &self,
        (keyword, rule): (&str, &Value),
        rules: &Map<String, Value>,
        value: &Value,
        place: &str,
    ) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("{place}: {what}: {value}"));
        match keyword {
            "$ref" => self.check(self.resolve(rule), value, place),
            "const" if value != rule => wrong(&format!("not {rule}")),
            "enum" if !rule.as_array().expect("a list").contains(value) => wrong("none of these"),
            "type" if !has_type(value, rule) => wrong(&format!("no {rule}")),
            "minimum" if value.as_f64() < rule.as_f64() && value.is_number() => wrong("too small"),
            "const" | "enum" | "type" | "minimum" => Ok(()),
            "required" => {
                let names = rule.as_array().expect("a list").iter().filter_map(Value::as_str);
                let missing = names.into_iter().find(|name| value.get(name).is_none());
                missing.map_or(Ok(()), |name| wrong(&format!("{name} is missing")))
            }
            "properties" => self.check_properties(rule, value, place),
            "additionalProperties" => {
                assert_eq!(rule, &Value::Bool(false));
                let known = &rules["properties"];
                let mut names = value.as_object().into_iter().flat_map(Map::keys);
                let surplus = names.find(|name| known.get(name).is_none());
                surplus.map_or(Ok(()), |name| wrong(&format!("{name} is unknown")))
            }
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                for (index, item) in items {
                    self.check(rule, item, &format!("{place}/{index}"))?;
                }
                Ok(())
            }
            "oneOf" => {
                let choices = rule.as_array().expect("a list").iter();
                match choices.filter(|choice| self.check(choice, value, place).is_ok()).count() {
                    1 => Ok(()),
                    count => wrong(&format!("fits {count} of the choices")),
                }
            }
            other => panic!("the validator does not know {other}"),
        }
    }

    fn check_properties(&self, rule: &Value, value: &Value, place: &str) -> Result<(), String> {
        for (name, schema) in rule.as_object().expect("an object") {
            if let Some(field) = value.get(name) {
                self.check(schema, field, &format!("{place}/{name}"))?;
            }
        }
        Ok(())
    }

    fn resolve(&self, reference: &Value) -> &Value {
        let path = reference.as_str().and_then(|text| text.strip_prefix('#')).expect("a local ref");
        self.root.pointer(path).expect("the reference leads somewhere")
    }
}

fn has_type(value: &Value, rule: &Value) -> bool {
    let is = |name: &Value| match name.as_str().expect("the name of a type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("no type {other}"),
    };
    rule.as_array().map_or_else(|| is(rule), |names| names.iter().any(is))
}
