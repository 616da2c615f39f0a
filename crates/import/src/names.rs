//! The names of locals. A local of Rust may hide another of the same name, and may be called what is
//! a word of the language, or what a shared variable is called; here each has a name of its own.

use std::collections::{HashMap, HashSet};

/// Words that cannot name a variable.
const WORDS: &[&str] = &[
    "any",
    "assert",
    "assume",
    "atomic",
    "await",
    "bool",
    "break",
    "cas",
    "choose",
    "client",
    "const",
    "continue",
    "else",
    "empty",
    "enum",
    "expect",
    "false",
    "fence",
    "fetch_add",
    "fn",
    "for",
    "free",
    "if",
    "in",
    "init",
    "int",
    "key",
    "len",
    "let",
    "ll",
    "load",
    "lock",
    "loop",
    "map",
    "method",
    "new",
    "none",
    "null",
    "object",
    "or",
    "plain",
    "repeat",
    "return",
    "sc",
    "self",
    "seq",
    "set",
    "spec",
    "store",
    "struct",
    "swap",
    "thread",
    "tid",
    "true",
    "unlock",
    "value",
    "var",
    "while",
];

/// The names in scope.
pub(crate) struct Names {
    taken: HashSet<String>,
    scopes: Vec<HashMap<String, String>>,
}

impl Names {
    /// Names that differ from those that are taken.
    pub fn new(taken: HashSet<String>) -> Self {
        Names { taken, scopes: vec![HashMap::new()] }
    }

    pub fn enter(&mut self) {
        self.scopes.push(HashMap::new());
    }

    pub fn leave(&mut self) {
        self.scopes.pop();
    }

    /// A new local.
    pub fn declare(&mut self, name: &str) -> String {
        let fresh = self.fresh(name);
        self.innermost().insert(name.to_owned(), fresh.clone());
        fresh
    }

    /// A new local of ours, which the source cannot name.
    pub fn fresh(&mut self, name: &str) -> String {
        let mut fresh = name.trim_start_matches("r#").to_owned();
        while WORDS.contains(&fresh.as_str()) || !self.taken.insert(fresh.clone()) {
            fresh.push('_');
        }
        fresh
    }

    /// Gives a local of ours a name of the source.
    pub fn call(&mut self, name: &str, own: &str) {
        self.innermost().insert(name.to_owned(), own.to_owned());
    }

    /// How deep the present block is.
    pub fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// What a local is called.
    pub fn get(&self, name: &str) -> Option<&String> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    fn innermost(&mut self) -> &mut HashMap<String, String> {
        self.scopes.last_mut().expect("a method has a scope")
    }
}

/// A name of a field, a struct or a function, which must not be a word of the language.
pub(crate) fn plain(name: &str) -> String {
    let mut plain = name.trim_start_matches("r#").to_owned();
    if WORDS.contains(&plain.as_str()) {
        plain.push('_');
    }
    plain
}
