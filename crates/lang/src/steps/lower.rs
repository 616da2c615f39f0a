//! Checked program to steps: expressions are flattened so that each instruction makes at most one
//! shared access, from left to right; helper functions are expanded in place; composite values
//! become scalar slots.

mod clients;
mod expressions;
mod places;
mod statements;

use crate::analysis::fused::mark_fused;
use crate::analysis::pauses::mark_pauses;
use crate::front::ast::Expr;
use crate::front::diagnostic::Diagnostic;
use crate::front::program::*;
use crate::front::span::Span;
use crate::front::types::{Fit, Kind, Length, Scalar, StructId, Type};
use crate::steps::*;
use std::collections::HashMap;

type Lowered<T> = Result<T, Diagnostic>;

/// The largest code of a program.
const MAX_CODE: usize = 20_000;
/// The largest number of threads.
pub const MAX_THREADS: u32 = 16;

/// Lowers a program for so many threads under a client (the most general one if `None`).
pub fn lower(program: &Program, threads: u32, client: Option<&str>) -> Result<Steps, Diagnostic> {
    if !(1..=MAX_THREADS).contains(&threads) {
        let message = format!("the number of threads must be 1 to {MAX_THREADS}");
        return Err(Diagnostic::new(Span::default(), message));
    }
    Lower::new(program, threads).steps(client)
}

/// Lowers a program as [`lower`] does, for an engine that follows linearization points: descriptors
/// of `@lin(help d)` know the thread whose operation made them.
pub fn lower_points(
    program: &Program,
    threads: u32,
    client: Option<&str>,
) -> Result<Steps, Diagnostic> {
    let mut lower = Lower::new(program, threads);
    lower.owners = Some(owners(program, threads));
    lower.steps(client)
}

/// For each struct that describes operations the slot after its last one.
fn owners(program: &Program, threads: u32) -> Vec<Option<u32>> {
    let facts = &program.facts;
    let mut owners = vec![None; facts.structs.len()];
    for function in program.methods.iter().chain(&program.functions) {
        crate::front::walk::statements(&function.body, &mut |statement| {
            for help in statement.lin.iter().filter_map(|lin| lin.help.as_ref()) {
                if let Type::Ref(id) = facts.type_of(help).required() {
                    let fields = &facts.structure(*id).fields;
                    owners[id.0 as usize] =
                        Some(fields.iter().map(|f| f.ty.width(threads)).sum::<u32>());
                }
            }
        });
    }
    owners
}

#[derive(Clone, Copy)]
struct Label(u32);

struct LoopLabels {
    name: Option<String>,
    again: Label,
    exit: Label,
}

/// Where the body of an expanded helper function delivers its result.
struct Inline {
    dst: Reg,
    ty: Type,
    exit: Label,
}

struct Lower<'p> {
    program: &'p Program,
    facts: &'p Facts,
    threads: u32,
    code: Vec<Instr>,
    labels: Vec<Option<Pc>>,
    persistent: Vec<Slot>,
    regs: Vec<Slot>,
    locals: HashMap<LocalId, Reg>,
    thread_vars: Vec<Reg>,
    shared_offsets: Vec<u32>,
    loops: Vec<LoopLabels>,
    inline: Vec<Inline>,
    result: Type,
    atomic: u32,
    /// Annotations of the statement whose step comes next.
    lin: Vec<crate::front::ast::Lin>,
    links: Vec<Link>,
    /// Whether registers are allocated among the client's persistent ones.
    in_client: bool,
    span: Span,
    scattered_arrays: bool,
    owners: Option<Vec<Option<u32>>>,
    in_method: bool,
    ranks_threads: bool,
    /// How nodes are given back, if they are: recycled or freed.
    recycles: Option<bool>,
    /// The helper functions under expansion, outermost first.
    expanded: Vec<u32>,
}

impl<'p> Lower<'p> {
    fn new(program: &'p Program, threads: u32) -> Self {
        Lower {
            program,
            facts: &program.facts,
            threads,
            code: vec![],
            labels: vec![],
            persistent: vec![],
            regs: vec![],
            locals: HashMap::new(),
            thread_vars: vec![],
            shared_offsets: vec![],
            loops: vec![],
            inline: vec![],
            result: Type::Unit,
            atomic: 0,
            lin: vec![],
            links: vec![],
            in_client: false,
            span: Span::default(),
            scattered_arrays: program
                .facts
                .structs
                .iter()
                .any(|s| s.fields.iter().any(|f| f.ty.has_thread_array())),
            owners: None,
            in_method: false,
            ranks_threads: false,
            recycles: None,
            expanded: vec![],
        }
    }

    fn steps(mut self, client: Option<&str>) -> Lowered<Steps> {
        let program = self.program;
        let mut shared = Vec::new();
        let mut thread_arrays = Vec::new();
        for var in &program.shared {
            let first = shared.len() as u32;
            self.shared_offsets.push(first);
            match &var.ty {
                Type::Array(element, Length::Threads) if !element.has_thread_array() => {
                    thread_arrays.push(ThreadArray { first, stride: element.width(self.threads) });
                }
                ty => self.scattered_arrays |= ty.has_thread_array(),
            }
            shared.extend(self.shared_slots(&var.name, &var.ty, var.plain));
        }
        for var in &program.thread_vars {
            self.scattered_arrays |= var.ty.has_thread_array();
            self.thread_vars.push(Reg(self.persistent.len() as u32));
            let slots = self.named_slots(&var.name, &var.ty);
            self.persistent.extend(slots);
        }
        self.find_links();
        let object_registers = self.persistent.len() as u32;
        let threads = self.clients(client)?;
        let init = self.init_shared()?;
        let thread_init = self.init_thread()?;
        self.reject_choices(init)?;
        let init_regs = std::mem::take(&mut self.regs);
        let mut methods = Vec::new();
        self.in_method = true;
        for method in &program.methods {
            methods.push(self.method(method)?);
        }
        let structs = self.layouts();
        self.resolve_labels();
        let mut steps = Steps {
            name: program.name.clone(),
            recycles: self.recycles == Some(true),
            frees: self.code.iter().any(|i| matches!(i.op, Op::Free(_))),
            uses_tids: false,
            ranks_threads: self.ranks_threads,
            thread_arrays,
            scattered_arrays: self.scattered_arrays,
            owners: self.owners,
            code: self.code,
            shared,
            structs,
            persistent: self.persistent,
            object_registers,
            methods,
            threads,
            init,
            thread_init,
            init_regs,
            links: self.links,
        };
        steps.uses_tids = uses_tids(&steps);
        mark_pauses(&mut steps);
        mark_fused(&mut steps);
        Ok(steps)
    }

    fn layouts(&self) -> Vec<StructLayout> {
        let layout = |(id, info): (usize, &StructInfo)| {
            let slots = info.fields.iter().flat_map(|f| self.shared_slots(&f.name, &f.ty, f.plain));
            let owner = self.owner_slot(StructId(id as u32)).map(|_| Slot {
                kind: Kind { scalar: Scalar::Tid, nullable: true },
                name: "owner".to_string(),
                plain: false,
                joined: false,
            });
            StructLayout { name: info.name.clone(), slots: slots.chain(owner).collect() }
        };
        self.facts.structs.iter().enumerate().map(layout).collect()
    }

    /// The hidden slot of a struct for the thread whose operation made the node.
    fn owner_slot(&self, id: StructId) -> Option<u32> {
        self.owners.as_ref().and_then(|owners| owners[id.0 as usize])
    }

    fn method(&mut self, info: &FunctionInfo) -> Lowered<MethodCode> {
        self.regs.clear();
        self.locals.clear();
        self.result = info.result.clone();
        let first_param = Reg(self.persistent.len() as u32);
        let mut params = Vec::new();
        for param in &info.params {
            let reg = self.registers(&param.name, &param.ty);
            self.locals.insert(param.local, reg);
            params.extend(self.kinds(&param.ty));
        }
        let entry = self.here();
        self.block(&info.body)?;
        self.return_from(vec![])?;
        let end = self.here();
        let regs = std::mem::take(&mut self.regs);
        let name = info.name.clone();
        let result = self.kinds(&info.result);
        Ok(MethodCode { name, entry, end, first_param, params, result, regs })
    }

    fn init_shared(&mut self) -> Lowered<Pc> {
        let entry = self.here();
        self.atomic += 1;
        for (index, var) in self.program.shared.iter().enumerate() {
            let value = self.initial(var)?;
            let place = Place {
                root: Root::Shared,
                offset: self.shared_offsets[index],
                dims: vec![],
                width: value.len() as u32,
            };
            self.emit(Op::Store { place, value })?;
        }
        self.block(&self.program.file.init)?;
        self.emit(Op::Return(vec![]))?;
        self.atomic -= 1;
        Ok(entry)
    }

    fn init_thread(&mut self) -> Lowered<Pc> {
        let entry = self.here();
        self.atomic += 1;
        for (index, var) in self.program.thread_vars.iter().enumerate() {
            let value = self.initial(var)?;
            let dst = self.thread_vars[index];
            self.emit(Op::Set { dst, value })?;
        }
        self.emit(Op::Return(vec![]))?;
        self.atomic -= 1;
        Ok(entry)
    }

    /// There is one initial state: engines run the initialisation once, so that a choice in it
    /// would go unexplored.
    fn reject_choices(&self, init: Pc) -> Lowered<()> {
        let choice = |i: &&Instr| matches!(i.op, Op::Any { .. } | Op::Choose(_));
        match self.code[init.0 as usize..].iter().find(choice) {
            Some(instr) => Err(Diagnostic::new(instr.span, "the initial state cannot be chosen")
                .hint("`any` and `choose` stand in methods, clients and specifications")),
            None => Ok(()),
        }
    }

    fn initial(&mut self, var: &VarInfo) -> Lowered<Vec<Ex>> {
        match &var.init {
            Some(init) => self.coerced(init, &var.ty),
            None => Ok(vec![Ex::Const(0); var.ty.width(self.threads) as usize]),
        }
    }

    fn find_links(&mut self) {
        let mut linked: Vec<VarId> = Vec::new();
        let bodies = self.program.methods.iter().chain(&self.program.functions).map(|f| &f.body);
        for body in bodies {
            crate::front::walk::expressions(body, &mut |e| {
                let Some(Meaning::Builtin(Builtin::LoadLinked | Builtin::StoreConditional)) =
                    self.facts.meaning(e.id)
                else {
                    return;
                };
                let crate::front::ast::ExprKind::Call(_, args) = &e.kind else { return };
                if let Some(Meaning::Shared(var)) = self.facts.meaning(args[0].id)
                    && !linked.contains(&var)
                {
                    linked.push(var);
                }
            });
        }
        for var in linked {
            let info = &self.program.shared[var.0 as usize];
            let reg = Reg(self.persistent.len() as u32);
            let kind = Kind { scalar: Scalar::Bool, nullable: false };
            let name = format!("{}.linked", info.name);
            self.persistent.push(Slot { kind, name, plain: false, joined: false });
            let first = self.shared_offsets[var.0 as usize];
            let width = info.ty.width(self.threads);
            self.links.push(Link { var, first, width, reg });
        }
    }

    fn kinds(&self, ty: &Type) -> Vec<Kind> {
        ty.slots(self.threads, &|id| self.facts.variants(id))
    }

    fn named_slots(&self, name: &str, ty: &Type) -> Vec<Slot> {
        let kinds = self.kinds(ty);
        let single = kinds.len() == 1;
        // An element of an array of records is called `ring[0].turn`.
        let element = match ty {
            Type::Array(element, _) if name.contains("[]") => Some(element.width(self.threads)),
            _ => None,
        };
        let slot = |(i, kind)| {
            let name = match element {
                Some(1) => name.replacen("[]", &format!("[{i}]"), 1),
                _ if single => name.to_string(),
                _ => format!("{name}.{i}"),
            };
            Slot { kind, name, plain: false, joined: false }
        };
        kinds.into_iter().enumerate().map(slot).collect()
    }

    /// The slots of a shared variable or of a field.
    fn shared_slots(&self, name: &str, ty: &Type, plain: bool) -> Vec<Slot> {
        let mut slots = self.named_slots(name, ty);
        let joined = ty.joined(self.threads);
        for (slot, joined) in slots.iter_mut().zip(joined) {
            (slot.plain, slot.joined) = (plain, joined);
        }
        slots
    }

    /// New registers for a variable or an intermediate value.
    fn registers(&mut self, name: &str, ty: &Type) -> Reg {
        self.scattered_arrays |= ty.has_thread_array();
        let slots = self.named_slots(name, ty);
        if self.in_client {
            let reg = Reg(self.persistent.len() as u32);
            self.persistent.extend(slots);
            return reg;
        }
        let reg = Reg((self.persistent.len() + self.regs.len()) as u32);
        self.regs.extend(slots);
        reg
    }

    fn here(&self) -> Pc {
        Pc(self.code.len() as u32)
    }

    fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() as u32 - 1)
    }

    fn place_label(&mut self, label: Label) {
        self.labels[label.0 as usize] = Some(self.here());
    }

    fn jump(&mut self, to: Label) -> Lowered<()> {
        self.emit(Op::Jump(Pc(to.0)))
    }

    fn emit(&mut self, op: Op) -> Lowered<()> {
        self.emit_ordered(op, Orders::default())
    }

    fn emit_ordered(&mut self, op: Op, orders: Orders) -> Lowered<()> {
        if self.code.len() >= MAX_CODE {
            return Err(Diagnostic::new(self.span, "the program is too large once expanded")
                .hint("helper functions are expanded at every call"));
        }
        let (span, inside_atomic) = (self.span, self.atomic > 0);
        self.code.push(Instr { op, span, orders, inside_atomic, fused: false, pauses: false });
        Ok(())
    }

    /// Until now jumps named labels; from now on they name positions.
    fn resolve_labels(&mut self) {
        let labels = &self.labels;
        let fix = |pc: &mut Pc| *pc = labels[pc.0 as usize].unwrap_or(*pc);
        for instr in &mut self.code {
            match &mut instr.op {
                Op::Cas { fail, .. } | Op::StoreConditional { fail, .. } => fix(fail),
                Op::Branch { otherwise, .. } => fix(otherwise),
                Op::Jump(to) => fix(to),
                Op::Choose(targets) => targets.iter_mut().for_each(fix),
                _ => {}
            }
        }
    }

    /// Emits the checks that a value of one type needs to stand for another.
    fn coerce(&mut self, value: Vec<Ex>, from: &Type, to: &Type) -> Lowered<Vec<Ex>> {
        if from.fits(to) == Fit::Checked {
            let (from, to) = (self.kinds(from), self.kinds(to));
            for ((value, from), to) in value.iter().zip(from).zip(to) {
                if from != to && !matches!(value, Ex::Const(c) if fits(*c, to)) {
                    self.emit(Op::Check { value: value.clone(), kind: to })?;
                }
            }
        }
        Ok(value)
    }

    /// The value of an expression where a type is wanted.
    fn coerced(&mut self, expr: &Expr, wanted: &Type) -> Lowered<Vec<Ex>> {
        let value = self.value(expr)?;
        let found = self.facts.type_of(expr);
        self.span = expr.span;
        self.coerce(value, found, wanted)
    }

    fn field_slot(&self, id: StructId, name: &str) -> (u32, Type) {
        let mut offset = 0;
        for field in &self.facts.structure(id).fields {
            if field.name == name {
                return (offset, field.ty.clone());
            }
            offset += field.ty.width(self.threads);
        }
        (0, Type::Never)
    }
}

/// Whether a scalar is one that a slot of this kind may hold, as far as bounds and null go.
pub(crate) fn fits(value: i32, kind: Kind) -> bool {
    if value == NULL {
        return kind.nullable;
    }
    match kind.scalar {
        Scalar::Int(range) => range.contains(value),
        _ => true,
    }
}

fn uses_tids(steps: &Steps) -> bool {
    let slots = (steps.shared.iter().chain(&steps.persistent))
        .chain(steps.structs.iter().flat_map(|s| &s.slots))
        .chain(steps.methods.iter().flat_map(|m| &m.regs));
    slots.into_iter().any(|s| s.kind.scalar == Scalar::Tid)
        || steps.code.iter().any(|i| crate::analysis::flow::reads_own_number(&i.op))
}
