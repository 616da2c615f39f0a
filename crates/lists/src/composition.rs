//! What runs in parallel: `add || remove`, `(add; contains) || remove`.

use seriatim_lang::program::Program;
use std::fmt;

/// The largest number of operations of a composition.
pub const MAX_OPERATIONS: usize = 6;

/// The methods that each thread calls, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Composition {
    /// One list of method names for each thread.
    pub threads: Vec<Vec<String>>,
}

/// Why a text is no composition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompositionError {
    /// A method name was expected here (byte offset).
    NameExpected(usize),
    /// `||`, `;` or `)` was expected here.
    OperatorExpected(usize),
    /// A parenthesis is not closed.
    Unclosed(usize),
    /// There are more operations than the engine can take.
    TooMany(usize),
}

impl fmt::Display for CompositionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameExpected(at) => write!(f, "column {}: a method name is expected", at + 1),
            Self::OperatorExpected(at) => {
                write!(f, "column {}: `||` is expected (or `;` inside parentheses)", at + 1)
            }
            Self::Unclosed(at) => write!(f, "column {}: this `(` is not closed", at + 1),
            Self::TooMany(count) => {
                write!(f, "{count} operations; at most {MAX_OPERATIONS} are possible")
            }
        }
    }
}

impl std::error::Error for CompositionError {}

/// Reads a composition: threads are separated by `||`, the calls of a thread by `;` within
/// parentheses.
///
/// ```
/// let two = seriatim_lists::parse_composition("(add; contains) || remove").unwrap();
/// assert_eq!(two.threads, [vec!["add", "contains"], vec!["remove"]]);
/// assert_eq!(two.to_string(), "(add; contains) || remove");
/// assert!(seriatim_lists::parse_composition("add | remove").is_err());
/// ```
pub fn parse_composition(text: &str) -> Result<Composition, CompositionError> {
    let mut reader = Reader { text, at: 0 };
    let mut threads = vec![reader.thread()?];
    while !reader.ended() {
        if !reader.takes("||") {
            return Err(CompositionError::OperatorExpected(reader.at));
        }
        threads.push(reader.thread()?);
    }
    let count = threads.iter().map(Vec::len).sum();
    if count > MAX_OPERATIONS {
        return Err(CompositionError::TooMany(count));
    }
    Ok(Composition { threads })
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn skip(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn ended(&mut self) -> bool {
        self.skip();
        self.at == self.text.len()
    }

    fn takes(&mut self, token: &str) -> bool {
        self.skip();
        let found = self.text[self.at..].starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn name(&mut self) -> Result<String, CompositionError> {
        self.skip();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end == 0 {
            return Err(CompositionError::NameExpected(self.at));
        }
        self.at += end;
        Ok(rest[..end].to_string())
    }

    fn thread(&mut self) -> Result<Vec<String>, CompositionError> {
        self.skip();
        let open = self.at;
        if !self.takes("(") {
            return Ok(vec![self.name()?]);
        }
        let mut calls = vec![self.name()?];
        while self.takes(";") {
            calls.push(self.name()?);
        }
        if self.takes(")") {
            return Ok(calls);
        }
        match self.ended() {
            true => Err(CompositionError::Unclosed(open)),
            false => Err(CompositionError::OperatorExpected(self.at)),
        }
    }
}

impl fmt::Display for Composition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, calls) in self.threads.iter().enumerate() {
            let bar = if index > 0 { " || " } else { "" };
            match calls.as_slice() {
                [call] => write!(f, "{bar}{call}")?,
                several => write!(f, "{bar}({})", several.join("; "))?,
            }
        }
        Ok(())
    }
}

/// Every multiset of `size` methods of a program as a parallel composition.
pub fn all_compositions(program: &Program, size: usize) -> Vec<Composition> {
    let names: Vec<&String> = program.methods.iter().map(|m| &m.name).collect();
    let mut found: Vec<Vec<usize>> = vec![vec![]];
    for _ in 0..size {
        let longer = found.iter().flat_map(|chosen| {
            let least = chosen.last().copied().unwrap_or(0);
            (least..names.len()).map(move |next| [chosen.as_slice(), &[next]].concat())
        });
        found = longer.collect();
    }
    let calls = |chosen: Vec<usize>| chosen.iter().map(|i| vec![names[*i].clone()]).collect();
    found.into_iter().map(|chosen| Composition { threads: calls(chosen) }).collect()
}
