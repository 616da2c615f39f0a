//! The methods of a specification in the form in which they run: names are places, fields are parts,
//! and each place knows what has to be asked of a datum before it is put there.
//!
//! Logs take millions of steps, so nothing is looked up while a method runs. A parameter that is
//! never assigned stays where the caller has it.

use super::values::{Datum, is_bounded};
use crate::front::ast::*;
use crate::front::program::*;
use crate::front::types::Type;
use crate::front::walk;
use crate::steps::{MINUS_INF, PLUS_INF};
use std::collections::HashMap;

/// A method or a helper function.
#[derive(Clone, Debug)]
pub(super) struct Routine {
    /// What is asked of each argument.
    pub params: Vec<Demand>,
    /// The parameters that are assigned, and their places in the frame.
    pub copied: Vec<(usize, usize)>,
    pub body: Vec<Step>,
    /// What is asked of the result.
    pub result: Demand,
}

/// What is asked of a datum before it is put somewhere.
#[derive(Clone, Debug, Default)]
pub(super) struct Demand {
    /// The type whose bounds its numbers must keep, if it states some.
    pub bounds: Option<Type>,
    /// Whether an empty set stands for an empty map.
    pub is_map: bool,
}

impl Demand {
    fn of(ty: &Type) -> Demand {
        let bounds = is_bounded(ty).then(|| ty.clone());
        Demand { bounds, is_map: matches!(ty, Type::Map(..)) }
    }

    /// Whether every datum of the type will do.
    pub fn is_met(&self) -> bool {
        self.bounds.is_none() && !self.is_map
    }
}

/// A statement.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A local variable gets a value.
    Bind(usize, Demand, Code),
    /// The parts of a tuple become local variables.
    BindParts(Vec<Option<(usize, Demand)>>, Code),
    /// A place gets a value.
    Assign(Code, Demand, Code),
    /// Places get the parts of a tuple.
    AssignParts(Vec<Option<(Code, Demand)>>, Code),
    Evaluate(Code),
    If(Code, Vec<Step>, Vec<Step>),
    /// A loop with its label and its condition.
    Loop(Option<String>, Option<Code>, Vec<Step>),
    For((usize, Demand), Code, Vec<Step>),
    Break(Option<String>),
    Continue(Option<String>),
    Return(Option<Code>),
    Choose(Vec<Vec<Step>>),
    Assume(Code),
    Assert(Code),
    Block(Vec<Step>),
    /// What no specification may do.
    Broken(&'static str),
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) enum Code {
    Const(Datum),
    /// A text, by its number; whether it is ordered data.
    Text(u32, bool),
    /// A parameter that is never assigned.
    Argument(usize),
    Local(usize),
    /// A variable of the state.
    Var(usize),
    /// A part of a tuple; the first part of nothing is nothing.
    Part(Box<Code>, usize),
    /// A field of a record.
    Field(Box<Code>, usize),
    /// The entry of a map.
    Entry(Box<Code>, Box<Code>),
    /// An element of a sequence or an array.
    Element(Box<Code>, Box<Code>),
    /// A part of a sequence.
    Slice(Box<Code>, Option<Box<Code>>, Option<Box<Code>>),
    /// A part of a map.
    Range(Box<Code>, Option<Box<Code>>, Option<Box<Code>>),
    /// Any datum of a type; an enum has so many variants.
    Any(Type, u32),
    Call(usize, Vec<Code>),
    Collection(Builtin, Vec<Code>),
    Not(Box<Code>),
    Neg(Box<Code>),
    Binary(BinaryOp, Box<Code>, Box<Code>),
    If(Box<Code>, Box<Code>, Box<Code>),
    Tuple(Vec<Code>),
    /// A record: as a tuple, each part put into its field.
    Record(Vec<(Code, Demand)>),
    List(Vec<Code>),
    Set(Vec<Code>),
    Fill(Box<Code>, usize),
    /// What no specification may say.
    Broken(&'static str),
}

/// A method or a helper function of a specification, as it runs.
pub(super) fn routine(spec: &SpecInfo, function: &FunctionInfo) -> Routine {
    let mut translate = Translate { spec, params: HashMap::new(), locals: HashMap::new() };
    let assigned = assigned(spec, function);
    let mut copied = Vec::new();
    for (place, param) in function.params.iter().enumerate() {
        match assigned.contains(&param.local) {
            true => copied.push((place, translate.local(param.local))),
            false => drop(translate.params.insert(param.local, place)),
        }
    }
    Routine {
        params: function.params.iter().map(|param| Demand::of(&param.ty)).collect(),
        copied,
        body: translate.block(&function.body),
        result: Demand::of(&function.result),
    }
}

/// The initial value of a variable.
pub(super) fn initial(spec: &SpecInfo, init: &Expr) -> Code {
    Translate { spec, params: HashMap::new(), locals: HashMap::new() }.code(init)
}

/// What is asked of the content of a variable.
pub(super) fn demand(ty: &Type) -> Demand {
    Demand::of(ty)
}

/// The local variables that a function assigns.
fn assigned(spec: &SpecInfo, function: &FunctionInfo) -> Vec<LocalId> {
    let mut found = Vec::new();
    walk::statements(&function.body, &mut |statement| {
        if let StmtKind::Assign(targets, _) = &statement.kind {
            let names = targets.iter().flatten().filter_map(bottom);
            found.extend(names.filter_map(|name| match spec.facts.meaning(name.id) {
                Some(Meaning::Local(local)) => Some(local),
                _ => None,
            }));
        }
    });
    found
}

/// The name at the bottom of a place.
pub(super) fn bottom(place: &Expr) -> Option<&Expr> {
    match &place.kind {
        ExprKind::Name(_) => Some(place),
        ExprKind::Field(of, _)
        | ExprKind::Part(of, _)
        | ExprKind::Index(of, _)
        | ExprKind::Slice(of, ..) => bottom(of),
        _ => None,
    }
}

/// The place of a field among the parts of its record.
pub(super) fn field_place(spec: &SpecInfo, of: &Expr, field: &Name) -> Option<usize> {
    match spec.facts.type_of(of) {
        Type::Record(record) => record.place(&field.text),
        _ => None,
    }
}

/// The parts of a tuple or of a record that is written out, in the order of its fields.
pub(super) fn written_parts<'e>(spec: &SpecInfo, expr: &'e Expr) -> Option<Vec<&'e Expr>> {
    match &expr.kind {
        ExprKind::Tuple(parts) => Some(parts.iter().collect()),
        ExprKind::New(_, given) => {
            let Type::Record(record) = spec.facts.type_of(expr) else { return None };
            let value = |field: &str| given.iter().find(|(name, _)| name.text == field);
            record.fields.iter().map(|(field, _)| value(field).map(|(_, e)| e)).collect()
        }
        _ => None,
    }
}

struct Translate<'s> {
    spec: &'s SpecInfo,
    /// The parameters that are never assigned.
    params: HashMap<LocalId, usize>,
    /// The other local variables, each with a place of its own.
    locals: HashMap<LocalId, usize>,
}

impl Translate<'_> {
    fn local(&mut self, local: LocalId) -> usize {
        let next = self.locals.len();
        *self.locals.entry(local).or_insert(next)
    }

    fn block(&mut self, block: &Block) -> Vec<Step> {
        block.iter().map(|statement| self.step(statement)).collect()
    }

    fn step(&mut self, statement: &Stmt) -> Step {
        let text = |label: &Option<Name>| label.as_ref().map(|l| l.text.clone());
        match &statement.kind {
            StmtKind::Let(Pattern::Bind(binding), _, value) => {
                let value = self.code(value);
                match self.binding(binding) {
                    Some((place, demand)) => Step::Bind(place, demand, value),
                    None => Step::Evaluate(value),
                }
            }
            StmtKind::Let(Pattern::Tuple(parts), _, value) => {
                let value = self.code(value);
                let parts = parts.iter().map(|part| self.binding(part.as_ref()?)).collect();
                Step::BindParts(parts, value)
            }
            StmtKind::Assign(targets, value) => self.assign(targets, value),
            StmtKind::Expr(call) => Step::Evaluate(self.code(call)),
            StmtKind::If(cond, then, otherwise) => {
                Step::If(self.code(cond), self.block(then), self.block(otherwise))
            }
            StmtKind::While(label, cond, body) => {
                Step::Loop(text(label), Some(self.code(cond)), self.block(body))
            }
            StmtKind::Loop(label, body) => Step::Loop(text(label), None, self.block(body)),
            StmtKind::For(binding, collection, body) => {
                let collection = self.code(collection);
                match self.binding(binding) {
                    Some(place) => Step::For(place, collection, self.block(body)),
                    None => Step::Broken("a loop without a variable"),
                }
            }
            StmtKind::Break(label) => Step::Break(text(label)),
            StmtKind::Continue(label) => Step::Continue(text(label)),
            StmtKind::Return(value) => Step::Return(value.as_ref().map(|value| self.code(value))),
            StmtKind::Choose(branches) => {
                Step::Choose(branches.iter().map(|branch| self.block(branch)).collect())
            }
            StmtKind::Assume(cond) => Step::Assume(self.code(cond)),
            StmtKind::Assert(cond) => Step::Assert(self.code(cond)),
            StmtKind::Atomic(body) => Step::Block(self.block(body)),
            StmtKind::Repeat(..) => Step::Broken("`repeat` belongs into a client"),
        }
    }

    fn binding(&mut self, binding: &Binding) -> Option<(usize, Demand)> {
        let Some(Meaning::Local(local)) = self.spec.facts.meaning(binding.id) else { return None };
        let demand = Demand::of(&self.spec.facts.locals[local.0 as usize].1);
        Some((self.local(local), demand))
    }

    fn assign(&mut self, targets: &[Option<Expr>], value: &Expr) -> Step {
        let value = self.code(value);
        let mut target =
            |place: &Expr| (self.code(place), Demand::of(self.spec.facts.type_of(place)));
        match targets {
            [Some(only)] => {
                let (place, demand) = target(only);
                Step::Assign(place, demand, value)
            }
            _ => {
                let targets = targets.iter().map(|place| place.as_ref().map(&mut target));
                Step::AssignParts(targets.collect(), value)
            }
        }
    }

    fn boxed(&mut self, expr: &Expr) -> Box<Code> {
        Box::new(self.code(expr))
    }

    fn all(&mut self, parts: &[Expr]) -> Vec<Code> {
        parts.iter().map(|part| self.code(part)).collect()
    }

    fn end(&mut self, end: &Option<Box<Expr>>) -> Option<Box<Code>> {
        end.as_ref().map(|end| self.boxed(end))
    }

    fn code(&mut self, expr: &Expr) -> Code {
        let facts = &self.spec.facts;
        match &expr.kind {
            ExprKind::Int(n) => Code::Const(Datum::Int(*n)),
            ExprKind::Bool(b) => Code::Const(Datum::Bool(*b)),
            ExprKind::Null => Code::Const(Datum::Null),
            ExprKind::MinusInf => Code::Const(Datum::Key(MINUS_INF)),
            ExprKind::PlusInf => Code::Const(Datum::Key(PLUS_INF)),
            ExprKind::Text(_) => match facts.meaning(expr.id) {
                Some(Meaning::Text(number)) => {
                    Code::Text(number, *facts.type_of(expr) == Type::Key)
                }
                _ => Code::Broken("a text has no number"),
            },
            ExprKind::Any => {
                let ty = facts.type_of(expr).clone();
                let variants = match ty.required() {
                    Type::Enum(id) => facts.variants(*id),
                    _ => 0,
                };
                Code::Any(ty, variants)
            }
            ExprKind::Name(_) => self.name(expr),
            ExprKind::Part(of, part) => Code::Part(self.boxed(of), *part as usize),
            ExprKind::Field(of, field) => match field_place(self.spec, of, field) {
                Some(place) => Code::Field(self.boxed(of), place),
                None => Code::Broken("a specification has no heap"),
            },
            ExprKind::Index(of, index) => match facts.type_of(of).required() {
                Type::Map(..) => Code::Entry(self.boxed(of), self.boxed(index)),
                _ => Code::Element(self.boxed(of), self.boxed(index)),
            },
            ExprKind::Slice(of, low, high) => {
                let is_map = matches!(facts.type_of(of), Type::Map(..));
                let (of, low, high) = (self.boxed(of), self.end(low), self.end(high));
                if is_map { Code::Range(of, low, high) } else { Code::Slice(of, low, high) }
            }
            ExprKind::Call(_, args) => match facts.meaning(expr.id) {
                Some(Meaning::Function(index)) => Code::Call(index as usize, self.all(args)),
                Some(Meaning::Builtin(builtin)) => Code::Collection(builtin, self.all(args)),
                _ => Code::Broken("this cannot be called"),
            },
            ExprKind::Unary(UnaryOp::Not, a) => Code::Not(self.boxed(a)),
            ExprKind::Unary(UnaryOp::Neg, a) => Code::Neg(self.boxed(a)),
            ExprKind::Binary(op, a, b) => Code::Binary(*op, self.boxed(a), self.boxed(b)),
            ExprKind::If(cond, a, b) => Code::If(self.boxed(cond), self.boxed(a), self.boxed(b)),
            ExprKind::Tuple(parts) => Code::Tuple(self.all(parts)),
            ExprKind::List(parts) => Code::List(self.all(parts)),
            ExprKind::Set(parts) => Code::Set(self.all(parts)),
            ExprKind::Fill(element, _) => match facts.type_of(expr) {
                Type::Array(_, length) => {
                    let length = length.count(1) as usize;
                    Code::Fill(self.boxed(element), length)
                }
                _ => Code::Broken("not an array"),
            },
            ExprKind::New(..) => self.record(expr),
            ExprKind::SelfTid => Code::Broken("a specification has no threads and no heap"),
        }
    }

    fn record(&mut self, expr: &Expr) -> Code {
        let Some(parts) = written_parts(self.spec, expr) else {
            return Code::Broken("a specification has no threads and no heap");
        };
        let Type::Record(record) = self.spec.facts.type_of(expr) else {
            return Code::Broken("this is no record");
        };
        let fields = record.fields.iter().map(|(_, ty)| Demand::of(ty));
        Code::Record(parts.iter().map(|part| self.code(part)).zip(fields).collect())
    }

    fn name(&mut self, expr: &Expr) -> Code {
        match self.spec.facts.meaning(expr.id) {
            Some(Meaning::Local(local)) => match self.params.get(&local) {
                Some(place) => Code::Argument(*place),
                None => Code::Local(self.local(local)),
            },
            Some(Meaning::Shared(var)) => Code::Var(var.0 as usize),
            Some(Meaning::Const(n)) => Code::Const(Datum::Int(n.into())),
            Some(Meaning::Variant(_, n)) => Code::Const(Datum::Variant(n)),
            _ => Code::Broken("a name has no value"),
        }
    }
}
