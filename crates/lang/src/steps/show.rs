//! Steps for people: a listing, and a control-flow graph for Graphviz.

use crate::steps::*;
use std::fmt::Write;

/// The atomic steps of every method. A position with a number begins a step; the lines below it
/// ride along.
pub fn listing(steps: &Steps) -> String {
    let mut out = String::new();
    for method in &steps.methods {
        let params: Vec<_> =
            method.regs.iter().take(method.params.len()).map(|s| &*s.name).collect();
        let _ = writeln!(out, "method {}({})", method.name, params.join(", "));
        for index in method.entry.0..method.end.0 {
            let instr = &steps.code[index as usize];
            let number = index - method.entry.0;
            let mark = if instr.is_shared_access() { "*" } else { " " };
            let text = ordered(steps, method, instr);
            let _ = writeln!(out, "  {mark}{number:>3}  {text}");
        }
        out.push('\n');
    }
    out.push_str(
        "* begins a step: one access to shared state. Lines without * belong to the step before them.\n",
    );
    out
}

/// The control flow of every method in Graphviz's language: nodes are resting points, edges are
/// steps.
pub fn dot(steps: &Steps) -> String {
    let mut out = String::from("digraph steps {\n  node [shape=box, fontname=\"monospace\"];\n");
    for (number, method) in steps.methods.iter().enumerate() {
        let _ = writeln!(out, "  subgraph cluster_{number} {{\n    label=\"{}\";", method.name);
        for index in method.entry.0..method.end.0 {
            let op = &steps.code[index as usize].op;
            let text = ordered(steps, method, &steps.code[index as usize])
                .replace('\\', "\\\\")
                .replace('"', "\\\"");
            let style =
                if steps.code[index as usize].is_shared_access() { "bold" } else { "dotted" };
            let _ = writeln!(out, "    n{index} [label=\"{text}\", style={style}];");
            for next in crate::analysis::flow::successors(op, Pc(index)) {
                let _ = writeln!(out, "    n{index} -> n{};", next.0);
            }
        }
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    out
}

/// One instruction as text, with its orderings unless they are `seqcst`.
fn ordered(steps: &Steps, method: &MethodCode, instr: &Instr) -> String {
    let text = operation(steps, method, &instr.op);
    let Orders { access, failure } = instr.orders;
    match &instr.op {
        Op::Fence => format!("{text} {}", access.text()),
        Op::Cas { .. } if (access, failure) != Default::default() => {
            format!("{text} [{}, {}]", access.text(), failure.text())
        }
        op if op.place().is_some() && access != Ordering::SeqCst => {
            format!("{text} [{}]", access.text())
        }
        _ => text,
    }
}

/// One instruction as text.
pub fn operation(steps: &Steps, method: &MethodCode, op: &Op) -> String {
    let shown = Shown { steps, method };
    shown.op(op)
}

/// The variable of the source that a register stands for; `None` for one that only the machine
/// knows.
pub fn variable<'s>(steps: &'s Steps, method: &'s MethodCode, reg: Reg) -> Option<&'s str> {
    let slot = match (reg.0 as usize).checked_sub(steps.persistent.len()) {
        None => steps.persistent.get(reg.0 as usize),
        Some(own) => method.regs.get(own),
    };
    slot.map(|slot| &*slot.name).filter(|name| !name.starts_with('_'))
}

struct Shown<'a> {
    steps: &'a Steps,
    method: &'a MethodCode,
}

impl Shown<'_> {
    fn op(&self, op: &Op) -> String {
        match op {
            Op::Set { dst, value } => {
                format!("{} := {}", self.regs(*dst, value.len()), self.all(value))
            }
            Op::SetAt { base, dims, value, .. } => {
                format!("{}{} := {}", self.reg(*base), self.dims(dims), self.all(value))
            }
            Op::Load { dst, place } => {
                format!("{} := {}", self.regs(*dst, place.width as usize), self.place(place))
            }
            Op::Store { place, value } => format!("{} := {}", self.place(place), self.all(value)),
            Op::Cas { place, old, new, fail } => format!(
                "cas({}, {}, {}) else {}",
                self.place(place),
                self.all(old),
                self.all(new),
                self.at(*fail)
            ),
            Op::Swap { dst, place, value } => format!(
                "{} := swap({}, {})",
                self.regs(*dst, place.width as usize),
                self.place(place),
                self.all(value)
            ),
            Op::FetchAdd { dst, place, amount, .. } => format!(
                "{} := fetch_add({}, {})",
                self.reg(*dst),
                self.place(place),
                self.ex(amount)
            ),
            Op::StoreConditional { place, value, fail, .. } => {
                format!("sc({}, {}) else {}", self.place(place), self.all(value), self.at(*fail))
            }
            Op::Lock(place) => format!("lock {}", self.place(place)),
            Op::Unlock(place) => format!("unlock {}", self.place(place)),
            Op::Fence => "fence".to_string(),
            Op::Atomic => "atomic".to_string(),
            Op::New { dst, of, fields } => format!(
                "{} := new {} {}",
                self.reg(*dst),
                self.steps.structs[of.0 as usize].name,
                self.all(fields)
            ),
            _ => self.control(op),
        }
    }

    fn control(&self, op: &Op) -> String {
        match op {
            Op::Free(node) => format!("free {}", self.ex(node)),
            Op::Branch { cond, otherwise } => {
                format!("if {} else {}", self.ex(cond), self.at(*otherwise))
            }
            Op::Jump(to) => format!("goto {}", self.at(*to)),
            Op::Choose(targets) => {
                let targets: Vec<_> = targets.iter().map(|t| self.at(*t).to_string()).collect();
                format!("choose {}", targets.join(" or "))
            }
            Op::Any { dst, .. } => format!("{} := any", self.reg(*dst)),
            Op::Assume(cond) => format!("assume {}", self.ex(cond)),
            Op::Assert(cond) => format!("assert {}", self.ex(cond)),
            Op::Check { value, .. } => format!("check {}", self.ex(value)),
            Op::Lin { cond, help } => {
                let cond = cond.as_ref().map(|c| format!(" if {}", self.ex(c))).unwrap_or_default();
                let help = help.as_ref().map(|h| format!(" of {}", self.ex(h))).unwrap_or_default();
                format!("@lin{help}{cond}")
            }
            Op::Return(value) if value.is_empty() => "return".to_string(),
            Op::Return(value) => format!("return {}", self.all(value)),
            Op::Invoke { method, args, .. } => {
                format!("call {}{}", self.steps.methods[*method as usize].name, self.all(args))
            }
            _ => "end".to_string(),
        }
    }

    fn at(&self, pc: Pc) -> u32 {
        pc.0.saturating_sub(self.method.entry.0)
    }

    fn reg(&self, reg: Reg) -> String {
        let slot = match (reg.0 as usize).checked_sub(self.steps.persistent.len()) {
            None => self.steps.persistent.get(reg.0 as usize),
            Some(own) => self.method.regs.get(own),
        };
        match slot {
            Some(slot) if slot.name.starts_with('_') => format!("_{}", reg.0),
            Some(slot) => slot.name.clone(),
            None => format!("r{}", reg.0),
        }
    }

    fn regs(&self, first: Reg, count: usize) -> String {
        let names: Vec<_> = (0..count as u32).map(|i| self.reg(Reg(first.0 + i))).collect();
        if count == 1 { names.join("") } else { format!("({})", names.join(", ")) }
    }

    fn all(&self, values: &[Ex]) -> String {
        let values: Vec<_> = values.iter().map(|v| self.ex(v)).collect();
        if values.len() == 1 { values.join("") } else { format!("({})", values.join(", ")) }
    }

    fn dims(&self, dims: &[Dim]) -> String {
        dims.iter().map(|d| format!("[{}]", self.ex(&d.index))).collect()
    }

    fn place(&self, place: &Place) -> String {
        let (prefix, slots) = match &place.root {
            Root::Shared => (String::new(), &self.steps.shared),
            Root::Node(node, id) => {
                (format!("{}.", self.ex(node)), &self.steps.structs[id.0 as usize].slots)
            }
        };
        let name = slots.get(place.offset as usize).map_or("?", |s| s.name.as_str());
        let name = match name.strip_suffix(".0") {
            Some(whole) if place.width > 1 || !place.dims.is_empty() => whole,
            _ => name,
        };
        format!("{prefix}{name}{}", self.dims(&place.dims))
    }

    fn ex(&self, ex: &Ex) -> String {
        match ex {
            Ex::Const(NULL) => "null".to_string(),
            Ex::Const(MINUS_INF) => "-inf".to_string(),
            Ex::Const(PLUS_INF) => "+inf".to_string(),
            Ex::Const(n) => n.to_string(),
            Ex::Reg(reg) => self.reg(*reg),
            Ex::At { base, dims, .. } => format!("{}{}", self.reg(*base), self.dims(dims)),
            Ex::SelfTid => "self".to_string(),
            Ex::Not(inner) => match &**inner {
                Ex::Bin(BinOp::Eq, a, b) => format!("{} != {}", self.atom(a), self.atom(b)),
                Ex::Bin(BinOp::Lt, a, b) => format!("{} >= {}", self.atom(a), self.atom(b)),
                other => format!("!{}", self.atom(other)),
            },
            Ex::Neg(a) => format!("-{}", self.atom(a)),
            Ex::Bin(op, a, b) => format!("{} {} {}", self.atom(a), symbol(*op), self.atom(b)),
            Ex::If(c, a, b) => {
                format!("if {} {{ {} }} else {{ {} }}", self.ex(c), self.ex(a), self.ex(b))
            }
        }
    }

    fn atom(&self, ex: &Ex) -> String {
        match ex {
            Ex::Bin(..) | Ex::If(..) => format!("({})", self.ex(ex)),
            _ => self.ex(ex),
        }
    }
}

fn symbol(op: BinOp) -> &'static str {
    match op {
        BinOp::Add => "+",
        BinOp::Sub => "-",
        BinOp::Mul => "*",
        BinOp::Div => "/",
        BinOp::Rem => "%",
        BinOp::Eq => "==",
        BinOp::Lt => "<",
        BinOp::And => "&&",
        BinOp::Or => "||",
    }
}
