//! A run on weak memory in the words of the source: each read says how many writes it does not see.

use super::Retraced;
use super::client::OPERATIONS;
use super::event::{Done, Event, Named};
use super::evidence::Race;
use super::memory::Content;
use super::search::Task;
use crate::outcome::{self, Counterexample, Move, ViolationKind};
use seriatim_lang::machine::Fault;
use seriatim_lang::show::variable;
use seriatim_lang::spec::Datum;
use seriatim_lang::steps::{NULL, Op, Pc, Slot};
use seriatim_lang::types::{Kind, Scalar};
use seriatim_spec::run::{Access, Action, Memory, Step};
use std::collections::BTreeMap;

/// The run that goes wrong.
pub fn counterexample(
    task: &Task<'_>,
    run: &Retraced,
    kind: ViolationKind,
    race: Option<Race>,
    moves: &[Move],
) -> Counterexample {
    let Retraced { events, marks, .. } = run;
    let mut machine = task.subject.machine.clone();
    let first = machine.initial().map_or(0, |state| state.heap.len() / machine.node_stride());
    let telling = Telling { task, names: names(events, first as u32) };
    let mut steps = vec![];
    let mut history = vec![];
    let mut methods = BTreeMap::new();
    let mut from = 0;
    for (end, Move { thread, .. }) in marks.iter().zip(moves) {
        let own = &events[from..*end];
        let mut accesses = vec![];
        for (event, at) in own.iter().zip(from..) {
            telling.history(event, &mut methods, &mut history);
            accesses.extend(telling.access(event, methods.get(&event.thread).copied()));
            if let Some((other, _)) = race.filter(|(_, last)| *last == at) {
                accesses.push(telling.racing(kind, &events[other]));
            }
        }
        from = *end;
        steps.push(Step { thread: *thread, accesses });
    }
    Counterexample {
        kind,
        initial: Memory::default(),
        steps,
        history,
        blame: None,
        moves: moves[..marks.len()].to_vec(),
        reductions: task.options.reductions,
    }
}

/// The numbers by which people know the nodes: first those that there are at the start, then the
/// others in the order of the run.
fn names(events: &[Event], first: u32) -> BTreeMap<u32, usize> {
    let made: Vec<u32> = events
        .iter()
        .filter_map(|e| match &e.done {
            Done::New(node, _) => Some(*node),
            _ => None,
        })
        .collect();
    let mut names: BTreeMap<u32, usize> = BTreeMap::new();
    for node in (0..first).chain(made) {
        let next = names.len();
        names.entry(node).or_insert(next);
    }
    names
}

struct Telling<'t, 's> {
    task: &'t Task<'s>,
    names: BTreeMap<u32, usize>,
}

impl Telling<'_, '_> {
    fn history(
        &self,
        event: &Event,
        methods: &mut BTreeMap<usize, u32>,
        history: &mut Vec<outcome::Event>,
    ) {
        let subject = self.task.subject;
        let name = |method: u32| subject.machine.steps.methods[method as usize].name.clone();
        let thread = event.thread;
        match &event.done {
            Done::Call(method, args) => {
                methods.insert(thread, *method);
                let args = subject.arguments(*method, args);
                history.push(outcome::Event::Call { thread, method: name(*method), args });
            }
            Done::Return(result) => {
                if let Some(method) = methods.get(&thread) {
                    let result = subject.result(*method, result);
                    history.push(outcome::Event::Return { thread, method: name(*method), result });
                }
            }
            _ => {}
        }
    }

    /// An access, as words; nothing if it is no matter of others.
    fn access(&self, event: &Event, method: Option<u32>) -> Option<Access> {
        let subject = self.task.subject;
        let instr = &subject.machine.steps.code[event.pc.0 as usize];
        let action = match &event.done {
            Done::Call(method, args) => {
                let name = &subject.machine.steps.methods[*method as usize].name;
                let args = subject.arguments(*method, args);
                let args: Vec<String> = args.iter().map(Datum::to_string).collect();
                return Some(Access::spoken(Action::Call {
                    call: format!("{name}({})", args.join(", ")),
                }));
            }
            Done::Return(result) => {
                let result = subject.result(method?, result);
                let result = match &result {
                    Datum::Tuple(parts) if parts.is_empty() => None,
                    result => Some(result.to_string()),
                };
                return Some(Access::spoken(Action::Return { result }));
            }
            Done::Flush(_) => {
                let why = "its oldest waiting write reaches memory".to_owned();
                return Some(Access::spoken(Action::Stop { why }));
            }
            Done::Learns(operation) => {
                let thread = operation / OPERATIONS;
                let why = format!("the client tells of a return of thread {thread}");
                return Some(Access::spoken(Action::Stop { why }));
            }
            Done::Chose(_) => return None,
            Done::Read { word, content, behind, .. } => {
                let place = self.place(word, event.pc);
                let value = self.content(event.pc, content) + &lag(*behind);
                match &instr.op {
                    Op::Load { dst, .. } => {
                        let steps = &subject.machine.steps;
                        let own = steps.method_at(event.pc);
                        let into = own.and_then(|m| variable(steps, m, *dst)).map(str::to_owned);
                        Action::Read { place, into, value }
                    }
                    _ => Action::CompareAndSwap { place, found: value, after: None },
                }
            }
            Done::Write { word, content, after, .. } => {
                let place = self.place(word, event.pc);
                let waits = if *after == u32::MAX { " (waits in its queue)" } else { "" };
                let after = self.content(event.pc, content) + waits;
                match &instr.op {
                    Op::Unlock(_) => Action::Unlock { place },
                    _ => Action::Write { place, before: "…".to_owned(), after },
                }
            }
            Done::Update { word, before, content, .. } => {
                let place = self.place(word, event.pc);
                let before = self.content(event.pc, before);
                let after = self.content(event.pc, content);
                match &instr.op {
                    Op::Lock(_) => Action::Lock { place },
                    Op::Cas { .. } => {
                        Action::CompareAndSwap { place, found: before, after: Some(after) }
                    }
                    _ => Action::Write { place, before, after },
                }
            }
            Done::New(node, _) => Action::Allocate { node: self.node(*node as i32) },
            Done::Fence(_) | Done::Free(_) => Action::Local,
            Done::Fault(fault) => Action::Stop { why: fault.text().to_owned() },
        };
        Some(self.placed(event.pc, action))
    }

    /// An action with the place where it stands in the source.
    fn placed(&self, pc: Pc, action: Action) -> Access {
        let source = &self.task.subject.source;
        let instr = &self.task.subject.machine.steps.code[pc.0 as usize];
        let text = instr.span.text(source).lines().next().unwrap_or("").trim().to_owned();
        Access { line: Some(instr.span.line(source)), source: text, action, memory: None }
    }

    /// The access with which another one races, or before which it should have come.
    fn racing(&self, kind: ViolationKind, other: &Event) -> Access {
        let why = match kind {
            ViolationKind::Fault(Fault::UseAfterFree) => {
                format!("thread {} freed it here", other.thread)
            }
            _ => format!("races with this access of thread {}", other.thread),
        };
        self.placed(other.pc, Action::Stop { why })
    }

    fn node(&self, name: i32) -> String {
        let known = self.names.get(&(name as u32)).copied();
        format!("#{}", known.unwrap_or(name as usize))
    }

    fn slots(&self, (node, word): &Named, pc: Pc) -> &[Slot] {
        let steps = &self.task.subject.machine.steps;
        match (node, steps.code[pc.0 as usize].op.place().map(|place| &place.root)) {
            (Some(_), Some(seriatim_lang::steps::Root::Node(_, id))) => {
                let of = id.0 as usize;
                let range = self.task.layout.structs[of][*word].slots.clone();
                &steps.structs[of].slots[range]
            }
            _ => &steps.shared[self.task.layout.shared[*word].slots.clone()],
        }
    }

    fn place(&self, word: &Named, pc: Pc) -> String {
        let slots = self.slots(word, pc);
        let name = slots.first().map_or("", |slot| &slot.name);
        let name = match slots.len() {
            1 => name,
            _ => name.rsplit_once('.').map_or(name, |(whole, _)| whole),
        };
        match word.0 {
            None => name.to_owned(),
            Some(node) => format!("{}.{name}", self.node(node as i32)),
        }
    }

    fn content(&self, pc: Pc, content: &Content) -> String {
        let steps = &self.task.subject.machine.steps;
        let slots = match steps.code[pc.0 as usize].op.place() {
            Some(place) => {
                let all = match &place.root {
                    seriatim_lang::steps::Root::Shared => &steps.shared,
                    seriatim_lang::steps::Root::Node(_, id) => &steps.structs[id.0 as usize].slots,
                };
                &all[place.offset as usize..]
            }
            None => &[],
        };
        let parts: Vec<String> =
            content.slots().zip(slots).map(|(value, slot)| self.scalar(slot.kind, value)).collect();
        match &parts[..] {
            [only] => only.clone(),
            several => format!("({})", several.join(", ")),
        }
    }

    fn scalar(&self, kind: Kind, value: i32) -> String {
        match kind.scalar {
            _ if value == NULL => "null".to_owned(),
            Scalar::Ref(_) => self.node(value),
            _ => self.task.subject.words().scalar(kind, value),
        }
    }
}

fn lag(behind: u32) -> String {
    match behind {
        0 => String::new(),
        1 => " (1 write behind)".to_owned(),
        _ => format!(" ({behind} writes behind)"),
    }
}

impl ViolationKind {
    /// Whether it is a data race.
    pub fn is_race(self) -> bool {
        self == ViolationKind::Fault(Fault::DataRace)
    }
}
