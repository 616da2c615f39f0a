//! Which shared accesses no other thread can notice or influence, so that they need not be steps of
//! their own.
//!
//! Two facts, both found by data flow and valid as long as the program never frees a node:
//! - a node is *private* between its allocation and the moment a reference to it is stored, swapped
//!   in or copied to another live register; accesses to its fields are local;
//! - a field is *constant* if every write to it (after allocation) hits a private node; reading it
//!   is local, for nobody writes it once it can be seen. A shared variable that no method writes is
//!   constant, too.
//!
//! What would make this unsound: a copy of a reference that the analysis misses. Therefore every
//! occurrence of the register outside of comparisons and of the root of a place ends its privacy,
//! except for a plain move; and every register that an instruction may overwrite has lost its node,
//! the elements of an array in registers included.

use crate::analysis::flow::{definitions, successors};
use crate::analysis::liveness::Liveness;
use crate::steps::*;
use std::collections::BTreeSet;

/// Registers that hold the only reference to their node.
pub type Private = BTreeSet<u32>;

/// Slots that methods write: of a struct, or of the shared variables (`None`).
type Written = BTreeSet<(Option<u32>, u32)>;

/// For every position, whether its access can ride along with the step before it.
pub fn local_accesses(steps: &Steps, liveness: &Liveness) -> Vec<bool> {
    if steps.frees {
        return vec![false; steps.code.len()];
    }
    let (mut local, written) = on_private_nodes(steps, liveness);
    for (index, instr) in steps.code.iter().enumerate() {
        let Op::Load { place, .. } = &instr.op else { continue };
        let owner = owner(place);
        local[index] |= place.slots().all(|s| !written.contains(&(owner, s)));
    }
    local
}

/// Which slots are constant.
pub struct Constants {
    /// The slots that are not; nothing is known where nodes are freed.
    written: Option<Written>,
}

impl Constants {
    /// Analyses a program.
    pub fn of(steps: &Steps, liveness: &Liveness) -> Constants {
        Constants { written: (!steps.frees).then(|| on_private_nodes(steps, liveness).1) }
    }

    /// Whether a slot of a struct, or of the shared variables (`None`), is written only where no
    /// other thread can have seen it.
    pub fn contains(&self, owner: Option<u32>, slot: u32) -> bool {
        let slot = (owner, slot);
        self.written.as_ref().is_some_and(|written| !written.contains(&slot))
    }
}

/// For every position whether it reads or writes a private node, and the slots that are written in
/// others.
fn on_private_nodes(steps: &Steps, liveness: &Liveness) -> (Vec<bool>, Written) {
    let mut local = vec![false; steps.code.len()];
    let mut written = Written::new();
    for method in &steps.methods {
        let private = private_registers(steps, liveness, method);
        for index in method.entry.0..method.end.0 {
            let op = &steps.code[index as usize].op;
            let known = &private[(index - method.entry.0) as usize];
            let own = known.as_ref().is_some_and(|p| on_private_node(op, p));
            let atomic = matches!(op, Op::Load { .. } | Op::Store { .. });
            local[index as usize] = own && atomic;
            if !own && known.is_some() {
                note_write(op, &mut written);
            }
        }
    }
    (local, written)
}

fn owner(place: &Place) -> Option<u32> {
    match &place.root {
        Root::Shared => None,
        Root::Node(_, id) => Some(id.0),
    }
}

fn note_write(op: &Op, written: &mut Written) {
    if matches!(op, Op::Load { .. }) {
        return;
    }
    if let Some(place) = op.place() {
        written.extend(place.slots().map(|s| (owner(place), s)));
    }
}

fn on_private_node(op: &Op, private: &Private) -> bool {
    match op.place().map(|p| &p.root) {
        Some(Root::Node(Ex::Reg(reg), _)) => private.contains(&reg.0),
        _ => false,
    }
}

/// For each position of a method, counted from its entry, the registers that hold the only
/// reference to their node; `None` if no run reaches the position.
pub fn private_registers(
    steps: &Steps,
    live: &Liveness,
    method: &MethodCode,
) -> Vec<Option<Private>> {
    let (first, count) = (method.entry.0, method.end.0 - method.entry.0);
    let mut known: Vec<Option<Private>> = vec![None; count as usize];
    known[0] = Some(Private::new());
    let mut todo = vec![method.entry];
    while let Some(pc) = todo.pop() {
        let Some(before) = known[(pc.0 - first) as usize].clone() else { continue };
        let op = &steps.code[pc.0 as usize].op;
        for (edge, next) in successors(op, pc).into_iter().enumerate() {
            let failed = edge == 1 && matches!(op, Op::Cas { .. } | Op::StoreConditional { .. });
            let after = if failed { before.clone() } else { transfer(op, &before, live, next) };
            let slot = &mut known[(next.0 - first) as usize];
            let joined = match slot {
                Some(old) => old.intersection(&after).copied().collect(),
                None => after,
            };
            if slot.as_ref() != Some(&joined) {
                *slot = Some(joined);
                todo.push(next);
            }
        }
    }
    known
}

fn transfer(op: &Op, before: &Private, live: &Liveness, next: Pc) -> Private {
    let mut after = before.clone();
    let mut moved = None;
    if let Op::Set { dst, value } = op
        && let [Ex::Reg(from)] = value.as_slice()
    {
        let dies = !live.is_live(next, from.0 as usize) && dst != from;
        if before.contains(&from.0) && dies {
            moved = Some(dst.0);
        }
    }
    escaping(op, &mut |reg| {
        after.remove(&reg.0);
    });
    let overwritten = match op {
        Op::SetAt { first, span, .. } => first.0..first.0 + span,
        op => definitions(op),
    };
    for reg in overwritten {
        after.remove(&reg);
    }
    if let Op::New { dst, .. } = op {
        after.insert(dst.0);
    }
    after.extend(moved);
    after
}

/// Calls `visit` on each register whose reference an instruction passes on.
fn escaping(op: &Op, visit: &mut dyn FnMut(Reg)) {
    match op {
        Op::Set { value, .. }
        | Op::SetAt { value, .. }
        | Op::Store { value, .. }
        | Op::Swap { value, .. }
        | Op::StoreConditional { value, .. }
        | Op::New { fields: value, .. }
        | Op::Cas { new: value, .. }
        | Op::Return(value) => value.iter().for_each(|ex| passed_on(ex, visit)),
        Op::Free(ex) => passed_on(ex, visit),
        _ => {}
    }
}

fn passed_on(ex: &Ex, visit: &mut dyn FnMut(Reg)) {
    match ex {
        Ex::Reg(reg) => visit(*reg),
        Ex::At { first, span, .. } => (first.0..first.0 + span).for_each(|r| visit(Reg(r))),
        Ex::If(_, a, b) => {
            passed_on(a, visit);
            passed_on(b, visit);
        }
        Ex::Const(_) | Ex::SelfTid | Ex::Not(_) | Ex::Neg(_) | Ex::Bin(..) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For a method with this body, whether the accesses to the field are local, in their order.
    fn local(body: &str) -> Vec<bool> {
        let source = format!(
            "object o : counter\nstruct Cell {{ n: int }}\nvar cell: Cell = new Cell {{ n: 0 }}\n\
             method read() -> int {{ {body} }}"
        );
        let program = crate::check(&source).unwrap_or_else(|e| panic!("{}", e.render(&source, "")));
        let steps = crate::lower(&program, 2, None).expect("it can be lowered");
        let local = local_accesses(&steps, &Liveness::of(&steps));
        let field = |op: &Op| op.place().is_some_and(|p| matches!(p.root, Root::Node(..)));
        let code = steps.code.iter().zip(local).filter(|(instr, _)| field(&instr.op));
        code.map(|(_, local)| local).collect()
    }

    #[test]
    fn an_element_that_may_be_overwritten_is_private_no_more() {
        let begin = "let a: [Cell?; 2] = [null; 2]; a[0] = new Cell { n: 0 }; let i: int 0..1 = 0";
        let end = "a[0].n = 1; return a[0].n";
        assert_eq!(local(&format!("{begin}; {end}")), [true, true]);
        assert_eq!(local(&format!("{begin}; a[i] = cell; {end}")), [false, false]);
        assert_eq!(local(&format!("{begin}; a[0] = cell; {end}")), [false, false]);
    }
}
