//! The insurance: concrete runs of two to four threads, on the machine of `seriatim-lang`; after
//! every step, every thread's view of the state must be covered by the invariant that the prover
//! computed. What the ghost state should be is worked out here from the concrete states, not with
//! the prover's own code. `SERIATIM_LONG=1` makes the runs longer, `SERIATIM_COVER=name,name`
//! chooses algorithms.

use crate::abstraction::{Lens, shared_view};
use crate::cell_spec::{CellRole, When};
use crate::content::{Abstraction, Begin, Counted};
use crate::difference::{Fact, Relation};
use crate::fixpoint::Fixpoint;
use crate::model::{Field, Model, Role, Tracking};
use crate::outcome::Options;
use crate::reduce::Reduction;
use crate::value::{Attr, Class, Holder, Val};
use crate::view::{ARGS, Busy, Ghost, Numbers, View, Window};
use seriatim_lang::check;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Bounds, Machine, Seen, State, Stop};
use seriatim_lang::range::Range;
use seriatim_lang::spec::{Datum, Spec};
use seriatim_lang::steps::{NULL, Op, Reg};
use seriatim_lang::types::{Kind, Length, Scalar, StructId, Type};

struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % count as u64) as usize
    }
}

/// An operation in progress, as the test sees it.
#[derive(Clone)]
struct Running {
    method: u32,
    args: Vec<i32>,
    ghost: Ghost,
    numbers: Numbers,
    /// What an operation on numbers could have returned at moments at which it changes nothing.
    unchanged: Vec<Vec<Val>>,
}

/// A record in the cell, as the test sees it.
#[derive(Clone, Copy)]
struct Installed {
    owner: usize,
    base: i32,
    seen: u32,
}

/// A concrete run with what the views need to know about its past.
struct Walk<'a> {
    model: &'a Model,
    machine: &'a Machine,
    spec: &'a Spec,
    abstraction: Abstraction,
    tracked: i32,
    state: State,
    running: Vec<Option<Running>>,
    changers: Vec<Option<usize>>,
    node_locks: Vec<Option<usize>>,
    marks: Vec<Option<usize>>,
    private: Vec<bool>,
    installed: Option<Installed>,
}

impl Walk<'_> {
    fn slot(&self, state: &State, node: usize, field: Field) -> Option<i32> {
        let slot = self.model.fields.iter().position(|f| *f == field)?;
        let cells = &state.heap.get(node * self.machine.node_stride()..)?;
        let of = StructId(*cells.first()? as u32);
        cells.get(1 + slot).copied().filter(|_| Some(of) == self.model.list)
    }

    fn lens(&self) -> Lens {
        match self.model.tracking {
            Tracking::Value => Lens::Value(self.tracked),
            _ => Lens::Key(self.tracked),
        }
    }

    fn count(&self, state: &State) -> usize {
        state.heap.len() / self.machine.node_stride()
    }

    /// The nodes of the content, in order.
    fn content(&self, state: &State) -> Vec<usize> {
        let mut nodes = Vec::new();
        let mut at = state.words[self.abstraction.root];
        while at != NULL {
            assert!(nodes.len() <= self.count(state), "a concrete cycle");
            nodes.push(at as usize);
            at = self.slot(state, at as usize, Field::Link).unwrap_or(NULL);
        }
        if self.abstraction.begin == Begin::BehindDummy {
            nodes.remove(0);
        }
        if self.abstraction.counted == Counted::ReachableUnmarked {
            nodes.retain(|n| self.slot(state, *n, Field::Mark) == Some(0));
        }
        nodes
    }

    /// The first node of the content with the tracked key.
    fn entry(&self, state: &State) -> Option<usize> {
        let key = |n: &usize| self.slot(state, *n, Field::Key) == Some(self.tracked);
        self.content(state).into_iter().find(key)
    }

    fn observe(&self, state: &State, running: &mut Running) {
        if running.ghost.done {
            running.ghost.saw_yes = false;
            running.ghost.saw_no = false;
            running.ghost.firsts = 0;
            return;
        }
        match self.model.tracking {
            Tracking::Value => self.observe_cell(state, running),
            Tracking::Key if running.args[0] == self.tracked => match self.entry(state) {
                Some(node) => {
                    running.ghost.saw_yes = true;
                    let asks = self.model.roles[running.method as usize].asks_value();
                    if let (true, Some(value)) = (asks, self.slot(state, node, Field::Value)) {
                        running.ghost.firsts |= 1 << (value & 1);
                    }
                }
                None => running.ghost.saw_no = true,
            },
            Tracking::Key => {}
            Tracking::Number => {
                let content = self.numbers(state);
                if let Some((after, answer)) = self.prescribed(running, &content)
                    && after == self.content_data(&content)
                {
                    running.unchanged.push(answer);
                }
                running.numbers.moments.push(content.into_iter().map(Val::Int).collect());
            }
            Tracking::Colour => {
                let content = self.content(state);
                running.ghost.saw_yes |= content.is_empty();
                let role = self.model.roles[running.method as usize];
                running.ghost.saw_no |= matches!(role, Role::IsEmpty { .. }) && !content.is_empty();
                if let (Role::Peek { .. }, Some(first)) = (role, content.first()) {
                    let value = self.slot(state, *first, Field::Value).expect("a value");
                    running.ghost.firsts |= 1 << (value & 1);
                }
            }
        }
    }

    fn control(&self, state: &State) -> i32 {
        self.model.control().map_or(0, |c| state.words[c])
    }

    fn descriptor(&self, state: &State) -> i32 {
        self.model.descriptor().map_or(NULL, |d| state.words[d])
    }

    /// The result that leaves the cell as it is would be right now.
    fn observe_cell(&self, state: &State, running: &mut Running) {
        let (content, control) = (state.words[self.abstraction.root], self.control(state));
        let Role::Cell(role) = self.model.roles[running.method as usize] else { return };
        let free = self.descriptor(state) == NULL;
        let saw = match role {
            CellRole::SetControl => return running.ghost.saw_yes |= running.args[0] == control,
            CellRole::Read => free,
            CellRole::Swap(swap) => {
                let fits = match swap.when {
                    When::Always => true,
                    When::Control(wanted) => control == wanted,
                    When::Argument(i) => control == running.args[i as usize],
                };
                let equal = content == running.args[swap.old as usize];
                free && (!equal || !fits || content == running.args[swap.next as usize])
            }
            CellRole::Write => false,
        };
        running.ghost.saw_yes |= saw && content == self.tracked;
        running.ghost.saw_no |= saw && content == NULL;
    }

    /// What a step of `thread` did to the cell: installations, completions, changes of the control
    /// variable.
    fn cell_effect(&mut self, thread: usize, from: &State) {
        let (old, new) = (self.descriptor(from), self.descriptor(&self.state));
        let control = self.control(&self.state);
        let mut done = Vec::new();
        if self.control(from) != control {
            done.push((thread, None));
        }
        match (old == NULL, new == NULL) {
            (true, true) => {
                let root = self.abstraction.root;
                assert_eq!(from.words[root], self.state.words[root], "a direct write");
            }
            (true, false) => {
                let base = from.words[self.abstraction.root];
                self.installed = Some(Installed { owner: thread, base, seen: 1 << control });
            }
            (false, false) => {
                assert_eq!(old, new, "overwritten");
                self.installed.iter_mut().for_each(|i| i.seen |= 1 << control);
            }
            (false, true) => {
                let installed = self.installed.take().expect("it was installed");
                let base = self.lens().scalar(self.model, Scalar::Value, installed.base);
                let got = match base.expect("a value") {
                    Val::Colour(c) => c,
                    _ => 2,
                };
                done.push((installed.owner, Some(got)));
            }
        }
        for (thread, got) in done {
            let running = self.running[thread].as_mut().expect("it is running");
            assert!(!running.ghost.done, "a second effect");
            running.ghost.done = true;
            running.ghost.got = got;
        }
    }

    /// The words of a content that is numbers.
    fn numbers(&self, state: &State) -> Vec<i32> {
        self.abstraction.roots().map(|root| state.words[root]).collect()
    }

    /// The data of some types that words are, of which each is of one of the kinds; numbers may
    /// stand for values.
    fn data(types: &[&Type], kinds: &[Kind], words: &[i32]) -> Vec<Datum> {
        let mut values = Vec::new();
        types.iter().for_each(|ty| values_of(ty, &mut values));
        let value = Kind { scalar: Scalar::Value, nullable: true };
        let both =
            values.iter().zip(kinds.iter().zip(words)).map(|(is_value, (kind, word))| {
                match (is_value, word) {
                    (true, 0) => (value, NULL),
                    (true, word) => (value, *word),
                    (false, word) => (*kind, *word),
                }
            });
        let (kinds, words): (Vec<Kind>, Vec<i32>) = both.unzip();
        let mut at = 0;
        let data = types.iter().map(|ty| {
            let begin = at;
            at += ty.width(1) as usize;
            Datum::from_scalars(ty, &kinds[begin..at], &words[begin..at])
        });
        data.collect()
    }

    /// What an operation makes of a content that is numbers, and what it then returns; none if it
    /// waits.
    fn prescribed(&self, running: &Running, content: &[i32]) -> Option<(Vec<Datum>, Vec<Val>)> {
        let info = self.spec.info();
        let method = &self.model.steps.methods[running.method as usize];
        let number = self.spec.method(&method.name).expect("specified");
        let params: Vec<&Type> = info.methods[number].params.iter().map(|p| &p.ty).collect();
        let args = Self::data(&params, &method.params, &running.args);
        let outcomes = self.spec.outcomes(&self.content_data(content), number, &args);
        match outcomes.expect("it runs").as_slice() {
            [] => None,
            [(after, result)] => {
                let mut words = Vec::new();
                if *result != Datum::unit() {
                    result.scalars(&mut words);
                }
                let number = |n: &i32| Val::Int(if *n == NULL { 0 } else { *n });
                Some((after.clone(), words.iter().map(number).collect()))
            }
            _ => panic!("several outcomes"),
        }
    }

    /// A content that is numbers as the state of its specification.
    fn content_data(&self, content: &[i32]) -> Vec<Datum> {
        let types: Vec<&Type> = self.spec.info().vars.iter().map(|var| &var.ty).collect();
        let roots = self.abstraction.roots();
        let kinds: Vec<Kind> = roots.map(|root| self.model.steps.shared[root].kind).collect();
        Self::data(&types, &kinds, content)
    }

    /// What a step of `thread` did to numbers: the specification says what it must return.
    fn number_effect(&mut self, thread: usize, from: &State) {
        let (old, new) = (self.numbers(from), self.numbers(&self.state));
        if old == new {
            return;
        }
        let running = self.running[thread].as_ref().expect("it is running");
        let (after, answer) = self.prescribed(running, &old).expect("it does not wait");
        assert_eq!(after, self.content_data(&new), "a wrong change");
        let running = self.running[thread].as_mut().expect("it is running");
        assert!(!running.ghost.done, "a second effect");
        running.ghost.done = true;
        running.numbers.moments.clear();
        running.numbers.answer = Some(answer);
    }

    /// The views of an operation on numbers that may have taken effect without changing anything,
    /// as one that writes what is there: who takes it for one that did is right, too.
    fn views_after_no_change(&self, thread: usize) -> Vec<View> {
        let Some(running) = &self.running[thread] else { return vec![] };
        let done = running.unchanged.iter().map(|answer| {
            let mut view = self.view(thread);
            view.busy.iter_mut().for_each(|busy| busy.ghost.done = true);
            view.numbers = Numbers { answer: Some(answer.clone()), ..Numbers::default() };
            view
        });
        done.filter(|_| !running.ghost.done).collect()
    }

    /// Two operations that met: the step changed another thread's element of an array.
    fn meet(&mut self, thread: usize, from: &State) {
        let arrays = self.model.arrays.iter().filter(|a| a.slot.is_some());
        let elements = arrays.flat_map(|a| (0..a.len).map(move |i| (i, a.first + i)));
        let changed: Vec<usize> = elements
            .filter(|(i, at)| {
                *i as usize != thread && from.words[*at as usize] != self.state.words[*at as usize]
            })
            .map(|(i, _)| i as usize)
            .collect();
        for owner in changed {
            let both = [thread, owner];
            let role =
                |t: usize| self.running[t].as_ref().map(|r| self.model.roles[r.method as usize]);
            let pusher = both.into_iter().find(|t| role(*t) == Some(Role::Put)).expect("a push");
            let popper = both
                .into_iter()
                .find(|t| role(*t) == Some(Role::Take { waits: false }))
                .expect("a pop");
            let value = self.running[pusher].as_ref().expect("running").args[0] as u8 & 1;
            for (thread, got) in [(pusher, None), (popper, Some(value))] {
                let running = self.running[thread].as_mut().expect("running");
                assert!(!running.ghost.done, "a second effect");
                running.ghost.done = true;
                running.ghost.got = got;
            }
        }
    }

    /// Takes over the state after a step of `thread`.
    fn advance(&mut self, thread: usize, to: State, seen: &Seen) {
        let from = std::mem::replace(&mut self.state, to);
        if let Some((method, args)) = &seen.call {
            let (ghost, numbers) = (Ghost::default(), Numbers::default());
            let (args, unchanged) = (args.clone(), vec![]);
            let mut running = Running { method: *method, args, ghost, numbers, unchanged };
            self.observe(&from, &mut running);
            self.running[thread] = Some(running);
        }
        self.own(thread, &from);
        match self.model.tracking {
            Tracking::Value => self.cell_effect(thread, &from),
            Tracking::Number => self.number_effect(thread, &from),
            _ => self.effect(thread, &from),
        }
        self.meet(thread, &from);
        let mut all = std::mem::take(&mut self.running);
        all.iter_mut().flatten().for_each(|r| self.observe(&self.state, r));
        if seen.ret.is_some() {
            all[thread] = None;
            for owner in self.node_locks.iter_mut().chain(&mut self.marks).chain(&mut self.changers)
            {
                if *owner == Some(thread) {
                    *owner = Some(usize::MAX);
                }
            }
        }
        self.running = all;
    }

    /// Who holds what, and what is private.
    fn own(&mut self, thread: usize, from: &State) {
        for g in 0..self.model.steps.shared.len() {
            let told = self.model.is_lock(g) || self.model.has_changer(g);
            if told && from.words[g] != self.state.words[g] {
                self.changers[g] = (self.state.words[g] != 0).then_some(thread);
            }
        }
        let count = self.count(&self.state);
        for node in self.count(from)..count {
            assert_eq!(node, self.private.len());
            self.private.push(true);
            self.node_locks.push(None);
            self.marks.push(None);
        }
        for node in 0..count {
            let lock = self.slot(&self.state, node, Field::Lock);
            if lock != self.slot(from, node, Field::Lock) {
                self.node_locks[node] = (lock == Some(1)).then_some(thread);
            }
            let mark = self.slot(&self.state, node, Field::Mark);
            if mark != self.slot(from, node, Field::Mark) {
                self.marks[node] = (mark == Some(1) && !self.private[node]).then_some(thread);
            }
        }
        let is_reference =
            |g: &usize| matches!(self.model.steps.shared[*g].kind.scalar, Scalar::Ref(_));
        let references = (0..self.model.steps.shared.len()).filter(is_reference);
        let mut todo: Vec<i32> = references.map(|g| self.state.words[g]).collect();
        for node in (0..count).filter(|n| !self.private[*n]) {
            todo.extend(self.slot(&self.state, node, Field::Link));
        }
        while let Some(word) = todo.pop() {
            if word != NULL && std::mem::replace(&mut self.private[word as usize], false) {
                todo.extend(self.slot(&self.state, word as usize, Field::Link));
            }
        }
    }

    /// What the step did to the content.
    fn effect(&mut self, thread: usize, from: &State) {
        let (old, new) = (self.content(from), self.content(&self.state));
        let changed = match self.model.tracking {
            Tracking::Key => self.colour(from) != self.colour(&self.state),
            _ => old != new,
        };
        let answer = if changed { self.answer(thread, from) } else { None };
        let value = old.first().and_then(|n| self.slot(from, *n, Field::Value));
        let role = |r: &Running| self.model.roles[r.method as usize];
        let takes =
            self.running[thread].as_ref().is_some_and(|r| matches!(role(r), Role::Take { .. }));
        if let (true, Some(running)) = (changed, &mut self.running[thread]) {
            assert!(!running.ghost.done, "a second effect");
            running.ghost.done = true;
            running.ghost.got = if takes { value.map(|v| v as u8) } else { answer };
        }
    }

    /// The colour of the value of the tracked key; of a set, that it is a member.
    fn colour(&self, state: &State) -> Option<i32> {
        let value = |node| self.slot(state, node, Field::Value).map_or(0, |value| value & 1);
        self.entry(state).map(value)
    }

    /// What the specification returns for a change of what the tracked key has, if that depends on
    /// more than the method and its arguments.
    fn answer(&self, thread: usize, from: &State) -> Option<u8> {
        let running = self.running[thread].as_ref()?;
        let Role::OnKey(does) = self.model.roles[running.method as usize] else { return None };
        if does.result_of_change().is_some() {
            return None;
        }
        let held = self.entry(from).and_then(|node| self.slot(from, node, Field::Value));
        let held = held.map(|value| (Datum::Key(self.tracked), Datum::Value(value)));
        let content = vec![Datum::map(held.into_iter().collect())];
        let method = &self.model.steps.methods[running.method as usize];
        let args = method.params.iter().zip(&running.args);
        let args: Vec<Datum> = args.map(|(kind, word)| Datum::from_scalar(*kind, *word)).collect();
        let number = self.spec.method(&method.name).expect("specified");
        let outcomes = self.spec.outcomes(&content, number, &args).expect("it runs");
        match &outcomes[0].1 {
            Datum::Value(value) => Some(*value as u8 & 1),
            Datum::Null => Some(2),
            Datum::Bool(result) => Some(3 + u8::from(*result)),
            other => panic!("{other:?} is no result"),
        }
    }

    fn scalar(&self, scalar: Scalar, word: i32) -> Val {
        self.lens().scalar(self.model, scalar, word).expect("a value")
    }

    fn view(&self, thread: usize) -> View {
        let mut view =
            shared_view(self.model, &self.state, self.lens()).expect("a state has a view");
        for (global, owner) in view.globals.iter_mut().zip(&self.changers) {
            if *owner == Some(thread) {
                *global = match *global {
                    Val::Int(number) => Val::Own(number),
                    _ => Val::Lock(Holder::Mine),
                };
            }
        }
        for (number, node) in view.nodes.iter_mut().enumerate() {
            node.private = self.private[number];
            if self.node_locks[number] == Some(thread) {
                node.attr = node.attr.with_my_lock(true);
            }
            if self.marks[number] == Some(thread) {
                node.attr = node.attr.with_my_mark();
            }
        }
        for (record, private) in view.records.iter_mut().zip(&self.private) {
            record.private = *private;
        }
        for array in self.model.arrays.iter().filter(|a| a.slot.is_some()) {
            let at = array.first as usize + thread;
            let scalar = self.model.steps.shared[at].kind.scalar;
            view.slots.push(self.scalar(scalar, self.state.words[at]));
        }
        view.busy = self.running[thread].as_ref().map(|r| self.busy(thread, r));
        view.numbers =
            self.running[thread].as_ref().map_or_else(Numbers::default, |r| r.numbers.clone());
        view.window = self.installed.map(|i| self.window(thread, i));
        let fields = view.records.iter_mut().flat_map(|r| &mut r.fields);
        let regs = view.busy.iter_mut().flat_map(|b| &mut b.regs);
        for value in view.globals.iter_mut().chain(&mut view.slots).chain(regs).chain(fields) {
            if *value == Val::Tid(thread as u8 + 1) {
                *value = Val::Tid(0);
            }
        }
        view
    }

    fn window(&self, thread: usize, installed: Installed) -> Window {
        let running = self.running[installed.owner].as_ref().expect("it is running");
        Window {
            mine: installed.owner == thread,
            method: running.method as u8,
            args: self.args(running),
            base: self.scalar(Scalar::Value, installed.base),
            seen: installed.seen,
        }
    }

    fn args(&self, running: &Running) -> [Val; ARGS] {
        let mut args = [Val::Dead; ARGS];
        let params = &self.model.steps.methods[running.method as usize].params;
        for ((arg, kind), word) in args.iter_mut().zip(params).zip(&running.args) {
            *arg = self.scalar(kind.scalar, *word);
        }
        args
    }

    fn busy(&self, thread: usize, running: &Running) -> Busy {
        let pc = self.machine.pc(&self.state, thread);
        let base = self.machine.register_base(thread);
        let reg = |r: usize| match self.model.steps.register(pc, Reg(r as u32)) {
            Some(slot) if self.model.liveness.is_live(pc, r) => {
                self.scalar(slot.kind.scalar, self.state.words[base + r])
            }
            _ => Val::Dead,
        };
        let regs = (0..self.model.steps.register_count()).map(reg).collect();
        let args = self.args(running);
        Busy { pc, method: running.method, args, regs, ghost: running.ghost }
    }
}

/// Whether the invariant covers a view, or the view without some of what an abstract view may
/// forget: that a lock is held or a mark was set by the thread itself.
fn covered(model: &Model, invariant: &Fixpoint, view: &View) -> bool {
    if model.tracking == Tracking::Number {
        return invariant.views.list.iter().any(|general| fits(general, view));
    }
    if invariant.covers(&view.clone().canonical(model.tracking)) {
        return true;
    }
    // Which item was first is noted only where the view is sure of its colour.
    if let Some(busy) = view.busy.as_ref().filter(|b| b.ghost.firsts != 0) {
        let fewer = (0..busy.ghost.firsts).filter(|fewer| fewer & !busy.ghost.firsts == 0);
        return fewer.into_iter().any(|firsts| {
            let mut less = view.clone();
            less.busy.iter_mut().for_each(|b| b.ghost.firsts = firsts);
            invariant.covers(&less.canonical(model.tracking))
        });
    }
    type Weaken = fn(Attr) -> Attr;
    let mut weaker: Vec<(usize, Weaken)> = Vec::new();
    for (number, node) in view.nodes.iter().enumerate() {
        if node.attr.locked_by_me() {
            weaker.push((number, |a| a.with_my_lock(false)));
        }
        if node.attr.marked_by_me() {
            weaker.push((number, |a| a.with_mark(false).with_mark(true)));
        }
    }
    (1..1u32 << weaker.len().min(8)).any(|chosen| {
        let mut view = view.clone();
        for (_, (node, weaken)) in weaker.iter().enumerate().filter(|(i, _)| chosen >> i & 1 == 1) {
            view.nodes[*node].attr = weaken(view.nodes[*node].attr);
        }
        invariant.covers(&view.clone().canonical(model.tracking))
    })
}

/// Whether a view with unknown numbers describes one in which all numbers are known.
fn fits(general: &View, exact: &View) -> bool {
    let same = |f: fn(&Busy) -> (u32, u32, bool)| {
        general.busy.as_ref().map(f) == exact.busy.as_ref().map(f)
    };
    if !same(|b| (b.pc.0, b.method, b.ghost.done)) {
        return false;
    }
    let mut bases: Vec<Option<i64>> = vec![None; 256];
    let meant = |bases: &mut Vec<Option<i64>>, general: Val, exact: Val| match (general, exact) {
        (Val::Num(base, offset), Val::Int(n)) => {
            let base = &mut bases[base as usize];
            let number = i64::from(n) - i64::from(offset);
            *base.get_or_insert(number) == number
        }
        (general, exact) => general == exact,
    };
    let places = |v: &View| -> Vec<Val> {
        let busy = v.busy.iter().flat_map(|b| b.regs.iter().chain(&b.args));
        v.globals.iter().chain(busy).copied().collect()
    };
    let mut pairs = places(general).into_iter().zip(places(exact));
    if !pairs.all(|(general, exact)| meant(&mut bases, general, exact)) {
        return false;
    }
    let all = |general: &[Val], exact: &[Val], bases: &mut Vec<Option<i64>>| {
        let mut pairs = general.iter().zip(exact);
        general.len() == exact.len() && pairs.all(|(g, e)| meant(bases, *g, *e))
    };
    let answered = match (&general.numbers.answer, &exact.numbers.answer) {
        (Some(general), Some(exact)) => all(general, exact, &mut bases),
        (general, exact) => general == exact,
    };
    // A base that stands in one moment only is any number: it is picked anew for each.
    let moments = general
        .numbers
        .moments
        .iter()
        .all(|moment| exact.numbers.moments.iter().any(|m| all(moment, m, &mut bases.clone())));
    let holds = |fact: &Fact| {
        let number = |base: u8| bases[base as usize].unwrap_or(0);
        let difference = number(fact.a) - fact.b.map_or(0, number);
        match fact.relation {
            Relation::IsNot => difference != fact.by.into(),
            Relation::Less => difference < fact.by.into(),
            Relation::AtLeast => difference >= fact.by.into(),
        }
    };
    answered && moments && general.numbers.facts.iter().all(holds)
}

fn successors(machine: &Machine, state: &State, thread: usize) -> Vec<(State, Seen)> {
    let mut choices = Choices::default();
    let mut found = Vec::new();
    loop {
        let mut to = State::default();
        match machine.run(state, thread, &mut choices, &mut to) {
            Ok(seen) => found.push((to, seen)),
            Err(Stop::Fault(fault, pc)) => panic!("a proved program fails: {fault:?} at {pc:?}"),
            Err(_) => {}
        }
        if !choices.advance() {
            return found;
        }
    }
}

/// Runs `steps` steps of `threads` threads in walks from the start; gives the number of views
/// compared.
fn compare(
    name: &str,
    spec: &Spec,
    model: &Model,
    invariant: (&Fixpoint, Abstraction),
    steps: usize,
) -> usize {
    let machine = &model.machine;
    let threads = machine.thread_count();
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ steps as u64 ^ threads as u64);
    let (mut done, mut compared) = (0, 0);
    while done < steps {
        let nodes = model.initial.heap.len() / machine.node_stride();
        let mut walk = Walk {
            model,
            machine,
            spec,
            abstraction: invariant.1,
            tracked: random.below(3) as i32,
            state: model.initial.clone(),
            running: vec![None; threads],
            changers: vec![None; model.steps.shared.len()],
            node_locks: vec![None; nodes],
            marks: vec![None; nodes],
            private: vec![false; nodes],
            installed: None,
        };
        for _ in 0..200 {
            done += 1;
            let thread = random.below(threads);
            let mut options = successors(machine, &walk.state, thread);
            if options.is_empty() || walk.private.len() > 60 {
                continue;
            }
            let (to, seen) = options.swap_remove(random.below(options.len()));
            walk.advance(thread, to, &seen);
            for thread in 0..threads {
                compared += 1;
                let view = walk.view(thread);
                let canonical = view.clone().canonical(model.tracking);
                let mut all = std::iter::once(view).chain(walk.views_after_no_change(thread));
                let covered = all.any(|view| covered(model, invariant.0, &view));
                assert!(covered, "{name}: not covered: {canonical:?}");
            }
        }
    }
    compared
}

/// Which words of a type are values.
fn values_of(ty: &Type, into: &mut Vec<bool>) {
    match ty {
        Type::Tuple(parts) => parts.iter().for_each(|part| values_of(part, into)),
        Type::Array(of, Length::Fixed(length)) => (0..*length).for_each(|_| values_of(of, into)),
        ty => into.push(*ty.required() == Type::Value),
    }
}

/// Lets clients of objects with numbers call with few of them: a run picks one anyway.
fn call_with_few_numbers(model: &mut Model) {
    for instr in &mut model.machine.steps.code {
        if let Op::Any { kind, .. } = &mut instr.op
            && matches!(kind.scalar, Scalar::Int(range) if range.is_default())
        {
            kind.scalar = Scalar::Int(Range::stated(-2, 3));
        }
    }
}

#[test]
fn concrete_runs_stay_inside_the_invariant() {
    let long = std::env::var_os("SERIATIM_LONG").is_some();
    let steps = if long { 130_000 } else { 4_000 };
    let mut compared = 0;
    let wanted = std::env::var("SERIATIM_COVER").ok();
    let listed = |name: &&String| wanted.as_ref().is_none_or(|w| w.split(',').any(|n| n == *name));
    for name in seriatim_testing::proved_algorithms().iter().filter(listed) {
        let program = check(&seriatim_testing::algorithm(name)).expect("right");
        let bounds = Bounds { values: 3, keys: 3, nodes: None, capacity: None };
        let spec = Spec::new(program.spec.clone().expect("named"), bounds);
        for threads in 2..=4 {
            let models = Reduction::ALL.map(|r| Model::of(&program, r, threads));
            let mut models: Vec<Model> = models.into_iter().flatten().flatten().collect();
            models.iter_mut().for_each(call_with_few_numbers);
            let proved = models.iter().find_map(|model| {
                let candidates = Abstraction::candidates(model).into_iter();
                let mut both = candidates.flat_map(|first| [first, first.with_paths()]);
                both.find_map(|abstraction| {
                    let mut invariant = Fixpoint::new(model, abstraction);
                    let done = invariant.run(&Options::default()).ok();
                    done.map(|()| (model, invariant, abstraction))
                })
            });
            let (model, invariant, abstraction) = proved.expect("it is proved");
            compared += compare(name, &spec, model, (&invariant, abstraction), steps);
            if !long && invariant.views.list.len() > 5_000 {
                break;
            }
        }
    }
    eprintln!("{compared} concrete views compared");
    let enough = if wanted.is_some() { 1_000 } else { 100_000 };
    assert!(compared > enough, "only {compared} views: too few to mean anything");
}

#[test]
fn a_lens_orders_keys_around_the_tracked_one() {
    let lens = Lens::Key(1);
    assert_eq!(
        [0, 1, 2].map(|k| lens.class(k)),
        [Class::Below, Class::Tracked, Class::Above].map(Some)
    );
    assert_eq!(Lens::NoData.class(0), None);
}
