//! The history of a run, judged as if it had been recorded: by the monitors, which know nothing of
//! algorithms.
//!
//! The engine that found the run knows only that no order is left. The monitors see calls and
//! returns; they shrink what is wrong with these to a few operations, and say of each order how far
//! it gets.
//!
//! A run on a list that holds something at its start is a history of a set with these elements.
//! Where it goes wrong by the elements that it leaves, they are looked for by calls that come after
//! all others, of a process of its own.

use crate::SeriReader;
use seriatim_history::{History, Value};
use seriatim_lang::Program;
use seriatim_lists as lists;
use seriatim_monitor::{Options, check};
use seriatim_spec::run::{Event, Run};
use seriatim_spec::{ChosenReader, Failures, Reader, SpecChoice, Verdict};

/// The history of a run, with the verdict of the monitors on it.
pub struct Recorded {
    /// The history; its processes are called as the columns of the run are.
    pub history: History,
    /// The specification, by its name.
    pub spec: String,
    /// What gives its operations their meaning.
    pub reader: Box<dyn Reader>,
    /// The verdict. For a run that contradicts linearizability it must be a violation.
    pub verdict: Verdict,
}

impl Recorded {
    /// Judges the history of a run: by the built-in specification of the object if there is one
    /// that can read it, else by the one that the program gives.
    pub fn of(program: &Program, run: &Run) -> Option<Recorded> {
        let name = match program.spec.as_ref()?.name.as_str() {
            // The language's counter returns the value before, as the library's fetch-and-add does.
            "counter" => "fetch-and-add".to_owned(),
            name => name.replace('_', "-"),
        };
        let built_in = SpecChoice::parse(&name).ok().map(|choice| -> Box<dyn Reader> {
            Box::new(ChosenReader { choice, failures: Failures::Drop })
        });
        let written = || Some(Box::new(SeriReader::of(program)?) as Box<dyn Reader>);
        let judged = built_in.and_then(|reader| judged(reader, run));
        judged.or_else(|| written().and_then(|reader| self::judged(reader, run)))
    }
}

/// The process that looks for elements at the end.
const AFTERWARDS: &str = "afterwards";

impl Recorded {
    /// Judges the history of a run on a list as one of a set with the elements that the list has at
    /// its start; where those at its end are wrong, with calls that look for them. `None` for a run
    /// that goes wrong in another way.
    pub fn of_list(program: &Program, found: &lists::Counterexample) -> Option<Recorded> {
        let looks = match found.violation {
            lists::Violation::WrongResult => Vec::new(),
            lists::Violation::WrongElements => found.elements_of_interest(),
            _ => return None,
        };
        program.spec.as_ref().filter(|spec| spec.name == "set")?;
        let mut run = found.run(program);
        let thread = run.threads;
        if !looks.is_empty() {
            run.names = (0..thread).map(|thread| run.thread_name(thread)).collect();
            run.names.push(AFTERWARDS.to_owned());
            run.threads += 1;
        }
        for (key, is_in) in looks {
            let (method, args) = ("contains".to_owned(), vec![Value::Int(i64::from(key))]);
            run.history.push(Event::Call { thread, method: method.clone(), args });
            run.history.push(Event::Return { thread, method, result: Some(Value::Bool(is_in)) });
        }
        let elements: Vec<String> = found.initial_elements().iter().map(u32::to_string).collect();
        let choice = SpecChoice::parse(&format!("set(init=[{}])", elements.join(", "))).ok()?;
        judged(Box::new(ChosenReader { choice, failures: Failures::Drop }), &run)
    }
}

fn judged(reader: Box<dyn Reader>, run: &Run) -> Option<Recorded> {
    let mut history = run.history_of_threads("the run").ok()?;
    let verdict = check(&mut history, &*reader, &Options::default()).ok()?.verdict;
    Some(Recorded { history, spec: reader.name(), reader, verdict })
}
