//! Views and effects of a certificate as drawings, for people.
//!
//! A chain of nodes is a line: `top ─→ (a red) ─→ ⋯ ─→ (b any, t) ─→ null` reads: `top` points to a
//! node with a red value, some nodes further comes one to which the register `t` points, and it is
//! the last. `⋯` is a segment of one or more nodes, `(⋯)` one of any number. A chain that runs into
//! a node drawn before ends with its letter. `b ─→ ? ─→ (below marked) ─→ c`, in an effect: only
//! such nodes lie between b and c, if any.
//!
//! Below the chains stand the records with their fields, the thread's own elements of arrays, the
//! operation that is installed in a cell, and what is known about numbers.

use crate::certificate::{Effect, Target};
use crate::heap_graph::{Face, HeapGraph, Item, Node, Time, To};
use crate::number::Relation;
use crate::object::{Field, Object, Spec};
use crate::record::Shape;
use crate::scalar::{Attribute, Class, Holder, Mark, NodeId, Scalar, Values};
use crate::state::{Operation, Record, State, Window};
use seriatim_lang::Program;
use seriatim_lang::steps::Reg;

/// Draws the views and effects of one program.
pub struct Draw<'a> {
    program: &'a Program,
    object: &'a Object,
}

impl<'a> Draw<'a> {
    /// Drawings for a program.
    pub fn new(program: &'a Program, object: &'a Object) -> Draw<'a> {
        Draw { program, object }
    }

    /// A view.
    pub fn view(&self, view: &State) -> String {
        let mut lines = vec![match &view.operation {
            None => "an idle thread".to_owned(),
            Some(operation) => self.operation(operation),
        }];
        let names = self.names(view);
        let mut drawn: Vec<NodeId> = Vec::new();
        for (name, scalar) in &names {
            match scalar {
                Scalar::Node(id) if drawn.contains(id) => {}
                Scalar::Node(_) => {
                    let chain = self.chain(&view.graph, *scalar, &names, &mut drawn);
                    lines.push(format!("  {chain}"));
                }
                scalar => lines.push(format!("  {name} = {}", self.text(*scalar))),
            }
        }
        let records = view.records.iter().enumerate();
        let records = records.map(|(number, record)| self.record(number, record));
        let own = self.object.arrays.iter().filter_map(|array| {
            let scalar = view.own.get(array.own?)?;
            let slot = &self.object.steps.shared[array.first as usize].name;
            let name = slot.split('.').next().unwrap_or(slot);
            Some(format!("{name}[me] = {}", self.text(*scalar)))
        });
        let window = view.window.iter().map(|window| self.window(window));
        let beside = records.chain(own).chain(window).chain(self.numbers(view));
        lines.extend(beside.map(|line| format!("  {line}")));
        lines.join("\n")
    }

    /// A record with its fields.
    fn record(&self, number: usize, record: &Record) -> String {
        let private = if record.private { ", private" } else { "" };
        format!("record {number} = {}{private}", self.shape(&record.fields))
    }

    /// The fields of a record that threads publish.
    pub fn shape(&self, fields: &Shape) -> String {
        let is_list = |number: &usize| self.object.list.is_some_and(|l| l.0 as usize == *number);
        let structs = &self.object.steps.structs;
        let records = (0..structs.len()).filter(|number| !is_list(number));
        let mut alike = records.filter(|number| structs[*number].slots.len() == fields.len());
        let slots = match (alike.next(), alike.next()) {
            (Some(only), None) => Some(&structs[only].slots),
            _ => None,
        };
        let field = |(number, scalar): (usize, &Scalar)| match slots {
            Some(slots) => format!("{}: {}", slots[number].name, self.text(*scalar)),
            None => self.text(*scalar),
        };
        let known = fields.iter().enumerate().map(field);
        format!("({})", known.collect::<Vec<_>>().join(", "))
    }

    /// The operation that is installed in a cell.
    fn window(&self, window: &Window) -> String {
        let whose = if window.mine { "mine" } else { "another thread's" };
        let method = &self.object.steps.methods[window.method as usize].name;
        let arguments = window.arguments.iter().map(|w| self.text(*w)).collect::<Vec<_>>();
        let seen = (0..32).filter(|n| window.seen >> n & 1 == 1).map(|n: u32| n.to_string());
        let seen = match seen.collect::<Vec<_>>() {
            none if none.is_empty() => String::new(),
            some => format!("; the control variable has been {}", some.join(" and ")),
        };
        let base = self.text(window.base);
        format!("installed: {method}({}), {whose}, upon {base}{seen}", arguments.join(", "))
    }

    /// What is known about numbers, and about a content that is one.
    fn numbers(&self, view: &State) -> Vec<String> {
        let all = &view.numbers;
        let facts = all.facts.iter().map(|fact| {
            let relation = match fact.relation {
                Relation::Less => "<",
                Relation::AtLeast => "≥",
                Relation::Differ => "≠",
            };
            format!("{} {relation} {}", self.text(fact.first), self.text(fact.second))
        });
        let words = |words: &[Scalar]| words.iter().map(|w| self.text(*w)).collect::<Vec<_>>();
        let moments = all.moments.iter().map(|m| format!("has seen: {}", words(m).join(", ")));
        let answer = all.answer.iter().map(|answer| match &answer[..] {
            [] => "has taken effect".to_owned(),
            answer => format!("must return {}", words(answer).join(", ")),
        });
        facts.chain(moments).chain(answer).collect()
    }

    /// A scalar; in a cell, values are told by whether they are the tracked one.
    fn text(&self, scalar: Scalar) -> String {
        match scalar {
            Scalar::Value(tracked) if self.object.spec == Spec::Cell => {
                if tracked == 1 { "x" } else { "not x" }.to_owned()
            }
            scalar => scalar_text(scalar),
        }
    }

    fn operation(&self, operation: &Operation) -> String {
        let method = &self.object.steps.methods[operation.method as usize].name;
        let span = self.object.steps.code[operation.pc.0 as usize].span;
        let line = span.line(&self.program.source);
        let text = self.program.source.lines().nth(line - 1).unwrap_or_default().trim();
        let arguments: Vec<String> = operation.arguments.iter().map(|w| self.text(*w)).collect();
        let argument = arguments.join(", ");
        let ghost = &operation.ghost;
        let moments = match self.object.spec {
            Spec::Set => ["x in", "x out"],
            Spec::Stack | Spec::Queue => ["empty", "not empty"],
            Spec::Cell | Spec::Number => {
                ["a reason for x, true or nothing", "one for null or false"]
            }
        };
        let values = match self.object.spec {
            Spec::Set => ["x with red", "x with blue"],
            _ => ["red first", "blue first"],
        };
        let seen = [
            ghost.saw_yes.then(|| format!("; has seen: {}", moments[0])),
            ghost.saw_no.then(|| format!("; has seen: {}", moments[1])),
            (ghost.firsts & 1 != 0).then(|| format!("; has seen: {}", values[0])),
            (ghost.firsts & 2 != 0).then(|| format!("; has seen: {}", values[1])),
            ghost.done.then(|| "; has taken effect".to_owned()),
            ghost.got.map(|scalar| format!(" on {}", self.text(scalar))),
        ];
        let seen: String = seen.into_iter().flatten().collect();
        format!("{method}({argument}), next: `{text}`{seen}")
    }

    /// The shared variables and registers of which something is known.
    fn names(&self, view: &State) -> Vec<(String, Scalar)> {
        let shared = self.object.steps.shared.iter().map(|s| s.name.clone());
        let all = shared.zip(view.graph.shared.iter().copied()).enumerate();
        // Of arrays, a view knows what belongs to its thread, and that stands elsewhere.
        let single = all.filter(|(slot, _)| self.object.array(*slot).is_none());
        let mut names: Vec<(String, Scalar)> = single.map(|(_, named)| named).collect();
        if let Some(operation) = &view.operation {
            for (number, scalar) in operation.registers.iter().enumerate() {
                let slot = self.object.steps.register(operation.pc, Reg(number as u32));
                if let (Some(slot), false) = (slot, *scalar == Scalar::Unknown) {
                    names.push((slot.name.clone(), *scalar));
                }
            }
        }
        names
    }

    fn chain(
        &self,
        graph: &HeapGraph,
        from: Scalar,
        names: &[(String, Scalar)],
        drawn: &mut Vec<NodeId>,
    ) -> String {
        let pointing = |scalar: Scalar| -> Vec<&str> {
            names.iter().filter(|(_, w)| *w == scalar).map(|(name, _)| name.as_str()).collect()
        };
        let mut text = pointing(from).join(", ");
        let (items, _) = graph.walk(from, Time::Now);
        for item in items {
            text += " ─→ ";
            match item {
                Item::Segment(id) if graph.segment(id).optional => text += "(⋯)",
                Item::Segment(_) => text += "⋯",
                Item::Node(id) if drawn.contains(&id) => return text + &letter(drawn, id),
                Item::Node(id) => {
                    drawn.push(id);
                    let node = graph.node(id);
                    let mut parts = self.facts(node, &node.now);
                    if Scalar::Node(id) != from {
                        parts.extend(pointing(Scalar::Node(id)).into_iter().map(str::to_owned));
                    }
                    let letter = letter(drawn, id);
                    text += &format!("({letter} {})", parts.join(", "));
                }
            }
        }
        let ends = graph.walk(from, Time::Now).0.last().map(|item| match item {
            Item::Node(id) => graph.link(*id, Time::Now),
            Item::Segment(id) => graph.segment(*id).to,
        });
        match ends {
            Some(To::Node(id)) => text + " ─→ " + &letter(drawn, id),
            _ => text + " ─→ null",
        }
    }

    fn facts(&self, node: &Node, face: &Face) -> Vec<String> {
        let mut facts = Vec::new();
        if self.object.has(Field::Key) {
            facts.push(class_text(node.class).to_owned());
        }
        if self.object.has(Field::Value) {
            facts.push(values_text(node.values));
        }
        match face.mark {
            Mark::No => {}
            Mark::Yes => facts.push("marked".to_owned()),
            Mark::ByMe => facts.push("marked by me".to_owned()),
        }
        if face.locked {
            facts.push("locked by me".to_owned());
        }
        if face.private {
            facts.push("private".to_owned());
        }
        facts
    }

    /// An effect: what it needs, and what it writes.
    pub fn effect(&self, effect: &Effect) -> String {
        let name = |variable: usize| self.object.steps.shared[variable].name.as_str();
        let target = |target: &Target| match target {
            Target::Null => "null".to_owned(),
            Target::At(place) => place_letter(*place),
            Target::Elsewhere => "another node".to_owned(),
            Target::Unknown => "?".to_owned(),
        };
        let references = effect.references.iter().enumerate();
        let references = references.filter(|(_, said)| **said != Target::Unknown);
        let references = references.map(|(v, said)| format!("{} ─→ {}", name(v), target(said)));
        let scalars = effect.scalars.iter().enumerate();
        let scalars = scalars.filter(|(_, told)| told.is_something());
        let scalars =
            scalars.map(|(v, told)| format!("{} = {}", name(v), scalar_text(told.shown())));
        let places = effect.places.iter().enumerate().map(|(number, place)| {
            let fresh = if place.fresh { "new " } else { "" };
            let path = place.path.map_or(String::new(), |path| {
                let looks = |a: Attribute| {
                    let mark = if a.mark.is_set() { " marked" } else { "" };
                    format!("{}{mark}", class_text(a.class))
                };
                let between: Vec<String> = path.between.iter().map(looks).collect();
                format!(" ─→ ({}) ─→ {}", between.join(" or "), place_letter(path.to))
            });
            format!("{fresh}{} ─→ {}{path}", place_letter(number), target(&place.link))
        });
        let moves = effect.moves.iter();
        let moves = moves.map(|(v, t)| format!("{} ─→ {}", name(v.variable()), target(t)));
        let links =
            effect.links.iter().map(|(p, t)| format!("{} ─→ {}", place_letter(*p), target(t)));
        let marks = effect.marks.iter().map(|(p, set)| {
            let mark = if *set { "marked" } else { "not marked" };
            format!("{} is {mark}", place_letter(*p))
        });
        let held = effect.values.iter();
        let held =
            held.map(|(p, values)| format!("{} holds {}", place_letter(*p), values_text(*values)));
        let stores = effect.stores.iter();
        let stores =
            stores.map(|(v, told)| format!("{} = {}", name(*v), scalar_text(told.shown())));
        let before: Vec<String> = references.chain(scalars).chain(places).collect();
        let after: Vec<String> =
            moves.chain(links).chain(marks).chain(held).chain(stores).collect();
        format!("before: {}\n after: {}", before.join(", "), after.join(", "))
    }
}

fn letter(drawn: &[NodeId], id: NodeId) -> String {
    drawn.iter().position(|n| *n == id).map_or("?".to_owned(), place_letter)
}

fn place_letter(number: usize) -> String {
    char::from(b'a' + (number % 26) as u8).to_string()
}

fn values_text(values: Values) -> String {
    let scalars: Vec<String> = values.iter().map(scalar_text).collect();
    if values == Values(3) { "any value".to_owned() } else { scalars.join(" or ") }
}

fn class_text(class: Class) -> &'static str {
    match class {
        Class::MinusInf => "-inf",
        Class::Below => "< x",
        Class::Tracked => "x",
        Class::Above => "> x",
        Class::PlusInf => "+inf",
    }
}

fn scalar_text(scalar: Scalar) -> String {
    match scalar {
        Scalar::Unknown | Scalar::Outside | Scalar::Node(_) => "?".to_owned(),
        Scalar::Number(base, offset) => format!("n{base}{offset:+}"),
        Scalar::Record(id) => format!("record {}", id.0),
        Scalar::Thread(0) => "me".to_owned(),
        Scalar::Thread(number) => format!("thread {number}"),
        Scalar::Null => "null".to_owned(),
        Scalar::Key(class) => class_text(class).to_owned(),
        Scalar::Value(0) => "red".to_owned(),
        Scalar::Value(_) => "blue".to_owned(),
        Scalar::Int(number) => number.to_string(),
        Scalar::Own(number) => format!("{number}, changed by me"),
        Scalar::Lock(Holder::Free) => "free".to_owned(),
        Scalar::Lock(Holder::Mine) => "mine".to_owned(),
        Scalar::Lock(Holder::Other) => "another's".to_owned(),
    }
}
