//! One step of one thread on a memory model.
//!
//! A step makes one visible access, and takes along what nobody else can notice: work on registers,
//! plain accesses, new nodes, fences that are not `seqcst`. Plain accesses and frees are as good as
//! local because a race is found in whichever order its two accesses are made: each leaves behind
//! that it happened, and the other must know of it.
//!
//! *Movers* (Lipton, CACM 1975). Where the model says so ([`Memory::MOVERS`]), a load that is not
//! `seqcst` moves to the right of every step of other threads: the message stays readable, since only
//! the thread's own view bounds it from below. A store that is not `seqcst` moves to the left: it may
//! take its place in modification order at any later time as well as now, and nobody must read it. So a
//! step is `load* (update | seqcst access | seqcst fence)? store*`. A call and a return of an unsynchronised
//! client move both ways; those of a synchronised client tell others something, and stay.
//!
//! *It would be unsound* to go on across an access that may wait, since what came before it in the
//! step would be undone with it: the thread rests before an `await`, an `assume` and a lock if it
//! has done anything in the step. A loop would never end: a step does not pass a position twice.

use super::code::{Layout, Node, Target};
use super::memory::{Change, Content, Found, Memory, Updated, Who};
use crate::subject::Subject;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Cut, Fault, Stop, check, evaluate, offset};
use seriatim_lang::steps::{Ex, Instr, NULL, Op, Ordering, Orders, Pc, Place, Reg, Slot};
use seriatim_lang::types::Scalar;

/// How many instructions a step may take before it is called endless.
const FUEL: u32 = 20_000;

/// Where a thread stands and what it holds.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Where it stands.
    pub pc: Pc,
    /// The client's call that it executes; 0 if it is idle.
    pub caller: Pc,
    /// Its registers.
    pub registers: Vec<i32>,
    /// How many operations it has called, where there is a bound.
    pub called: u32,
}

/// A state: threads, heap, memory. What the specification says of it is kept elsewhere.
#[derive(Clone, Debug)]
pub struct State<M> {
    /// The threads.
    pub threads: Vec<Thread>,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Memory.
    pub memory: M,
    /// How many accesses and nodes there have been: numbers for those who tell of the run.
    pub clock: u32,
}

/// What a step did that the client sees.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The method and arguments of the operation that began, with the operations that are known to
    /// have returned.
    pub call: Option<(u32, Vec<i32>, u64)>,
    /// The result of the operation that ended.
    pub ret: Option<Vec<i32>>,
}

/// What was done in a run, access by access.
#[derive(Clone, Debug)]
pub struct Event {
    /// Which thread.
    pub thread: usize,
    /// Which instruction.
    pub pc: Pc,
    /// Its number.
    pub number: u32,
    /// What it did.
    pub done: Done,
}

/// A word in a run: the node by its name, and the place of the word in it or among the shared ones.
pub type Named = (Option<u32>, usize);

/// What an instruction did.
#[derive(Clone, Debug)]
pub enum Done {
    /// It read a word.
    Read {
        /// Which.
        word: Named,
        /// What it gave.
        content: Content,
        /// The write that it comes from.
        from: u32,
        /// How many writes it does not see.
        behind: u32,
        /// How it was ordered; `None` if it is plain.
        order: Option<Ordering>,
    },
    /// It wrote a word.
    Write {
        /// Which.
        word: Named,
        /// What it holds now.
        content: Content,
        /// The write right before it; `u32::MAX` if it waits in a queue.
        after: u32,
        /// How it was ordered; `None` if it is plain.
        order: Option<Ordering>,
    },
    /// It read and wrote a word in one.
    Update {
        /// Which.
        word: Named,
        /// What it read.
        before: Content,
        /// The write that this comes from.
        from: u32,
        /// What it wrote.
        content: Content,
        /// How it was ordered.
        order: Ordering,
    },
    /// A fence.
    Fence(Ordering),
    /// Memory took the thread's oldest write, of this number.
    Flush(u32),
    /// It made a node: the one of this name, which may have been freed before, with these slots.
    New(u32, Vec<i32>),
    /// It gave a node back.
    Free(u32),
    /// It chose a value, or where to go on.
    Chose(i32),
    /// An operation began.
    Call(u32, Vec<i32>),
    /// The operation ended.
    Return(Vec<i32>),
    /// It is an error.
    Fault(Fault),
}

/// How steps are made.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// Whether the client synchronises calls and returns.
    pub stamped: bool,
    /// The most operations of a thread.
    pub operations: Option<u32>,
    /// Whether movers are joined.
    pub movers: bool,
    /// The most nodes alive.
    pub nodes: Option<u32>,
}

/// Makes a thread take a step.
pub struct Stepper<'s, M> {
    pub subject: &'s Subject,
    pub layout: &'s Layout,
    pub manner: Manner,
    pub state: &'s mut State<M>,
    pub choices: &'s mut Choices,
    pub thread: usize,
    pub log: Option<&'s mut Vec<Event>>,
}

/// How far a step has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing visible yet.
    Fresh,
    /// Right movers only.
    Right,
    /// The access that does not move is made.
    Left,
}

type Ran<T> = Result<T, Stop>;

impl<M: Memory> Stepper<'_, M> {
    /// Takes a step.
    pub fn step(mut self) -> Ran<Seen> {
        let result = self.go_on();
        if let Err(Stop::Fault(fault, pc)) = result {
            let told = |log: &&mut Vec<Event>| {
                matches!(log.last(), Some(Event { done: Done::Fault(_), .. }))
            };
            if !self.log.as_ref().is_some_and(told) {
                self.state.clock += 1;
                self.note(pc, Done::Fault(fault));
            }
        }
        result
    }

    fn go_on(&mut self) -> Ran<Seen> {
        let mut seen = Seen::default();
        let mut phase = Phase::Fresh;
        let mut passed: Vec<Pc> = vec![];
        let mut did = false;
        if self.state.memory.can_flush(self.thread) && self.choices.pick(2) == 1 {
            let number = self.state.memory.flush(self.thread);
            self.note(Pc(0), Done::Flush(number));
            return Ok(seen);
        }
        if self.subject.machine.steps.method_at(self.own().pc).is_none() {
            self.call(&mut seen)?;
            did = true;
            if self.manner.stamped || !self.joins() {
                phase = Phase::Left;
            }
        }
        for _ in 0..FUEL {
            let pc = self.own().pc;
            let instr = &self.subject.machine.steps.code[pc.0 as usize];
            if did && may_wait(instr) {
                return Ok(seen);
            }
            if let Some(kind) = self.visible(instr, pc)? {
                if !self.goes_on(phase, kind) || passed.contains(&pc) {
                    return Ok(seen);
                }
                passed.push(pc);
                if kind == Visible::Return {
                    self.give_back(pc, &mut seen)?;
                    return Ok(seen);
                }
                let moves_right = self.access(pc)? && self.joins();
                phase =
                    if moves_right && phase != Phase::Left { Phase::Right } else { Phase::Left };
                did = true;
            } else {
                did |=
                    instr.op.place().is_some() || matches!(instr.op, Op::New { .. } | Op::Free(_));
                self.local(pc)?;
            }
        }
        Err(Stop::Fault(Fault::Endless, self.own().pc))
    }

    fn own(&self) -> &Thread {
        &self.state.threads[self.thread]
    }

    fn joins(&self) -> bool {
        self.manner.movers && M::MOVERS
    }

    fn goes_on(&self, phase: Phase, kind: Visible) -> bool {
        match (phase, kind) {
            (Phase::Fresh, _) => true,
            _ if !self.joins() => false,
            (Phase::Right, _) => true,
            (Phase::Left, Visible::Store) => true,
            (Phase::Left, Visible::Return) => !self.manner.stamped,
            (Phase::Left, Visible::Other) => false,
        }
    }

    /// Whether others may notice an instruction, and how it moves.
    fn visible(&self, instr: &Instr, pc: Pc) -> Ran<Option<Visible>> {
        let visible = match &instr.op {
            Op::Return(_) => Some(Visible::Return),
            Op::Fence => (instr.orders.access == Ordering::SeqCst).then_some(Visible::Other),
            op => match op.place() {
                None => None,
                Some(place) if M::RACES && self.target(place, pc)?.plain => None,
                Some(_) => Some(match op {
                    Op::Store { .. } if instr.orders.access != Ordering::SeqCst => Visible::Store,
                    Op::Unlock(_) => Visible::Store,
                    _ => Visible::Other,
                }),
            },
        };
        Ok(visible)
    }

    fn target(&self, place: &Place, pc: Pc) -> Ran<Target> {
        let own = (&self.own().registers[..], self.thread);
        self.layout.resolve(place, &self.state.nodes, own, pc)
    }

    fn value(&self, ex: &Ex, pc: Pc) -> Ran<i32> {
        evaluate(ex, &self.own().registers, self.thread, pc)
    }

    fn values(&self, all: &[Ex], pc: Pc) -> Ran<Vec<i32>> {
        all.iter().map(|ex| self.value(ex, pc)).collect()
    }

    fn set(&mut self, first: Reg, values: impl IntoIterator<Item = i32>) {
        let registers = &mut self.state.threads[self.thread].registers[first.0 as usize..];
        registers.iter_mut().zip(values).for_each(|(register, value)| *register = value);
    }

    fn go(&mut self, pc: Pc) {
        self.state.threads[self.thread].pc = pc;
    }

    fn note(&mut self, pc: Pc, done: Done) {
        let (thread, number) = (self.thread, self.state.clock);
        if let Some(log) = &mut self.log {
            log.push(Event { thread, pc, number, done });
        }
    }

    /// A content with nodes called by their names, if anybody wants to know.
    fn told(&self, target: &Target, mut content: Content) -> Content {
        if self.log.is_none() {
            return content;
        }
        let steps = &self.subject.machine.steps;
        let (slots, word) = match target.node {
            None => (&steps.shared, &self.layout.shared[target.word]),
            Some(node) => {
                let Node { of, base, .. } = self.state.nodes[node];
                let words = &self.layout.structs[of as usize];
                (&steps.structs[of as usize].slots, &words[target.word - base])
            }
        };
        for (value, slot) in content.slots_mut().zip(&slots[word.slots.clone()]) {
            if matches!(slot.kind.scalar, Scalar::Ref(_)) && *value != NULL {
                *value = self.state.nodes[*value as usize].name as i32;
            }
        }
        content
    }

    /// The slots of a node with nodes called by their names.
    fn told_slots(&self, of: u32, slots: &[i32]) -> Vec<i32> {
        let layout = &self.subject.machine.steps.structs[of as usize].slots;
        let told = |(value, slot): (&i32, &Slot)| match slot.kind.scalar {
            Scalar::Ref(_) if *value != NULL => self.state.nodes[*value as usize].name as i32,
            _ => *value,
        };
        slots.iter().zip(layout).map(told).collect()
    }

    fn named(&self, target: &Target) -> Named {
        match target.node {
            None => (None, target.word),
            Some(node) => {
                let node = &self.state.nodes[node];
                (Some(node.name), target.word - node.base)
            }
        }
    }

    /// An error, which is told of.
    fn fault<T>(&mut self, fault: Fault, pc: Pc) -> Ran<T> {
        self.state.clock += 1;
        self.note(pc, Done::Fault(fault));
        Err(Stop::Fault(fault, pc))
    }

    /// Checks that the node of an access lives, and leaves behind that it was accessed.
    fn alive(&mut self, target: &Target, pc: Pc) -> Ran<()> {
        let Some(node) = target.node.filter(|_| self.layout.lives) else {
            return Ok(());
        };
        let (of, freed, base) = {
            let node = &self.state.nodes[node];
            (node.of, node.freed, node.base)
        };
        let life = base + self.layout.size(of) - 1;
        let who = Who { thread: self.thread, order: Ordering::Relaxed, event: self.state.clock };
        if M::RACES && self.state.memory.read_plain(who, life).is_err() {
            return self.fault(Fault::DataRace, pc);
        }
        match freed && M::DANGLES {
            true => self.fault(Fault::UseAfterFree, pc),
            false => Ok(()),
        }
    }

    /// Makes a visible access; says whether it moves to the right.
    fn access(&mut self, pc: Pc) -> Ran<bool> {
        let instr = &self.subject.machine.steps.code[pc.0 as usize];
        let Orders { access: order, failure } = instr.orders;
        let next = Pc(pc.0 + 1);
        self.state.clock += 1;
        let who = Who { thread: self.thread, order, event: self.state.clock };
        let Some(place) = instr.op.place() else {
            self.state.memory.fence(self.thread, order)?;
            self.note(pc, Done::Fence(order));
            self.go(next);
            return Ok(false);
        };
        let target = self.target(place, pc)?;
        self.alive(&target, pc)?;
        let word = self.named(&target);
        let result = match &instr.op {
            Op::Load { dst, .. } => {
                let found = match target.plain {
                    true => self.state.memory.read_plain(who, target.word).map_err(faulty(pc)),
                    false => self.state.memory.read(who, target.word, self.choices),
                };
                found.map(|found| {
                    self.loaded(pc, (word, &target, (!target.plain).then_some(order)), found, *dst);
                    order != Ordering::SeqCst
                })
            }
            Op::Store { value, .. } => {
                let content = Content::of(&self.values(value, pc)?);
                self.store(pc, who, (word, &target), content).map(|()| false)
            }
            Op::Unlock(_) => {
                if self.state.memory.known(self.thread, target.word).first == 0 {
                    return self.fault(Fault::UnlockFree, pc);
                }
                let who = Who { order: Ordering::Release, ..who };
                self.store(pc, who, (word, &target), Content::of(&[0])).map(|()| false)
            }
            _ => return self.update(pc, who, failure, (word, &target)),
        };
        match result {
            Err(Stop::Fault(fault, _)) => self.fault(fault, pc),
            result => {
                if result.is_ok() {
                    self.go(next);
                }
                result
            }
        }
    }

    fn loaded(
        &mut self,
        pc: Pc,
        (word, target, order): (Named, &Target, Option<Ordering>),
        found: Found,
        dst: Reg,
    ) {
        let Found { content, from, behind } = found;
        let slots = target.slots.clone();
        let values: Vec<i32> = content.slots().skip(slots.start).take(slots.len()).collect();
        let content = self.told(target, content);
        self.note(pc, Done::Read { word, content, from, behind, order });
        self.set(dst, values);
    }

    fn store(
        &mut self,
        pc: Pc,
        who: Who,
        (word, target): (Named, &Target),
        content: Content,
    ) -> Ran<()> {
        let written = self.told(target, content.clone());
        let (after, order) = match target.plain {
            true => {
                let after = self.state.memory.write_plain(who, target.word, content);
                (after.map_err(faulty(pc))?, None)
            }
            false => {
                let after = self.state.memory.write(who, target.word, content, self.choices)?;
                (after, Some(who.order))
            }
        };
        self.note(pc, Done::Write { word, content: written, after, order });
        Ok(())
    }

    /// `cas`, `swap`, `fetch_add`, `lock`.
    fn update(
        &mut self,
        pc: Pc,
        who: Who,
        failure: Ordering,
        (word, target): (Named, &Target),
    ) -> Ran<bool> {
        let op = &self.subject.machine.steps.code[pc.0 as usize].op;
        let (old, new) = match op {
            Op::Cas { old, new, .. } => (self.values(old, pc)?, self.values(new, pc)?),
            Op::Swap { value, .. } => (vec![], self.values(value, pc)?),
            Op::FetchAdd { amount, .. } => (vec![], vec![self.value(amount, pc)?]),
            _ => (vec![0], vec![1]),
        };
        let mut written = None;
        let mut change = |found: &Content| {
            let change = changed(op, &old, &new, found, pc);
            if let Change::To(content) = &change {
                written = Some(content.clone());
            }
            change
        };
        let who = match op {
            Op::Lock(_) => Who { order: Ordering::Acquire, ..who },
            _ => who,
        };
        let updated =
            self.state.memory.update(who, failure, target.word, &mut change, self.choices);
        let Updated { found, wrote } = match updated {
            Err(Stop::Fault(fault, _)) => return self.fault(fault, pc),
            updated => updated?,
        };
        let Found { content: before, from, behind } = found;
        let told = self.told(target, before.clone());
        let done = match written {
            Some(content) if wrote => {
                let (before, content) = (told, self.told(target, content));
                Done::Update { word, before, from, content, order: who.order }
            }
            _ => {
                let content = told;
                Done::Read { word, content, from, behind, order: Some(failure) }
            }
        };
        self.note(pc, done);
        match op {
            Op::Swap { dst, .. } | Op::FetchAdd { dst, .. } => {
                self.set(*dst, before.slots().collect::<Vec<_>>());
            }
            _ => {}
        }
        match op {
            Op::Cas { fail, .. } if !wrote => self.go(*fail),
            _ => self.go(Pc(pc.0 + 1)),
        }
        Ok(!wrote && failure != Ordering::SeqCst)
    }

    /// Executes an instruction that others do not notice.
    fn local(&mut self, pc: Pc) -> Ran<()> {
        let code = &self.subject.machine.steps.code;
        let instr = &code[pc.0 as usize];
        let next = Pc(pc.0 + 1);
        match &instr.op {
            Op::Set { dst, value } => {
                let values = self.values(value, pc)?;
                self.set(*dst, values);
            }
            Op::SetAt { base, dims, value, .. } => {
                let values = self.values(value, pc)?;
                let at = offset(dims, &self.own().registers, self.thread, pc)?;
                self.set(Reg(base.0 + at), values);
            }
            Op::Branch { cond, otherwise } => {
                if self.value(cond, pc)? == 0 {
                    self.go(*otherwise);
                    return Ok(());
                }
            }
            Op::Jump(to) => {
                self.go(*to);
                return Ok(());
            }
            Op::Choose(targets) => {
                let pick = self.choices.pick(targets.len() as u32);
                let to = targets[pick as usize];
                self.note(pc, Done::Chose(to.0 as i32));
                self.go(to);
                return Ok(());
            }
            Op::Any { dst, kind } => {
                let count = self.subject.machine.domain(*kind);
                if count == 0 {
                    return Err(Stop::Bounded(Cut::Data));
                }
                let index = self.choices.pick(count);
                let value = self.subject.machine.element(*kind, index);
                self.note(pc, Done::Chose(value));
                self.set(*dst, [value]);
            }
            Op::Assume(cond) => {
                if self.value(cond, pc)? == 0 {
                    return Err(Stop::Waits);
                }
            }
            Op::Assert(cond) => {
                if self.value(cond, pc)? == 0 {
                    return self.fault(Fault::Assertion, pc);
                }
            }
            Op::Check { value, kind } => {
                let value = self.value(value, pc)?;
                if let Err(Stop::Fault(fault, _)) = check(value, *kind, pc) {
                    return self.fault(fault, pc);
                }
                check(value, *kind, pc)?;
            }
            Op::New { dst, of, fields } => {
                let values = self.values(fields, pc)?;
                let node = self.allocate(of.0, &values, pc)?;
                self.set(*dst, [node as i32]);
            }
            Op::Free(node) => {
                let node = self.value(node, pc)?;
                self.free(node, pc)?;
            }
            Op::Fence | Op::Load { .. } | Op::Store { .. } => {
                self.access(pc)?;
                return Ok(());
            }
            Op::Lin { .. } | Op::Atomic => {}
            _ => return Err(Stop::Ended),
        }
        self.go(next);
        Ok(())
    }

    /// A new node: fresh, or in the place of one that was freed.
    fn allocate(&mut self, of: u32, slots: &[i32], pc: Pc) -> Ran<usize> {
        let nodes = &self.state.nodes;
        let freed: Vec<usize> =
            (0..nodes.len()).filter(|n| nodes[*n].freed && nodes[*n].of == of).collect();
        let room = self.manner.nodes.is_none_or(|most| (nodes.len() as u32) < most);
        let options = freed.len() as u32 + u32::from(room);
        if options == 0 {
            return Err(Stop::Bounded(Cut::Nodes));
        }
        let pick = if options > 1 { self.choices.pick(options) as usize } else { 0 };
        self.state.clock += 1;
        let name = self.state.clock;
        let who = Who { thread: self.thread, order: Ordering::Relaxed, event: name };
        let words = self.layout.node_words(of, slots);
        let index = match freed.get(pick).copied() {
            Some(index) => {
                let base = self.state.nodes[index].base;
                self.state.memory.adopt(self.thread, base + words.len() - 1);
                self.state.memory.allocate(who, base, words);
                index
            }
            None => {
                let last = self.state.nodes.last();
                let shared = self.layout.shared.len();
                let base = last.map_or(shared, |last| last.base + self.layout.size(last.of));
                self.state.memory.allocate(who, base, words);
                self.state.nodes.push(Node { of, freed: false, base, name });
                self.state.nodes.len() - 1
            }
        };
        let node = &mut self.state.nodes[index];
        node.freed = false;
        let (name, slots) = (node.name, self.told_slots(of, slots));
        self.note(pc, Done::New(name, slots));
        Ok(index)
    }

    fn free(&mut self, node: i32, pc: Pc) -> Ran<()> {
        if node == NULL {
            return self.fault(Fault::NullDereference, pc);
        }
        let Node { of, freed, base, name } = self.state.nodes[node as usize];
        self.state.clock += 1;
        if freed {
            return self.fault(Fault::DoubleFree, pc);
        }
        if M::RACES {
            let life = base + self.layout.size(of) - 1;
            let who =
                Who { thread: self.thread, order: Ordering::Relaxed, event: self.state.clock };
            if self.state.memory.write_plain(who, life, Content::of(&[0])).is_err() {
                return self.fault(Fault::DataRace, pc);
            }
            self.state.memory.hand_on(self.thread, life);
        }
        self.state.nodes[node as usize].freed = true;
        self.note(pc, Done::Free(name));
        Ok(())
    }

    /// Runs the client's code up to its next call and enters the method.
    fn call(&mut self, seen: &mut Seen) -> Ran<()> {
        let steps = &self.subject.machine.steps;
        if self.manner.operations.is_some_and(|most| self.own().called >= most) {
            return Err(Stop::Ended);
        }
        for _ in 0..FUEL {
            let pc = self.own().pc;
            match &steps.code[pc.0 as usize].op {
                Op::End => return Err(Stop::Ended),
                Op::Invoke { method, args, .. } => {
                    let info = &steps.methods[*method as usize];
                    let args = self.values(args, pc)?;
                    let own = &mut self.state.threads[self.thread];
                    own.registers[info.first_param.0 as usize..].fill(NULL);
                    (own.caller, own.pc) = (pc, info.entry);
                    own.called += u32::from(self.manner.operations.is_some());
                    self.set(info.first_param, args.iter().copied());
                    self.state.memory.call(self.thread);
                    self.state.clock += 1;
                    self.note(pc, Done::Call(*method, args.clone()));
                    let known = self.state.memory.returned(self.thread);
                    seen.call = Some((*method, args, known));
                    return Ok(());
                }
                _ => self.local(pc)?,
            }
        }
        Err(Stop::Fault(Fault::Endless, self.own().pc))
    }

    fn give_back(&mut self, pc: Pc, seen: &mut Seen) -> Ran<()> {
        let steps = &self.subject.machine.steps;
        let Op::Return(value) = &steps.code[pc.0 as usize].op else { return Ok(()) };
        let value = self.values(value, pc)?;
        let number = operation(self.thread, self.own().called.saturating_sub(1));
        let exact = (!self.manner.stamped).then_some(number);
        self.state.memory.give_back(self.thread, exact)?;
        self.state.clock += 1;
        self.note(pc, Done::Return(value.clone()));
        let caller = self.own().caller;
        if let Op::Invoke { dst: Some(dst), .. } = &steps.code[caller.0 as usize].op {
            self.set(*dst, value.iter().copied());
        }
        let own = &mut self.state.threads[self.thread];
        own.registers[steps.persistent.len()..].fill(NULL);
        (own.pc, own.caller) = (rest(self.subject, Pc(caller.0 + 1)), Pc(0));
        let idle: Vec<usize> = (0..self.state.threads.len())
            .filter(|t| steps.method_at(self.state.threads[*t].pc).is_none())
            .collect();
        self.state.memory.settle(&idle);
        seen.ret = Some(value);
        Ok(())
    }
}

/// How a visible instruction moves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visible {
    /// A store that is not `seqcst`.
    Store,
    /// A return.
    Return,
    /// A load, an update, a fence, or anything that is `seqcst`.
    Other,
}

/// How many operations of a thread have a number of their own.
pub const OPERATIONS: u32 = 8;

/// The number of an operation among all.
pub fn operation(thread: usize, index: u32) -> u32 {
    thread as u32 * OPERATIONS + index
}

/// The resting point of idle code: jumps are followed.
pub fn rest(subject: &Subject, mut pc: Pc) -> Pc {
    for _ in 0..subject.machine.steps.code.len() {
        match subject.machine.steps.code[pc.0 as usize].op {
            Op::Jump(to) => pc = to,
            _ => return pc,
        }
    }
    pc
}

/// Whether a thread may have to wait at an instruction.
fn may_wait(instr: &Instr) -> bool {
    instr.pauses || matches!(instr.op, Op::Atomic | Op::Lock(_))
}

fn faulty(pc: Pc) -> impl Fn(Fault) -> Stop {
    move |fault| Stop::Fault(fault, pc)
}

/// What an update makes of a value.
fn changed(op: &Op, old: &[i32], new: &[i32], found: &Content, pc: Pc) -> Change {
    let is_equal = found.slots().eq(old.iter().copied());
    match op {
        Op::Cas { .. } if !is_equal => Change::Fails,
        Op::Lock(_) if !is_equal => Change::Waits,
        Op::FetchAdd { kind, .. } => {
            let after = found.first.saturating_add(new[0]);
            match check(after, *kind, pc) {
                Ok(()) => Change::To(Content::of(&[after])),
                Err(stop) => Change::Stops(stop),
            }
        }
        _ => Change::To(Content::of(new)),
    }
}
