//! What an instruction reads, writes and continues with: the basis of every data-flow analysis.

use crate::steps::*;

/// Where an instruction at `pc` may continue within its method or client.
pub fn successors(op: &Op, pc: Pc) -> Vec<Pc> {
    let next = Pc(pc.0 + 1);
    match op {
        Op::Cas { fail, .. } | Op::StoreConditional { fail, .. } => vec![next, *fail],
        Op::Branch { otherwise, .. } => vec![next, *otherwise],
        Op::Jump(to) => vec![*to],
        Op::Choose(targets) => targets.clone(),
        Op::Return(_) | Op::End => vec![],
        _ => vec![next],
    }
}

/// Calls `visit` on each register that an expression reads.
pub fn expression_uses(ex: &Ex, visit: &mut dyn FnMut(Reg)) {
    match ex {
        Ex::Const(_) | Ex::SelfTid => {}
        Ex::Reg(reg) => visit(*reg),
        Ex::At { first, span, dims, .. } => {
            (first.0..first.0 + span).for_each(|r| visit(Reg(r)));
            dims.iter().for_each(|d| expression_uses(&d.index, visit));
        }
        Ex::Not(a) | Ex::Neg(a) => expression_uses(a, visit),
        Ex::Bin(_, a, b) => {
            expression_uses(a, visit);
            expression_uses(b, visit);
        }
        Ex::If(a, b, c) => [a, b, c].into_iter().for_each(|e| expression_uses(e, visit)),
    }
}

/// Calls `visit` on each expression of an instruction, those of its place included.
pub fn expressions(op: &Op, visit: &mut dyn FnMut(&Ex)) {
    if let Some(place) = op.place() {
        if let Root::Node(node, _) = &place.root {
            visit(node);
        }
        place.dims.iter().for_each(|d| visit(&d.index));
    }
    match op {
        Op::Set { value, .. }
        | Op::Store { value, .. }
        | Op::Swap { value, .. }
        | Op::StoreConditional { value, .. }
        | Op::Return(value)
        | Op::New { fields: value, .. }
        | Op::Invoke { args: value, .. } => value.iter().for_each(visit),
        Op::SetAt { value, dims, .. } => {
            value.iter().for_each(&mut *visit);
            dims.iter().for_each(|d| visit(&d.index));
        }
        Op::Cas { old, new, .. } => old.iter().chain(new).for_each(visit),
        Op::FetchAdd { amount: e, .. }
        | Op::Free(e)
        | Op::Branch { cond: e, .. }
        | Op::Assume(e)
        | Op::Assert(e)
        | Op::Check { value: e, .. } => visit(e),
        Op::Lin { cond, help } => cond.iter().chain(help).for_each(visit),
        Op::Load { .. }
        | Op::Lock(_)
        | Op::Unlock(_)
        | Op::Fence
        | Op::Atomic
        | Op::Jump(_)
        | Op::Choose(_)
        | Op::Any { .. }
        | Op::End => {}
    }
}

/// Whether a run that leaves `start` can reach a position that `ends` it without passing one that
/// `is_step`.
pub fn reaches_without_step(
    steps: &Steps,
    start: Pc,
    is_step: impl Fn(usize) -> bool,
    ends: impl Fn(usize) -> bool,
) -> bool {
    let mut seen = vec![false; steps.code.len()];
    let mut todo = successors(&steps.code[start.0 as usize].op, start);
    while let Some(pc) = todo.pop() {
        let at = pc.0 as usize;
        if ends(at) {
            return true;
        }
        if !is_step(at) && !std::mem::replace(&mut seen[at], true) {
            todo.extend(successors(&steps.code[at].op, pc));
        }
    }
    false
}

/// The registers that an instruction surely overwrites.
pub fn definitions(op: &Op) -> std::ops::Range<u32> {
    match op {
        Op::Set { dst, value } => dst.0..dst.0 + value.len() as u32,
        Op::Load { dst, place } | Op::Swap { dst, place, .. } => dst.0..dst.0 + place.width,
        Op::FetchAdd { dst, .. } | Op::New { dst, .. } | Op::Any { dst, .. } => dst.0..dst.0 + 1,
        _ => 0..0,
    }
}

/// Calls `visit` on each register that an instruction reads.
pub fn uses(op: &Op, visit: &mut dyn FnMut(Reg)) {
    expressions(op, &mut |ex| expression_uses(ex, visit));
    match op {
        Op::StoreConditional { link, .. } => visit(*link),
        Op::SetAt { first, span, .. } => (first.0..first.0 + span).for_each(|r| visit(Reg(r))),
        _ => {}
    }
}

/// Whether an instruction uses the thread's own number.
pub fn reads_own_number(op: &Op) -> bool {
    fn inside(ex: &Ex) -> bool {
        match ex {
            Ex::SelfTid => true,
            Ex::Const(_) | Ex::Reg(_) => false,
            Ex::At { dims, .. } => dims.iter().any(|d| inside(&d.index)),
            Ex::Not(a) | Ex::Neg(a) => inside(a),
            Ex::Bin(_, a, b) => inside(a) || inside(b),
            Ex::If(a, b, c) => inside(a) || inside(b) || inside(c),
        }
    }
    let mut found = false;
    expressions(op, &mut |ex| found |= inside(ex));
    found
}
