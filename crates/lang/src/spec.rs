//! Specifications as executable objects: a state, and for each method all its outcomes.
//!
//! Methods run in the form that `code` gives them. `choose` and `any` give several outcomes; an
//! `assume` that does not hold gives none (the method is not enabled in that state). A number that
//! leaves the bounds stated for it is a mistake of the specification, like an index out of range:
//! it is told, and there is no verdict.

pub mod access;
pub mod aside;
mod code;
mod evaluate;
pub mod gather;
pub mod opaque;
pub mod paths;
mod values;

pub use values::Datum;

use code::{Code, Demand, Routine, Step};

use crate::front::program::*;
use crate::machine::Bounds;
use crate::machine::choices::Choices;
use seriatim_limits::{checkpoint_after, checkpoint_now};
use std::borrow::Cow;

/// How many statements a method may execute.
const FUEL: u32 = 100_000;

/// Statements between two looks at the limits: each may copy a long list.
const UNSEEN: u32 = 64;

/// What one outcome of many weighs, as work between two looks at the limits.
const OUTCOME: u32 = 8;

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
    methods: Vec<Routine>,
    functions: Vec<Routine>,
    /// The initial values of the variables, and what is asked of them.
    initial: Vec<(Option<Code>, Demand)>,
    /// Whether its numbers are those of algorithms, which have 32 bits.
    is_narrow: bool,
    /// What its texts stand for, as opaque and as ordered data.
    texts: Vec<(Datum, Datum)>,
}

enum Flow {
    Next,
    Break(Option<String>),
    Continue(Option<String>),
    Return(Answer),
}

/// What a method returned: a datum, or whether it is the one that was asked for.
enum Answer {
    Is(Datum),
    Asked(bool),
}

impl Answer {
    /// The datum, where nothing was asked for.
    fn datum(self) -> Interpreted<Datum> {
        match self {
            Answer::Is(datum) => Ok(datum),
            Answer::Asked(_) => Err(broken("its result was not asked for")),
        }
    }
}

struct Interpreter<'s> {
    spec: &'s Spec,
    /// Copied when the first of them is assigned: most calls only read.
    vars: Cow<'s, SpecState>,
    args: Cow<'s, [Datum]>,
    /// The other local variables.
    frame: Vec<Datum>,
    choices: &'s mut Choices,
    fuel: u32,
}

type Interpreted<T> = Result<T, SpecStop>;

impl Spec {
    /// A specification of an algorithm, whose `any` ranges over bounded data.
    pub fn new(info: SpecInfo, bounds: Bounds) -> Spec {
        let routines = |functions: &[FunctionInfo]| {
            functions.iter().map(|function| code::routine(&info, function)).collect()
        };
        let (methods, functions) = (routines(&info.methods), routines(&info.functions));
        let initial = info.vars.iter().map(|var| {
            let init = var.init.as_ref().map(|init| code::initial(&info, init));
            (init, code::demand(&var.ty))
        });
        let initial = initial.collect();
        Spec { info, bounds, methods, functions, initial, is_narrow: true, texts: Vec::new() }
    }

    /// A specification for recorded histories: numbers have 64 bits.
    pub fn for_logs(info: SpecInfo, bounds: Bounds) -> Spec {
        Spec { is_narrow: false, ..Spec::new(info, bounds) }
    }

    /// The specification with what its texts stand for, as opaque and as ordered data.
    pub fn with_texts(&self, texts: Vec<(Datum, Datum)>) -> Spec {
        Spec { texts, ..self.clone() }
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
        let mut run = self.interpreter(Cow::Owned(vec![]), &[], &mut choices);
        for (init, demand) in &self.initial {
            let value = match init {
                Some(init) => {
                    let value = run.value(init)?;
                    run.fitted(value, demand)?
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
        self.each(state, (method, args), None, |after, answer| {
            let Answer::Is(result) = answer else { return };
            let is_known =
                found.iter().any(|(a, r): &(SpecState, Datum)| *r == result && a == &*after);
            if !is_known {
                found.push((after.into_owned(), result));
            }
        })?;
        Ok(found)
    }

    /// Tells the states after those outcomes of a method that have a result, or any, some perhaps
    /// repeatedly; `None` for one that certainly is the state before.
    pub fn after(
        &self,
        state: &SpecState,
        call: (usize, &[Datum]),
        wanted: Option<&Datum>,
        mut tell: impl FnMut(Option<SpecState>),
    ) -> Result<(), SpecStop> {
        self.each(state, call, wanted, |after, result| {
            let is_wanted = match result {
                Answer::Is(result) => wanted.is_none_or(|wanted| *wanted == result),
                Answer::Asked(is_wanted) => is_wanted,
            };
            match after {
                _ if !is_wanted => {}
                Cow::Borrowed(_) => tell(None),
                Cow::Owned(after) => tell(Some(after)),
            }
        })
    }

    /// Tells every outcome, some perhaps repeatedly.
    fn each(
        &self,
        state: &SpecState,
        (method, args): (usize, &[Datum]),
        wanted: Option<&Datum>,
        mut tell: impl FnMut(Cow<'_, SpecState>, Answer),
    ) -> Result<(), SpecStop> {
        let mut choices = Choices::default();
        loop {
            checkpoint_after(OUTCOME);
            let mut run = self.interpreter(Cow::Borrowed(state), args, &mut choices);
            match run.call(&self.methods[method], wanted) {
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
        args: &'r [Datum],
        choices: &'r mut Choices,
    ) -> Interpreter<'r> {
        let (args, frame) = (Cow::Borrowed(args), Vec::new());
        Interpreter { spec: self, vars, args, frame, choices, fuel: FUEL }
    }
}

impl Interpreter<'_> {
    /// Runs a method with the arguments at hand. `wanted`: the result that is asked for, which need
    /// not be built to be compared.
    fn call(&mut self, routine: &Routine, wanted: Option<&Datum>) -> Interpreted<Answer> {
        for (arg, demand) in self.args.iter().zip(&routine.params) {
            within(arg, demand)?;
        }
        for &(param, place) in &routine.copied {
            let arg = self.args[param].clone();
            self.bind(place, arg);
        }
        let wanted = wanted.filter(|_| routine.result.is_met());
        match self.block(&routine.body, wanted)? {
            Flow::Return(Answer::Is(value)) => Ok(Answer::Is(self.fitted(value, &routine.result)?)),
            Flow::Return(asked) => Ok(asked),
            _ => Ok(Answer::Is(Datum::unit())),
        }
    }

    fn block(&mut self, block: &[Step], wanted: Option<&Datum>) -> Interpreted<Flow> {
        for step in block {
            match self.step(step, wanted)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn step(&mut self, step: &Step, wanted: Option<&Datum>) -> Interpreted<Flow> {
        self.burn()?;
        match step {
            Step::Bind(place, demand, value) => {
                let value = self.value(value)?;
                let value = self.fitted(value, demand)?;
                self.bind(*place, value);
            }
            Step::BindParts(places, value) => {
                for (place, value) in places.iter().zip(self.value(value)?.into_parts()) {
                    if let Some((place, demand)) = place {
                        let value = self.fitted(value, demand)?;
                        self.bind(*place, value);
                    }
                }
            }
            Step::Assign(target, demand, value) => {
                let value = self.value(value)?;
                let value = self.fitted(value, demand)?;
                self.store(target, value)?;
            }
            Step::AssignParts(targets, value) => {
                for (target, value) in targets.iter().zip(self.value(value)?.into_parts()) {
                    if let Some((target, demand)) = target {
                        let value = self.fitted(value, demand)?;
                        self.store(target, value)?;
                    }
                }
            }
            Step::Evaluate(call) => drop(self.value(call)?),
            Step::If(cond, then, otherwise) => {
                let branch = if self.truth(cond)? { then } else { otherwise };
                return self.block(branch, wanted);
            }
            Step::Loop(label, cond, body) => {
                return self.looped(label, cond.as_ref(), body, wanted);
            }
            Step::For(place, collection, body) => {
                return self.for_each(place, collection, body, wanted);
            }
            Step::Break(label) => return Ok(Flow::Break(label.clone())),
            Step::Continue(label) => return Ok(Flow::Continue(label.clone())),
            Step::Return(value) => return self.returned(value.as_ref(), wanted),
            Step::Choose(branches) => {
                let pick = self.choices.pick(branches.len() as u32);
                return self.block(&branches[pick as usize], wanted);
            }
            Step::Assume(cond) => {
                if !self.truth(cond)? {
                    return Err(SpecStop::NotEnabled);
                }
            }
            Step::Assert(cond) => {
                if !self.truth(cond)? {
                    return Err(broken("an assertion of the specification fails"));
                }
            }
            Step::Block(body) => return self.block(body, wanted),
            Step::Broken(why) => return Err(broken(why)),
        }
        Ok(Flow::Next)
    }

    fn returned(&mut self, value: Option<&Code>, wanted: Option<&Datum>) -> Interpreted<Flow> {
        Ok(Flow::Return(match (value, wanted) {
            (Some(value), Some(wanted)) => Answer::Asked(self.is(value, wanted)?),
            (Some(value), None) => Answer::Is(self.value(value)?),
            (None, _) => Answer::Is(Datum::unit()),
        }))
    }

    fn burn(&mut self) -> Interpreted<()> {
        self.fuel = self.fuel.checked_sub(1).ok_or_else(|| broken("it never ends"))?;
        if self.fuel.is_multiple_of(UNSEEN) {
            checkpoint_now();
        }
        Ok(())
    }

    fn looped(
        &mut self,
        own: &Option<String>,
        cond: Option<&Code>,
        body: &[Step],
        wanted: Option<&Datum>,
    ) -> Interpreted<Flow> {
        let mine = |l: &Option<String>| l.is_none() || l == own;
        loop {
            self.burn()?;
            if let Some(cond) = cond
                && !self.truth(cond)?
            {
                return Ok(Flow::Next);
            }
            match self.block(body, wanted)? {
                Flow::Next => {}
                Flow::Continue(label) if mine(&label) => {}
                Flow::Break(label) if mine(&label) => return Ok(Flow::Next),
                other => return Ok(other),
            }
        }
    }

    fn for_each(
        &mut self,
        (place, demand): &(usize, Demand),
        collection: &Code,
        body: &[Step],
        wanted: Option<&Datum>,
    ) -> Interpreted<Flow> {
        for element in self.value(collection)?.into_parts() {
            self.burn()?;
            let element = self.fitted(element, demand)?;
            self.bind(*place, element);
            match self.block(body, wanted)? {
                Flow::Next | Flow::Continue(None) => {}
                Flow::Break(None) => break,
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn bind(&mut self, place: usize, value: Datum) {
        if self.frame.len() <= place {
            self.frame.resize(place + 1, Datum::Null);
        }
        self.frame[place] = value;
    }

    /// Puts a value into a place. What the place is a part of is taken out of its variable for that
    /// time, so that it is not copied if nobody else has it.
    fn store(&mut self, target: &Code, value: Datum) -> Interpreted<()> {
        match target {
            Code::Local(place) => self.bind(*place, value),
            Code::Var(var) => self.vars.to_mut()[*var] = value,
            Code::Field(of, place) => {
                let Datum::Tuple(fields) = self.taken(of)? else {
                    return Err(broken("a field of nothing"));
                };
                let mut fields = fields.to_vec();
                *fields.get_mut(*place).ok_or_else(|| broken("no such field"))? = value;
                self.store(of, Datum::Tuple(fields.into()))?;
            }
            Code::Part(of, part) => {
                let mut parts = self.taken(of)?.into_parts();
                let slot = parts.get_mut(*part).ok_or_else(|| broken("no such part"))?;
                *slot = value;
                self.store(of, Datum::Tuple(parts.into()))?;
            }
            Code::Entry(of, index) => {
                let index = self.value(index)?;
                let whole = self.taken(of)?;
                self.store(of, whole.with_entry(index, value))?;
            }
            Code::Element(of, index) => {
                let index = self.value(index)?;
                let whole = self.taken(of)?;
                let at = usize::try_from(index.number()).ok();
                let changed = at.and_then(|at| whole.with_element(at, value));
                self.store(of, changed.ok_or_else(|| broken("an index is out of range"))?)?;
            }
            _ => return Err(broken("this cannot be assigned to")),
        }
        Ok(())
    }

    fn taken(&mut self, place: &Code) -> Interpreted<Datum> {
        let found = match place {
            Code::Local(place) => self.frame.get_mut(*place),
            Code::Var(var) => self.vars.to_mut().get_mut(*var),
            _ => return self.value(place),
        };
        found.map(std::mem::take).ok_or_else(|| broken("a name has no value"))
    }

    /// A value as it is put somewhere, if its numbers are within their bounds.
    fn fitted(&self, value: Datum, demand: &Demand) -> Interpreted<Datum> {
        within(&value, demand)?;
        Ok(if demand.is_map { value.into_map() } else { value })
    }
}

fn within(value: &Datum, demand: &Demand) -> Interpreted<()> {
    match demand.bounds.as_ref().is_none_or(|ty| value.is_within(ty)) {
        true => Ok(()),
        false => Err(broken("a number leaves the bounds that the specification states for it")),
    }
}

fn broken(why: &str) -> SpecStop {
    SpecStop::Broken(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_limits::Cancel;

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
            let go = |n: i64| spec.outcomes(&start, 0, &[Datum::Int(n)]);
            assert!(go(1).is_ok());
            assert!(matches!(go(2), Err(SpecStop::Broken(_))), "{}", leaving(place));
        }
    }

    /// A method with 2^24 outcomes, one that runs for long, and one that copies a list that grows.
    const LONG: &str = "object o : s
spec s {
  var a: int 0..4095 = 0
  var b: int 0..4095 = 0
  var l: seq<int> = []
  method guess() { a = any; b = any }
  method count() -> int { let n = 0; while n < 30000 { n = n + 1 }; return n }
  method grow() { let n = 0; while n < 30000 { l = l ++ [n]; n = n + 1 } }
}
method guess() {}
method count() -> int { return 0 }
method grow() {}
";

    #[test]
    fn a_request_to_stop_is_heard_within_a_method() {
        let program = crate::check(LONG).expect("a program");
        let bounds = Bounds { values: 1, keys: 1, nodes: None, capacity: None };
        let spec = Spec::new(program.spec.expect("named"), bounds);
        let start = spec.initial().expect("within its bounds");
        let (request, mut outcomes) = (Cancel::never(), 0);
        let guessed = request.during(|| {
            let guess = spec.method("guess").expect("it is there");
            spec.after(&start, (guess, &[]), None, |_| {
                outcomes += 1;
                if outcomes == 1_000 {
                    request.raise();
                }
            })
        });
        assert!(guessed.is_err() && outcomes <= 1_008, "{outcomes} outcomes");
        for long in ["count", "grow"] {
            let long = spec.method(long).expect("it is there");
            assert!(request.during(|| spec.outcomes(&start, long, &[])).is_err());
        }
        let count = spec.method("count").expect("it is there");
        let counted = spec.outcomes(&start, count, &[]).expect("nobody stops it");
        assert_eq!(counted[0].1, Datum::Int(30_000));
    }
}
