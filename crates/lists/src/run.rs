//! A concrete run of a composition, in the form in which all engines give theirs.

use crate::replay::{Counterexample, Pictured, PicturedKey, ShownOperation, ShownStep, elements};
use crate::search::Violation;
use seriatim_history::Value;
use seriatim_lang::program::Program;
use seriatim_spec::run::{Event, Run, Step};
use std::collections::BTreeSet;

impl Counterexample {
    /// The run, step by step, and the history.
    pub fn run(&self, program: &Program) -> Run {
        let threads = self.operations.iter().map(|o| o.operation.thread + 1).max().unwrap_or(0);
        let step = |step: &ShownStep| Step { thread: step.thread, accesses: step.told.clone() };
        Run {
            threads,
            names: Vec::new(),
            initial: self.memory.clone(),
            steps: self.steps.iter().map(step).collect(),
            history: self.events(program),
            repeats: None,
        }
    }

    /// The elements of the list before the first step.
    pub fn initial_elements(&self) -> BTreeSet<u32> {
        elements(&self.initial)
    }

    /// Every key that is an element at the start or at the end, or that an operation names; and
    /// whether it is an element at the end.
    pub fn elements_of_interest(&self) -> Vec<(u32, bool)> {
        let last = elements(self.steps.last().map_or(&self.initial, |step| &step.list));
        let named = self.operations.iter().map(|shown| shown.key);
        let keys: BTreeSet<u32> =
            named.chain(self.initial_elements()).chain(last.iter().copied()).collect();
        keys.into_iter().map(|key| (key, last.contains(&key))).collect()
    }

    /// How the run goes wrong, as words.
    pub fn how(&self, program: &Program) -> String {
        let returned = |(shown, name): (&ShownOperation, String)| {
            shown.returned.map(|(_, result)| format!("{name} = {result}"))
        };
        let results = self.operations.iter().zip(self.names(program)).filter_map(returned);
        let results = results.collect::<Vec<_>>().join(", ");
        let end = picture(self.steps.last().map_or(&self.initial, |step| &step.list));
        match self.violation {
            Violation::WrongResult => {
                format!("no order of the operations explains the results: {results}")
            }
            Violation::Fault(fault, _) => format!("error: {}", fault.text()),
            Violation::Deadlock => {
                "deadlock: no thread can go on, though the specification could".to_owned()
            }
            Violation::WrongElements => format!(
                "no order of the operations explains the results ({results}) and leaves these elements: {end}"
            ),
            Violation::WrongList => format!(
                "results and elements are correct ({results}), but no order of the operations leaves this list: {end}"
            ),
        }
    }

    /// The operations with their arguments.
    fn names(&self, program: &Program) -> Vec<String> {
        let method = |o: &ShownOperation| &program.methods[o.operation.method as usize].name;
        self.operations.iter().map(|o| format!("{}({})", method(o), o.key)).collect()
    }

    /// The calls and returns: within a step, the order of its accesses.
    fn events(&self, program: &Program) -> Vec<Event> {
        let mut events = Vec::new();
        for step in &self.steps {
            let shown = &self.operations[step.operation];
            let thread = step.thread;
            let method = program.methods[shown.operation.method as usize].name.clone();
            for access in &step.accesses {
                if access.called {
                    let args = vec![Value::Int(i64::from(shown.key))];
                    events.push(Event::Call { thread, method: method.clone(), args });
                }
                if let Some(result) = access.returned {
                    let result = Some(Value::Bool(result));
                    events.push(Event::Return { thread, method: method.clone(), result });
                }
            }
        }
        events
    }
}

/// A list in one line: `†` behind a marked node, brackets around a locked one.
pub fn picture(list: &[Pictured]) -> String {
    let node = |n: &Pictured| {
        let key = match n.key {
            PicturedKey::Least => "-inf".to_string(),
            PicturedKey::Number(key) => key.to_string(),
            PicturedKey::Greatest => "+inf".to_string(),
        };
        let key = if n.marked { format!("{key}†") } else { key };
        if n.locked { format!("[{key}]") } else { key }
    };
    list.iter().map(node).collect::<Vec<_>>().join(" → ")
}
