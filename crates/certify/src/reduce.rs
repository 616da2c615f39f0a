//! Programs that stand for others: what is certified of them holds for those.
//!
//! *Theorem.* If every run of a program is a run of its stand-in, up to steps that do nothing, or
//! else the stand-in fails first; and if the stand-in never fails and is linearizable; then so is
//! the program. A certificate may therefore speak of the stand-in. It does not say so: the checker
//! makes the stand-ins by itself, out of the program, and reads the certificate as one of that
//! program whose hash it names ([`stand_ins`]).
//!
//! 1. `idle`, `divided`, `served`, `handed`, `linked`: without the data that decides nothing, with one
//!    bucket in the place of a hash table (by an argument of its own), and with locks in the place of
//!    ticket locks and of queue locks. `tagged`: with a collector in the place of tagged pointers.
//! 2. `held`: besides, with locks in the place of words that are used as locks.
//! 3. `whole`, `boxed`, `valued`: besides, with one step for what is written under a lock or while a
//!    number is odd, with what immutable records hold in the place of references to
//!    them, and with whole numbers in the place of values.
//!
//! Each file states what makes its stand-in one. None of them trusts anything but the steps. A
//! stand-in must have every run of the program: it may do more, wait less or fail sooner, never do
//! less. Where a condition of a file does not hold, its step is left out.

mod boxed;
mod divided;
mod handed;
mod held;
mod idle;
mod linked;
mod served;
mod tagged;
mod valued;
mod whole;

use seriatim_lang::flow;
use seriatim_lang::steps::{Ex, Instr, Op, Pc, Place, Reg, Root, Slot, Steps};
use seriatim_lang::types::{Kind, Scalar, StructId};

/// What stands for a program.
pub struct StandIn {
    /// Its steps.
    pub steps: Steps,
    /// Whether values are numbers in it: so they must be in the specification.
    pub numbers_for_values: bool,
}

/// The programs that may stand for this one, the nearest first. `by_key` says that operations on
/// different keys have nothing to do with each other in the specification.
pub fn stand_ins(steps: &Steps, by_key: bool) -> Vec<StandIn> {
    let idle = idle::without(steps);
    let divided = divided::with_one_bucket(&idle).filter(|_| by_key);
    let idle = divided.map_or(idle, |divided| idle::without(&divided));
    let served = served::with_locks(&idle).map(|served| idle::without(&served));
    let served = served.unwrap_or(idle);
    let handed = handed::with_locks(&served).map(|handed| idle::without(&handed));
    let handed = handed.unwrap_or(served);
    let linked = linked::with_locks(&handed).map(|linked| idle::without(&linked));
    let linked = linked.unwrap_or(handed);
    let tagged = tagged::without_tag(&linked).map(|tagged| idle::without(&tagged));
    let first = tagged.unwrap_or(linked);
    let locked = held::with_locks(&first);
    let nearest = locked.as_ref().unwrap_or(&first);
    let whole = nearest.structs.is_empty().then(|| whole::with_whole_sections(nearest)).flatten();
    let whole = whole.map(|whole| idle::without(&whole));
    let nearest = whole.as_ref().unwrap_or(nearest);
    let contents = boxed::with_contents(nearest);
    let numbers = valued::with_numbers(contents.as_ref().unwrap_or(nearest)).or(contents);
    let numbers = numbers.or(whole);
    let plain = std::iter::once(first).chain(locked);
    let plain = plain.map(|steps| StandIn { steps, numbers_for_values: false });
    plain.chain(numbers.map(|steps| StandIn { steps, numbers_for_values: true })).collect()
}

/// A slot: of a struct, or among the shared variables.
type Where = (Option<StructId>, u32);

/// The struct in which a place lies.
pub fn owner(place: &Place) -> Option<StructId> {
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
        let like = Instr { fused: false, ..self.blocks[old][0].clone() };
        // A thread that rests before a condition of its own still does.
        let rests = |op: &Op| matches!(op, Op::Assume(_) | Op::Any { .. } | Op::Choose(_));
        let instr = |op: Op| Instr { pauses: like.pauses && rests(&op), op, ..like.clone() };
        self.blocks[old] = ops.into_iter().map(instr).collect();
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

/// The program with all that can stand in for others put in place, each in the code that the last one
/// left: positions change with each. None if there is nothing of the kind.
fn each<T>(
    steps: &Steps,
    all: impl IntoIterator<Item = T>,
    stand_in: impl Fn(&Steps, T) -> Option<Steps>,
) -> Option<Steps> {
    all.into_iter().fold(None, |done, one| stand_in(done.as_ref().unwrap_or(steps), one).or(done))
}

/// The block of an old position that does `op` and goes on at `then`, or nothing and goes on at `otherwise`.
fn either(old: usize, op: Op, then: Pc, otherwise: Pc) -> Vec<Op> {
    let start = |pc: Pc| Op::Jump(at_block(pc.0 as usize, 0));
    let ways = Op::Choose(vec![at_block(old, 1), at_block(old, 3)]);
    vec![ways, op, start(then), Op::Atomic, start(otherwise)]
}

/// What is asked by the instruction behind a read.
struct Asked<'s> {
    /// The condition, without a `not` around it.
    condition: &'s Ex,
    /// Where it goes on if the condition holds, and if it fails. None: it waits then.
    holds: Option<Pc>,
    fails: Option<Pc>,
}

/// The question right behind a read: that of a branch, or that of an `await` with the read in it.
fn asked(steps: &Steps, at: usize) -> Option<Asked<'_>> {
    let behind = Pc(at as u32 + 2);
    let (condition, otherwise) = match &steps.code.get(at + 1)?.op {
        Op::Branch { cond, otherwise } if !steps.code[at].inside_atomic => (cond, Some(*otherwise)),
        Op::Assume(cond) if is_await(steps, at) => (cond, None),
        _ => return None,
    };
    Some(match condition {
        Ex::Not(inside) => Asked { condition: inside, holds: otherwise, fails: Some(behind) },
        condition => Asked { condition, holds: Some(behind), fails: otherwise },
    })
}

/// Whether an instruction and the next one are an atomic block of their own.
fn is_await(steps: &Steps, at: usize) -> bool {
    let inside = |at: usize| steps.code.get(at).is_some_and(|instr| instr.inside_atomic);
    let marked = |at: usize| matches!(steps.code[at].op, Op::Atomic) && !inside(at);
    inside(at) && inside(at + 1) && !inside(at + 2) && at.checked_sub(1).is_some_and(marked)
}

/// Whether what a read has read is used by the instruction behind it only, or behind another look of
/// the same kind.
fn is_only_asked(steps: &Steps, at: usize, read: Reg, is_look: impl Fn(&Op) -> bool) -> bool {
    let body = body_of(steps, at);
    let looks = |at: usize| {
        let op = &steps.code[at].op;
        matches!(op, Op::Load { dst, .. } if *dst == read) && is_look(op)
    };
    (0..steps.code.len()).filter(|other| body_of(steps, *other) == body).all(|other| {
        let mut reads = false;
        flow::uses(&steps.code[other].op, &mut |reg| reads |= reg == read);
        !reads || other.checked_sub(1).is_some_and(looks)
    })
}

/// Whether something jumps to such a position, or a method begins there.
fn is_jumped_to(steps: &Steps, inside: impl Fn(usize) -> bool) -> bool {
    let mut ops: Vec<Op> = steps.code.iter().map(|instr| instr.op.clone()).collect();
    let jumps = ops.iter_mut().flat_map(targets).any(|to| inside(to.0 as usize));
    jumps || steps.methods.iter().any(|method| inside(method.entry.0 as usize))
}

/// Whether something else than registers, nodes of the struct and one variable may refer to such a node.
fn gets_out(steps: &Steps, node: StructId, variable: u32) -> bool {
    let mut kinds: Vec<Kind> = steps.persistent.iter().map(|slot| slot.kind).collect();
    let signatures = steps.methods.iter().flat_map(|m| m.params.iter().chain(&m.result));
    kinds.extend(signatures.copied());
    for (of, slot) in all_slots(steps) {
        if of != Some(node) && (of, slot) != (None, variable) {
            kinds.push(slot_at(steps, (of, slot)).kind);
        }
    }
    kinds.iter().any(|kind| kind.scalar == Scalar::Ref(node))
}

/// Calls `change` on every expression of an instruction, and on their parts first.
fn rewrite_all(op: &mut Op, change: &dyn Fn(&mut Ex)) {
    if let Some(place) = op.place_mut() {
        if let Root::Node(node, _) = &mut place.root {
            rewrite(node, change);
        }
        place.dims.iter_mut().for_each(|dim| rewrite(&mut dim.index, change));
    }
    match op {
        Op::Set { value: all, .. }
        | Op::SetAt { value: all, .. }
        | Op::Store { value: all, .. }
        | Op::Swap { value: all, .. }
        | Op::StoreConditional { value: all, .. }
        | Op::New { fields: all, .. }
        | Op::Return(all)
        | Op::Invoke { args: all, .. } => all.iter_mut().for_each(|ex| rewrite(ex, change)),
        Op::Cas { old, new, .. } => old.iter_mut().chain(new).for_each(|ex| rewrite(ex, change)),
        Op::FetchAdd { amount: ex, .. }
        | Op::Free(ex)
        | Op::Branch { cond: ex, .. }
        | Op::Assume(ex)
        | Op::Assert(ex)
        | Op::Check { value: ex, .. } => rewrite(ex, change),
        Op::Load { .. }
        | Op::Lock(_)
        | Op::Unlock(_)
        | Op::Fence
        | Op::Atomic
        | Op::Jump(_)
        | Op::Choose(_)
        | Op::Any { .. }
        | Op::Lin { .. }
        | Op::End => {}
    }
}

fn rewrite(ex: &mut Ex, change: &dyn Fn(&mut Ex)) {
    match ex {
        Ex::Not(a) | Ex::Neg(a) => rewrite(a, change),
        Ex::Bin(_, a, b) => [a, b].into_iter().for_each(|ex| rewrite(ex, change)),
        Ex::If(a, b, c) => [a, b, c].into_iter().for_each(|ex| rewrite(ex, change)),
        Ex::Const(_) | Ex::Reg(_) | Ex::SelfTid | Ex::At { .. } => {}
    }
    change(ex);
}

/// All slots but those of structs, and all kinds of parameters and results.
fn kinds_mut(steps: &mut Steps) -> Vec<&mut Kind> {
    let mut all: Vec<&mut Kind> = Vec::new();
    for method in &mut steps.methods {
        all.extend(method.params.iter_mut().chain(&mut method.result));
        all.extend(method.regs.iter_mut().map(|slot| &mut slot.kind));
    }
    let others = steps.shared.iter_mut().chain(&mut steps.init_regs).chain(&mut steps.persistent);
    all.extend(others.map(|slot| &mut slot.kind));
    all
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

#[cfg(test)]
mod tests {
    use super::Steps;

    /// The steps of a program for two threads.
    pub fn lowered(source: &str) -> Steps {
        let program = seriatim_lang::check(source)
            .unwrap_or_else(|error| panic!("{}", error.render(source, "")));
        seriatim_lang::lower(&program, 2, None).expect("it lowers")
    }

    /// The source of an algorithm of the library.
    pub fn library(name: &str) -> String {
        let path = format!("{}/../../algorithms/{name}.seri", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).expect("it is in the library")
    }
}
