//! Views and effects of a certificate as drawings, for people.
//!
//! A chain of nodes is a line: `top ─→ (a red) ─→ ⋯ ─→ (b any, t) ─→ null` reads: `top` points to a node with a red value, some
//! nodes further comes one to which the register `t` points, and it is the last. `⋯` is a stretch of one or more nodes, `(⋯)` one of
//! any number. A chain that runs into a node drawn before ends with its letter.
//! `b ─→ ? ─→ (below marked) ─→ c`, in an effect: only such nodes lie between b and c, if any.

use crate::certificate::{Effect, Target};
use crate::object::{Field, Object};
use crate::picture::{Face, Item, Node, Picture, Time, To};
use crate::state::{Operation, State};
use crate::word::{Attribute, Class, Holder, Mark, NodeId, Values, Word};
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
        for (name, word) in &names {
            match word {
                Word::Node(id) if drawn.contains(id) => {}
                Word::Node(_) => {
                    let chain = self.chain(&view.picture, *word, (&names, &mut drawn));
                    lines.push(format!("  {chain}"));
                }
                word => lines.push(format!("  {name} = {}", word_text(*word))),
            }
        }
        lines.join("\n")
    }

    fn operation(&self, operation: &Operation) -> String {
        let method = &self.object.steps.methods[operation.method as usize].name;
        let span = self.object.steps.code[operation.pc.0 as usize].span;
        let line = span.line(&self.program.source);
        let text = self.program.source.lines().nth(line - 1).unwrap_or_default().trim();
        let arguments: Vec<String> = operation.arguments.iter().map(|w| word_text(*w)).collect();
        let argument = arguments.join(", ");
        let ghost = &operation.ghost;
        let moments =
            if self.object.has(Field::Key) { ["x in", "x out"] } else { ["empty", "not empty"] };
        let seen = [
            ghost.saw_yes.then(|| format!("; has seen: {}", moments[0])),
            ghost.saw_no.then(|| format!("; has seen: {}", moments[1])),
            (ghost.firsts & 1 != 0).then(|| "; has seen: red first".to_owned()),
            (ghost.firsts & 2 != 0).then(|| "; has seen: blue first".to_owned()),
            ghost.done.then(|| "; has taken effect".to_owned()),
            ghost.got.map(|word| format!(" on {}", word_text(word))),
        ];
        let seen: String = seen.into_iter().flatten().collect();
        format!("{method}({argument}), next: `{text}`{seen}")
    }

    /// The shared variables and registers of which something is known.
    fn names(&self, view: &State) -> Vec<(String, Word)> {
        let shared = self.object.steps.shared.iter().map(|s| s.name.clone());
        let mut names: Vec<(String, Word)> =
            shared.zip(view.picture.shared.iter().copied()).collect();
        if let Some(operation) = &view.operation {
            for (number, word) in operation.registers.iter().enumerate() {
                let slot = self.object.steps.register(operation.pc, Reg(number as u32));
                if let (Some(slot), false) = (slot, *word == Word::Unknown) {
                    names.push((slot.name.clone(), *word));
                }
            }
        }
        names
    }

    fn chain(
        &self,
        picture: &Picture,
        from: Word,
        (names, drawn): (&[(String, Word)], &mut Vec<NodeId>),
    ) -> String {
        let pointing = |word: Word| -> Vec<&str> {
            names.iter().filter(|(_, w)| *w == word).map(|(name, _)| name.as_str()).collect()
        };
        let mut text = pointing(from).join(", ");
        let (items, _) = picture.walk(from, Time::Now);
        for item in items {
            text += " ─→ ";
            match item {
                Item::Stretch(id) if picture.stretch(id).optional => text += "(⋯)",
                Item::Stretch(_) => text += "⋯",
                Item::Node(id) if drawn.contains(&id) => return text + &letter(drawn, id),
                Item::Node(id) => {
                    drawn.push(id);
                    let node = picture.node(id);
                    let mut parts = self.facts(node, &node.now);
                    if Word::Node(id) != from {
                        parts.extend(pointing(Word::Node(id)).into_iter().map(str::to_owned));
                    }
                    let letter = letter(drawn, id);
                    text += &format!("({letter} {})", parts.join(", "));
                }
            }
        }
        let ends = picture.walk(from, Time::Now).0.last().map(|item| match item {
            Item::Node(id) => picture.link(*id, Time::Now),
            Item::Stretch(id) => picture.stretch(*id).to,
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
        let scalars = scalars.map(|(v, told)| format!("{} = {}", name(v), word_text(told.shown())));
        let places = effect.places.iter().enumerate().map(|(number, place)| {
            let fresh = if place.fresh { "new " } else { "" };
            let way = place.way.map_or(String::new(), |way| {
                let looks = |a: Attribute| {
                    let mark = if a.mark.is_set() { " marked" } else { "" };
                    format!("{}{mark}", class_text(a.class))
                };
                let between: Vec<String> = way.between.iter().map(looks).collect();
                format!(" ─→ ({}) ─→ {}", between.join(" or "), place_letter(way.to))
            });
            format!("{fresh}{} ─→ {}{way}", place_letter(number), target(&place.link))
        });
        let moves = effect.moves.iter();
        let moves = moves.map(|(v, t)| format!("{} ─→ {}", name(v.variable()), target(t)));
        let links =
            effect.links.iter().map(|(p, t)| format!("{} ─→ {}", place_letter(*p), target(t)));
        let marks = effect.marks.iter().map(|(p, set)| {
            let mark = if *set { "marked" } else { "not marked" };
            format!("{} is {mark}", place_letter(*p))
        });
        let stores = effect.stores.iter();
        let stores = stores.map(|(v, told)| format!("{} = {}", name(*v), word_text(told.shown())));
        let before: Vec<String> = references.chain(scalars).chain(places).collect();
        let after: Vec<String> = moves.chain(links).chain(marks).chain(stores).collect();
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
    let words: Vec<String> = values.iter().map(word_text).collect();
    if values == Values(3) { "any value".to_owned() } else { words.join(" or ") }
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

fn word_text(word: Word) -> String {
    match word {
        Word::Unknown | Word::Outside | Word::Node(_) => "?".to_owned(),
        Word::Number(base, offset) => format!("n{base}{offset:+}"),
        Word::Record(id) => format!("record {}", id.0),
        Word::Thread(0) => "me".to_owned(),
        Word::Thread(number) => format!("thread {number}"),
        Word::Null => "null".to_owned(),
        Word::Key(class) => class_text(class).to_owned(),
        Word::Value(0) => "red".to_owned(),
        Word::Value(_) => "blue".to_owned(),
        Word::Int(number) => number.to_string(),
        Word::Own(number) => format!("{number}, changed by me"),
        Word::Lock(Holder::Free) => "free".to_owned(),
        Word::Lock(Holder::Mine) => "mine".to_owned(),
        Word::Lock(Holder::Other) => "another's".to_owned(),
    }
}
