//! Whether threads of one role are interchangeable although the program uses thread numbers.
//!
//! *Decided*: thread numbers form a scalarset (Ip and Dill, "Better verification through symmetry",
//! 1996): a program may store them, compare them for equality with each other and with `null`,
//! choose one freely, and use them as index of arrays with one element for each thread. A
//! permutation of the threads of a role, applied to the threads, to every thread number and to
//! these arrays alike, then maps runs to runs.
//!
//! The types alone do not say so; every instruction of methods and clients is looked at.
//! Arithmetic, order, or a comparison with a number that is no `null` ends it, and so does a write
//! of a whole array whose elements differ. Arrays by thread that lie in nodes, in registers or in
//! one another are refused because nobody permutes them. The initial state need not be symmetric: a
//! run from a permuted initial state is a permuted run.
//!
//! *What would make it unsound*: a thread number under another type. Expressions are followed by
//! the kinds of registers and slots, and one whose kind is not known counts as a misuse.

use crate::analysis::flow::expressions;
use crate::front::types::{Kind, Scalar};
use crate::steps::*;

/// Whether thread numbers are used in no other way than a scalarset allows.
pub fn threads_are_alike(steps: &Steps) -> bool {
    if !steps.uses_tids {
        return true;
    }
    let crosses = |m: &MethodCode| m.params.iter().chain(&m.result).any(is_tid);
    let in_init = |pc: u32| pc >= steps.init.0 && steps.method_at(Pc(pc)).is_none();
    !steps.scattered_arrays
        && !steps.methods.iter().any(crosses)
        && (0..steps.code.len() as u32)
            .filter(|pc| !in_init(*pc))
            .all(|pc| Reader { steps, pc: Pc(pc) }.instruction())
}

fn is_tid(kind: &Kind) -> bool {
    kind.scalar == Scalar::Tid
}

/// What an expression is worth.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Worth {
    Thread,
    Null,
    Other,
    Misuse,
}

/// Reads the instruction at a position.
struct Reader<'s> {
    steps: &'s Steps,
    pc: Pc,
}

impl Reader<'_> {
    fn instruction(&self) -> bool {
        let op = &self.steps.code[self.pc.0 as usize].op;
        let mut sound = true;
        expressions(op, &mut |ex| sound &= self.worth(ex) != Worth::Misuse);
        sound && self.indices(op) && self.moves(op)
    }

    /// Whether arrays by thread, and only these, are indexed by threads.
    fn indices(&self, op: &Op) -> bool {
        let Some(place) = op.place() else { return true };
        place.dims.iter().all(|dim| {
            let by_thread = self.worth(&dim.index) == Worth::Thread;
            let array = self.steps.thread_arrays.iter().any(|a| {
                place.root == Root::Shared
                    && a.stride == dim.stride
                    && (a.first..a.first + a.stride * dim.len).contains(&place.offset)
            });
            by_thread == array
        })
    }

    /// Whether what an instruction writes is a thread exactly where a thread belongs, and arrays by
    /// thread are written with one value for all threads.
    fn moves(&self, op: &Op) -> bool {
        match op {
            Op::Set { dst, value } => self.fits_registers(*dst, value),
            Op::SetAt { base, value, .. } => self.fits_registers(*base, value),
            Op::Load { dst, place } => self.same_kinds(*dst, place),
            Op::Swap { dst, place, value } => {
                self.same_kinds(*dst, place) && self.fits_place(place, value)
            }
            Op::Store { place, value } | Op::StoreConditional { place, value, .. } => {
                self.fits_place(place, value)
            }
            Op::Cas { place, old, new, .. } => {
                self.fits_place(place, old) && self.fits_place(place, new)
            }
            Op::FetchAdd { kind, .. } => !is_tid(kind),
            Op::New { of, fields, .. } => {
                let slots = &self.steps.structs[of.0 as usize].slots;
                slots.iter().zip(fields).all(|(slot, ex)| self.fits(&slot.kind, ex))
            }
            _ => true,
        }
    }

    fn fits(&self, kind: &Kind, ex: &Ex) -> bool {
        match self.worth(ex) {
            Worth::Thread => is_tid(kind),
            Worth::Null => true,
            Worth::Other => !is_tid(kind),
            Worth::Misuse => false,
        }
    }

    fn register(&self, reg: Reg) -> Option<Kind> {
        self.steps.register(self.pc, reg).map(|slot| slot.kind)
    }

    fn fits_registers(&self, dst: Reg, value: &[Ex]) -> bool {
        value
            .iter()
            .zip(dst.0..)
            .all(|(ex, reg)| self.register(Reg(reg)).is_some_and(|kind| self.fits(&kind, ex)))
    }

    /// The kinds of the slots of a place.
    fn kinds<'p>(&'p self, place: &Place) -> impl Iterator<Item = Kind> + use<'p> {
        let slots = match &place.root {
            Root::Shared => &self.steps.shared,
            Root::Node(_, id) => &self.steps.structs[id.0 as usize].slots,
        };
        slots.iter().skip(place.offset as usize).take(place.width as usize).map(|s| s.kind)
    }

    fn same_kinds(&self, dst: Reg, place: &Place) -> bool {
        self.kinds(place).zip(dst.0..).all(|(kind, reg)| {
            self.register(Reg(reg)).is_some_and(|other| is_tid(&other) == is_tid(&kind))
        })
    }

    fn fits_place(&self, place: &Place, value: &[Ex]) -> bool {
        let fit = self.kinds(place).zip(value).all(|(kind, ex)| self.fits(&kind, ex));
        fit && (place.root != Root::Shared || self.uniform(place, value))
    }

    /// Whether all elements of each array by thread that is written as a whole get the same.
    fn uniform(&self, place: &Place, value: &[Ex]) -> bool {
        let threads = self.steps.threads.len() as u32;
        self.steps.thread_arrays.iter().all(|array| {
            let end = array.first + array.stride * threads;
            let written = place.offset.max(array.first)..(place.offset + place.width).min(end);
            let indexed = place.dims.iter().any(|dim| dim.stride == array.stride);
            if written.is_empty() || indexed && place.width <= array.stride {
                return true;
            }
            let whole = written == (array.first..end);
            let at = |slot: u32| &value[(slot - place.offset) as usize];
            whole
                && written
                    .clone()
                    .all(|s| at(s) == at(array.first + (s - array.first) % array.stride))
        })
    }

    fn worth(&self, ex: &Ex) -> Worth {
        let thread = |kind: Option<Kind>| match kind {
            Some(kind) if is_tid(&kind) => Worth::Thread,
            Some(_) => Worth::Other,
            None => Worth::Misuse,
        };
        match ex {
            Ex::Const(NULL) => Worth::Null,
            Ex::Const(_) => Worth::Other,
            Ex::SelfTid => Worth::Thread,
            Ex::Reg(reg) => thread(self.register(*reg)),
            Ex::At { base, dims, .. } => {
                let plain = |d: &Dim| self.worth(&d.index) == Worth::Other;
                if dims.iter().all(plain) { thread(self.register(*base)) } else { Worth::Misuse }
            }
            Ex::Not(a) | Ex::Neg(a) => self.plain(&[a]),
            Ex::Bin(BinOp::Eq, a, b) => match (self.worth(a), self.worth(b)) {
                (Worth::Misuse, _) | (_, Worth::Misuse) => Worth::Misuse,
                (Worth::Thread, Worth::Other) | (Worth::Other, Worth::Thread) => Worth::Misuse,
                _ => Worth::Other,
            },
            Ex::Bin(_, a, b) => self.plain(&[a, b]),
            Ex::If(cond, a, b) => match (self.plain(&[cond]), self.worth(a), self.worth(b)) {
                (Worth::Misuse, ..) => Worth::Misuse,
                (_, Worth::Null, worth) | (_, worth, Worth::Null) => worth,
                (_, a, b) if a == b => a,
                _ => Worth::Misuse,
            },
        }
    }

    /// Operands that must not be threads.
    fn plain(&self, operands: &[&Ex]) -> Worth {
        let plain = |ex: &&Ex| matches!(self.worth(ex), Worth::Other | Worth::Null);
        if operands.iter().all(plain) { Worth::Other } else { Worth::Misuse }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(declarations: &str, body: &str) -> bool {
        let source = format!(
            "object o : register\nstruct Node {{ who: tid?, n: int 0..3 }}\n{declarations}\n\
             var x: value? = null\nvar turn: tid? = null\nvar flags: [bool; tid] = [false; tid]\n\
             var pair: [(tid?, int 0..3); 2] = [(null, 0); 2]\nvar count: int 0..3 = 0\n\
             method write(v: value) {{ {body}; x = v }}\nmethod read() -> value? {{ return x }}"
        );
        let program = crate::check(&source).unwrap_or_else(|e| panic!("{}", e.render(&source, "")));
        threads_are_alike(&crate::lower(&program, 3, None).expect("it can be lowered"))
    }

    #[test]
    fn threads_that_are_stored_compared_and_used_as_index_are_alike() {
        for body in [
            "turn = self",
            "flags[self] = true",
            "let him: tid = any; assume him != self; turn = him; if flags[him] && turn == him { return }",
            "let n = new Node { who: self, n: 2 }; if n.who != null { turn = n.who }",
            "atomic { flags = [false; tid] }",
            "pair[1] = (self, 2); let p = pair[0]; if p.0 == self && p.1 < 2 { return }",
            "if cas(turn, null, self) { return }",
            "let before = swap(turn, self); if before == null { return }",
        ] {
            assert!(alike("", body), "{body}");
        }
    }

    #[test]
    fn threads_that_nobody_permutes_are_not_alike() {
        let deep = "var deep: [[bool; tid]; tid] = [[false; tid]; tid]";
        assert!(!alike(deep, "deep[self][self] = true"), "arrays in one another");
        let own = "thread var own: [bool; tid] = [false; tid]";
        assert!(!alike(own, "own[self] = true"), "arrays in registers");
        let inside =
            "struct Big { all: [bool; tid] }\nvar big: Big = new Big { all: [false; tid] }";
        assert!(!alike(inside, "big.all[self] = true"), "arrays in nodes");
        assert!(!alike("", "let all: [bool; tid] = [false; tid]; all[self] = true"));
    }

    #[test]
    fn threads_that_have_an_order_are_not_alike() {
        assert!(!alike("", "for t in tid { if flags[t] { return } }"));
        assert!(!alike("", "let him: tid = any; if him < self { return }"));
        assert!(!alike("", "let him: tid = any; if flags[him] && self >= him { return }"));
    }
}
