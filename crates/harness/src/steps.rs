//! An execution in the form in which all engines give theirs, and the page about it.
//!
//! The columns are the callers, the main thread first. A row is a call, a return, or an access of a
//! primitive of `seriatim-sync` inside a call, in the order of their stamps. Of the object's memory
//! nothing is known; its source is shown where all accesses stand in one file that can be read.

use crate::failure::{Failed, Failure};
use crate::reply::Reply;
use crate::run::{Called, End, Run};
use crate::subject::{Caller, Subject};
use seriatim_history::Time;
use seriatim_report::run::{Examined, html};
use seriatim_report::{Report, States};
use seriatim_spec::answer::{Answer, Cost, Property, Scope, Standing};
use seriatim_spec::run::{Access, Action, Event, Run as Steps, Step};
use seriatim_spec::{Reader, Verdict};
use std::path::Path;

/// The most accesses that a page shows, and the most steps of an order whose states it does.
const ACCESSES: usize = 2_000;
const STATES: usize = 1_000;

/// The execution, step by step; accesses have the number of their line if their file is shown
/// beside them, else its name, too.
pub(crate) fn steps(run: &Run, subject: &dyn Subject, is_shown: bool) -> Steps {
    let first = usize::from(!run.main.is_empty());
    let column = |caller| match caller {
        Caller::Main => 0,
        Caller::Thread(thread) => first + thread,
    };
    let mut rows: Vec<Row> = Vec::new();
    for (caller, called) in run.calls() {
        rows.extend(rows_of(called, subject, column(caller)));
    }
    let shown = run.accesses.iter().filter(|_| run.accesses.len() <= ACCESSES);
    rows.extend(shown.map(|accessed| {
        // A line by itself means something only beside the file.
        let (line, source) = match is_shown {
            true => (Some(accessed.place.line() as usize), accessed.what.clone()),
            false => (None, accessed.to_string()),
        };
        let access = Access { line, source, action: Action::Local, memory: None };
        Row { stamp: accessed.stamp, thread: first + accessed.thread, access, event: None }
    }));
    rows.sort_by_key(|row| row.stamp);
    let main = (first == 1).then(|| "main".to_owned());
    let threads = (0..run.threads.len()).map(|thread| format!("thread {thread}"));
    let mut found = Steps {
        threads: first + run.threads.len(),
        names: main.into_iter().chain(threads).collect(),
        ..Steps::default()
    };
    for Row { thread, access, event, .. } in rows {
        found.steps.push(Step { thread, accesses: vec![access] });
        found.history.extend(event);
    }
    found
}

/// What happens at a moment.
struct Row {
    stamp: Time,
    thread: usize,
    access: Access,
    event: Option<Event>,
}

/// A call, and how it ends.
fn rows_of(called: &Called, subject: &dyn Subject, thread: usize) -> Vec<Row> {
    let call = called.step.text(subject);
    let method = subject.kind(called.step.kind).method.to_string();
    let args = called.step.arg.iter().cloned().collect();
    let stops = |why: &str| Access {
        source: call.clone(),
        ..Access::spoken(Action::Stop { why: why.to_owned() })
    };
    let end = match &called.slot.end {
        End::Returned(stamp, reply) => {
            let event = match reply {
                Reply::Answer(value) | Reply::Failed(value) => {
                    let (method, result) = (method.clone(), value.clone());
                    Some(Event::Return { thread, method, result })
                }
                // It came back, but may take effect later: no return, as in the history.
                Reply::Unknown | Reply::Waits => None,
            };
            let text = match reply {
                Reply::Answer(None) => None,
                reply => Some(format!("{:?}", crate::model::Answered(reply.clone()))),
            };
            let access = Access::spoken(Action::Return { result: text });
            Some(Row { stamp: *stamp, thread, access, event })
        }
        End::Panicked(message) => {
            let access = stops(&format!("panicked: {message}"));
            Some(Row { stamp: Time::MAX, thread, access, event: None })
        }
        End::Stuck => {
            Some(Row { stamp: Time::MAX, thread, access: stops("waits for ever"), event: None })
        }
        End::Running => None,
    };
    let event = Some(Event::Call { thread, method, args });
    let access = Access::spoken(Action::Call { call });
    [Row { stamp: called.slot.call, thread, access, event }].into_iter().chain(end).collect()
}

/// The text of the file in which all accesses stand; empty if they stand in several, or in one that
/// cannot be read.
pub(crate) fn source(run: &Run) -> String {
    let mut files = run.accesses.iter().map(|accessed| accessed.place.file());
    let Some(file) = files.next().filter(|file| files.all(|other| other == *file)) else {
        return String::new();
    };
    // The compiler names files from where it was run: the root of the package or of its workspace.
    let here = Path::new(".").canonicalize().unwrap_or_default();
    let read = |folder: &Path| std::fs::read_to_string(folder.join(file)).ok();
    here.ancestors().find_map(read).unwrap_or_default()
}

impl Failed {
    /// The failure as a page for a browser: the calls step by step in one column for each thread,
    /// with the accesses inside them where an explorer ran them, the history, and the orders that
    /// were tried.
    pub(crate) fn page(&self, name: &str, reader: &dyn Reader, command: &str) -> String {
        let spec = reader.name();
        let answer = self.answer();
        let verdict = self.failure.counterexample().cloned().map(Verdict::Violation);
        let judged = verdict.as_ref().map(|verdict| {
            let mut report = Report::new(&self.history, &spec, verdict);
            report.states = States::replay(&self.history, reader, verdict, STATES);
            report
        });
        let mut examined = Examined::new(name, &spec, &self.source, &answer);
        examined.judged = judged.as_ref();
        examined.replay = Some(command);
        html::render(&examined)
    }

    /// What the failure says, claim by claim.
    fn answer(&self) -> Answer {
        let violated = match &self.failure {
            Failure::Violation(_) | Failure::Disagreement(_) => Some(Property::Linearizable),
            Failure::Deadlock { .. } | Failure::LostWakeUp { .. } | Failure::Hang { .. } => {
                Some(Property::DeadlockFree)
            }
            Failure::Undecided { .. } | Failure::Unanswered { .. } => None,
            Failure::Panic { .. }
            | Failure::Leak { .. }
            | Failure::DroppedTwice { .. }
            | Failure::Invariant { .. } => Some(Property::FaultFree),
        };
        let cost = Cost { time: self.found_after, ..Cost::default() };
        let run = Box::new(self.run.clone());
        Answer::new(cost, |property| match violated {
            Some(found) if found == property => {
                let words = format!("the scenario {}", self.scenario);
                let scope = Scope { threads: Some(self.threads as u32), words, cut: Vec::new() };
                let how = self.failure.sentence();
                Standing::Violated { scope, how, run: Some(run.clone()) }
            }
            Some(_) => Standing::NotAnswered("the test ended at the run that is shown".to_owned()),
            None => Standing::Unknown(self.failure.sentence()),
        })
    }
}
