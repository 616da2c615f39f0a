//! The run of a violation, judged once more by code that shares nothing with the search: is it a run
//! of the program, does the memory model allow it, and does it go wrong?
//!
//! 1. Every thread is taken through its code by itself, with the values that the run says it read
//!    ([`Thread::follow`]): each access must be the one that the code makes there.
//! 2. The accesses are an execution graph, which must satisfy the axioms of the model
//!    ([`Graph::broken`]): no views, no queues, no order of steps.
//! 3. What is said to be wrong is looked for in the graph: two accesses that race, operations that no
//!    linear extension of happens-before explains, an instruction that is an error on what its
//!    thread holds.

use super::code::Layout;
use super::graph::{Graph, GraphEvent, Kind, Relation};
use super::memory::Content;
use super::step::{Done, Event, Named};
use crate::options::MemoryModel;
use crate::outcome::ViolationKind;
use crate::subject::Subject;
use seriatim_lang::machine::{Fault, Stop, check, evaluate, offset};
use seriatim_lang::spec::{Datum, SpecState};
use seriatim_lang::steps::{Ex, NULL, Op, Ordering, Pc, Place, Reg, Root};
use std::collections::{BTreeMap, BTreeSet};

/// The two accesses of a race, as places in the run.
pub type Race = (usize, usize);

/// What the judgement rests on.
pub struct Witness<'w> {
    pub subject: &'w Subject,
    pub layout: &'w Layout,
    pub model: MemoryModel,
    /// Whether calls synchronise with earlier returns.
    pub stamped: bool,
    /// The run.
    pub events: &'w [Event],
}

/// An operation of the run: where it was called and returned.
struct Operation {
    method: u32,
    args: Vec<i32>,
    call: usize,
    ret: Option<(usize, Datum)>,
}

impl Witness<'_> {
    /// Accepts the run, with the two accesses if it is a race, or says what is wrong with it.
    pub fn accept(&self, kind: ViolationKind) -> Result<Option<Race>, String> {
        let mut threads: Vec<Thread<'_>> =
            (0..self.subject.machine.thread_count()).map(|t| Thread::new(self, t)).collect();
        for (at, event) in self.events.iter().enumerate() {
            let thread = threads.get_mut(event.thread).ok_or("there is no such thread")?;
            thread.follow(event).map_err(|why| format!("access {at} of the run: {why}"))?;
        }
        let built = Built::of(self)?;
        if let Some(axiom) = built.graph.broken(self.model) {
            return Err(format!("the memory model does not allow it: {axiom}"));
        }
        let before = built.graph.happens_before();
        match kind {
            ViolationKind::NotLinearizable => match self.explained(&built, &before)? {
                true => Err("an order of its operations explains it".to_owned()),
                false => Ok(None),
            },
            ViolationKind::Fault(fault) => self.faulty(fault, &built, &before, &threads),
            _ => Err("such a claim is not made of weak memory".to_owned()),
        }
    }

    fn faulty(
        &self,
        fault: Fault,
        built: &Built,
        before: &Relation,
        threads: &[Thread<'_>],
    ) -> Result<Option<Race>, String> {
        let last = self.events.last().ok_or("it is empty")?;
        if !matches!(last.done, Done::Fault(found) if found == fault) {
            return Err("its last access is not the error".to_owned());
        }
        if fault == Fault::DataRace {
            let race = built.race(before, self.events.len() - 1);
            return race.map(Some).ok_or("no two accesses race".to_owned());
        }
        match threads[last.thread].is_error(fault, self.events) {
            true => Ok(None),
            false => Err("the instruction is no error".to_owned()),
        }
    }

    fn operations(&self) -> Vec<Operation> {
        let mut found: Vec<Operation> = vec![];
        let mut open: BTreeMap<usize, usize> = BTreeMap::new();
        for (at, event) in self.events.iter().enumerate() {
            match &event.done {
                Done::Call(method, args) => {
                    open.insert(event.thread, found.len());
                    let (method, args) = (*method, args.clone());
                    found.push(Operation { method, args, call: at, ret: None });
                }
                Done::Return(result) => {
                    if let Some(own) = open.remove(&event.thread) {
                        let result = self.subject.result(found[own].method, result);
                        found[own].ret = Some((at, result));
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// Whether some order of the operations that extends happens-before is allowed.
    fn explained(&self, built: &Built, before: &Relation) -> Result<bool, String> {
        let operations = self.operations();
        let event = |at: usize| built.numbers[at];
        let precedes = |a: &Operation, b: &Operation| {
            a.ret.as_ref().is_some_and(|(ret, _)| before.has(event(*ret), event(b.call)))
        };
        let initial = self.subject.spec.initial().map_err(|stop| format!("{stop:?}"))?;
        let mut seen: BTreeSet<(Vec<usize>, SpecState)> = BTreeSet::new();
        let mut todo: Vec<(Vec<usize>, SpecState)> = vec![(vec![], initial)];
        while let Some((done, state)) = todo.pop() {
            let is_open = |at: &usize| !done.contains(at);
            let open: Vec<usize> = (0..operations.len()).filter(is_open).collect();
            if open.iter().all(|at| operations[*at].ret.is_none()) {
                return Ok(true);
            }
            for at in &open {
                let next = &operations[*at];
                if open.iter().any(|other| other != at && precedes(&operations[*other], next)) {
                    continue;
                }
                let outcomes = self.subject.spec_outcomes(&state, next.method, &next.args);
                for (after, result) in outcomes.unwrap_or_default() {
                    if next.ret.as_ref().is_some_and(|(_, returned)| *returned != result) {
                        continue;
                    }
                    let mut longer = done.clone();
                    longer.push(*at);
                    longer.sort_unstable();
                    if seen.insert((longer.clone(), after.clone())) {
                        todo.push((longer, after));
                    }
                }
            }
        }
        Ok(false)
    }
}

/// What an access of a run touches: a node in one of its lives, or shared variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Touched {
    Word(Option<(u32, u32)>, usize),
    Node((u32, u32)),
}

/// The graph of a run.
struct Built {
    graph: Graph,
    /// For each access of the run, its event.
    numbers: Vec<usize>,
    /// For each access of the run, what it touches, whether it writes, whether it is atomic.
    touches: Vec<Option<(Touched, bool, bool)>>,
    threads: Vec<usize>,
}

impl Built {
    fn of(witness: &Witness<'_>) -> Result<Built, String> {
        let mut words: BTreeMap<Touched, usize> = BTreeMap::new();
        let mut lives: BTreeMap<u32, u32> = BTreeMap::new();
        let mut touches = vec![];
        for event in witness.events {
            let life = |node: u32, lives: &BTreeMap<u32, u32>| {
                (node, lives.get(&node).copied().unwrap_or(0))
            };
            let word = |named: &Named, lives: &BTreeMap<u32, u32>| {
                Touched::Word(named.0.map(|node| life(node, lives)), named.1)
            };
            touches.push(match &event.done {
                Done::Read { word: at, order, .. } => {
                    Some((word(at, &lives), false, order.is_some()))
                }
                Done::Write { word: at, order, .. } => {
                    Some((word(at, &lives), true, order.is_some()))
                }
                Done::Update { word: at, .. } => Some((word(at, &lives), true, true)),
                Done::New(node, _) => {
                    *lives.entry(*node).or_insert(0) += 1;
                    Some((Touched::Node(life(*node, &lives)), true, false))
                }
                Done::Free(node) => Some((Touched::Node(life(*node, &lives)), true, false)),
                _ => None,
            });
        }
        // The access that is an error touches what its instruction names.
        if let (Some(last), Some(touched)) = (witness.events.last(), touches.last_mut())
            && let Done::Fault(_) = last.done
        {
            *touched = witness.wanted(&lives);
        }
        for (touched, ..) in touches.iter().flatten() {
            if let Touched::Word(..) = touched {
                let next = words.len();
                words.entry(*touched).or_insert(next);
            }
        }
        let mut graph = Graph { modification: vec![vec![]; words.len()], ..Graph::default() };
        // Words of variables and of first nodes have an initial write; those of new nodes are
        // written by the event that makes the node.
        let mut initial: BTreeMap<usize, usize> = BTreeMap::new();
        for (touched, word) in &words {
            if let Touched::Word(None | Some((_, 0)), _) = touched {
                let (kind, order) = (Kind::Write, Some(Ordering::Relaxed));
                graph.events.push(GraphEvent { thread: None, kind, word: Some(*word), order });
                graph.reads_from.push(None);
                initial.insert(*word, graph.events.len() - 1);
                graph.modification[*word].push(graph.events.len() - 1);
            }
        }
        let threads = witness.events.iter().map(|e| e.thread).collect();
        let mut built = Built { graph, numbers: vec![], touches, threads };
        built.add(witness, &words, &initial)?;
        built.synchronise(witness);
        Ok(built)
    }

    /// Adds the accesses of the run.
    fn add(
        &mut self,
        witness: &Witness<'_>,
        words: &BTreeMap<Touched, usize>,
        initial: &BTreeMap<usize, usize>,
    ) -> Result<(), String> {
        let mut contents = witness.first_contents(words, initial)?;
        let mut by_number: BTreeMap<u32, usize> = BTreeMap::new();
        for (at, event) in witness.events.iter().enumerate() {
            let number = self.graph.events.len();
            self.numbers.push(number);
            let word = match self.touches[at] {
                Some((touched @ Touched::Word(..), ..)) => words.get(&touched).copied(),
                _ => None,
            };
            let (kind, order) = match &event.done {
                Done::Read { order, .. } => (Kind::Read, *order),
                Done::Write { order, .. } => (Kind::Write, *order),
                Done::Update { order, .. } => (Kind::Update, Some(*order)),
                Done::Fence(order) => (Kind::Fence, Some(*order)),
                _ => (Kind::Mark, None),
            };
            let word = if kind == Kind::Mark { None } else { word };
            self.graph.events.push(GraphEvent { thread: Some(event.thread), kind, word, order });
            self.graph.reads_from.push(None);
            if let Done::New(_, slots) = &event.done {
                let op = &witness.subject.machine.steps.code[event.pc.0 as usize].op;
                let Op::New { of, .. } = op else {
                    return Err("it makes no node there".to_owned());
                };
                let layout = &witness.layout.structs[of.0 as usize];
                for (place, word) in self.make(at, number, words) {
                    let content = Content::of(&slots[layout[place].slots.clone()]);
                    contents.insert((number, word), content);
                }
            }
            let Some(word) = word else {
                if let Done::Flush(write) = &event.done {
                    let write =
                        *by_number.get(write).ok_or("it takes a write that is not there")?;
                    let word = self.graph.events[write].word.unwrap_or(0);
                    self.graph.modification[word].push(write);
                }
                continue;
            };
            let source = |from: u32| {
                let made = self.graph.modification[word].first().copied();
                let first = initial.get(&word).copied().or(made);
                by_number.get(&from).copied().or(first).ok_or("it reads a write that is not there")
            };
            match &event.done {
                Done::Read { from, content, .. } => {
                    let write = source(*from)?;
                    same(&contents, (write, word), content)?;
                    self.graph.reads_from[number] = Some(write);
                }
                Done::Update { from, before, content, .. } => {
                    let write = source(*from)?;
                    same(&contents, (write, word), before)?;
                    self.graph.reads_from[number] = Some(write);
                    contents.insert((number, word), content.clone());
                    self.put(word, Some(write), number);
                }
                Done::Write { after, content, order, .. } => {
                    contents.insert((number, word), content.clone());
                    match *after {
                        // It waits in a queue; memory takes it later, or not in this run.
                        u32::MAX => {}
                        _ if order.is_none() || witness.model != MemoryModel::Rc20 => {
                            self.put(word, None, number);
                        }
                        after => {
                            let write = source(after)?;
                            self.put(word, Some(write), number);
                        }
                    }
                }
                _ => {}
            }
            by_number.insert(event.number, number);
        }
        self.finish_queues();
        Ok(())
    }

    /// Writes that no memory has taken come last, in the order of their threads.
    fn finish_queues(&mut self) {
        for number in 0..self.graph.events.len() {
            let event = self.graph.events[number];
            if let (Some(word), true) = (event.word, event.writes())
                && !self.graph.modification[word].contains(&number)
            {
                self.graph.modification[word].push(number);
            }
        }
    }

    /// The words of a node that is made are written by the event that makes it: each with its place
    /// in the node.
    fn make(
        &mut self,
        at: usize,
        number: usize,
        words: &BTreeMap<Touched, usize>,
    ) -> Vec<(usize, usize)> {
        let Some((Touched::Node(life), ..)) = self.touches[at] else { return vec![] };
        let mut made = vec![];
        for (touched, word) in words {
            if let Touched::Word(Some(of), place) = touched
                && *of == life
            {
                self.graph.modification[*word].push(number);
                made.push((*place, *word));
            }
        }
        made
    }

    /// Puts a write behind another one, or at the end.
    fn put(&mut self, word: usize, after: Option<usize>, number: usize) {
        let order = &mut self.graph.modification[word];
        let place = after.and_then(|write| order.iter().position(|w| *w == write));
        order.insert(place.map_or(order.len(), |place| place + 1), number);
    }

    /// What clients and allocators synchronise.
    fn synchronise(&mut self, witness: &Witness<'_>) {
        let done = |at: usize| &witness.events[at].done;
        for a in 0..witness.events.len() {
            for b in a + 1..witness.events.len() {
                let client = witness.stamped
                    && matches!((done(a), done(b)), (Done::Return(_), Done::Call(..)));
                let again = matches!((done(a), done(b)), (Done::Free(old), Done::New(new, _)) if old == new);
                if client || again {
                    self.graph.synchronised.push((self.numbers[a], self.numbers[b]));
                }
            }
        }
    }

    /// An access that races with this one.
    fn race(&self, before: &Relation, last: usize) -> Option<Race> {
        let (touched, writes, atomic) = self.touches[last]?;
        let node = |touched: &Touched| match touched {
            Touched::Word(node, _) => *node,
            Touched::Node(node) => Some(*node),
        };
        let conflicts = |other: usize| {
            let Some((place, others, is_atomic)) = &self.touches[other] else { return false };
            let whole = matches!(place, Touched::Node(_)) || matches!(touched, Touched::Node(_));
            let meets = *place == touched || whole && node(place) == node(&touched);
            meets && (writes || *others) && !(atomic && *is_atomic)
        };
        (0..last).rev().find_map(|other| {
            let apart = self.threads[other] != self.threads[last]
                && !before.has(self.numbers[other], self.numbers[last]);
            (apart && conflicts(other)).then_some((other, last))
        })
    }
}

/// What each write wrote to each word.
type Contents = BTreeMap<(usize, usize), Content>;

/// Whether a read gave what its write wrote.
fn same(contents: &Contents, write: (usize, usize), read: &Content) -> Result<(), String> {
    match contents.get(&write) {
        Some(written) if written == read => Ok(()),
        _ => Err("a read gives what was not written".to_owned()),
    }
}

impl Witness<'_> {
    /// What the words hold at the start.
    fn first_contents(
        &self,
        words: &BTreeMap<Touched, usize>,
        initial: &BTreeMap<usize, usize>,
    ) -> Result<Contents, String> {
        let mut machine = self.subject.machine.clone();
        let state = machine.initial().map_err(|stop| format!("{stop:?}"))?;
        let stride = machine.node_stride();
        let mut contents = Contents::new();
        for (touched, word) in words {
            let (Touched::Word(node, place), Some(event)) = (touched, initial.get(word)) else {
                continue;
            };
            let slots = match node {
                None => &state.words[self.layout.shared[*place].slots.clone()],
                Some((node, _)) => {
                    let cells = &state.heap[*node as usize * stride..][..stride];
                    let layout = &self.layout.structs[cells[0] as usize];
                    &cells[1..][layout[*place].slots.clone()]
                }
            };
            contents.insert((*event, *word), Content::of(slots));
        }
        Ok(contents)
    }

    /// What the last instruction of the run would have touched.
    fn wanted(&self, lives: &BTreeMap<u32, u32>) -> Option<(Touched, bool, bool)> {
        let last = self.events.last()?;
        let mut thread = Thread::new(self, last.thread);
        let own = self.events.iter().filter(|e| e.thread == last.thread);
        for event in own.take_while(|e| !matches!(e.done, Done::Fault(_))) {
            thread.follow(event).ok()?;
        }
        thread.run_to(last.pc).ok()?;
        let op = &self.subject.machine.steps.code[last.pc.0 as usize].op;
        let life = |node: u32| (node, lives.get(&node).copied().unwrap_or(0));
        if let Op::Free(node) = op {
            let node = thread.value(node, last.pc).ok()?;
            return Some((Touched::Node(life(node as u32)), true, false));
        }
        let (node, word) = thread.named(op.place()?, last.pc).ok()?;
        let is_plain = match node {
            None => self.layout.shared[word].plain,
            Some(_) => match &op.place()?.root {
                Root::Node(_, id) => self.layout.structs[id.0 as usize][word].plain,
                Root::Shared => false,
            },
        };
        let writes = !matches!(op, Op::Load { .. });
        Some((Touched::Word(node.map(life), word), writes, !is_plain))
    }
}

/// A thread by itself: nodes are called by their names.
struct Thread<'w> {
    witness: &'w Witness<'w>,
    thread: usize,
    pc: Pc,
    caller: Pc,
    registers: Vec<i32>,
}

impl<'w> Thread<'w> {
    fn new(witness: &'w Witness<'w>, thread: usize) -> Thread<'w> {
        let machine = &witness.subject.machine;
        let steps = &machine.steps;
        let registers = match machine.clone().initial() {
            Ok(state) => {
                let first = machine.register_base(thread);
                state.words[first..first + steps.register_count()].to_vec()
            }
            Err(_) => vec![NULL; steps.register_count()],
        };
        let pc = steps.threads[thread].entry;
        Thread { witness, thread, pc, caller: Pc(0), registers }
    }

    fn op(&self) -> &'w Op {
        &self.witness.subject.machine.steps.code[self.pc.0 as usize].op
    }

    fn value(&self, ex: &Ex, pc: Pc) -> Result<i32, Stop> {
        evaluate(ex, &self.registers, self.thread, pc)
    }

    fn values(&self, all: &[Ex], pc: Pc) -> Result<Vec<i32>, String> {
        let values: Result<_, Stop> = all.iter().map(|ex| self.value(ex, pc)).collect();
        values.map_err(|stop| format!("{stop:?}"))
    }

    fn set(&mut self, first: Reg, values: impl IntoIterator<Item = i32>) {
        let registers = &mut self.registers[first.0 as usize..];
        registers.iter_mut().zip(values).for_each(|(register, value)| *register = value);
    }

    /// The word that a place means.
    fn named(&self, place: &Place, pc: Pc) -> Result<Named, Stop> {
        let first =
            (place.offset + offset(&place.dims, &self.registers, self.thread, pc)?) as usize;
        let (words, node) = match &place.root {
            Root::Shared => (&self.witness.layout.shared, None),
            Root::Node(node, id) => match self.value(node, pc)? {
                NULL => return Err(Stop::Fault(Fault::NullDereference, pc)),
                node => (&self.witness.layout.structs[id.0 as usize], Some(node as u32)),
            },
        };
        let word = words.iter().position(|w| w.slots.contains(&first)).unwrap_or(0);
        Ok((node, word))
    }

    /// The slots of a word that a place means.
    fn skip(&self, place: &Place, pc: Pc) -> usize {
        let first =
            place.offset + offset(&place.dims, &self.registers, self.thread, pc).unwrap_or(0);
        let words = match &place.root {
            Root::Shared => &self.witness.layout.shared,
            Root::Node(_, id) => &self.witness.layout.structs[id.0 as usize],
        };
        let word = words.iter().find(|w| w.slots.contains(&(first as usize)));
        word.map_or(0, |word| first as usize - word.slots.start)
    }

    /// Runs code that touches nothing but registers, up to this position.
    fn run_to(&mut self, pc: Pc) -> Result<(), String> {
        for _ in 0..100_000 {
            if self.pc == pc {
                return Ok(());
            }
            let next = Pc(self.pc.0 + 1);
            let at = self.pc;
            match self.op() {
                Op::Set { dst, value } => {
                    let values = self.values(value, at)?;
                    self.set(*dst, values);
                }
                Op::SetAt { base, dims, value, .. } => {
                    let values = self.values(value, at)?;
                    let far = offset(dims, &self.registers, self.thread, at);
                    let far = far.map_err(|stop| format!("{stop:?}"))?;
                    self.set(Reg(base.0 + far), values);
                }
                Op::Branch { cond, otherwise } => {
                    let holds = self.values(std::slice::from_ref(cond), at)?[0] != 0;
                    self.pc = if holds { next } else { *otherwise };
                    continue;
                }
                Op::Jump(to) => {
                    self.pc = *to;
                    continue;
                }
                Op::Assume(cond) | Op::Assert(cond) => {
                    if self.values(std::slice::from_ref(cond), at)?[0] == 0 {
                        return Err("it passes a condition that does not hold".to_owned());
                    }
                }
                Op::Check { value, kind } => {
                    let value = self.values(std::slice::from_ref(value), at)?[0];
                    check(value, *kind, at).map_err(|stop| format!("{stop:?}"))?;
                }
                Op::Lin { .. } | Op::Atomic => {}
                _ => return Err("it leaves out an access of its code".to_owned()),
            }
            self.pc = next;
        }
        Err("it does not come there".to_owned())
    }

    /// Makes an access of the run, which must be the one that the code makes.
    fn follow(&mut self, event: &Event) -> Result<(), String> {
        if let Done::Flush(_) = event.done {
            return Ok(());
        }
        self.run_to(event.pc)?;
        let at = self.pc;
        let next = Pc(at.0 + 1);
        let orders = self.witness.subject.machine.steps.code[at.0 as usize].orders;
        let wrong = || Err("its code does something else there".to_owned());
        let stopped = |stop: Stop| format!("{stop:?}");
        match (self.op(), &event.done) {
            (_, Done::Fault(_)) => return Ok(()),
            (Op::Choose(targets), Done::Chose(to)) => {
                let Some(to) = targets.iter().find(|t| t.0 as i32 == *to) else { return wrong() };
                self.pc = *to;
                return Ok(());
            }
            (Op::Any { dst, .. }, Done::Chose(value)) => self.set(*dst, [*value]),
            (Op::Invoke { method, args, .. }, Done::Call(called, given)) => {
                if method != called || self.values(args, at)? != *given {
                    return wrong();
                }
                let info = &self.witness.subject.machine.steps.methods[*method as usize];
                self.registers[info.first_param.0 as usize..].fill(NULL);
                self.set(info.first_param, given.iter().copied());
                (self.caller, self.pc) = (at, info.entry);
                return Ok(());
            }
            (Op::Return(value), Done::Return(given)) => {
                if self.values(value, at)? != *given {
                    return wrong();
                }
                let steps = &self.witness.subject.machine.steps;
                if let Op::Invoke { dst: Some(dst), .. } = &steps.code[self.caller.0 as usize].op {
                    self.set(*dst, given.iter().copied());
                }
                self.registers[steps.persistent.len()..].fill(NULL);
                self.pc = Pc(self.caller.0 + 1);
                return Ok(());
            }
            (Op::Fence, Done::Fence(order)) if *order == orders.access => {}
            (Op::New { dst, fields, .. }, Done::New(node, slots)) => {
                if self.values(fields, at)? != *slots {
                    return wrong();
                }
                self.set(*dst, [*node as i32]);
            }
            (Op::Free(node), Done::Free(name)) => {
                if self.value(node, at).map_err(stopped)? != *name as i32 {
                    return wrong();
                }
            }
            (Op::Load { dst, place }, Done::Read { word, content, order, .. }) => {
                let is_right = order.is_none_or(|order| order == orders.access);
                if self.named(place, at).map_err(stopped)? != *word || !is_right {
                    return wrong();
                }
                let skip = self.skip(place, at);
                let values: Vec<i32> =
                    content.slots().skip(skip).take(place.width as usize).collect();
                self.set(*dst, values);
            }
            (Op::Store { place, value }, Done::Write { word, content, order, .. }) => {
                let is_right = order.is_none_or(|order| order == orders.access)
                    && content.slots().eq(self.values(value, at)?);
                if self.named(place, at).map_err(stopped)? != *word || !is_right {
                    return wrong();
                }
            }
            (Op::Unlock(place), Done::Write { word, content, .. }) => {
                if self.named(place, at).map_err(stopped)? != *word || content.first != 0 {
                    return wrong();
                }
            }
            (op, Done::Update { word, before, content, order, .. }) => {
                let Some(place) = op.place() else { return wrong() };
                if self.named(place, at).map_err(stopped)? != *word {
                    return wrong();
                }
                self.update(op, at, (before, content), *order)?;
            }
            (Op::Cas { place, old, fail, .. }, Done::Read { word, content, order, .. }) => {
                let differs = !content.slots().eq(self.values(old, at)?);
                let is_right = differs && *order == Some(orders.failure);
                if self.named(place, at).map_err(stopped)? != *word || !is_right {
                    return wrong();
                }
                self.pc = *fail;
                return Ok(());
            }
            _ => return wrong(),
        }
        self.pc = next;
        Ok(())
    }

    fn update(
        &mut self,
        op: &Op,
        at: Pc,
        (before, after): (&Content, &Content),
        order: Ordering,
    ) -> Result<(), String> {
        let orders = self.witness.subject.machine.steps.code[at.0 as usize].orders;
        let is_right = match op {
            Op::Cas { old, new, .. } => {
                before.slots().eq(self.values(old, at)?)
                    && after.slots().eq(self.values(new, at)?)
                    && order == orders.access
            }
            Op::Swap { dst, value, .. } => {
                let is_right = after.slots().eq(self.values(value, at)?) && order == orders.access;
                self.set(*dst, before.slots().collect::<Vec<_>>());
                is_right
            }
            Op::FetchAdd { dst, amount, kind, .. } => {
                let amount = self.values(std::slice::from_ref(amount), at)?[0];
                self.set(*dst, [before.first]);
                before.first.saturating_add(amount) == after.first
                    && check(after.first, *kind, at).is_ok()
                    && order == orders.access
            }
            Op::Lock(_) => before.first == 0 && after.first == 1 && order == Ordering::Acquire,
            _ => false,
        };
        if is_right { Ok(()) } else { Err("its code writes something else there".to_owned()) }
    }

    /// Whether the instruction at which the thread stands is this error on what it holds.
    fn is_error(&self, fault: Fault, events: &[Event]) -> bool {
        let at = self.pc;
        let own = |stop: &Stop| matches!(stop, Stop::Fault(found, _) if *found == fault);
        let op = self.op();
        let mut found = false;
        seriatim_lang::flow::expressions(op, &mut |ex| {
            found |= self.value(ex, at).as_ref().is_err_and(own);
        });
        let place = op.place().map(|place| self.named(place, at));
        found |= matches!(&place, Some(Err(stop)) if own(stop));
        let freed = |node: u32| {
            let lives = events.iter().rev().find_map(|e| match e.done {
                Done::New(name, _) if name == node => Some(true),
                Done::Free(name) if name == node => Some(false),
                _ => None,
            });
            lives == Some(false)
        };
        found
            || match (op, fault) {
                (Op::Assert(cond), Fault::Assertion) => self.value(cond, at) == Ok(0),
                (Op::Check { value, kind }, _) => {
                    let value = self.value(value, at);
                    value.is_ok_and(|value| check(value, *kind, at).as_ref().is_err_and(own))
                }
                (Op::Free(node), Fault::DoubleFree | Fault::NullDereference) => {
                    let node = self.value(node, at).unwrap_or(NULL);
                    node == NULL || freed(node as u32)
                }
                (_, Fault::UseAfterFree) => {
                    matches!(place, Some(Ok((Some(node), _))) if freed(node))
                }
                (Op::FetchAdd { amount, kind, .. }, _) => {
                    let amount = self.value(amount, at).unwrap_or(0);
                    let held = |e: &Event| match &e.done {
                        Done::Write { word, content, .. } | Done::Update { word, content, .. } => {
                            matches!(&place, Some(Ok(named)) if named == word)
                                .then_some(content.first)
                        }
                        _ => None,
                    };
                    let fails = |value: i32| {
                        let after = value.saturating_add(amount);
                        check(after, *kind, at).as_ref().is_err_and(own)
                    };
                    events.iter().filter_map(held).any(fails)
                }
                (Op::Unlock(_), Fault::UnlockFree) => {
                    let mine = events.iter().filter(|e| e.thread == self.thread);
                    let held = mine.rev().find_map(|e| match &e.done {
                        Done::Write { word, .. } if Some(Ok(*word)) == place => Some(false),
                        Done::Update { word, .. } if Some(Ok(*word)) == place => Some(true),
                        _ => None,
                    });
                    held != Some(true)
                }
                (_, Fault::Endless) => true,
                _ => false,
            }
    }
}
