//! A run of an algorithm, step by step, in the one form that every engine gives and every report
//! draws: who moves, where that stands in the source, what it reads or writes, what memory looks
//! like afterwards, and the history of calls and returns that the run makes.

use seriatim_history::{Builder, Call, History, InputError, Outcome, Return, Value, ValueId};
use std::fmt;

/// A run.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Run {
    /// How many threads there are.
    pub threads: usize,
    /// What they are called, where that is not `thread 0`, `thread 1`, ….
    pub names: Vec<String>,
    /// Memory before the first step.
    pub initial: Memory,
    /// The steps, one after another.
    pub steps: Vec<Step>,
    /// The calls and returns, in the order in which they happened.
    pub history: Vec<Event>,
    /// If the run goes round in a circle at its end: how many of its last steps are repeated.
    pub repeats: Option<usize>,
}

/// What one thread does at once.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Step {
    /// Which thread.
    pub thread: usize,
    /// What it does, in order.
    pub accesses: Vec<Access>,
}

impl Step {
    /// Where the step stands in the source: the line of its first access that has one.
    pub fn line(&self) -> Option<usize> {
        self.accesses.iter().find_map(|access| access.line)
    }

    /// Memory after the step, if it is not as it was.
    pub fn memory(&self) -> Option<&Memory> {
        self.accesses.iter().rev().find_map(|access| access.memory.as_ref())
    }
}

/// One access of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The line of the source, from one.
    pub line: Option<usize>,
    /// The piece of the source that it executes; empty for calls and returns.
    pub source: String,
    /// What it does.
    pub action: Action,
    /// Memory afterwards, if it is not as it was; the variables of threads count.
    pub memory: Option<Memory>,
}

/// What an access does. Places and values are as the source writes them; nodes are `#0`, `#1`, ….
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// An operation begins.
    Call {
        /// The method with its arguments.
        call: String,
    },
    /// The operation ends.
    Return {
        /// The result, if the method has one.
        result: Option<String>,
    },
    /// A place is read.
    Read {
        /// Which place.
        place: String,
        /// The variable that keeps the value, if it has a name.
        into: Option<String>,
        /// The value.
        value: String,
    },
    /// A place is written, whatever it held.
    Write {
        /// Which place.
        place: String,
        /// What it held.
        before: String,
        /// What it holds now.
        after: String,
    },
    /// A place is written if it holds what is expected.
    CompareAndSwap {
        /// Which place.
        place: String,
        /// What it held.
        found: String,
        /// What it holds now; `None` if the comparison failed.
        after: Option<String>,
    },
    /// A lock is taken.
    Lock {
        /// Which lock.
        place: String,
    },
    /// A lock is released.
    Unlock {
        /// Which lock.
        place: String,
    },
    /// A node is made.
    Allocate {
        /// Which node.
        node: String,
    },
    /// Something that the thread does with its own variables.
    Local,
    /// The step that cannot be taken, or is an error; the reason as words.
    Stop {
        /// Why.
        why: String,
    },
}

impl Access {
    /// An access that stands nowhere in the source: a call or a return.
    pub fn spoken(action: Action) -> Access {
        Access { line: None, source: String::new(), action, memory: None }
    }

    /// The access as words: `t = top → #0`, `cas(top, t, n) failed: top is #1`.
    pub fn text(&self) -> String {
        let (done, outcome) = self.told();
        let glue = match self.action {
            _ if outcome.is_empty() => "",
            Action::Read { .. } | Action::Allocate { .. } | Action::CompareAndSwap { .. } => " ",
            _ => ": ",
        };
        done + glue + &outcome
    }

    /// What is done, and what comes of it: `t = top` and `→ #0`, `cas(top, t, n)` and
    /// `failed: top is #1`.
    pub fn told(&self) -> (String, String) {
        let source = self.source.clone();
        match &self.action {
            Action::Call { call } => (format!("call {call}"), String::new()),
            Action::Return { result: Some(result) } => (format!("return {result}"), String::new()),
            Action::Return { result: None } => ("return".to_owned(), String::new()),
            Action::Read { place, into: Some(into), value } => {
                (format!("{into} = {place}"), format!("→ {value}"))
            }
            Action::Read { place, into: None, value } => (place.clone(), format!("→ {value}")),
            Action::Write { place, before, after } => {
                (source, format!("{place} was {before}, is {after}"))
            }
            Action::CompareAndSwap { place, after: Some(after), .. } => {
                (source, format!("succeeded: {place} is {after}"))
            }
            Action::CompareAndSwap { place, found, after: None } => {
                (source, format!("failed: {place} is {found}"))
            }
            Action::Lock { place } => (format!("lock({place})"), String::new()),
            Action::Unlock { place } => (format!("unlock({place})"), String::new()),
            Action::Allocate { node } => (source, format!("→ {node}")),
            Action::Local => (source, String::new()),
            Action::Stop { why } => (source, why.clone()),
        }
    }

    /// The kind of action in one word.
    pub fn word(&self) -> &'static str {
        match self.action {
            Action::Call { .. } => "call",
            Action::Return { .. } => "return",
            Action::Read { .. } => "read",
            Action::Write { .. } => "write",
            Action::CompareAndSwap { .. } => "cas",
            Action::Lock { .. } => "lock",
            Action::Unlock { .. } => "unlock",
            Action::Allocate { .. } => "new",
            Action::Local => "local",
            Action::Stop { .. } => "stop",
        }
    }
}

/// Memory at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Memory {
    /// The shared variables.
    pub variables: Vec<Cell>,
    /// The nodes that exist. A node has the same number in all pictures of a run.
    pub nodes: Vec<Node>,
    /// The variables of threads that refer to nodes.
    pub locals: Vec<Local>,
}

impl Memory {
    /// Whether threads that only see what is shared see a difference between two moments.
    pub fn differs_for_others(&self, other: &Memory) -> bool {
        (&self.variables, &self.nodes) != (&other.variables, &other.nodes)
    }
}

/// A named value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its name.
    pub name: String,
    /// The value as the source would write it.
    pub value: String,
    /// The node that it refers to, if it refers to one.
    pub node: Option<u32>,
    /// What sort of value it is, for drawings.
    pub kind: CellKind,
}

/// What sort of value a variable or a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CellKind {
    /// A number, a key, a datum.
    #[default]
    Plain,
    /// A node or null.
    Reference,
    /// A lock: `held` or `free`.
    Lock,
    /// A truth: `true` or `false`.
    Flag,
}

/// A node of the heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub id: u32,
    /// The struct that it is of.
    pub kind: String,
    /// Its fields.
    pub fields: Vec<Cell>,
    /// Whether it was freed.
    pub freed: bool,
}

/// A variable of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Which thread.
    pub thread: usize,
    /// The variable.
    pub cell: Cell,
}

/// A call or a return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A thread calls a method.
    Call {
        /// Which thread.
        thread: usize,
        /// Which method.
        method: String,
        /// The arguments.
        args: Vec<Value>,
    },
    /// A thread returns from the method that it called.
    Return {
        /// Which thread.
        thread: usize,
        /// Which method.
        method: String,
        /// The result, if the method has one.
        result: Option<Value>,
    },
}

/// One line for each access: the thread, the line of the source, what it does.
impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            for access in &step.accesses {
                let line = access.line.map(|line| format!("{line}: ")).unwrap_or_default();
                writeln!(f, "t{} {line}{}", step.thread, access.text())?;
            }
        }
        Ok(())
    }
}

impl Run {
    /// For each step, memory after it if others see a difference to what was told last.
    pub fn pictures(&self) -> Vec<Option<&Memory>> {
        let mut last = &self.initial;
        let picture = |step| {
            let now = Step::memory(step).filter(|memory| memory.differs_for_others(last))?;
            last = now;
            Some(now)
        };
        self.steps.iter().map(picture).collect()
    }

    /// The history of the run, as any other history.
    ///
    /// ```
    /// let history = seriatim_spec::run::Run::default().history("run").unwrap();
    /// assert!(history.is_empty());
    /// ```
    pub fn history(&self, name: &str) -> Result<History, InputError> {
        self.recorded(name, |thread| Value::Int(thread as i64), |event| event as u64 + 1)
    }

    /// The history of the run for people: its processes are called as the columns of the run are,
    /// and events have no lines.
    pub fn history_of_threads(&self, name: &str) -> Result<History, InputError> {
        self.recorded(name, |thread| Value::text(&self.thread_name(thread)), |_| 0)
    }

    fn recorded(
        &self,
        name: &str,
        process: impl Fn(usize) -> Value,
        line: impl Fn(usize) -> u64,
    ) -> Result<History, InputError> {
        let mut builder = Builder::new(name);
        for (index, event) in self.history.iter().enumerate() {
            let line = line(index);
            match event {
                Event::Call { thread, method, args } => {
                    let process = builder.process(&process(*thread));
                    let method = builder.method(method);
                    let arg = match &args[..] {
                        [] => ValueId::ABSENT,
                        [only] => builder.values().intern(only),
                        _ => builder.values().intern(&Value::list(args.iter().cloned())),
                    };
                    builder.call(line, process, Call::new(method).arg(arg))?;
                }
                Event::Return { thread, result, .. } => {
                    let process = builder.process(&process(*thread));
                    let result = match result {
                        Some(result) => builder.values().intern(result),
                        None => ValueId::ABSENT,
                    };
                    builder.ret(line, process, Return::new(Outcome::Ok, result))?;
                }
            }
        }
        builder.finish()
    }

    /// What a thread is called: the head of its column.
    pub fn thread_name(&self, thread: usize) -> String {
        self.names.get(thread).cloned().unwrap_or_else(|| format!("thread {thread}"))
    }
}
