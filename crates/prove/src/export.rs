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
            self.abstraction.names(&model).join(",")
        );
        for view in &self.views {
            text.push_str("\nview ");
            write_view(&mut text, &model, view);
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
                text.push_str("\nshape ");
                write_list(&mut text, &shape.fields);
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

/// Writes things one after another, separated. A certificate may have a hundred thousand views of a
/// hundred words: they are written where they belong, without strings of their own.
fn write_each<T>(
    text: &mut String,
    separator: char,
    things: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    for (nth, thing) in things.into_iter().enumerate() {
        if nth > 0 {
            text.push(separator);
        }
        write(text, thing);
    }
}

fn write_words(text: &mut String, values: &[Val]) {
    write_each(text, ' ', values, |text, value| write_word(text, *value));
}

fn write_view(text: &mut String, model: &Model, view: &View) {
    match &view.busy {
        None => text.push_str("idle"),
        Some(busy) => {
            let method = &model.steps.methods[busy.method as usize].name;
            write!(text, "{} {method} ", busy.pc.0).expect("a string takes all");
            write_list(text, &busy.args);
            text.push(' ');
            write_ghost(text, &busy.ghost);
            text.push(' ');
            write_words(text, &busy.regs);
        }
    }
    text.push_str(" | ");
    write_words(text, &view.globals);
    text.push_str(" | ");
    write_each(text, ' ', &view.nodes, write_node);
    if has_records(model) {
        text.push_str(" | ");
        write_each(text, ' ', &view.records, |text, record: &Record| {
            text.push_str(if record.private { "private:" } else { "public:" });
            write_list(text, &record.fields);
        });
        text.push_str(" | ");
        write_words(text, &view.slots);
        text.push_str(" | ");
        write_window(text, model, view.window.as_ref());
    }
    if model.kind == Kind::Number {
        text.push_str(" | ");
        write_numbers(text, &view.numbers);
    }
}

/// Whether views have records, elements of arrays and windows.
fn has_records(model: &Model) -> bool {
    matches!(model.kind, Kind::Cell | Kind::Number)
        || model.steps.structs.len() > 1
        || !model.arrays.is_empty()
}

fn write_window(text: &mut String, model: &Model, window: Option<&Window>) {
    let Some(window) = window else { return text.push('-') };
    text.push_str(if window.mine { "mine " } else { "other " });
    text.push_str(&model.steps.methods[window.method as usize].name);
    text.push(' ');
    write_list(text, &window.args);
    text.push(' ');
    write_word(text, window.base);
    text.push(' ');
    let seen = (0..32u32).filter(|colour| window.seen >> colour & 1 == 1);
    write_each(text, ',', seen, |text, colour| {
        write!(text, "{colour}").expect("a string takes all");
    });
}

fn write_numbers(text: &mut String, numbers: &Numbers) {
    write_each(text, ' ', &numbers.facts, |text, fact: &Fact| {
        let relation = match fact.relation {
            Relation::IsNot => "differs",
            Relation::Less => "less",
            Relation::AtLeast => "atleast",
        };
        match fact.b {
            Some(base) => write!(text, "n{}+0:{relation}:n{base}+{}", fact.a, fact.by),
            None => write!(text, "n{}+0:{relation}:{}", fact.a, fact.by),
        }
        .expect("a string takes all");
    });
    text.push_str(" | ");
    write_each(text, ' ', &numbers.moments, |text, moment| write_list(text, moment));
    text.push_str(" | ");
    match numbers.answer.as_deref() {
        Some([]) => text.push_str("null"),
        Some(answer) => write_list(text, answer),
        None => text.push('-'),
    }
}

/// Words of which the last ones may be missing, separated by commas.
fn write_list(text: &mut String, values: &[Val]) {
    let begin = text.len();
    let present = values.iter().filter(|value| **value != Val::Dead);
    write_each(text, ',', present, |text, value| write_word(text, *value));
    if text.len() == begin {
        text.push('?');
    }
}

fn write_ghost(text: &mut String, ghost: &Ghost) {
    let got = ["got0", "got1", "gotnull", "gotno", "gotyes"];
    let parts = [
        ghost.saw_yes.then_some("yes"),
        ghost.saw_no.then_some("no"),
        (ghost.firsts & 1 != 0).then_some("first0"),
        (ghost.firsts & 2 != 0).then_some("first1"),
        ghost.done.then_some("done"),
        ghost.got.and_then(|colour| got.get(colour as usize).copied()),
    ];
    let begin = text.len();
    write_each(text, ',', parts.into_iter().flatten(), String::push_str);
    if text.len() == begin {
        text.push('-');
    }
}

fn write_word(text: &mut String, value: Val) {
    let written = match value {
        Val::Dead | Val::Hidden => return text.push('?'),
        Val::Null => return text.push_str("null"),
        Val::Lock(Holder::Free) => return text.push_str("free"),
        Val::Lock(Holder::Mine) => return text.push_str("mine"),
        Val::Lock(Holder::Other) => return text.push_str("other"),
        Val::Num(base, offset) => write!(text, "n{base}+{offset}"),
        Val::Record(record) => write!(text, "r{record}"),
        Val::Tid(thread) => write!(text, "t{thread}"),
        Val::Node(node) => write!(text, "#{node}"),
        Val::Key(key) => write!(text, "k{}", class(key)),
        Val::Colour(colour) => write!(text, "v{colour}"),
        Val::Int(number) => write!(text, "{number}"),
        Val::Own(number) => write!(text, "mine:{number}"),
    };
    written.expect("a string takes all");
}

fn word(value: Val) -> String {
    let mut text = String::new();
    write_word(&mut text, value);
    text
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

fn write_node(text: &mut String, node: &Node) {
    let private = if node.private { "private" } else { "public" };
    write!(text, "{}:{}:{private}:", attribute(node.attr), values(node.values))
        .expect("a string takes all");
    write_word(text, node.to);
    if !node.segment.is_empty() {
        let optional = if node.segment.optional { "optional" } else { "some" };
        let sorted = if node.segment.sorted { "sorted" } else { "any" };
        let (inside, held) = (listed_attributes(node.segment.attrs), values(node.segment.values));
        write!(text, ":{inside}:{held}:{optional}:{sorted}").expect("a string takes all");
    }
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
    let held = effect.values.iter().map(|(p, set)| format!("p{p}.value={}", values(*set)));
    let moves = effect.moves.iter().map(|(v, t)| format!("{}={}", name(*v as usize), target(t)));
    let stores = effect.stores.iter().map(|(v, w)| format!("{}={}", name(*v as usize), word(*w)));
    format!(
        "{} | {} | {} | {} | {}",
        joined(effect.places.iter().map(|p| place(model, p))),
        joined(pointed),
        joined(scalars),
        joined(behind.chain(equal)),
        joined(links.chain(marks).chain(held).chain(moves).chain(stores))
    )
}
