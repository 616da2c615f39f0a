//! A program as weak memory sees it: which slots make up a word, and what it may not do.
//!
//! *Conditions*, each of which refuses a program by its name:
//! - `one-access-atomics`: an `atomic` block or an `await` makes at most one access on each of its
//!   ways. Several accesses at once have no meaning where threads see different memories.
//! - `whole-words`: a word is written as a whole, and read by itself.
//! - `no-load-linked`: there is no `ll` and `sc`.
//! - `no-recycling`: nodes are freed, not recycled. What a thread reads in a node that was made
//!   anew meanwhile is a race here, and none on the machines that such algorithms are made for.

use super::memory::{Content, Demands};
use crate::options::Synchronise;
use seriatim_lang::flow::successors;
use seriatim_lang::liveness::Liveness;
use seriatim_lang::locality::Constants;
use seriatim_lang::machine::{Fault, State as Concrete, Stop, evaluate, offset};
use seriatim_lang::steps::StructLayout;
use seriatim_lang::steps::{Instr, Op, Ordering, Orders, Pc, Place, Root, Slot, Steps};
use seriatim_lang::{Diagnostic, Span};
use std::ops::Range;

/// The slots of a memory word, and whether it is plain.
#[derive(Clone, Debug)]
pub struct Word {
    /// Its slots, among those of its variable or struct.
    pub slots: Range<usize>,
    /// Whether it is accessed without synchronisation.
    pub plain: bool,
    /// Whether it is written only where no other thread can have seen it.
    pub constant: bool,
}

/// The words of a program.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Those of the shared variables.
    pub shared: Vec<Word>,
    /// Those of each struct.
    pub structs: Vec<Vec<Word>>,
    /// Whether nodes are freed, so that each has a word for its life.
    pub lives: bool,
}

/// A node of the heap.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its struct.
    pub of: u32,
    /// Whether it was given back.
    pub freed: bool,
    /// Its first word.
    pub base: usize,
    /// Its number in the run, by which people know it.
    pub name: u32,
}

/// Where an access goes: a word, the slots of it that are meant, and the node in which it lies.
#[derive(Clone, Debug)]
pub struct Target {
    /// The word.
    pub word: usize,
    /// The slots, counted in the word.
    pub slots: Range<usize>,
    /// The node.
    pub node: Option<usize>,
    /// Whether the word is plain.
    pub plain: bool,
}

fn words(slots: &[Slot], owner: Option<u32>, constants: &Constants) -> Vec<Word> {
    let mut found: Vec<Word> = vec![];
    for (at, slot) in slots.iter().enumerate() {
        match found.last_mut() {
            Some(last) if slot.joined => last.slots.end = at + 1,
            _ => found.push(Word { slots: at..at + 1, plain: slot.plain, constant: false }),
        }
    }
    for word in &mut found {
        word.constant = word.slots.clone().all(|slot| constants.contains(owner, slot as u32));
    }
    found
}

impl Layout {
    /// The words of a program, or why it has no meaning on weak memory.
    pub fn of(steps: &Steps) -> Result<Layout, Diagnostic> {
        let constants = Constants::of(steps, &Liveness::of(steps));
        let of = |(s, id): (&StructLayout, u32)| words(&s.slots, Some(id), &constants);
        let structs = steps.structs.iter().zip(0..).map(of).collect();
        let shared = words(&steps.shared, None, &constants);
        let layout = Layout { shared, structs, lives: steps.frees };
        if !steps.links.is_empty() {
            return Err(refused(
                Span::default(),
                "no-load-linked",
                "`ll` and `sc` have no orderings",
            ));
        }
        if steps.recycles {
            let why = "what a recycled node holds has no orderings: use `free`";
            return Err(refused(Span::default(), "no-recycling", why));
        }
        let methods = steps.methods.iter().flat_map(|m| m.entry.0..m.end.0).map(Pc);
        for pc in methods {
            let instr = &steps.code[pc.0 as usize];
            if let Some(place) = instr.op.place()
                && !layout.is_whole(place, &instr.op)
            {
                let why = "a word is written as a whole, and read by itself";
                return Err(refused(instr.span, "whole-words", why));
            }
            if matches!(instr.op, Op::Atomic) && accesses(steps, pc).is_none_or(|most| most > 1) {
                let why = "several accesses at once have no meaning on weak memory";
                return Err(refused(instr.span, "one-access-atomics", why));
            }
        }
        Ok(layout)
    }

    /// Whether every word that an access may touch is touched as it may be.
    fn is_whole(&self, place: &Place, op: &Op) -> bool {
        let all = match &place.root {
            Root::Shared => &self.shared,
            Root::Node(_, id) => &self.structs[id.0 as usize],
        };
        let reads = matches!(op, Op::Load { .. });
        starts(place).into_iter().all(|first| {
            let slots = first..first + place.width as usize;
            let holds = |word: &Word| match reads {
                true => word.slots.start <= slots.start && slots.end <= word.slots.end,
                false => word.slots == slots,
            };
            all.iter().any(holds)
        })
    }

    /// Where an access goes.
    pub fn resolve(
        &self,
        place: &Place,
        nodes: &[Node],
        registers: &[i32],
        thread: usize,
        pc: Pc,
    ) -> Result<Target, Stop> {
        let first = (place.offset + offset(&place.dims, registers, thread, pc)?) as usize;
        let (all, base, node) = match &place.root {
            Root::Shared => (&self.shared, 0, None),
            Root::Node(node, id) => {
                let node = evaluate(node, registers, thread, pc)?;
                if node == seriatim_lang::steps::NULL {
                    return Err(Stop::Fault(Fault::NullDereference, pc));
                }
                let words = &self.structs[id.0 as usize];
                (words, nodes[node as usize].base, Some(node as usize))
            }
        };
        let index = all.partition_point(|word| word.slots.end <= first);
        let skip = first - all[index].slots.start;
        let slots = skip..skip + place.width as usize;
        Ok(Target { word: base + index, slots, node, plain: all[index].plain })
    }

    /// Which words are constant, of the shared variables and of these nodes.
    pub fn constants(&self, nodes: &[Node]) -> Vec<bool> {
        let mut all: Vec<bool> = self.shared.iter().map(|word| word.constant).collect();
        for node in nodes {
            all.extend(self.structs[node.of as usize].iter().map(|word| word.constant));
            all.extend(self.lives.then_some(false));
        }
        all
    }

    /// How many words a node takes, its life included.
    pub fn size(&self, of: u32) -> usize {
        self.structs[of as usize].len() + usize::from(self.lives)
    }

    /// The words of a node that holds these slots.
    pub fn node_words(&self, of: u32, slots: &[i32]) -> Vec<(Content, bool)> {
        let words = self.structs[of as usize].iter();
        let life = self.lives.then(|| (Content::of(&[0]), true));
        words.map(|w| (Content::of(&slots[w.slots.clone()]), w.plain)).chain(life).collect()
    }

    /// Memory at the start: the words, and the nodes.
    pub fn start(&self, state: &Concrete, stride: usize) -> (Vec<(Content, bool)>, Vec<Node>) {
        let shared = self.shared.iter();
        let mut memory: Vec<(Content, bool)> =
            shared.map(|w| (Content::of(&state.words[w.slots.clone()]), w.plain)).collect();
        let mut nodes = vec![];
        for cells in state.heap.chunks(stride) {
            let of = cells[0] as u32;
            nodes.push(Node { of, freed: false, base: memory.len(), name: nodes.len() as u32 });
            memory.extend(self.node_words(of, &cells[1..]));
        }
        (memory, nodes)
    }
}

/// What a program asks of its memory model.
pub fn demands(steps: &Steps, clients: Synchronise) -> Demands {
    let methods = steps.methods.iter().flat_map(|m| m.entry.0..m.end.0);
    let code: Vec<&Instr> = methods.map(|pc| &steps.code[pc as usize]).collect();
    let fence = |test: fn(Ordering) -> bool| {
        code.iter().any(|i| matches!(i.op, Op::Fence) && test(i.orders.access))
    };
    let strong = |i: &&Instr| {
        let accesses = i.op.place().is_some() || matches!(i.op, Op::Fence);
        let is_lock = matches!(i.op, Op::Lock(_) | Op::Unlock(_));
        let Orders { access, failure } = i.orders;
        let fails = matches!(i.op, Op::Cas { .. }) && failure == Ordering::SeqCst;
        accesses && !is_lock && (access == Ordering::SeqCst || fails)
    };
    Demands {
        acquire_fences: fence(Ordering::acquires),
        release_fences: fence(Ordering::releases),
        seqcst: code.iter().any(strong),
        clients,
    }
}

/// The slots at which an access may begin, whatever its indices are.
fn starts(place: &Place) -> Vec<usize> {
    let mut starts = vec![place.offset as usize];
    for dim in &place.dims {
        let steps = (0..dim.len).map(|i| (i * dim.stride) as usize);
        starts = steps.flat_map(|step| starts.iter().map(move |s| s + step)).collect();
    }
    starts
}

/// The most accesses on a way through an atomic block; `None` if it has a loop.
fn accesses(steps: &Steps, marker: Pc) -> Option<u32> {
    fn most(steps: &Steps, pc: Pc, path: &mut Vec<Pc>) -> Option<u32> {
        let instr = &steps.code[pc.0 as usize];
        if !instr.inside_atomic {
            return Some(0);
        }
        if path.contains(&pc) {
            return None;
        }
        path.push(pc);
        let mut after = Some(0);
        for next in successors(&instr.op, pc) {
            after = after.zip(most(steps, next, path)).map(|(a, b)| a.max(b));
        }
        path.pop();
        after.map(|after| after + u32::from(instr.op.place().is_some()))
    }
    let after = successors(&Op::Atomic, marker);
    after.into_iter().try_fold(0, |all, pc| Some(all.max(most(steps, pc, &mut vec![])?)))
}

fn refused(span: Span, condition: &str, why: &str) -> Diagnostic {
    Diagnostic::new(span, format!("this memory model does not take the program: {why}"))
        .label(format!("condition `{condition}` does not hold"))
}
