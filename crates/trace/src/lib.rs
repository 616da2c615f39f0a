//! Steps and states of the machine in the words of the source: takes what the machine did, gives
//! the accesses and the memory of a [`Run`](seriatim_spec::run::Run). Engines that execute programs
//! share it, so that their runs read alike.
//!
//! ```
//! use seriatim_lang::choices::Choices;
//! use seriatim_lang::machine::{Bounds, Granularity, Machine};
//! use seriatim_trace::Words;
//!
//! let source = "object o : counter
//! var n: int = 7
//! method read() -> int { return n }";
//! let program = seriatim_lang::check(source).unwrap();
//! let steps = seriatim_lang::lower(&program, 1, None).unwrap();
//! let bounds = Bounds { values: 1, keys: 1, nodes: None, capacity: None };
//! let mut machine = Machine::new(steps, bounds, Granularity::Fine);
//! let start = machine.initial().unwrap();
//! let words = Words::of(&machine, source);
//! assert_eq!(words.memory(&start).variables[0].value, "7");
//!
//! let mut called = start.clone();
//! machine.run(&start, 0, &mut Choices::default(), &mut called).unwrap();
//! let (executed, _) = machine.trace(&called, 0, &mut Choices::default());
//! let (_, read) = &words.accesses(&executed)[0];
//! assert_eq!((read.line, read.text().as_str()), (Some(3), "n → 7"));
//! ```

#![forbid(unsafe_code)]

mod accesses;
mod heap_graph;
mod places;

use places::{Held, Places, Shape};
use seriatim_lang::machine::{Machine, State};
use seriatim_lang::spec::Datum;
use seriatim_lang::steps::NULL;
use seriatim_lang::types::{Kind, Scalar};
use seriatim_spec::run::{Access, Memory};

/// The words for what a machine does.
pub struct Words<'m> {
    machine: &'m Machine,
    source: &'m str,
    places: Places,
    key: Option<&'m dyn Fn(i32) -> String>,
}

impl<'m> Words<'m> {
    /// The words for a machine that runs the program of a source.
    pub fn of(machine: &'m Machine, source: &'m str) -> Words<'m> {
        Words { machine, source, places: Places::of(&machine.steps, source), key: None }
    }

    /// The same, where a key is called what this says.
    #[must_use]
    pub fn with_keys(self, key: &'m dyn Fn(i32) -> String) -> Words<'m> {
        Words { key: Some(key), ..self }
    }

    /// A scalar as the source would write it; nodes by their numbers.
    pub fn scalar(&self, kind: Kind, word: i32) -> String {
        match (kind.scalar, self.key) {
            (Scalar::Ref(_), _) if word != NULL => format!("#{word}"),
            (Scalar::Ref(_), _) => "null".to_owned(),
            (Scalar::Lock, _) if word != 0 => "held".to_owned(),
            (Scalar::Lock, _) => "free".to_owned(),
            (Scalar::Key, Some(key)) => key(word),
            _ => Datum::from_scalar(kind, word).to_string(),
        }
    }

    /// A value as the source would write it.
    fn value(&self, shape: &Shape, held: Held<'_>) -> String {
        let parts = || {
            let parts = held.parts(shape).map(|(_, part, held)| self.value(part, held));
            parts.collect::<Vec<_>>().join(", ")
        };
        match shape {
            Shape::Scalar => self.scalar(held.slots[0].kind, held.words[0]),
            Shape::Variant(names) => {
                let name = usize::try_from(held.words[0]).ok().and_then(|word| names.get(word));
                name.cloned().unwrap_or_else(|| self.value(&Shape::Scalar, held))
            }
            Shape::Tuple(_) => format!("({})", parts()),
            Shape::Array(..) => format!("[{}]", parts()),
        }
    }

    /// Gives each access of a step memory after it, if that is not as it was before: `now`, which
    /// is kept up to date. The film has the state after each instruction that was executed.
    pub fn filmed(
        &self,
        film: &[State],
        mut accesses: Vec<(usize, Access)>,
        now: &mut Memory,
    ) -> Vec<Access> {
        // What follows an access up to the next one happens with it: its value goes to a variable.
        let next = accesses.iter().skip(1).map(|(at, _)| *at);
        let ends: Vec<usize> = next.chain([film.len()]).collect();
        for ((_, access), end) in accesses.iter_mut().zip(ends) {
            let Some(state) = end.checked_sub(1).and_then(|last| film.get(last)) else { continue };
            let after = self.memory(state);
            if after != *now {
                access.memory = Some(after.clone());
                *now = after;
            }
        }
        accesses.into_iter().map(|(_, access)| access).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_lang::choices::Choices;
    use seriatim_lang::machine::{Bounds, Granularity};
    use seriatim_spec::run::CellKind;

    #[test]
    fn tuples_are_one_value_and_elements_have_their_index() {
        let source = "object o : counter
struct Node { link: (Node?, bool) }
enum Phase { Free, Taken }
var items: [(int 0..9, bool); 2] = [(7, false); 2]
var phase: Phase = Taken
var head: (Node, int 0..3) = (new Node { link: (null, true) }, 0)
method read() -> int { let (n, b) = items[1]; return n }";
        let program = seriatim_lang::check(source).unwrap();
        let steps = seriatim_lang::lower(&program, 1, None).unwrap();
        let bounds = Bounds { values: 1, keys: 1, nodes: Some(1), capacity: None };
        let mut machine = Machine::new(steps, bounds, Granularity::Fine);
        let start = machine.initial().unwrap();
        let mut called = start.clone();
        machine.run(&start, 0, &mut Choices::default(), &mut called).unwrap();
        let (executed, _) = machine.trace(&called, 0, &mut Choices::default());

        let words = Words::of(&machine, source);
        let memory = words.memory(&start);
        let shown = |cell: &seriatim_spec::run::Cell| format!("{} = {}", cell.name, cell.value);
        let variables: Vec<String> = memory.variables.iter().map(shown).collect();
        let expected = ["items = [(7, false), (7, false)]", "phase = Taken", "head = (#0, 0)"];
        assert_eq!(variables, expected);
        assert_eq!(memory.variables[2].node, Some(0));
        let link = &memory.nodes[0].fields[0];
        assert_eq!((shown(link).as_str(), link.kind), ("link = (null, true)", CellKind::Reference));
        let (_, read) = &words.accesses(&executed)[0];
        assert_eq!(read.text(), "n = items[1] → (7, false)");
    }
}
