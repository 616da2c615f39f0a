//! The one pass over a certificate: start, own steps, interference.

use crate::alike;
use crate::cell::Exchange;
use crate::certificate::{Certificate, Effect};
use crate::counter::{self, Update};
use crate::cover::covers;
use crate::effect::{describes, is_visible};
use crate::execute::{Ended, Execution, Objection, Start};
use crate::heap_graph::{HeapGraph, Time};
use crate::help::Help;
use crate::index::Index;
use crate::interference::{apply, can_fit};
use crate::limits::{CASES, INSIDE, Left, SPLITS, WORK, Work};
use crate::names;
use crate::object::{Object, Spec};
use crate::scalar::{Holder, Scalar};
use crate::state::{Ghost, Operation, State};
use seriatim_lang::Program;
use seriatim_lang::choices::Choices;
use seriatim_lang::steps::Pc;
use seriatim_lang::types::Scalar as ScalarType;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Why a certificate is not accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Rejection {
    /// The initialisation is not understood.
    Start(Objection),
    /// The object is not empty at the start.
    NotEmpty,
    /// The start is not covered.
    StartNotCovered,
    /// A step of the thread of the view in this line fails a check.
    Check(u32, Pc, Objection),
    /// A step of the thread of the view in this line leads out of the certificate.
    Step(u32, Pc),
    /// No effect of the certificate describes a step of the thread of the view in this line.
    NoEffect(u32, Pc),
    /// The effect of the second line is not understood in the view of the first line.
    Foreign(u32, u32, Objection),
    /// The effect of the second line takes the view of the first line out of the certificate.
    Interference(u32, u32),
    /// What another thread does with records is not understood in the view of this line.
    ForeignRecord(u32, Objection),
    /// What another thread does with records takes the view of this line out of the certificate.
    RecordInterference(u32),
}

/// What is checked.
pub struct Pass<'a> {
    /// The program.
    pub object: &'a Object,
    /// The certificate.
    pub certificate: &'a Certificate,
    /// Its views.
    pub index: Index<'a>,
    work: Work,
}

/// Says whether a state is described, as it must be, that comes from this view (none at the start).
pub type Meets<'m> = &'m mut dyn FnMut(Option<usize>, &State) -> bool;

/// What others notice of steps with records: it is not in the certificate, but collected from all
/// steps.
#[derive(Clone, Default)]
pub struct Noticed {
    /// Effects without which some step is not described, if that is asked for.
    pub effects: Option<BTreeSet<usize>>,
    /// Steps that no effect describes, if they are to be collected: then they are no reason to
    /// reject.
    pub untold: Option<Vec<HeapGraph>>,
    helps: HashMap<Help, Origins>,
    exchanges: HashMap<Exchange, Origins>,
    updates: HashMap<Update, Origins>,
}

/// The views of one or two threads whose steps are noticed in one way.
type Origins = (usize, Option<usize>);

impl Noticed {
    fn add<T: Eq + std::hash::Hash>(all: &mut HashMap<T, Origins>, what: Option<T>, view: usize) {
        if let Some(what) = what {
            let origins = all.entry(what).or_insert((view, None));
            if origins.0 != view {
                origins.1 = Some(view);
            }
        }
    }

    /// What is left if a view is not there.
    pub fn without(&self, view: usize) -> Cow<'_, Noticed> {
        let stays = |origins: &Origins| origins.0 != view || origins.1.is_some();
        let all = self.helps.values().chain(self.exchanges.values()).chain(self.updates.values());
        if all.into_iter().all(stays) {
            return Cow::Borrowed(self);
        }
        let mut less = self.clone();
        less.helps.retain(|_, origins| stays(origins));
        less.exchanges.retain(|_, origins| stays(origins));
        less.updates.retain(|_, origins| stays(origins));
        Cow::Owned(less)
    }
}

/// A step under way: where it runs from, and since when.
type Running = (State, Pc, Start);

impl<'a> Pass<'a> {
    /// Prepares the pass.
    pub fn new(object: &'a Object, certificate: &'a Certificate) -> Pass<'a> {
        let index = Index::new(certificate);
        Pass { object, certificate, index, work: Work::of(WORK) }
    }

    /// The same pass, with so much work at most.
    pub fn within(self, work: u64) -> Pass<'a> {
        Pass { work: Work::of(work), ..self }
    }

    /// Takes one case of the steps of a view or of an effect in it, and of all work.
    fn spend(&self, left: &mut Left) -> Result<(), Objection> {
        match left.take() && self.work.take() {
            true => Ok(()),
            false => Err("more cases than the checker tries".to_owned()),
        }
    }

    /// Checks everything.
    pub fn run(&self) -> Result<(), Rejection> {
        let meets: Meets = &mut |from, state| {
            // Most effects happen out of sight: then the view itself still describes the state.
            let same = from.is_some_and(|from| covers(&self.certificate.views[from].0, state));
            same || self.index.covers(state)
        };
        self.start(meets)?;
        let mut noticed = Noticed::default();
        for view in 0..self.certificate.views.len() {
            self.own_steps(view, &mut noticed, meets)?;
        }
        for view in 0..self.certificate.views.len() {
            self.collected(view, &noticed, meets)?;
        }
        alike::interference(self)
    }

    /// All steps of others, in a view.
    pub fn others(&self, view: usize, noticed: &Noticed, meets: Meets) -> Result<(), Rejection> {
        self.collected(view, noticed, meets)?;
        for effect in &self.certificate.effects {
            if can_fit(&effect.0, &self.certificate.views[view].0) {
                self.interference(view, effect, meets)?;
            }
        }
        Ok(())
    }

    /// The steps of others that are not in the certificate but collected from all steps, in a view.
    fn collected(&self, view: usize, noticed: &Noticed, meets: Meets) -> Result<(), Rejection> {
        self.helped(view, noticed, meets)?;
        self.exchanged(view, noticed, meets)?;
        self.updated(view, noticed, meets)
    }

    /// The state after the initialisation, in all ways that it can go.
    pub fn start(&self, meets: Meets) -> Result<(), Rejection> {
        let steps = &self.object.steps;
        let is_lock = |i: usize| steps.shared[i].kind.scalar == ScalarType::Lock;
        let free = |i| if is_lock(i) { Scalar::Lock(Holder::Free) } else { Scalar::Null };
        let shared: Vec<Scalar> = (0..steps.shared.len()).map(free).collect();
        let mut choices = Choices::default();
        loop {
            let graph = HeapGraph { shared: shared.clone(), ..HeapGraph::default() };
            let numerical = self.object.spec == Spec::Number;
            let state = State { graph, numerical, ..State::default() };
            let mut execution = self.execution(state, &mut choices);
            let (mut pc, mut start) = (steps.init, Start::Within);
            while let (next, Ended::Rests) = execution.run(pc, start).map_err(Rejection::Start)? {
                (pc, start) = (next, Start::AtAccess);
            }
            let mut state = execution.state;
            self.hide_arrays(&mut state)?;
            state.settle();
            let empty = self.certificate.content.is_empty(self.object, &state.graph);
            if !empty.map_err(Rejection::Start)? {
                return Err(Rejection::NotEmpty);
            }
            if !meets(None, &state) {
                return Err(Rejection::StartNotCovered);
            }
            if !choices.advance() {
                return Ok(());
            }
        }
    }

    /// A state in which the operation has seen the content at this moment.
    fn observed(&self, mut state: State, choices: &mut Choices) -> Result<State, Objection> {
        let Some(mut operation) = state.operation.take() else { return Ok(state) };
        let mut moment = self.execution(state, choices);
        moment.tell_entry(&self.certificate.content)?;
        moment.observe(&self.certificate.content, &mut operation)?;
        Ok(State { operation: Some(operation), ..moment.state })
    }

    fn execution<'e>(&'e self, state: State, choices: &'e mut Choices) -> Execution<'e> {
        let count = self.object.steps.register_count();
        let registers = match &state.operation {
            Some(operation) => operation.registers.clone(),
            None => vec![Scalar::Null; count],
        };
        Execution {
            object: self.object,
            state,
            choices,
            registers,
            shapes: &self.certificate.shapes,
            foreign: None,
            names: names::Names::default(),
        }
    }

    /// Of arrays, states know nothing but the thread's own elements, and these are null at the
    /// start, as no thread has published anything. There are no records at the start.
    fn hide_arrays(&self, state: &mut State) -> Result<(), Rejection> {
        for array in &self.object.arrays {
            let first = array.first as usize;
            for slot in first..first + array.len as usize {
                let scalar = std::mem::replace(&mut state.graph.shared[slot], Scalar::Unknown);
                let number = matches!(scalar, Scalar::Int(_)) && array.own.is_none();
                if scalar != Scalar::Null && !number {
                    let why = "an array that is not empty".to_owned();
                    return Err(Rejection::Start(why));
                }
            }
        }
        state.own = vec![Scalar::Null; self.object.own_elements()];
        match state.records.is_empty() {
            true => Ok(()),
            false => Err(Rejection::Start("a record".to_owned())),
        }
    }

    /// All steps of the thread of a view.
    pub fn own_steps(
        &self,
        number: usize,
        noticed: &mut Noticed,
        meets: Meets,
    ) -> Result<(), Rejection> {
        let (view, line) = &self.certificate.views[number];
        let line = *line;
        let starts: Vec<Running> = match &view.operation {
            Some(operation) => vec![(view.clone(), operation.pc, Start::AtAccess)],
            None => self.calls(view),
        };
        let mut left = Left::of(CASES);
        for start in starts {
            let first = start.1;
            let mut met: HashSet<(State, u32)> = HashSet::new();
            let mut todo = vec![start];
            while let Some(from) = todo.pop() {
                let check = |why| Rejection::Check(line, first, why);
                self.spend(&mut left).map_err(check)?;
                for (state, pc) in self.runs(&from, number, first, noticed, meets)? {
                    let state = state.folded();
                    if met.insert((state.clone(), pc.0)) {
                        todo.push((state, pc, Start::Within));
                    }
                }
                if met.len() > INSIDE {
                    let why = "a step with too many cases".to_owned();
                    return Err(Rejection::Check(line, first, why));
                }
            }
        }
        Ok(())
    }

    /// What an idle thread can call.
    fn calls(&self, view: &State) -> Vec<Running> {
        let mut calls = Vec::new();
        for (number, method) in self.object.steps.methods.iter().enumerate() {
            for arguments in self.object.calls(number) {
                let mut registers = vec![Scalar::Null; self.object.steps.register_count()];
                let first = method.first_param.0 as usize;
                registers[first..first + arguments.len()].copy_from_slice(&arguments);
                let (method_number, ghost) = (number as u32, Ghost::default());
                let pc = method.entry;
                let operation =
                    Operation { pc, method: method_number, arguments, ghost, registers };
                let state = State { operation: Some(operation), ..view.clone() };
                calls.push((state, method.entry, Start::Within));
            }
        }
        calls
    }

    /// All runs from a position; gives those that go round a loop inside of the step.
    fn runs(
        &self,
        from: &Running,
        number: usize,
        first: Pc,
        noticed: &mut Noticed,
        meets: Meets,
    ) -> Result<Vec<(State, Pc)>, Rejection> {
        let line = self.certificate.views[number].1;
        let check = |why| Rejection::Check(line, first, why);
        let mut loops = Vec::new();
        let mut choices = Choices::default();
        let mut left = Left::of(CASES);
        loop {
            self.spend(&mut left).map_err(check)?;
            let mut execution = self.execution(from.0.clone(), &mut choices);
            let (pc, ended) = self.run_named(&mut execution, from).map_err(check)?;
            match ended {
                Ended::Waits => {}
                Ended::Loops if self.object.has_records() => {
                    return Err(check("a loop inside of a step".to_owned()));
                }
                Ended::Loops => {
                    let mut state = execution.state;
                    if let Some(operation) = &mut state.operation {
                        operation.registers = execution.registers;
                    }
                    loops.push((state, pc));
                }
                ended => {
                    let mut state =
                        self.finish(execution, pc, &ended, number, noticed).map_err(check)?;
                    let lists = !matches!(self.object.spec, Spec::Cell | Spec::Number);
                    if lists && is_visible(&state.graph) {
                        if !self.has_effect(&state.graph, usize::MAX) {
                            match &mut noticed.untold {
                                Some(untold) => untold.push(state.graph.clone()),
                                None => return Err(Rejection::NoEffect(line, first)),
                            }
                        }
                        if let Some(effects) = &mut noticed.effects {
                            effects.extend(self.needed_effect(&state.graph));
                        }
                    }
                    if ended != Ended::Rests {
                        state.operation = None;
                        state.graph.forget_me();
                        state.numbers.moments.clear();
                        state.numbers.answer = None;
                    }
                    state.settle();
                    if !meets(Some(number), &state) {
                        return Err(Rejection::Step(line, first));
                    }
                }
            }
            if !choices.advance() {
                return Ok(loops);
            }
        }
    }

    /// Runs a step; in a cell, values that are not tracked have names meanwhile.
    fn run_named(
        &self,
        execution: &mut Execution<'_>,
        (_, pc, start): &Running,
    ) -> Result<(Pc, Ended), Objection> {
        if self.object.spec != Spec::Cell {
            return execution.run(*pc, *start);
        }
        execution.names.give(&mut execution.state, &mut execution.registers);
        let (pc, ended) = execution.run(*pc, *start)?;
        names::forget(&mut execution.state, &mut execution.registers);
        Ok(match ended {
            Ended::Returned(result) => {
                (pc, Ended::Returned(result.into_iter().map(names::nameless).collect()))
            }
            ended => (pc, ended),
        })
    }

    /// The end of a step: the content, the moment, the result.
    fn finish(
        &self,
        mut run: Execution<'_>,
        pc: Pc,
        ended: &Ended,
        view: usize,
        noticed: &mut Noticed,
    ) -> Result<State, Objection> {
        let Some(mut operation) = run.state.operation.take() else {
            return Err("a step of an idle thread".to_owned());
        };
        if !self.object.arrays.is_empty() && !run.state.publishes_only(run.shapes) {
            return Err("a record becomes public that has none of the shapes".to_owned());
        }
        if let Some(cell) = &self.object.cell {
            let exchange = run.account_cell(cell, &mut operation)?;
            Noticed::add(&mut noticed.exchanges, exchange, view);
            run.state.operation = Some(operation);
            cell.observe(&mut run.state)?;
            operation = run.state.operation.take().ok_or("a step of an idle thread")?;
            if let Ended::Returned(result) = ended
                && !cell.conclude(&run.state, &operation, result)
            {
                return Err("the result was perhaps right at no moment since the call".to_owned());
            }
        } else if let Some(number_spec) = &self.object.number_spec {
            let content = &self.certificate.content;
            let update = run.account_number(number_spec, content, &mut operation)?;
            Noticed::add(&mut noticed.updates, update, view);
            run.state.operation = Some(operation);
            counter::observe(number_spec, content, &mut run.state);
            operation = run.state.operation.take().ok_or("a step of an idle thread")?;
            if let Ended::Returned(result) = ended
                && !counter::may_return(number_spec, &run.state, &operation, result)
            {
                return Err("the result was perhaps right at no moment since the call".to_owned());
            }
        } else {
            let content = &self.certificate.content;
            run.account(content, &mut operation)?;
            let help = run.help(&mut operation)?;
            if help.is_some() && is_visible(&run.state.graph) {
                return Err("an exchange in a step that does more".to_owned());
            }
            Noticed::add(&mut noticed.helps, help, view);
            run.tell_first(content, &operation)?;
            run.observe(content, &mut operation)?;
            if let Ended::Returned(result) = ended {
                run.conclude(&operation, result)?;
            }
        }
        let Execution { mut state, registers, .. } = run;
        state.operation = Some(Operation { pc, registers, ..operation });
        Ok(state)
    }

    /// What exchanges of its element do to a view.
    fn helped(&self, number: usize, noticed: &Noticed, meets: Meets) -> Result<(), Rejection> {
        let (view, line) = &self.certificate.views[number];
        let foreign = |why| Rejection::ForeignRecord(*line, why);
        for help in noticed.helps.keys().filter(|h| h.concerns(view)) {
            let mut choices = Choices::default();
            let mut left = Left::of(CASES);
            loop {
                self.spend(&mut left).map_err(foreign)?;
                let state = help.apply(self.object, view, &mut choices).map_err(foreign)?;
                if !meets(Some(number), &state) {
                    return Err(Rejection::RecordInterference(*line));
                }
                if !choices.advance() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// What steps of others on a cell do to a view.
    fn exchanged(&self, number: usize, noticed: &Noticed, meets: Meets) -> Result<(), Rejection> {
        let Some(cell) = &self.object.cell else { return Ok(()) };
        let (view, line) = &self.certificate.views[number];
        let foreign = |why| Rejection::ForeignRecord(*line, why);
        for exchange in noticed.exchanges.keys() {
            let after = exchange.apply(cell, view).map_err(foreign)?;
            let Some(mut state) = after else { continue };
            cell.observe(&mut state).map_err(foreign)?;
            if !meets(Some(number), &state) {
                return Err(Rejection::RecordInterference(*line));
            }
        }
        Ok(())
    }

    /// What steps of others on a number do to a view.
    fn updated(&self, number: usize, noticed: &Noticed, meets: Meets) -> Result<(), Rejection> {
        let Some(number_spec) = &self.object.number_spec else { return Ok(()) };
        let (view, line) = &self.certificate.views[number];
        for update in noticed.updates.keys() {
            let Some(mut state) = update.apply(view) else { continue };
            counter::observe(number_spec, &self.certificate.content, &mut state);
            state.settle();
            if !meets(Some(number), &state) {
                return Err(Rejection::RecordInterference(*line));
            }
        }
        Ok(())
    }

    /// Whether an effect of the certificate, but not this one, describes a step; optional segments
    /// are decided if that is needed.
    fn has_effect(&self, graph: &HeapGraph, missing: usize) -> bool {
        self.has_effect_within(graph, missing, &mut Left::of(SPLITS))
    }

    fn has_effect_within(&self, graph: &HeapGraph, missing: usize, left: &mut Left) -> bool {
        if !left.take() {
            return false;
        }
        let mut effects = self.certificate.effects.iter().enumerate();
        if effects.any(|(number, (e, _))| number != missing && describes(e, graph)) {
            return true;
        }
        let shared = graph.shared_before.iter();
        let drawn = graph.ids().map(Scalar::Node);
        let open = graph.first_optional(shared.copied().chain(drawn), Time::Before);
        let Some(open) = open else { return false };
        let mut choices = Choices::default();
        loop {
            let mut case = graph.clone();
            case.decide(open, &mut choices);
            if !self.has_effect_within(&case, missing, left) {
                return false;
            }
            if !choices.advance() {
                return true;
            }
        }
    }

    /// The effects without which no effect describes a step.
    fn needed_effect(&self, graph: &HeapGraph) -> Vec<usize> {
        let effects = self.certificate.effects.iter().enumerate();
        let describing = effects.filter(|(_, (e, _))| describes(e, graph)).map(|(n, _)| n);
        let describing: Vec<usize> = describing.take(2).collect();
        match describing[..] {
            [_, _] => vec![],
            [only] if !self.has_effect(graph, only) => vec![only],
            [_] => vec![],
            _ => (0..self.certificate.effects.len())
                .filter(|effect| !self.has_effect(graph, *effect))
                .collect(),
        }
    }

    fn interference(
        &self,
        number: usize,
        (effect, effect_line): &(Effect, u32),
        meets: Meets,
    ) -> Result<(), Rejection> {
        let (view, line) = &self.certificate.views[number];
        let described = self.after(effect, view, &mut |state| meets(Some(number), state));
        match described.map_err(|why| Rejection::Foreign(*line, *effect_line, why))? {
            true => Ok(()),
            false => Err(Rejection::Interference(*line, *effect_line)),
        }
    }

    /// Whether every state after an effect, in every way in which it fits a view, is as wanted.
    pub(crate) fn after(
        &self,
        effect: &Effect,
        view: &State,
        wanted: &mut dyn FnMut(&State) -> bool,
    ) -> Result<bool, Objection> {
        let mut choices = Choices::default();
        let mut left = Left::of(CASES);
        loop {
            self.spend(&mut left)?;
            if let Some(state) = apply(effect, view, &mut choices)? {
                let mut state = self.observed(state, &mut choices)?;
                state.settle();
                if !wanted(&state) {
                    return Ok(false);
                }
            }
            if !choices.advance() {
                return Ok(true);
            }
        }
    }
}

impl Rejection {
    /// The rejection in words.
    pub fn told(&self, program: &Program, object: &Object) -> String {
        let source = |pc: &Pc| {
            let line = object.steps.code[pc.0 as usize].span.line(&program.source);
            format!("line {line} of the program")
        };
        match self {
            Rejection::Start(why) => format!("the start is not understood: {why}"),
            Rejection::NotEmpty => "the object is not empty at the start".to_owned(),
            Rejection::StartNotCovered => "no view describes the start".to_owned(),
            Rejection::Check(view, pc, why) => {
                format!("in the view of line {view}, at {}: {why}", source(pc))
            }
            Rejection::Step(view, pc) => {
                format!("no view describes the view of line {view} after {}", source(pc))
            }
            Rejection::NoEffect(view, pc) => {
                format!("no effect describes {} in the view of line {view}", source(pc))
            }
            Rejection::Foreign(view, effect, why) => {
                format!("the effect of line {effect} in the view of line {view}: {why}")
            }
            Rejection::ForeignRecord(view, why) => {
                format!("a step of another thread in the view of line {view}: {why}")
            }
            Rejection::RecordInterference(view) => {
                format!("no view describes the view of line {view} after a step of another thread")
            }
            Rejection::Interference(view, effect) => {
                format!(
                    "no view describes the view of line {view} after the effect of line {effect}"
                )
            }
        }
    }
}
