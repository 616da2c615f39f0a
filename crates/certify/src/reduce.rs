//! Programs that stand for others: what is certified of them holds for those.
//!
//! *Theorem.* If every run of a program is a run of its stand-in, up to steps that do nothing, or
//! else the stand-in fails first; and if the stand-in never fails and is linearizable; then so is
//! the program. A certificate may therefore speak of the stand-in. It does not say so: the checker
//! makes the stand-ins by itself, out of the program, and reads the certificate as one of that
//! program whose hash it names ([`stand_ins`]).
//!
//! 1. `idle`, `served`: without the data that decides nothing, and with locks in the place of ticket
//!    locks.
//! 2. `held`: besides, with locks in the place of words that are used as locks.
//!
//! Each file states what makes its stand-in one. None of them trusts anything but the steps. A
//! stand-in must have every run of the program: it may do more, wait less or fail sooner, never do
//! less. Where a condition of a file does not hold, its step is left out.

mod held;
mod idle;
mod served;

use seriatim_lang::steps::{Ex, Instr, Op, Pc, Place, Root, Slot, Steps};
use seriatim_lang::types::{Kind, Scalar, StructId};

/// The programs that may stand for this one, the nearest first.
pub fn stand_ins(steps: &Steps) -> Vec<Steps> {
    let idle = idle::without(steps);
    let served = served::with_locks(&idle).map(|served| idle::without(&served));
    let first = served.unwrap_or(idle);
    let second = held::with_locks(&first);
    std::iter::once(first).chain(second).collect()
}

/// A slot: of a struct, or among the shared variables.
type Where = (Option<StructId>, u32);

/// The struct in which a place lies.
fn owner(place: &Place) -> Option<StructId> {
    match place.root {
        Root::Shared => None,
        Root::Node(_, of) => Some(of),
    }
}

/// All slots that an access to a place can touch.
fn touched(place: &Place) -> Vec<Where> {
    place.slots().map(|slot| (owner(place), slot)).collect()
}

fn slot_at(steps: &Steps, (of, slot): Where) -> &Slot {
    match of {
        None => &steps.shared[slot as usize],
        Some(of) => &steps.structs[of.0 as usize].slots[slot as usize],
    }
}

fn slot_at_mut(steps: &mut Steps, (of, slot): Where) -> &mut Slot {
    match of {
        None => &mut steps.shared[slot as usize],
        Some(of) => &mut steps.structs[of.0 as usize].slots[slot as usize],
    }
}

/// All slots of a program.
fn all_slots(steps: &Steps) -> Vec<Where> {
    let mut all: Vec<Where> = (0..steps.shared.len() as u32).map(|slot| (None, slot)).collect();
    for (of, layout) in (0..).map(StructId).zip(&steps.structs) {
        all.extend((0..layout.slots.len() as u32).map(|slot| (Some(of), slot)));
    }
    all
}

/// To which code an instruction belongs: that of a method, or what is before all methods.
fn body_of(steps: &Steps, at: usize) -> usize {
    let methods = steps.methods.iter();
    let inside = methods.map(|m| m.entry.0 as usize..m.end.0 as usize);
    inside.into_iter().position(|range| range.contains(&at)).map_or(0, |method| method + 1)
}

/// A slot becomes a lock, which is free where it begins.
fn becomes_lock(steps: &mut Steps, word: Where) {
    slot_at_mut(steps, word).kind = Kind { scalar: Scalar::Lock, nullable: false };
    let before_methods: Vec<bool> =
        (0..steps.code.len()).map(|at| body_of(steps, at) == 0).collect();
    for (instr, before) in steps.code.iter_mut().zip(before_methods) {
        match &mut instr.op {
            Op::New { of, fields, .. } if Some(*of) == word.0 => {
                fields[word.1 as usize] = Ex::Const(0);
            }
            Op::Store { place, value } if before && touched(place) == [word] => {
                *value = vec![Ex::Const(0)];
            }
            _ => {}
        }
    }
}

/// Code in which instructions grow: new ones are written behind labels, which are resolved at the
/// end.
struct Rewriting {
    /// For each old position, its new instructions.
    blocks: Vec<Vec<Instr>>,
}

/// A position in a rewriting: an instruction of the block of an old position.
fn at_block(old: usize, instruction: u32) -> Pc {
    // No block has more instructions than this, and no program more than the rest of a word.
    Pc(old as u32 * BLOCK + instruction)
}

const BLOCK: u32 = 16;

impl Rewriting {
    fn of(steps: &Steps) -> Rewriting {
        let scaled = |instr: &Instr| {
            let mut instr = instr.clone();
            for target in targets(&mut instr.op) {
                *target = at_block(target.0 as usize, 0);
            }
            vec![instr]
        };
        Rewriting { blocks: steps.code.iter().map(scaled).collect() }
    }

    /// Writes other instructions in the place of one; their targets are positions of a rewriting.
    fn put(&mut self, old: usize, ops: Vec<Op>) {
        let like = Instr { fused: false, pauses: false, ..self.blocks[old][0].clone() };
        self.blocks[old] = ops.into_iter().map(|op| Instr { op, ..like.clone() }).collect();
    }

    fn finish(self, steps: &mut Steps) {
        let mut begins = vec![0u32];
        for block in &self.blocks {
            begins.push(begins[begins.len() - 1] + block.len() as u32);
        }
        let moved = |pc: Pc| Pc(begins[(pc.0 / BLOCK) as usize] + pc.0 % BLOCK);
        steps.code = self.blocks.into_iter().flatten().collect();
        steps.code.iter_mut().flat_map(|i| targets(&mut i.op)).for_each(|to| *to = moved(*to));
        let methods = steps.methods.iter_mut().flat_map(|m| [&mut m.entry, &mut m.end]);
        let threads = steps.threads.iter_mut().map(|t| &mut t.entry);
        let entries = methods.chain(threads).chain([&mut steps.init, &mut steps.thread_init]);
        entries.for_each(|pc| *pc = moved(at_block(pc.0 as usize, 0)));
    }
}

/// Where an instruction can go on, apart from the next one.
fn targets(op: &mut Op) -> Vec<&mut Pc> {
    match op {
        Op::Jump(to) | Op::Branch { otherwise: to, .. } | Op::Cas { fail: to, .. } => vec![to],
        Op::StoreConditional { fail: to, .. } => vec![to],
        Op::Choose(ways) => ways.iter_mut().collect(),
        _ => vec![],
    }
}
