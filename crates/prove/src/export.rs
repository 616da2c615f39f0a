//! A proof as a file that others can check: the text that `seriatim certify` reads.
//!
//! The format is described in the book (`docs/certificates.md`). The checker is a crate of its own
//! that shares the language with this one and nothing else; this file is all that the prover knows
//! about it.

use crate::content::{Begin, Counted};
use crate::difference::{Fact, Relation};
use crate::effect::{Behind, Effect, Place, Target};
use crate::interference::Interference;
use crate::model::{Kind, Model};
use crate::outcome::Proof;
use crate::value::{Attr, Class, Holder, Val, Values, attrs};
use crate::view::{Ghost, Node, Numbers, Record, View, Window};
use seriatim_lang::Program;
use std::fmt::Write;

impl Proof {
    /// The proof as a certificate of the program of which it is a proof, or why there is none.
    pub fn certificate(&self, program: &Program) -> Result<String, String> {
        let model = Model::of(program, self.reduction, 2)?;
        let model = model.ok_or("it has no such reduction")?;
        let listing = seriatim_lang::show::listing(&model.steps);
        let begin = match self.abstraction.begin {
            Begin::AtRoot => "first",
            Begin::BehindDummy => "second",
        };
        let counted = match self.abstraction.counted {
            Counted::Reachable => "all",
            Counted::ReachableUnmarked => "unmarked",
        };
        let mut text = format!(
            "seriatim certificate 1\nprogram {} {:016x}\ncontent {} {begin} {counted}",
            model.steps.name,
            hash(&listing),
            self.root
        );
        for view in &self.views {
            write!(text, "\nview {}", view_text(&model, view)).expect("a string takes all");
        }
        for interference in &self.interference {
            // The checker finds out by itself what exchanges of records do to others.
            if let Interference::List(effect) = interference {
                write!(text, "\neffect {}", effect_text(&model, effect))
                    .expect("a string takes all");
            }
        }
        if !model.arrays.is_empty() {
            for shape in &self.shapes {
                write!(text, "\nshape {}", listed(&shape.fields)).expect("a string takes all");
            }
        }
        let sum = hash(&text);
        write!(text, "\nend {sum:016x}\n").expect("a string takes all");
        Ok(text)
    }
}

/// Fowler, Noll and Vo's hash, 1a, 64 bits.
fn hash(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

fn view_text(model: &Model, view: &View) -> String {
    let who = match &view.busy {
        None => "idle".to_owned(),
        Some(busy) => format!(
            "{} {} {} {} {}",
            busy.pc.0,
            model.steps.methods[busy.method as usize].name,
            listed(&busy.args),
            ghost(&busy.ghost),
            joined(busy.regs.iter().map(|v| word(*v)))
        ),
    };
    let shared = joined(view.globals.iter().map(|v| word(*v)));
    let mut text = format!("{who} | {shared} | {}", joined(view.nodes.iter().map(node)));
    if has_records(model) {
        let record = |record: &Record| {
            let privacy = if record.private { "private" } else { "public" };
            format!("{privacy}:{}", listed(&record.fields))
        };
        let records = joined(view.records.iter().map(record));
        let own = joined(view.slots.iter().map(|v| word(*v)));
        let window = window_text(model, view.window.as_ref());
        write!(text, " | {records} | {own} | {window}").expect("a string takes all");
    }
    if model.kind == Kind::Number {
        write!(text, " | {}", numbers_text(&view.numbers)).expect("a string takes all");
    }
    text
}

/// Whether views have records, elements of arrays and windows.
fn has_records(model: &Model) -> bool {
    matches!(model.kind, Kind::Cell | Kind::Number)
        || model.steps.structs.len() > 1
        || !model.arrays.is_empty()
}

fn window_text(model: &Model, window: Option<&Window>) -> String {
    let Some(window) = window else { return "-".to_owned() };
    let whose = if window.mine { "mine" } else { "other" };
    let seen = (0..32).filter(|c| window.seen >> c & 1 == 1).map(|c: u32| c.to_string());
    let seen = seen.collect::<Vec<_>>().join(",");
    let method = &model.steps.methods[window.method as usize].name;
    format!("{whose} {method} {} {} {seen}", listed(&window.args), word(window.base))
}

fn numbers_text(numbers: &Numbers) -> String {
    let fact = |fact: &Fact| {
        let relation = match fact.relation {
            Relation::IsNot => "differs",
            Relation::Less => "less",
            Relation::AtLeast => "atleast",
        };
        let second = match fact.b {
            Some(base) => format!("n{base}+{}", fact.by),
            None => fact.by.to_string(),
        };
        format!("n{}+0:{relation}:{second}", fact.a)
    };
    let facts = joined(numbers.facts.iter().map(fact));
    let moments = joined(numbers.moments.iter().map(|m| word(*m)));
    let answer = numbers.answer.map_or("-".to_owned(), word);
    format!("{facts} | {moments} | {answer}")
}

/// Words of which the last ones may be missing, separated by commas.
fn listed(values: &[Val]) -> String {
    let present = values.iter().filter(|v| **v != Val::Dead);
    let words: Vec<String> = present.map(|v| word(*v)).collect();
    if words.is_empty() { "?".to_owned() } else { words.join(",") }
}

fn ghost(ghost: &Ghost) -> String {
    let got = ["got0", "got1", "gotnull", "gotno", "gotyes"];
    let parts = [
        ghost.saw_yes.then_some("yes"),
        ghost.saw_no.then_some("no"),
        (ghost.firsts & 1 != 0).then_some("first0"),
        (ghost.firsts & 2 != 0).then_some("first1"),
        ghost.done.then_some("done"),
        ghost.got.and_then(|colour| got.get(colour as usize).copied()),
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(",") }
}

fn word(value: Val) -> String {
    match value {
        Val::Dead | Val::Hidden => "?".to_owned(),
        Val::Num(base, offset) => format!("n{base}+{offset}"),
        Val::Record(record) => format!("r{record}"),
        Val::Tid(thread) => format!("t{thread}"),
        Val::Null => "null".to_owned(),
        Val::Node(node) => format!("#{node}"),
        Val::Key(key) => format!("k{}", class(key)),
        Val::Colour(colour) => format!("v{colour}"),
        Val::Int(number) => number.to_string(),
        Val::Own(number) => format!("mine:{number}"),
        Val::Lock(Holder::Free) => "free".to_owned(),
        Val::Lock(Holder::Mine) => "mine".to_owned(),
        Val::Lock(Holder::Other) => "other".to_owned(),
    }
}

fn class(class: Class) -> char {
    match class {
        Class::MinusInf => '-',
        Class::Below => '<',
        Class::Tracked => '=',
        Class::Above => '>',
        Class::PlusInf => '+',
    }
}

fn attribute(attr: Attr) -> String {
    let mark = match (attr.marked(), attr.marked_by_me()) {
        (false, _) => "",
        (true, false) => "m",
        (true, true) => "M",
    };
    let lock = if attr.locked_by_me() { "L" } else { "" };
    format!("{}{mark}{lock}", class(attr.class()))
}

fn listed_attributes(set: u64) -> String {
    attrs(set).map(attribute).collect::<Vec<_>>().join(",")
}

fn values(values: Values) -> String {
    let letters = "01n".chars().enumerate().filter(|(i, _)| values >> i & 1 == 1);
    let text: String = letters.map(|(_, letter)| letter).collect();
    if text.is_empty() { "-".to_owned() } else { text }
}

fn node(node: &Node) -> String {
    let private = if node.private { "private" } else { "public" };
    let (values_text, to) = (values(node.values), word(node.to));
    let mut text = format!("{}:{values_text}:{private}:{to}", attribute(node.attr));
    if !node.segment.is_empty() {
        let optional = if node.segment.optional { "optional" } else { "some" };
        let sorted = if node.segment.sorted { "sorted" } else { "any" };
        let (inside, held) = (listed_attributes(node.segment.attrs), values(node.segment.values));
        write!(text, ":{inside}:{held}:{optional}:{sorted}").expect("a string takes all");
    }
    text
}

fn target(target: &Target) -> String {
    match target {
        Target::Null => "null".to_owned(),
        Target::At(place) => format!("p{place}"),
        Target::Elsewhere => "elsewhere".to_owned(),
        Target::Unknown => "?".to_owned(),
    }
}

fn place(model: &Model, place: &Place) -> String {
    let fresh = if place.fresh { "fresh" } else { "old" };
    let from = model.steps.shared.iter().enumerate();
    let from = from.filter(|(i, _)| place.reach >> i & 1 == 1).map(|(_, s)| s.name.as_str());
    let (from, attribute) = (from.collect::<Vec<_>>().join(","), attribute(place.attr));
    let path = match place.path {
        None => String::new(),
        Some(path) => {
            format!(":{}:{}", target(&Target::At(path.to)), listed_attributes(path.attrs))
        }
    };
    format!("{fresh}:{attribute}:{from}:{}:{}{path}", target(&place.link), values(place.values))
}

fn effect_text(model: &Model, effect: &Effect) -> String {
    let name = |variable: usize| model.steps.shared[variable].name.as_str();
    let references: Vec<usize> =
        (0..model.steps.shared.len()).filter(|v| model.is_reference(*v)).collect();
    let others = (0..model.steps.shared.len()).filter(|v| !model.is_reference(*v));
    let pointed =
        references.iter().map(|v| format!("{}={}", name(*v), target(&effect.references[*v])));
    let scalars = others.map(|v| format!("{}={}", name(v), word(effect.scalars[v])));
    let behind = references.iter().filter_map(|v| {
        let what = match effect.outlook.behind[*v] {
            Behind::NoNode => "null",
            Behind::Nothing => "none",
            Behind::Something => "some",
            Behind::Unknown => return None,
        };
        Some(format!("{}>{what}", name(*v)))
    });
    let pairs = (0..references.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    let equal = pairs.zip(&effect.outlook.equal).map(|((a, b), equal)| {
        let sign = if *equal { "==" } else { "!=" };
        format!("{}{sign}{}", name(references[a]), name(references[b]))
    });
    let links = effect.links.iter().map(|(p, t)| format!("p{p}.link={}", target(t)));
    let marks = effect.marks.iter().map(|(p, set)| {
        let mark = if *set { "yes" } else { "no" };
        format!("p{p}.mark={mark}")
    });
    let moves = effect.moves.iter().map(|(v, t)| format!("{}={}", name(*v as usize), target(t)));
    let stores = effect.stores.iter().map(|(v, w)| format!("{}={}", name(*v as usize), word(*w)));
    format!(
        "{} | {} | {} | {} | {}",
        joined(effect.places.iter().map(|p| place(model, p))),
        joined(pointed),
        joined(scalars),
        joined(behind.chain(equal)),
        joined(links.chain(marks).chain(moves).chain(stores))
    )
}
