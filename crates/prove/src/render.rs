//! A stuck proof as text: the step, the view before it, and the way that led there.

use crate::content::Abstraction;
use crate::fixpoint::{Block, Fixpoint};
use crate::model::{Field, Model};
use crate::outcome::{At, Obstacle, Stuck};
use crate::value::{Attr, Class, Holder, Val, attrs};
use crate::view::{Node, Segment, View};
use seriatim_lang::Program;
use seriatim_lang::steps::Pc;
use std::fmt::Write;

/// How many steps of the way are shown.
const WAY: usize = 12;

/// What to report about a fixpoint that got stuck.
pub fn stuck(
    program: &Program,
    model: &Model,
    fixpoint: &Fixpoint,
    (abstraction, block): (Abstraction, Block),
) -> Stuck {
    let view = fixpoint.views.list.get(block.view).cloned().unwrap_or_default();
    let mut text = format!("{}\n", block.obstacle.text());
    let _ = writeln!(text, "  with the content: {}", abstraction.text(model));
    let _ = writeln!(text, "  at: {}", show_at(program, model, block.at));
    let _ = writeln!(text, "{}", show_view(program, model, &view));
    let _ = writeln!(text, "  how the thread came to this view (the latest step first):");
    let mut number = block.view;
    for _ in 0..WAY {
        let Some((from, at)) = fixpoint.views.origins.get(number).copied() else { break };
        let _ = writeln!(text, "    {}", show_at(program, model, at));
        if at == At::Start {
            break;
        }
        number = from;
    }
    Stuck {
        limited: block.obstacle == Obstacle::Limit,
        obstacle: block.obstacle,
        view,
        at: block.at,
        abstraction,
        views: fixpoint.views.list.len(),
        text,
    }
}

fn show_at(program: &Program, model: &Model, at: At) -> String {
    match at {
        At::Start => "the start".to_string(),
        At::Call(method) => format!("the call of {}", model.steps.methods[method as usize].name),
        At::Own(pc) => format!("this thread's step {}", show_pc(program, model, pc)),
        At::Other(pc) => format!("another thread's step {}", show_pc(program, model, pc)),
    }
}

fn show_pc(program: &Program, model: &Model, pc: Pc) -> String {
    let start = model.steps.code[pc.0 as usize].span.start as usize;
    let before = program.source.get(..start).unwrap_or("");
    let number = before.matches('\n').count();
    let line = program.source.lines().nth(number).unwrap_or("").trim();
    format!("in line {}: {line}", number + 1)
}

/// A view as text.
pub fn show_view(program: &Program, model: &Model, view: &View) -> String {
    let mut text = String::new();
    match &view.busy {
        None => text.push_str("  the thread is idle\n"),
        Some(busy) => {
            let name = &model.steps.methods[busy.method as usize].name;
            let at = show_pc(program, model, busy.pc);
            let args: Vec<String> =
                busy.args.iter().filter(|a| **a != Val::Dead).map(|a| show_val(*a)).collect();
            let _ = writeln!(text, "  the thread runs {name}({}) {at}", args.join(", "));
            let _ = writeln!(text, "  since its call: {}", show_ghost(view));
            for (reg, value) in busy.regs.iter().enumerate().filter(|(_, v)| **v != Val::Dead) {
                let reg = seriatim_lang::steps::Reg(reg as u32);
                let name = model.steps.register(busy.pc, reg).map_or("?", |s| s.name.as_str());
                let _ = writeln!(text, "    {name} = {}", show_val(*value));
            }
        }
    }
    for (slot, value) in model.steps.shared.iter().zip(&view.globals) {
        let _ = writeln!(text, "  {} = {}", slot.name, show_val(*value));
    }
    for (number, value) in view.slots.iter().enumerate() {
        let _ = writeln!(text, "  my element of array {number} = {}", show_val(*value));
    }
    for (number, record) in view.records.iter().enumerate() {
        let fields = record.fields.iter().filter(|f| **f != Val::Dead);
        let fields: Vec<String> = fields.map(|f| show_val(*f)).collect();
        let private = if record.private { " (private)" } else { "" };
        let _ = writeln!(text, "  record {number}{private}: {}", fields.join(", "));
    }
    if let Some(window) = &view.window {
        let owner = if window.mine { "mine" } else { "another's" };
        let _ = writeln!(
            text,
            "  the installed record is {owner}; content before: {}; control since: {:#b}",
            show_val(window.base),
            window.seen
        );
    }
    for (number, node) in view.nodes.iter().enumerate() {
        let _ = writeln!(text, "  #{number}: {}", show_node(model, node));
    }
    text
}

fn show_ghost(view: &View) -> String {
    let ghost = view.busy.as_ref().map(|b| b.ghost).unwrap_or_default();
    let mut parts = Vec::new();
    if ghost.done {
        parts.push("it took effect");
    }
    if ghost.saw_yes {
        parts.push("x was a member (or the sequence empty) at some moment");
    }
    if ghost.saw_no {
        parts.push("x was no member at some moment");
    }
    let moments: Vec<String> = view.numbers.moments.iter().map(|v| show_val(*v)).collect();
    let moments = format!("the content was {}", moments.join(", then or before "));
    if !view.numbers.moments.is_empty() {
        parts.push(&moments);
    }
    if parts.is_empty() { "nothing".to_string() } else { parts.join(", ") }
}

fn show_val(value: Val) -> String {
    match value {
        Val::Dead => "-".to_string(),
        Val::Null => "null".to_string(),
        Val::Node(n) => format!("#{n}"),
        Val::Key(class) => show_class(class).to_string(),
        Val::Colour(0) => "red".to_string(),
        Val::Colour(_) => "blue".to_string(),
        Val::Int(n) => n.to_string(),
        Val::Record(n) => format!("record {n}"),
        Val::Tid(0) => "this thread".to_string(),
        Val::Tid(n) => format!("thread {n}"),
        Val::Hidden => "?".to_string(),
        Val::Num(base, 0) => format!("n{base}"),
        Val::Num(base, offset) => format!("n{base}{offset:+}"),
        Val::Lock(Holder::Free) => "free".to_string(),
        Val::Lock(Holder::Mine) => "mine".to_string(),
        Val::Lock(Holder::Other) => "held by another".to_string(),
    }
}

fn show_class(class: Class) -> &'static str {
    match class {
        Class::MinusInf => "-inf",
        Class::Below => "below x",
        Class::Tracked => "x",
        Class::Above => "above x",
        Class::PlusInf => "+inf",
    }
}

fn show_attr(model: &Model, attr: Attr) -> String {
    let mut parts = Vec::new();
    if model.fields.contains(&Field::Key) {
        parts.push(show_class(attr.class()));
    }
    if attr.marked() {
        parts.push(if attr.marked_by_me() { "marked by me" } else { "marked" });
    }
    if attr.locked_by_me() {
        parts.push("locked by me");
    }
    if parts.is_empty() { "node".to_string() } else { parts.join(" ") }
}

fn show_node(model: &Model, node: &Node) -> String {
    let mut text = show_attr(model, node.attr);
    if node.private {
        text.push_str(" (private)");
    }
    let _ = write!(text, " -> {}{}", show_segment(model, &node.segment), show_val(node.to));
    text
}

fn show_segment(model: &Model, segment: &Segment) -> String {
    if segment.is_empty() {
        return String::new();
    }
    let kinds: Vec<String> = attrs(segment.attrs).map(|a| show_attr(model, a)).collect();
    let some = if segment.optional { "any number" } else { "one or more" };
    let order = if segment.sorted { "" } else { " in any order" };
    format!("{{{some} of: {}{order}}} -> ", kinds.join(" | "))
}
