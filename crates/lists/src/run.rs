//! A concrete run of a composition, in the form in which all engines give theirs.

use crate::replay::{Counterexample, Pictured, PicturedKey, ShownOperation, ShownStep};
use crate::search::Violation;
use crate::step;
use seriatim_history::Value;
use seriatim_lang::lower;
use seriatim_lang::program::Program;
use seriatim_lang::steps::Steps;
use seriatim_spec::run::{Access, Action, Event, Memory, Run, Step};

impl Counterexample {
    /// The run, step by step: the list after each step that changed it, and the history.
    pub fn run(&self, program: &Program) -> Run {
        let threads = self.operations.iter().map(|o| o.operation.thread + 1).max().unwrap_or(0);
        let Ok(code) = lower(program, threads as u32, None) else { return Run::default() };
        let drawer = Drawer { program, code, names: self.names(program) };
        let mut before = &self.initial;
        let mut steps = Vec::new();
        for step in &self.steps {
            let accesses = step.accesses.iter().filter_map(|access| drawer.access(step, access));
            let mut accesses: Vec<Access> = accesses.collect();
            if let Some(last) = accesses.last_mut().filter(|_| step.list != *before) {
                last.memory = Some(memory(&step.list));
            }
            steps.push(Step { thread: step.thread, accesses });
            before = &step.list;
        }
        let history = self.events(program);
        let initial = memory(&self.initial);
        Run { threads, names: Vec::new(), initial, steps, history, repeats: None }
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
                "results and elements are right ({results}), but no order of the operations leaves this list: {end}"
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

struct Drawer<'p> {
    program: &'p Program,
    code: Steps,
    names: Vec<String>,
}

impl Drawer<'_> {
    /// An access; an atomic block is one, told by its first line, or by the return with which it ends.
    fn access(&self, step: &ShownStep, access: &step::Access) -> Option<Access> {
        if access.called {
            let action = Action::Call { call: self.names[step.operation].clone() };
            return Some(Access::spoken(action));
        }
        let instr = self.code.code.get(access.pc.0 as usize)?;
        let source = &self.program.source;
        let text = instr.span.text(source).lines().next().unwrap_or("").trim();
        let action = match access.returned {
            Some(result) => Action::Return { result: Some(result.to_string()) },
            None => Action::Local,
        };
        let line = Some(instr.span.line(source));
        Some(Access { line, source: text.to_owned(), action, memory: None })
    }
}

fn memory(list: &[Pictured]) -> Memory {
    Memory { lines: vec![picture(list)], ..Memory::default() }
}

/// A list in one line: `†` behind a marked node, brackets around a locked one.
pub fn picture(list: &[Pictured]) -> String {
    let node = |n: &Pictured| {
        let key = match n.key {
            PicturedKey::Least => "-∞".to_string(),
            PicturedKey::Number(key) => key.to_string(),
            PicturedKey::Greatest => "+∞".to_string(),
        };
        let key = if n.marked { format!("{key}†") } else { key };
        if n.locked { format!("[{key}]") } else { key }
    };
    list.iter().map(node).collect::<Vec<_>>().join(" → ")
}
