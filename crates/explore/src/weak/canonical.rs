//! One key for all states that have the same future.
//!
//! - Registers that no run reads again are forgotten (`liveness`).
//! - Messages that no thread that can still act may read are dropped, views are raised to the
//!   oldest message left, and timestamps begin anew ([`Memory::forget`]): nobody can tell apart
//!   what lies below what everybody knows.
//! - Who has read a plain word is asked only by who writes it. A word that is written only before
//!   any other thread can see it (`locality`) is as if everybody knew of all reads: its writer knows
//!   its own, and there are no others.
//! - Nodes that nothing leads to are dropped; the others are numbered in the order in which they
//!   are reached from the shared variables, then from the registers of the threads.
//! - Threads of one role are interchangeable if the program does not use their numbers: of their
//!   orders the one with the least key stands for all. Only those orders are tried that sort what
//!   is independent of the names of threads.
//! - Data values are interchangeable: they are only copied and compared. They are numbered in the
//!   order in which they occur.
//!
//! *It would be unsound* to drop a message that an idle thread may still read (its view counts,
//! until its client has ended), a node that a write under way goes to, or a freed node that
//! somebody still holds: its place may be taken by a new one.

use super::client::OPERATIONS;
use super::code::{Layout, Node, Word};
use super::judge::{Judge, Operations, Standing};
use super::memory::{Content, Memory, Names};
use super::step::State;
use crate::configurations::{Context, MAX_THREADS, Renaming};
use crate::options::Reductions;
use crate::subject::Subject;
use seriatim_lang::liveness::Liveness;
use seriatim_lang::spec::SpecStop;
use seriatim_lang::steps::{NULL, Op, Pc, Reg, Slot, StructLayout};
use seriatim_lang::types::{Kind, Scalar};
use seriatim_limits::InOrder;
use std::cell::RefCell;
use std::rc::Rc;

/// Gives the key of a state with its threads in an order.
type KeyOf<'k> = &'k mut dyn FnMut(&[usize]) -> Result<Vec<u8>, SpecStop>;

type Registers = Rc<Vec<(usize, Kind)>>;

/// So many bytes are enough for most keys.
const USUAL: usize = 256;

/// Makes keys.
pub struct Canonical<'s> {
    subject: &'s Subject,
    layout: &'s Layout,
    liveness: Liveness,
    reductions: Reductions,
    alike: bool,
    operations: Option<u32>,
    /// The registers that matter at each position, by the call that led there.
    live: RefCell<Vec<Vec<(Pc, Registers)>>>,
    /// The slots of the words of the shared variables.
    shared: Vec<&'s [Slot]>,
    /// The slots of the words of each struct.
    structs: Vec<Vec<&'s [Slot]>>,
}

/// How values are called, in the order in which they occur.
struct Values {
    names: [u8; 256],
    next: u8,
    renames: bool,
}

impl Values {
    fn name(&mut self, value: i32) -> u8 {
        let index = value as usize & 255;
        if !self.renames {
            return index as u8;
        }
        if self.names[index] == 0 {
            self.next += 1;
            self.names[index] = self.next;
        }
        self.names[index]
    }
}

/// Threads and nodes in the order in which a key tells of them.
struct Arrangement<'a> {
    threads: &'a [usize],
    nodes: &'a [usize],
}

impl<'s> Canonical<'s> {
    pub fn new(
        subject: &'s Subject,
        layout: &'s Layout,
        reductions: Reductions,
        operations: Option<u32>,
    ) -> Canonical<'s> {
        let steps = &subject.machine.steps;
        let numbers = steps.uses_tids || !steps.thread_arrays.is_empty() || steps.scattered_arrays;
        let alike = reductions.thread_symmetry && !numbers && subject.threads_are_alike();
        let liveness = Liveness::of(steps);
        let live = RefCell::new(vec![vec![]; steps.code.len()]);
        let shared = layout.shared.iter().map(|w| &steps.shared[w.slots.clone()]).collect();
        let of_struct = |(of, words): (&'s StructLayout, &Vec<Word>)| {
            let words = words.iter().map(|w| &of.slots[w.slots.clone()]);
            words.chain(layout.lives.then_some(&[][..])).collect()
        };
        let structs = steps.structs.iter().zip(&layout.structs).map(of_struct).collect();
        Canonical {
            subject,
            layout,
            liveness,
            reductions,
            alike,
            operations,
            live,
            shared,
            structs,
        }
    }

    /// The registers that matter where a thread stands.
    fn live(&self, pc: Pc, caller: Pc) -> Registers {
        let mut live = self.live.borrow_mut();
        let live = &mut live[pc.0 as usize];
        if let Some((_, known)) = live.iter().find(|(from, _)| *from == caller) {
            return known.clone();
        }
        let steps = &self.subject.machine.steps;
        let method = steps.method_at(pc);
        let count = steps.persistent.len() + method.map_or(0, |m| m.regs.len());
        let caller_of = method.map(|_| caller);
        let matters = |reg: &usize| {
            !self.reductions.dead_registers || self.liveness.is_needed(steps, pc, caller_of, *reg)
        };
        let kind = |reg: usize| steps.register(pc, Reg(reg as u32)).map(|slot| (reg, slot.kind));
        let found: Registers = Rc::new((0..count).filter(matters).filter_map(kind).collect());
        live.push((caller, found.clone()));
        found
    }

    /// Whether a thread can still act.
    pub fn acts<M>(&self, state: &State<M>, thread: usize) -> bool {
        let own = &state.threads[thread];
        let steps = &self.subject.machine.steps;
        let idle = steps.method_at(own.pc).is_none();
        let spent = self.operations.is_some_and(|most| own.called >= most);
        !(idle && (spent || matches!(steps.code[own.pc.0 as usize].op, Op::End)))
    }

    /// The slots of every word.
    fn slots<M>(&self, state: &State<M>) -> Vec<&'s [Slot]> {
        let of_node = |node: &Node| &self.structs[node.of as usize];
        let count = state.nodes.iter().map(|node| of_node(node).len()).sum::<usize>();
        let mut all = Vec::with_capacity(self.shared.len() + count);
        all.extend_from_slice(&self.shared);
        state.nodes.iter().for_each(|node| all.extend_from_slice(of_node(node)));
        all
    }

    /// Forgets what has no future.
    pub fn tidy<M: Memory>(&self, state: &mut State<M>) {
        for thread in &mut state.threads {
            let live = self.live(thread.pc, thread.caller);
            let mut live = live.iter().map(|(reg, _)| *reg).peekable();
            for (reg, word) in thread.registers.iter_mut().enumerate() {
                if live.next_if_eq(&reg).is_none() {
                    *word = NULL;
                }
            }
        }
        if self.reductions.dead_fields {
            let acting: Vec<bool> = (0..state.threads.len()).map(|t| self.acts(state, t)).collect();
            state.memory.forget(&acting, &self.layout.constants(&state.nodes));
        }
        self.collect(state);
    }

    /// The nodes in the order in which they are reached; those of the shared variables come first.
    /// What those that are in the order already lead to is in it, too.
    fn reached<M: Memory>(
        &self,
        state: &State<M>,
        slots: &[&[Slot]],
        threads: &[usize],
        order: &mut Vec<usize>,
        known: &mut [bool],
    ) {
        let mut done = order.len();
        if done == 0 {
            let shared = 0..self.layout.shared.len();
            shared.for_each(|word| visit(state, slots[word], word, order, known));
        }
        let mut threads = threads.iter();
        loop {
            while done < order.len() {
                let node = &state.nodes[order[done]];
                done += 1;
                let words = node.base..node.base + self.layout.structs[node.of as usize].len();
                words.for_each(|word| visit(state, slots[word], word, order, known));
            }
            let Some(thread) = threads.next() else { return };
            let own = &state.threads[*thread];
            for (reg, kind) in self.live(own.pc, own.caller).iter() {
                reach(own.registers[*reg], *kind, order, known);
            }
        }
    }

    /// The nodes that a write waits for, and what they lead to.
    fn reached_from_pinned<M: Memory>(
        &self,
        state: &State<M>,
        slots: &[&[Slot]],
        known: &mut [bool],
    ) {
        let of = |node: &Node| node.base..node.base + self.layout.size(node.of);
        let mut order = vec![];
        for word in state.memory.pinned() {
            let node = state.nodes.iter().position(|node| of(node).contains(&word));
            if let Some(node) = node.filter(|node| !known[*node]) {
                known[node] = true;
                order.push(node);
            }
        }
        while let Some(node) = order.pop() {
            let node = &state.nodes[node];
            let words = node.base..node.base + self.layout.structs[node.of as usize].len();
            words.for_each(|word| visit(state, slots[word], word, &mut order, known));
        }
    }

    /// Drops the nodes that nothing leads to.
    fn collect<M: Memory>(&self, state: &mut State<M>) {
        let slots = self.slots(state);
        let mut known = vec![false; state.nodes.len()];
        let all: Vec<usize> = (0..state.threads.len()).collect();
        self.reached(state, &slots, &all, &mut vec![], &mut known);
        self.reached_from_pinned(state, &slots, &mut known);
        if known.iter().all(|known| *known) {
            return;
        }
        let mut keep = vec![true; self.layout.shared.len()];
        let mut numbers = vec![NULL; state.nodes.len()];
        let mut base = keep.len();
        let mut kept = 0;
        for (index, node) in state.nodes.iter_mut().enumerate() {
            let size = self.layout.size(node.of);
            keep.extend(std::iter::repeat_n(known[index], size));
            if known[index] {
                numbers[index] = kept;
                kept += 1;
                node.base = base;
                base += size;
            }
        }
        let renamed = |value: &mut i32, kind: Kind| {
            if matches!(kind.scalar, Scalar::Ref(_)) && *value != NULL {
                *value = numbers[*value as usize];
            }
        };
        state.memory.rename(&mut |word, content| {
            content.slots_mut().zip(slots[word]).for_each(|(v, slot)| renamed(v, slot.kind));
        });
        for thread in &mut state.threads {
            for (reg, kind) in self.live(thread.pc, thread.caller).iter() {
                renamed(&mut thread.registers[*reg], *kind);
            }
        }
        state.memory.retain(&keep);
        let mut known = known.into_iter();
        state.nodes.retain(|_| known.next().unwrap_or(true));
    }

    /// How many nodes hang from the shared variables, by whatever somebody may still see.
    pub fn hanging<M: Memory>(&self, state: &State<M>) -> u32 {
        let slots = self.slots(state);
        let mut order = vec![];
        self.reached(state, &slots, &[], &mut order, &mut vec![false; state.nodes.len()]);
        order.len() as u32
    }

    /// Where a thread stands.
    fn stand<M>(&self, state: &State<M>, thread: usize) -> (u32, Pc, Pc, u32) {
        let own = &state.threads[thread];
        let role = self.subject.machine.steps.threads[thread].role;
        (role, own.pc, own.caller, own.called)
    }

    /// What else is the same for a thread whatever threads are called, to sort those by that stand
    /// at the same place.
    fn rank<M: Memory>(&self, state: &State<M>, standing: &Standing, thread: usize) -> Vec<i32> {
        let own = &state.threads[thread];
        let mut rank = Vec::with_capacity(USUAL);
        let constant =
            |kind: Kind| !matches!(kind.scalar, Scalar::Ref(_) | Scalar::Value | Scalar::Tid);
        for (reg, kind) in self.live(own.pc, own.caller).iter() {
            let word = own.registers[*reg];
            rank.push(if constant(*kind) { word } else { i32::from(word == NULL) });
        }
        if let Standing::Exact(operations) = standing {
            let values = operations[thread].iter().map(|o| match &o.result {
                None => -1,
                Some(result) => result.first().map_or(0, |r| i32::from(*r == NULL)),
            });
            rank.extend(operations[thread].iter().map(|o| o.method as i32));
            rank.extend(values);
            rank.extend(operations[thread].iter().map(|o| o.before.count_ones() as i32));
            let own = ((1u64 << OPERATIONS) - 1) << (thread as u32 * OPERATIONS);
            let others = operations.iter().flat_map(|own| own.iter());
            rank.push(others.map(|o| (o.before & own).count_ones() as i32).sum());
        }
        state.memory.signature(thread, self.layout.shared.len(), &mut rank);
        rank
    }

    /// The orders of the threads that are tried. Of three or more that look alike, one order stands
    /// for all if exchanging neighbours does not change the key: they are alike then.
    fn orders<M: Memory>(
        &self,
        state: &State<M>,
        standing: &Standing,
        key_of: KeyOf<'_>,
    ) -> Result<Vec<Vec<usize>>, SpecStop> {
        let mut threads: Vec<usize> = (0..state.threads.len()).collect();
        if !self.alike {
            return Ok(vec![threads]);
        }
        let stands: Vec<_> = threads.iter().map(|t| self.stand(state, *t)).collect();
        let is_alone = |t: usize| stands.iter().filter(|stand| **stand == stands[t]).count() == 1;
        if threads.iter().all(|t| is_alone(*t)) {
            threads.put_in_order_by(|a, b| stands[*a].cmp(&stands[*b]));
            return Ok(vec![threads]);
        }
        let rank = |t: usize| match is_alone(t) {
            true => vec![],
            false => self.rank(state, standing, t),
        };
        let ranks: Vec<_> = threads.iter().map(|t| (stands[*t], rank(*t))).collect();
        threads.put_in_order_by(|a, b| ranks[*a].cmp(&ranks[*b]));
        let mut orders = vec![vec![]];
        let mut at = 0;
        while at < threads.len() {
            let same = threads[at..].iter().take_while(|t| ranks[**t] == ranks[threads[at]]);
            let group: Vec<usize> = same.copied().collect();
            at += group.len();
            // Threads that have done nothing yet are the same in every order.
            let fresh = state.threads[group[0]].called == 0
                && self.operations.is_some()
                && self.subject.machine.steps.method_at(state.threads[group[0]].pc).is_none();
            let alike = fresh || group.len() > 2 && exchangeable(&threads, &group, key_of)?;
            let permutations = if alike { vec![group] } else { permutations(&group) };
            orders = (orders.iter())
                .flat_map(|o| permutations.iter().map(|p| [&o[..], p].concat()))
                .collect();
        }
        Ok(orders)
    }

    /// The key of a state that is tidy.
    pub fn key<M: Memory>(
        &self,
        state: &State<M>,
        standing: &Standing,
        judge: &mut Judge<'_>,
    ) -> Result<Vec<u8>, SpecStop> {
        let slots = self.slots(state);
        let mut known = vec![false; state.nodes.len()];
        let mut shared = vec![];
        self.reached(state, &slots, &[], &mut shared, &mut known);
        let mut best: Option<Vec<u8>> = None;
        let mut key_of = |order: &[usize]| {
            let mut nodes = shared.clone();
            let mut known = known.clone();
            if nodes.len() < state.nodes.len() {
                self.rest_of(state, &slots, order, &mut nodes, &mut known);
            }
            self.key_in(
                state,
                standing,
                judge,
                &Arrangement { threads: order, nodes: &nodes },
                &slots,
            )
        };
        for order in self.orders(state, standing, &mut key_of)? {
            let key = key_of(&order)?;
            if best.as_ref().is_none_or(|best| key < *best) {
                best = Some(key);
            }
        }
        Ok(best.unwrap_or_default())
    }

    /// Adds the nodes that are reached from registers only, and those that nothing but a write
    /// under way leads to.
    fn rest_of<M: Memory>(
        &self,
        state: &State<M>,
        slots: &[&[Slot]],
        threads: &[usize],
        nodes: &mut Vec<usize>,
        known: &mut [bool],
    ) {
        self.reached(state, slots, threads, nodes, known);
        nodes.extend((0..state.nodes.len()).filter(|node| !known[*node]));
    }

    fn key_in<M: Memory>(
        &self,
        state: &State<M>,
        standing: &Standing,
        judge: &mut Judge<'_>,
        arrangement: &Arrangement<'_>,
        slots: &[&[Slot]],
    ) -> Result<Vec<u8>, SpecStop> {
        let Arrangement { threads, nodes } = *arrangement;
        let mut numbers = vec![0; state.nodes.len()];
        nodes.iter().enumerate().for_each(|(place, node)| numbers[*node] = place as i32 + 1);
        let renames = self.reductions.value_symmetry;
        let values = RefCell::new(Values { names: [0; 256], next: 0, renames });
        let scalar = |value: i32, kind: Kind, key: &mut Vec<u8>| {
            if value == NULL {
                key.push(0x80);
                return;
            }
            match kind.scalar {
                Scalar::Ref(_) => key.push(numbers[value as usize] as u8),
                Scalar::Value => key.push(values.borrow_mut().name(value)),
                _ if (-100..100).contains(&value) => key.push(value as u8),
                _ => {
                    key.push(0x81);
                    key.extend_from_slice(&value.to_le_bytes());
                }
            }
        };
        let mut words: Vec<usize> = (0..self.layout.shared.len()).collect();
        let mut key = Vec::with_capacity(USUAL);
        key.push(nodes.len() as u8);
        for node in nodes {
            let node = &state.nodes[*node];
            words.extend(node.base..node.base + self.layout.size(node.of));
            key.push(node.of as u8 | u8::from(node.freed) << 7);
        }
        let content = |word: usize, content: &Content, key: &mut Vec<u8>| {
            let parts = content.slots().zip(slots[word]);
            parts.for_each(|(value, slot)| scalar(value, slot.kind, key));
        };
        let place = |word: usize| words.iter().position(|w| *w == word).unwrap_or(0);
        let names = Names {
            words: &words,
            threads,
            operation_bits: OPERATIONS as usize,
            content: &content,
            place: &place,
        };
        state.memory.key(&names, &mut key);
        for thread in threads {
            let own = &state.threads[*thread];
            key.extend_from_slice(&(own.pc.0 as u16).to_le_bytes());
            key.extend_from_slice(&(own.caller.0 as u16).to_le_bytes());
            key.push(own.called as u8);
            for (reg, kind) in self.live(own.pc, own.caller).iter() {
                scalar(own.registers[*reg], *kind, &mut key);
            }
        }
        match standing {
            Standing::Exact(operations) => {
                self.history_key(operations, threads, &scalar, &mut key);
            }
            Standing::Stamped(set) => {
                let by = self.renaming(threads, renames.then_some(&values));
                let context = &mut Context { subject: self.subject, memos: &mut judge.memos };
                let set = judge.configurations.rename(context, *set, &by)?;
                key.extend_from_slice(&set.0.to_le_bytes());
            }
        }
        Ok(key)
    }

    fn history_key(
        &self,
        operations: &Operations,
        threads: &[usize],
        scalar: &dyn Fn(i32, Kind, &mut Vec<u8>),
        key: &mut Vec<u8>,
    ) {
        let width = OPERATIONS as usize;
        for thread in threads {
            key.push(operations[*thread].len() as u8);
            for operation in operations[*thread].iter() {
                let method = &self.subject.machine.steps.methods[operation.method as usize];
                key.push(operation.method as u8);
                let args = operation.args.iter().zip(&method.params);
                args.for_each(|(value, kind)| scalar(*value, *kind, key));
                key.push(u8::from(operation.result.is_some()));
                let result = operation.result.iter().flatten().zip(&method.result);
                result.for_each(|(value, kind)| scalar(*value, *kind, key));
                let places = threads.iter().enumerate();
                let of = |t: usize| operation.before >> (t * width) & ((1 << width) - 1);
                let mask = places.fold(0, |mask, (place, t)| mask | of(*t) << (place * width));
                key.extend_from_slice(&mask.to_le_bytes());
            }
        }
    }

    /// The renaming of threads and values for a set of configurations; values that do not occur in
    /// the state keep their order.
    fn renaming(&self, threads: &[usize], values: Option<&RefCell<Values>>) -> Renaming {
        let mut by = Renaming::IDENTITY;
        if self.alike && threads.len() <= MAX_THREADS {
            threads.iter().enumerate().for_each(|(place, t)| by.threads[*t] = place as u8);
        }
        if let Some(values) = values {
            let mut values = values.borrow_mut();
            for value in 0..by.values.len() {
                by.values[value] = values.name(value as i32) - 1;
            }
        }
        by
    }
}

/// Whether exchanging neighbours of a group leaves the key of an order as it is.
fn exchangeable(order: &[usize], group: &[usize], key_of: KeyOf<'_>) -> Result<bool, SpecStop> {
    let key = key_of(order)?;
    for pair in group.windows(2) {
        let exchange = |thread: &usize| match thread {
            t if *t == pair[0] => pair[1],
            t if *t == pair[1] => pair[0],
            t => *t,
        };
        let exchanged: Vec<usize> = order.iter().map(exchange).collect();
        if key_of(&exchanged)? != key {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Adds the nodes to which the contents of a word lead.
fn visit<M: Memory>(
    state: &State<M>,
    slots: &[Slot],
    word: usize,
    order: &mut Vec<usize>,
    known: &mut [bool],
) {
    let is_ref = |slot: &Slot| matches!(slot.kind.scalar, Scalar::Ref(_));
    if slots.iter().any(is_ref) {
        state.memory.contents(word, &mut |content| {
            let parts = content.slots().zip(slots);
            parts.for_each(|(value, slot)| reach(value, slot.kind, order, known));
        });
    }
}

/// Adds the node to which a value leads.
fn reach(value: i32, kind: Kind, order: &mut Vec<usize>, known: &mut [bool]) {
    if matches!(kind.scalar, Scalar::Ref(_)) && value != NULL && !known[value as usize] {
        known[value as usize] = true;
        order.push(value as usize);
    }
}

fn permutations(group: &[usize]) -> Vec<Vec<usize>> {
    let Some((last, rest)) = group.split_last() else { return vec![vec![]] };
    let mut all = vec![];
    for shorter in permutations(rest) {
        for at in 0..=shorter.len() {
            let mut longer = shorter.clone();
            longer.insert(at, *last);
            all.push(longer);
        }
    }
    all
}
