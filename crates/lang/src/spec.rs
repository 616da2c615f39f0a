//! Specifications as executable objects: a state, and for each method all its outcomes.
//!
//! The interpreter walks the checked syntax tree. `choose` and `any` give several outcomes; an
//! `assume` that does not hold gives none (the method is not enabled in that state). A number that
//! leaves the bounds stated for it is a mistake of the specification, like an index out of range:
//! it is told, and there is no verdict.

pub mod access;
mod evaluate;
pub mod gather;
pub mod paths;
mod values;

pub use values::Datum;

use values::is_bounded;

use crate::front::ast::*;
use crate::front::program::*;
use crate::front::types::Type;
use crate::machine::Bounds;
use crate::machine::choices::Choices;
use std::borrow::Cow;

/// How many statements a method may execute.
const FUEL: u32 = 100_000;

/// The state of a specification: its variables.
pub type SpecState = Vec<Datum>;

/// Why a specification gave no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecStop {
    /// The method is not enabled in this state.
    NotEnabled,
    /// The specification itself is wrong: an index, a division, a loop without end.
    Broken(String),
}

/// A specification that runs.
#[derive(Clone, Debug)]
pub struct Spec {
    info: SpecInfo,
    bounds: Bounds,
    /// Whether it states bounds for some number, which then have to be watched.
    is_bounded: bool,
}

enum Flow {
    Next,
    Break(Option<String>),
    Continue(Option<String>),
    Return(Datum),
}

struct Interpreter<'s> {
    spec: &'s SpecInfo,
    facts: &'s Facts,
    bounds: Bounds,
    is_bounded: bool,
    /// Copied when the first of them is assigned: most calls only read.
    vars: Cow<'s, SpecState>,
    locals: Locals,
    choices: &'s mut Choices,
    fuel: u32,
}

type Interpreted<T> = Result<T, SpecStop>;

/// The local variables that have a value. A call has few of the many that a file has, so they are
/// searched for, the latest first.
#[derive(Clone, Default)]
struct Locals(Vec<(LocalId, Datum)>);

impl Locals {
    fn get(&self, local: LocalId) -> Option<&Datum> {
        self.0.iter().rev().find(|known| known.0 == local).map(|(_, value)| value)
    }

    fn set(&mut self, local: LocalId, value: Datum) {
        match self.0.iter_mut().find(|known| known.0 == local) {
            Some(known) => known.1 = value,
            None => self.0.push((local, value)),
        }
    }
}

impl Spec {
    /// A specification whose `any` ranges over bounded data.
    pub fn new(info: SpecInfo, bounds: Bounds) -> Spec {
        let is_bounded = states_bounds(&info);
        Spec { info, bounds, is_bounded }
    }

    /// What the checker knows about it.
    pub fn info(&self) -> &SpecInfo {
        &self.info
    }

    /// The place of a method in the list of methods.
    pub fn method(&self, name: &str) -> Option<usize> {
        self.info.methods.iter().position(|m| m.name == name)
    }

    /// The state at the start.
    pub fn initial(&self) -> Result<SpecState, SpecStop> {
        let mut choices = Choices::default();
        let mut run = self.interpreter(Cow::Owned(vec![]), &mut choices);
        for var in &self.info.vars {
            let value = match &var.init {
                Some(init) => {
                    let value = run.value(init)?.shaped(&var.ty);
                    run.bounded(value, &var.ty)?
                }
                None => Datum::Null,
            };
            run.vars.to_mut().push(value);
        }
        Ok(run.vars.into_owned())
    }

    /// All outcomes of a method: the state after it and its result.
    pub fn outcomes(
        &self,
        state: &SpecState,
        method: usize,
        args: &[Datum],
    ) -> Result<Vec<(SpecState, Datum)>, SpecStop> {
        let mut found = Vec::new();
        self.each(state, (method, args), |after, result| {
            let is_known =
                found.iter().any(|(a, r): &(SpecState, Datum)| *r == result && a == &*after);
            if !is_known {
                found.push((after.into_owned(), result));
            }
        })?;
        Ok(found)
    }

    /// The states after those outcomes of a method that have a result, or any.
    pub fn after(
        &self,
        state: &SpecState,
        (method, args): (usize, &[Datum]),
        wanted: Option<&Datum>,
    ) -> Result<Vec<SpecState>, SpecStop> {
        let mut found: Vec<SpecState> = Vec::new();
        self.each(state, (method, args), |after, result| {
            if wanted.is_none_or(|wanted| *wanted == result) && !found.contains(&after) {
                found.push(after.into_owned());
            }
        })?;
        Ok(found)
    }

    /// Tells every outcome, some perhaps repeatedly.
    fn each(
        &self,
        state: &SpecState,
        (method, args): (usize, &[Datum]),
        mut tell: impl FnMut(Cow<'_, SpecState>, Datum),
    ) -> Result<(), SpecStop> {
        let info = &self.info.methods[method];
        let mut choices = Choices::default();
        loop {
            let mut run = self.interpreter(Cow::Borrowed(state), &mut choices);
            match run.call(info, args.iter().cloned()) {
                Ok(result) => tell(run.vars, result),
                Err(SpecStop::NotEnabled) => {}
                Err(broken) => return Err(broken),
            }
            if !choices.advance() {
                return Ok(());
            }
        }
    }

    fn interpreter<'r>(
        &'r self,
        vars: Cow<'r, SpecState>,
        choices: &'r mut Choices,
    ) -> Interpreter<'r> {
        let Spec { info, bounds, is_bounded } = self;
        let (bounds, is_bounded, locals) = (*bounds, *is_bounded, Locals::default());
        let facts = &info.facts;
        Interpreter { spec: info, facts, bounds, is_bounded, vars, locals, choices, fuel: FUEL }
    }
}

/// Whether a specification states bounds for some number.
fn states_bounds(info: &SpecInfo) -> bool {
    let SpecInfo { methods, functions, vars, facts, .. } = info;
    let calls = methods.iter().chain(functions);
    let declared = calls.flat_map(|call| call.params.iter().map(|p| &p.ty).chain([&call.result]));
    declared
        .chain(facts.locals.iter().map(|local| &local.1))
        .chain(vars.iter().map(|var| &var.ty))
        .chain(facts.types.iter().flatten())
        .any(is_bounded)
}

impl Interpreter<'_> {
    fn call(
        &mut self,
        info: &FunctionInfo,
        args: impl Iterator<Item = Datum>,
    ) -> Interpreted<Datum> {
        for (param, arg) in info.params.iter().zip(args) {
            let arg = self.bounded(arg, &param.ty)?;
            self.locals.set(param.local, arg);
        }
        match self.block(&info.body)? {
            Flow::Return(value) => self.bounded(value.shaped(&info.result), &info.result),
            _ => Ok(Datum::Tuple(vec![])),
        }
    }

    fn block(&mut self, block: &Block) -> Interpreted<Flow> {
        for statement in block {
            match self.statement(statement)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &Stmt) -> Interpreted<Flow> {
        self.fuel = self.fuel.checked_sub(1).ok_or_else(|| broken("it never ends"))?;
        match &statement.kind {
            StmtKind::Let(pattern, _, value) => {
                let value = self.value(value)?;
                self.bind(pattern, value)?;
            }
            StmtKind::Assign(targets, value) => self.assign(targets, value)?,
            StmtKind::Expr(call) => drop(self.value(call)?),
            StmtKind::If(cond, then, otherwise) => {
                let branch = if self.truth(cond)? { then } else { otherwise };
                return self.block(branch);
            }
            StmtKind::While(label, cond, body) => return self.looped(label, Some(cond), body),
            StmtKind::Loop(label, body) => return self.looped(label, None, body),
            StmtKind::For(binding, collection, body) => {
                return self.for_each(binding, collection, body);
            }
            StmtKind::Break(label) => {
                return Ok(Flow::Break(label.as_ref().map(|l| l.text.clone())));
            }
            StmtKind::Continue(label) => {
                return Ok(Flow::Continue(label.as_ref().map(|l| l.text.clone())));
            }
            StmtKind::Return(value) => {
                let value = match value {
                    Some(value) => self.value(value)?,
                    None => Datum::Tuple(vec![]),
                };
                return Ok(Flow::Return(value));
            }
            StmtKind::Choose(branches) => {
                let pick = self.choices.pick(branches.len() as u32);
                return self.block(&branches[pick as usize]);
            }
            StmtKind::Assume(cond) => {
                if !self.truth(cond)? {
                    return Err(SpecStop::NotEnabled);
                }
            }
            StmtKind::Assert(cond) => {
                if !self.truth(cond)? {
                    return Err(broken("an assertion of the specification fails"));
                }
            }
            StmtKind::Atomic(body) => return self.block(body),
            StmtKind::Repeat(..) => return Err(broken("`repeat` belongs into a client")),
        }
        Ok(Flow::Next)
    }

    fn looped(
        &mut self,
        label: &Option<Name>,
        cond: Option<&Expr>,
        body: &Block,
    ) -> Interpreted<Flow> {
        let own = label.as_ref().map(|l| l.text.clone());
        let mine = |l: &Option<String>| l.is_none() || *l == own;
        loop {
            self.fuel = self.fuel.checked_sub(1).ok_or_else(|| broken("it never ends"))?;
            if let Some(cond) = cond
                && !self.truth(cond)?
            {
                return Ok(Flow::Next);
            }
            match self.block(body)? {
                Flow::Next => {}
                Flow::Continue(label) if mine(&label) => {}
                Flow::Break(label) if mine(&label) => return Ok(Flow::Next),
                other => return Ok(other),
            }
        }
    }

    fn for_each(
        &mut self,
        binding: &Binding,
        collection: &Expr,
        body: &Block,
    ) -> Interpreted<Flow> {
        for element in self.value(collection)?.into_parts() {
            self.fuel = self.fuel.checked_sub(1).ok_or_else(|| broken("it never ends"))?;
            self.bind_one(binding, element)?;
            match self.block(body)? {
                Flow::Next | Flow::Continue(None) => {}
                Flow::Break(None) => break,
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn bind(&mut self, pattern: &Pattern, value: Datum) -> Interpreted<()> {
        match pattern {
            Pattern::Bind(binding) => self.bind_one(binding, value)?,
            Pattern::Tuple(parts) => {
                for (part, value) in parts.iter().zip(value.into_parts()) {
                    if let Some(binding) = part {
                        self.bind_one(binding, value)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn bind_one(&mut self, binding: &Binding, value: Datum) -> Interpreted<()> {
        if let Some(Meaning::Local(local)) = self.facts.meaning(binding.id) {
            let ty = &self.facts.locals[local.0 as usize].1;
            let value = self.bounded(value.shaped(ty), ty)?;
            self.locals.set(local, value);
        }
        Ok(())
    }

    fn assign(&mut self, targets: &[Option<Expr>], value: &Expr) -> Interpreted<()> {
        let value = self.value(value)?;
        if let [Some(target)] = targets {
            return self.store(target, value);
        }
        for (target, value) in targets.iter().zip(value.into_parts()) {
            if let Some(target) = target {
                self.store(target, value)?;
            }
        }
        Ok(())
    }

    fn store(&mut self, target: &Expr, value: Datum) -> Interpreted<()> {
        let ty = self.facts.type_of(target);
        let value = self.bounded(value.shaped(ty), ty)?;
        self.put(target, value)
    }

    /// Stores a value that is within its bounds.
    fn put(&mut self, target: &Expr, value: Datum) -> Interpreted<()> {
        match &target.kind {
            ExprKind::Name(_) => {
                match self.facts.meaning(target.id) {
                    Some(Meaning::Local(local)) => self.locals.set(local, value),
                    Some(Meaning::Shared(var)) => self.vars.to_mut()[var.0 as usize] = value,
                    _ => return Err(broken("this cannot be assigned to")),
                }
                Ok(())
            }
            ExprKind::Part(of, part) => {
                let mut parts = self.value(of)?.into_parts();
                let slot = parts.get_mut(*part as usize).ok_or_else(|| broken("no such part"))?;
                *slot = value;
                self.put(of, Datum::Tuple(parts))
            }
            ExprKind::Index(of, index) => {
                let index = self.value(index)?;
                let whole = self.value(of)?;
                let changed = if let Type::Map(..) = self.facts.type_of(of).required() {
                    whole.with_entry(index, value)
                } else {
                    let mut parts = whole.into_parts();
                    let slot = parts.get_mut(index.number() as usize);
                    *slot.ok_or_else(|| broken("an index is out of range"))? = value;
                    Datum::List(parts)
                };
                self.put(of, changed)
            }
            _ => Err(broken("this cannot be assigned to")),
        }
    }

    fn truth(&mut self, cond: &Expr) -> Interpreted<bool> {
        Ok(self.value(cond)? == Datum::Bool(true))
    }

    /// A value of a type whose numbers are within their bounds.
    fn bounded(&self, value: Datum, ty: &Type) -> Interpreted<Datum> {
        match !self.is_bounded || value.is_within(ty) {
            true => Ok(value),
            false => Err(broken("a number leaves the bounds that the specification states for it")),
        }
    }
}

fn broken(why: &str) -> SpecStop {
    SpecStop::Broken(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A specification with the bounds `0..1` in one place, which its method leaves.
    fn leaving(place: usize) -> String {
        let mut types = ["int"; 5];
        types[place] = "int 0..1";
        let [var, param, local, result, part] = types;
        format!(
            "object o : s
spec s {{
  var c: {var} = 0
  var pair: (bool, {part}) = (false, 0)
  method go(k: {param}) -> {result} {{
    let x: {local} = k
    c = x
    pair.1 = x
    return x
  }}
}}
method go(k: int 0..2) -> int {{ return k }}
"
        )
    }

    #[test]
    fn a_number_that_leaves_its_bounds_anywhere_in_a_specification_is_told() {
        for place in 0..5 {
            let program = crate::check(&leaving(place)).expect("a program");
            let bounds = Bounds { values: 1, keys: 1, nodes: None, capacity: None };
            let spec = Spec::new(program.spec.expect("named"), bounds);
            let start = spec.initial().expect("within its bounds");
            let go = |n: i32| spec.outcomes(&start, 0, &[Datum::Int(n)]);
            assert!(go(1).is_ok());
            assert!(matches!(go(2), Err(SpecStop::Broken(_))), "{}", leaving(place));
        }
    }
}
