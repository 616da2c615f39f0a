//! Which parts of the state a method of a specification looks at and changes, read off its text.
//!
//! An access `m[p]` or `p in m`, where `m` is a map and `p` a parameter that the method never
//! assigns, touches the entry of the argument and nothing else. Every other mention of a variable
//! touches all of it. A method that mentions variables in the first way only acts on the entries of
//! its arguments: what it does and returns is the same whatever the other entries are.

use crate::front::ast::*;
use crate::front::program::{FunctionInfo, LocalId, Meaning, SpecInfo, VarId};
use crate::front::types::Type;
use crate::front::walk;

/// What a method touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// The entries of these arguments, in maps; and perhaps the variable that was set aside.
    Entries(Vec<usize>),
    /// Perhaps everything.
    Everything,
}

/// What a method touches, one variable set aside.
pub fn access(spec: &SpecInfo, method: &FunctionInfo, aside: Option<VarId>) -> Access {
    let mut scan = Scan { spec, method, aside, entries: Vec::new(), is_wide: false };
    walk::statements(&method.body, &mut |statement| {
        walk::own_expressions(statement, &mut |e| scan.expression(e));
    });
    match scan.is_wide {
        true => Access::Everything,
        false => {
            scan.entries.sort_unstable();
            scan.entries.dedup();
            Access::Entries(scan.entries)
        }
    }
}

/// Whether a function or what it calls mentions a variable of the state.
pub fn mentions_state(spec: &SpecInfo, function: &FunctionInfo) -> bool {
    let mut mentions = false;
    walk::expressions(&function.body, &mut |expr| {
        mentions |= match spec.facts.meaning(expr.id) {
            Some(Meaning::Shared(_)) => true,
            Some(Meaning::Function(index)) => mentions_state(spec, &spec.functions[index as usize]),
            _ => false,
        };
    });
    mentions
}

/// The variable of the state that a place belongs to, if it does.
pub fn root(spec: &SpecInfo, place: &Expr) -> Option<VarId> {
    match &place.kind {
        ExprKind::Name(_) => match spec.facts.meaning(place.id) {
            Some(Meaning::Shared(var)) => Some(var),
            _ => None,
        },
        ExprKind::Part(of, _) | ExprKind::Index(of, _) | ExprKind::Slice(of, ..) => root(spec, of),
        _ => None,
    }
}

struct Scan<'s> {
    spec: &'s SpecInfo,
    method: &'s FunctionInfo,
    aside: Option<VarId>,
    entries: Vec<usize>,
    is_wide: bool,
}

impl Scan<'_> {
    fn expression(&mut self, expr: &Expr) {
        if let ExprKind::Index(of, index) | ExprKind::Binary(BinaryOp::In, index, of) = &expr.kind
            && let Some(parameter) = self.entry(of, index)
        {
            self.entries.push(parameter);
            return;
        }
        match self.spec.facts.meaning(expr.id) {
            Some(Meaning::Shared(var)) => self.is_wide |= Some(var) != self.aside,
            Some(Meaning::Function(index)) => {
                self.is_wide |= mentions_state(self.spec, &self.spec.functions[index as usize]);
            }
            _ => {}
        }
        walk::children(expr, &mut |part| self.expression(part));
    }

    /// The parameter whose entry of a map this is.
    fn entry(&self, of: &Expr, index: &Expr) -> Option<usize> {
        let Some(Meaning::Shared(_)) = self.spec.facts.meaning(of.id) else { return None };
        let Some(Meaning::Local(local)) = self.spec.facts.meaning(index.id) else { return None };
        let is_name = matches!((&of.kind, &index.kind), (ExprKind::Name(_), ExprKind::Name(_)));
        let is_map = matches!(self.spec.facts.type_of(of), Type::Map(..));
        if !is_name || !is_map || self.is_assigned(local) {
            return None;
        }
        self.method.params.iter().position(|param| param.local == local)
    }

    fn is_assigned(&self, local: LocalId) -> bool {
        let mut is_assigned = false;
        walk::statements(&self.method.body, &mut |statement| {
            if let StmtKind::Assign(targets, _) = &statement.kind {
                let names = targets.iter().flatten().filter_map(|place| base(place));
                let mut meanings = names.map(|name| self.spec.facts.meaning(name.id));
                is_assigned |= meanings.any(|meaning| meaning == Some(Meaning::Local(local)));
            }
        });
        is_assigned
    }
}

/// The name at the bottom of a place.
fn base(place: &Expr) -> Option<&Expr> {
    match &place.kind {
        ExprKind::Name(_) => Some(place),
        ExprKind::Part(of, _) | ExprKind::Index(of, _) | ExprKind::Slice(of, ..) => base(of),
        _ => None,
    }
}
