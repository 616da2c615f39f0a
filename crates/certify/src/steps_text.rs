//! The steps of a program of the list class as text, for checkers in other languages.
//!
//! A certificate speaks of positions, registers, shared variables and slots of nodes; this text says
//! what they are, so that a checker needs no parser of the language. Whoever uses it believes that
//! the steps are those of the program. The format is described in `docs/certificates.md`; every
//! line is made of words, and expressions are in prefix form. Nothing here decides anything.

use crate::list_spec::{Given, Held};
use crate::object::{Field, Object, Role, Spec};
use seriatim_lang::Program;
use seriatim_lang::steps::{BinOp, Ex, MINUS_INF, NULL, Op, PLUS_INF, Place, Root};
use seriatim_lang::types::{Kind, Scalar};
use std::fmt::Write;

/// The steps as text; an error says what is outside of the class.
pub fn steps_text(program: &Program) -> Result<String, String> {
    let object = Object::of(program)?;
    if object.list.is_none() || object.has_records() {
        return Err("it is no list, or has records or arrays".to_owned());
    }
    let steps = &object.steps;
    let mut out = String::from("seriatim steps 1\n");
    let _ = writeln!(out, "program {} {:016x}", steps.name, object.hash());
    let spec = match object.spec {
        Spec::Stack => "stack",
        Spec::Queue => "queue",
        _ => "set",
    };
    let fields: Vec<&str> = object.fields.iter().map(|field| field_word(*field)).collect();
    let _ = writeln!(out, "object {spec}\nnode {}", fields.join(" "));
    for slot in &steps.shared {
        let _ = writeln!(out, "shared {} {}", slot.name, kind_words(slot.kind));
    }
    let _ = writeln!(out, "registers {}\ninit {}", steps.register_count(), steps.init.0);
    for (method, role) in steps.methods.iter().zip(&object.roles) {
        let params: Vec<String> = method.params.iter().map(|kind| kind_words(*kind)).collect();
        let (first, role) = (method.first_param.0, role_words(*role));
        let span = format!("{} {}", method.entry.0, method.end.0);
        let _ =
            writeln!(out, "method {} {span} {first} {role} | {}", method.name, params.join(" "));
    }
    for (pc, instr) in steps.code.iter().enumerate() {
        let rests = if instr.is_step() { "*" } else { "-" };
        let atomic = if instr.inside_atomic { "atomic" } else { "-" };
        let _ = writeln!(out, "{pc} {rests} {atomic} {}", op_words(&instr.op));
    }
    Ok(out)
}

fn field_word(field: Field) -> &'static str {
    match field {
        Field::Link => "link",
        Field::Key => "key",
        Field::Value => "value",
        Field::Mark => "mark",
        Field::Lock => "lock",
    }
}

/// `ref`, `key`, `value`, `lock`, `tid`, or `LOW..HIGH`; a question mark behind it says that it may
/// be null.
fn kind_words(kind: Kind) -> String {
    let word = match kind.scalar {
        Scalar::Bool => "0..1".to_owned(),
        Scalar::Int(range) => format!("{}..{}", range.low, range.high),
        Scalar::Enum(count) => format!("0..{}", count - 1),
        Scalar::Value => "value".to_owned(),
        Scalar::Key => "key".to_owned(),
        Scalar::Tid => "tid".to_owned(),
        Scalar::Lock => "lock".to_owned(),
        Scalar::Ref(_) => "ref".to_owned(),
    };
    if kind.nullable { word + "?" } else { word }
}

/// `put`, `take`, `peek` with `waits` or `null`, `ask` with what is said of the empty sequence, or
/// `key` with what happens where the key is no member and where it is.
fn role_words(role: Role) -> String {
    let otherwise = |waits: bool| if waits { "waits" } else { "null" };
    match role {
        Role::Put => "put".to_owned(),
        Role::Take { waits } => format!("take {}", otherwise(waits)),
        Role::Peek { waits } => format!("peek {}", otherwise(waits)),
        Role::IsEmpty { says } => format!("ask {}", u8::from(says)),
        Role::OnKey(does) => {
            let case = |number: usize| match does.0[number] {
                None => "waits".to_owned(),
                Some((after, result)) => {
                    format!("{},{}", held_word(number == 1, after), given_word(result))
                }
            };
            format!("key {} {}", case(0), case(1))
        }
        Role::OnCell => "cell".to_owned(),
    }
}

/// Whether the key is held afterwards; `new` if the value of the call takes the place of another.
fn held_word(before: bool, after: Held) -> &'static str {
    match after {
        Held::Nothing => "0",
        Held::Argument if before => "new",
        Held::Before | Held::Argument => "1",
    }
}

/// `-` for no result, a truth value, `null`, `old` or `new` for the value before and that of the
/// call.
fn given_word(given: Given) -> &'static str {
    match given {
        Given::Nothing => "-",
        Given::Truth(false) => "0",
        Given::Truth(true) => "1",
        Given::Null => "null",
        Given::Before => "old",
        Given::Argument => "new",
    }
}

fn op_words(op: &Op) -> String {
    match op {
        Op::Set { dst, value } => format!("set {} {}", dst.0, all(value)),
        Op::Load { dst, place } => format!("load {} {}", dst.0, place_words(place)),
        Op::Store { place, value } => format!("store {} {}", place_words(place), all(value)),
        Op::Cas { place, old, new, fail } => {
            format!("cas {} {} {} {}", fail.0, place_words(place), all(old), all(new))
        }
        Op::Swap { dst, place, value } => {
            format!("swap {} {} {}", dst.0, place_words(place), all(value))
        }
        Op::FetchAdd { dst, place, amount, kind } => {
            let (place, amount) = (place_words(place), ex(amount));
            format!("add {} {} {place} {amount}", dst.0, kind_words(*kind))
        }
        Op::Lock(place) => format!("lock {}", place_words(place)),
        Op::Unlock(place) => format!("unlock {}", place_words(place)),
        Op::Atomic | Op::Fence | Op::Lin { .. } => "skip".to_owned(),
        Op::New { dst, fields, .. } => format!("new {} {}", dst.0, all(fields)),
        Op::Branch { cond, otherwise } => format!("branch {} {}", otherwise.0, ex(cond)),
        Op::Jump(to) => format!("jump {}", to.0),
        Op::Choose(ways) => {
            let ways: Vec<String> = ways.iter().map(|to| to.0.to_string()).collect();
            format!("choose {}", ways.join(" "))
        }
        Op::Any { dst, kind } => format!("any {} {}", dst.0, kind_words(*kind)),
        Op::Assume(cond) => format!("assume {}", ex(cond)),
        Op::Assert(cond) => format!("assert {}", ex(cond)),
        Op::Check { value, kind } => format!("check {} {}", kind_words(*kind), ex(value)),
        Op::Return(value) => format!("return {}", all(value)).trim_end().to_owned(),
        _ => "unknown".to_owned(),
    }
}

/// `shared SLOT WIDTH` or `node SLOT WIDTH EXPRESSION`; `unknown` for elements of arrays.
fn place_words(place: &Place) -> String {
    match &place.root {
        _ if !place.dims.is_empty() => "unknown".to_owned(),
        Root::Shared => format!("shared {} {}", place.offset, place.width),
        Root::Node(node, _) => format!("node {} {} {}", place.offset, place.width, ex(node)),
    }
}

fn all(values: &[Ex]) -> String {
    values.iter().map(ex).collect::<Vec<_>>().join(" ")
}

fn ex(expression: &Ex) -> String {
    match expression {
        Ex::Const(NULL) => "null".to_owned(),
        Ex::Const(MINUS_INF) => "-inf".to_owned(),
        Ex::Const(PLUS_INF) => "+inf".to_owned(),
        Ex::Const(number) => number.to_string(),
        Ex::Reg(register) => format!("r{}", register.0),
        Ex::Not(a) => format!("not {}", ex(a)),
        Ex::Neg(a) => format!("neg {}", ex(a)),
        Ex::Bin(op, a, b) => {
            let word = match op {
                BinOp::Add => "plus",
                BinOp::Sub => "minus",
                BinOp::Mul => "times",
                BinOp::Div => "div",
                BinOp::Rem => "rem",
                BinOp::Eq => "equal",
                BinOp::Lt => "less",
                BinOp::And => "and",
                BinOp::Or => "or",
            };
            format!("{word} {} {}", ex(a), ex(b))
        }
        Ex::If(condition, a, b) => format!("if {} {} {}", ex(condition), ex(a), ex(b)),
        Ex::SelfTid | Ex::At { .. } => "unknown".to_owned(),
    }
}
