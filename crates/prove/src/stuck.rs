//! A stuck proof as a run: the steps that led to the view, the view after each of them as memory,
//! and the step at which the proof got stuck.

use crate::content::Abstraction;
use crate::fixpoint::{Block, Fixpoint};
use crate::model::{Field, Kind, Model};
use crate::outcome::{At, Obstacle, Stuck};
use crate::value::{Attr, Class, Holder, Val, attrs};
use crate::view::{Node, Record, Segment, View};
use seriatim_lang::Program;
use seriatim_lang::steps::{Pc, Reg};
use seriatim_spec::answer::StuckProof;
use seriatim_spec::run::{self, Access, Action, Cell, CellKind, Local, Memory, Run, Step};

/// How many steps of the trail are shown.
const TRAIL: usize = 12;

/// What to report about a fixpoint that got stuck.
pub fn stuck(
    program: &Program,
    model: &Model,
    fixpoint: &Fixpoint,
    abstraction: Abstraction,
    block: Block,
) -> Stuck {
    let view = fixpoint.views.list.get(block.view).cloned().unwrap_or_default();
    let words = Words { program, model };
    let told = StuckProof {
        obstacle: block.obstacle.text(),
        needs: block.obstacle.needs().to_owned(),
        content: abstraction.text(model),
        known: words.known(&view),
        run: words.run(fixpoint, &block),
        situation: None,
        others: Vec::new(),
    };
    Stuck {
        limited: block.obstacle == Obstacle::Limit,
        obstacle: block.obstacle,
        view,
        at: block.at,
        abstraction,
        views: fixpoint.views.list.len(),
        told,
    }
}

/// The words for views and their steps.
struct Words<'p> {
    program: &'p Program,
    model: &'p Model,
}

impl Words<'_> {
    /// The trail to a view, the latest steps of it, and the step behind it.
    fn run(&self, fixpoint: &Fixpoint, block: &Block) -> Run {
        let views = &fixpoint.views;
        let mut trail = Vec::new();
        let mut number = block.view;
        // `trail` has the steps that lead from view `number` to the view of the block, the latest
        // first.
        while let Some((from, at)) = views.origins.get(number).copied() {
            if at == At::Start || trail.len() == TRAIL {
                break;
            }
            let memory = Some(self.memory(&views.list[number]));
            trail.push(self.step(at, |access| Access { memory, ..access }));
            number = from;
        }
        let initial = views.list.get(number).map(|view| self.memory(view)).unwrap_or_default();
        let why = "the proof stops here".to_owned();
        let last = self.step(block.at, |access| match block.at {
            At::Start | At::Call(_) => access,
            At::Own(_) | At::Other(_) => Access { action: Action::Stop { why }, ..access },
        });
        Run {
            threads: 2,
            names: vec!["this thread".to_owned(), "any other thread".to_owned()],
            initial,
            steps: trail.into_iter().rev().chain([last]).collect(),
            history: Vec::new(),
            repeats: None,
        }
    }

    fn step(&self, at: At, finished: impl FnOnce(Access) -> Access) -> Step {
        let (thread, access) = match at {
            At::Start => {
                let start = Access::spoken(Action::Local);
                (0, Access { source: "the start".to_owned(), ..start })
            }
            At::Call(method) => {
                let call = self.model.steps.methods[method as usize].name.clone();
                (0, Access::spoken(Action::Call { call }))
            }
            At::Own(pc) => (0, self.access(pc)),
            At::Other(pc) => (1, self.access(pc)),
        };
        Step { thread, accesses: vec![finished(access)] }
    }

    fn access(&self, pc: Pc) -> Access {
        let (line, source) = self.line(pc);
        Access { line: Some(line), source, action: Action::Local, memory: None }
    }

    /// The line of a position, and what stands there.
    fn line(&self, pc: Pc) -> (usize, String) {
        let line = self.model.steps.code[pc.0 as usize].span.line(&self.program.source);
        let text = self.program.source.lines().nth(line - 1).unwrap_or("").trim();
        (line, text.to_owned())
    }

    /// What is known in a view besides memory.
    fn known(&self, view: &View) -> Vec<String> {
        let mut known = Vec::new();
        match &view.busy {
            None => known.push("this thread is idle".to_owned()),
            Some(busy) => {
                let name = &self.model.steps.methods[busy.method as usize].name;
                let args = busy.args.iter().filter(|a| **a != Val::Dead).map(|a| value(*a));
                let args = args.collect::<Vec<_>>().join(", ");
                let line = self.line(busy.pc).0;
                known.push(format!("this thread runs {name}({args}), in line {line}"));
                known.push(format!("since its call: {}", since_the_call(self.model.kind, view)));
            }
        }
        if is_coloured(view) {
            known.push("data have one of two colours each, and only these are known".to_owned());
        }
        if let Some(window) = &view.window {
            let owner = if window.mine { "this thread's" } else { "another thread's" };
            let base = value(window.base);
            let seen = (0..u32::BITS).filter(|bit| window.seen >> bit & 1 == 1);
            let seen = seen.map(|held| held.to_string()).collect::<Vec<_>>().join(" and ");
            known
                .push(format!("the installed record is {owner}; before it the content was {base}"));
            if !seen.is_empty() {
                known.push(format!("since it was installed, the control variable was {seen}"));
            }
        }
        known
    }

    /// What a view says of memory. Records are numbered behind the nodes.
    fn memory(&self, view: &View) -> Memory {
        let first_record = view.nodes.len() as u32;
        let cell = |name: String, held: Val| cell(name, held, first_record);
        let shared = self.model.steps.shared.iter().zip(&view.globals);
        let shared = shared.map(|(slot, held)| cell(slot.name.clone(), *held));
        let own = view.slots.iter().enumerate();
        let own = own.map(|(n, held)| cell(format!("array {n} at this thread"), *held));
        let nodes = view.nodes.iter().enumerate().map(|(id, node)| self.node(id as u32, node));
        let records = view.records.iter().enumerate();
        let records = records.map(|(id, record)| self.record(first_record, id as u32, record));
        Memory {
            variables: shared.chain(own).collect(),
            nodes: nodes.chain(records).collect(),
            locals: self.locals(view, cell),
        }
    }

    fn locals(&self, view: &View, cell: impl Fn(String, Val) -> Cell) -> Vec<Local> {
        let Some(busy) = &view.busy else { return Vec::new() };
        let held = busy.regs.iter().enumerate().filter(|(_, held)| **held != Val::Dead);
        let named = held.filter_map(|(reg, held)| {
            let slot = self.model.steps.register(busy.pc, Reg(reg as u32))?;
            let is_named = !slot.name.starts_with('_');
            is_named.then(|| Local { thread: 0, cell: cell(slot.name.clone(), *held) })
        });
        named.collect()
    }

    fn node(&self, id: u32, node: &Node) -> run::Node {
        let mut fields = Vec::new();
        let mut plain = |name: &str, value: &str, kind| {
            fields.push(Cell { name: name.to_owned(), value: value.to_owned(), node: None, kind });
        };
        if self.model.fields.contains(&Field::Key) {
            plain("key", class(node.attr.class()), CellKind::Plain);
        }
        if node.attr.marked() {
            let name = if node.attr.marked_by_me() { "marked by me" } else { "marked" };
            plain(name, "true", CellKind::Flag);
        }
        if node.attr.locked_by_me() {
            plain("lock", "held by me", CellKind::Lock);
        }
        let to = Cell { name: "next".to_owned(), ..cell(String::new(), node.to, 0) };
        let value = format!("{}{}", self.segment(&node.segment), to.value);
        fields.push(Cell { value, kind: CellKind::Reference, ..to });
        let kind = if node.private { "private node" } else { "node" }.to_owned();
        run::Node { id, kind, fields, freed: false }
    }

    fn record(&self, first: u32, number: u32, record: &Record) -> run::Node {
        let fields = record.fields.iter().enumerate().filter(|(_, held)| **held != Val::Dead);
        let fields = fields.map(|(n, held)| cell(format!("field {n}"), *held, first)).collect();
        let kind = if record.private { "private record" } else { "record" }.to_owned();
        run::Node { id: first + number, kind, fields, freed: false }
    }

    /// The nodes between two that are named, before the arrow to the second.
    fn segment(&self, segment: &Segment) -> String {
        if segment.is_empty() {
            return String::new();
        }
        let kinds: Vec<String> = attrs(segment.attrs).map(|attr| self.attr(attr)).collect();
        let some = if segment.optional { "any number" } else { "one or more" };
        let order = if segment.sorted { "" } else { " in any order" };
        format!("{{{some} of: {}{order}}} → ", kinds.join(" | "))
    }

    fn attr(&self, attr: Attr) -> String {
        let mut parts = Vec::new();
        if self.model.fields.contains(&Field::Key) {
            parts.push(class(attr.class()));
        }
        if attr.marked() {
            parts.push(if attr.marked_by_me() { "marked by me" } else { "marked" });
        }
        if attr.locked_by_me() {
            parts.push("locked by me");
        }
        if parts.is_empty() { "node".to_owned() } else { parts.join(" ") }
    }
}

/// Whether a colour is told instead of a value.
fn is_coloured(view: &View) -> bool {
    let registers = view.busy.iter().flat_map(|busy| busy.regs.iter().chain(&busy.args));
    let fields = view.records.iter().flat_map(|record| &record.fields);
    let mut held = registers.chain(fields).chain(&view.globals).chain(&view.slots);
    held.any(|held| matches!(held, Val::Colour(_)))
}

fn since_the_call(kind: Kind, view: &View) -> String {
    let ghost = view.busy.as_ref().map(|b| b.ghost).unwrap_or_default();
    let (yes, no) = match kind {
        Kind::Set => ("x was a member at some moment", "x was no member at some moment"),
        Kind::Cell => ("it held this value at some moment", "it held another value at some moment"),
        _ => ("the object was empty at some moment", "the object was not empty at some moment"),
    };
    let mut parts = Vec::new();
    if ghost.done {
        parts.push("it took effect");
    }
    if ghost.saw_yes {
        parts.push(yes);
    }
    if ghost.saw_no {
        parts.push(no);
    }
    if ghost.firsts != 0 {
        parts.push(match kind {
            Kind::Set => "the value of x was known at some moment",
            _ => "the first item was known at some moment",
        });
    }
    let moments = view.numbers.moments.iter();
    let words = |moment: &Vec<Val>| moment.iter().map(|v| value(*v)).collect::<Vec<_>>().join(", ");
    let moments: Vec<String> = moments.map(words).collect();
    let moments = format!("the content was {}", moments.join(", then or before "));
    if !view.numbers.moments.is_empty() {
        parts.push(&moments);
    }
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}

fn cell(name: String, held: Val, first_record: u32) -> Cell {
    let (node, kind) = match held {
        Val::Node(id) => (Some(u32::from(id)), CellKind::Reference),
        Val::Record(id) => (Some(first_record + u32::from(id)), CellKind::Reference),
        Val::Null => (None, CellKind::Reference),
        _ => (None, CellKind::Plain),
    };
    let value = node.map_or_else(|| value(held), |id| format!("#{id}"));
    Cell { name, value, node, kind }
}

fn value(held: Val) -> String {
    match held {
        Val::Dead => "-".to_owned(),
        Val::Null => "null".to_owned(),
        Val::Node(n) => format!("#{n}"),
        Val::Key(of) => class(of).to_owned(),
        Val::Colour(0) => "red".to_owned(),
        Val::Colour(_) => "blue".to_owned(),
        Val::Int(n) => n.to_string(),
        Val::Own(n) => format!("{n}, last changed by this operation"),
        Val::Record(n) => format!("record {n}"),
        Val::Tid(0) => "this thread".to_owned(),
        Val::Tid(n) => format!("thread {n}"),
        Val::Hidden => "?".to_owned(),
        Val::Num(base, 0) => format!("n{base}"),
        Val::Num(base, offset) => format!("n{base}{offset:+}"),
        Val::Lock(Holder::Free) => "free".to_owned(),
        Val::Lock(Holder::Mine) => "held by this thread".to_owned(),
        Val::Lock(Holder::Other) => "held by another".to_owned(),
    }
}

fn class(class: Class) -> &'static str {
    match class {
        Class::MinusInf => "-inf",
        Class::Below => "below x",
        Class::Tracked => "x",
        Class::Above => "above x",
        Class::PlusInf => "+inf",
    }
}
