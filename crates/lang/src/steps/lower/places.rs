//! Places: where a name, a field, an element or a part lies.

use super::{Lower, Lowered};
use crate::front::ast::*;
use crate::front::diagnostic::Diagnostic;
use crate::front::program::*;
use crate::front::types::{Length, Type};
use crate::steps::*;

/// Where an expression that can be assigned to lies.
pub(super) enum Spot {
    /// In registers of the thread.
    Registers(RegisterSpot),
    /// In shared state.
    Shared(Place),
}

/// A variable, an element or a part in registers.
pub(super) struct RegisterSpot {
    pub base: Reg,
    pub first: Reg,
    pub span: u32,
    pub dims: Vec<Dim>,
    pub width: u32,
}

impl RegisterSpot {
    /// The expressions that read it.
    pub fn read(&self) -> Vec<Ex> {
        let slot = |i| {
            let base = Reg(self.base.0 + i);
            if self.dims.is_empty() {
                return Ex::Reg(base);
            }
            let (first, span, dims) = (self.first, self.span, self.dims.clone());
            Ex::At { base, first, span, dims }
        };
        (0..self.width).map(slot).collect()
    }
}

impl Lower<'_> {
    /// Where the expression lies, or `None` if it is not a place. Emits the reads that lead there.
    pub(super) fn spot(&mut self, expr: &Expr) -> Lowered<Option<Spot>> {
        let ty = self.facts.type_of(expr).clone();
        let width = ty.width(self.threads);
        match &expr.kind {
            ExprKind::Name(_) => Ok(self.name_spot(expr, width)),
            ExprKind::Field(of, field) => {
                let Type::Ref(id) = self.facts.type_of(of).required().clone() else {
                    return Ok(None);
                };
                let node = self.value(of)?.pop().unwrap_or(Ex::Const(NULL));
                let (offset, _) = self.field_slot(id, &field.text);
                let root = Root::Node(node, id);
                Ok(Some(Spot::Shared(Place { root, offset, dims: vec![], width })))
            }
            ExprKind::Part(of, part) => {
                let Type::Tuple(parts) = self.facts.type_of(of).clone() else { return Ok(None) };
                let skip = parts[..*part as usize].iter().map(|p| p.width(self.threads)).sum();
                Ok(self.spot(of)?.map(|spot| moved(spot, skip, width)))
            }
            ExprKind::Index(of, index) => self.index_spot(of, index, width),
            _ => Ok(None),
        }
    }

    fn name_spot(&self, expr: &Expr, width: u32) -> Option<Spot> {
        let registers = |base: Reg| {
            Spot::Registers(RegisterSpot { base, first: base, span: width, dims: vec![], width })
        };
        match self.facts.meaning(expr.id)? {
            Meaning::Local(local) => self.locals.get(&local).map(|reg| registers(*reg)),
            Meaning::Thread(var) => Some(registers(self.thread_vars[var.0 as usize])),
            Meaning::Shared(var) => {
                let offset = self.shared_offsets[var.0 as usize];
                Some(Spot::Shared(Place { root: Root::Shared, offset, dims: vec![], width }))
            }
            _ => None,
        }
    }

    fn index_spot(&mut self, of: &Expr, index: &Expr, width: u32) -> Lowered<Option<Spot>> {
        let Type::Array(_, length) = self.facts.type_of(of).clone() else { return Ok(None) };
        let Some(spot) = self.spot(of)? else { return Ok(None) };
        let index_ex = self.value(index)?.pop().unwrap_or(Ex::Const(0));
        let len = length.count(self.threads);
        // The only constant that can stand for a thread is `null`, which is an error of the run
        // that meets it.
        if let (Ex::Const(i), Length::Fixed(_)) = (&index_ex, length) {
            if !(0..len as i32).contains(i) {
                let message = format!("the array has {len} elements, numbered from 0");
                return Err(Diagnostic::new(index.span, message));
            }
            return Ok(Some(moved(spot, *i as u32 * width, width)));
        }
        let dim = Dim { index: index_ex, stride: width, len };
        Ok(Some(match spot {
            Spot::Registers(mut r) => {
                r.dims.push(dim);
                r.width = width;
                Spot::Registers(r)
            }
            Spot::Shared(mut place) => {
                place.dims.push(dim);
                place.width = width;
                Spot::Shared(place)
            }
        }))
    }

    /// The place of the lock that `lock(expr)` means.
    pub(super) fn lock_place(&mut self, expr: &Expr) -> Lowered<Place> {
        if let Type::Ref(id) = self.facts.type_of(expr).required().clone() {
            let node = self.value(expr)?.pop().unwrap_or(Ex::Const(NULL));
            let fields = &self.facts.structure(id).fields;
            let name = fields.iter().find(|f| f.ty == Type::Lock).map(|f| f.name.clone());
            let (offset, _) = self.field_slot(id, &name.unwrap_or_default());
            return Ok(Place { root: Root::Node(node, id), offset, dims: vec![], width: 1 });
        }
        self.shared_spot(expr)
    }

    /// The place of an expression that the checker found to be shared.
    pub(super) fn shared_spot(&mut self, expr: &Expr) -> Lowered<Place> {
        match self.spot(expr)? {
            Some(Spot::Shared(place)) => Ok(place),
            _ => Err(Diagnostic::new(expr.span, "this is not shared")),
        }
    }
}

fn moved(spot: Spot, skip: u32, width: u32) -> Spot {
    match spot {
        Spot::Registers(mut r) => {
            r.base = Reg(r.base.0 + skip);
            r.width = width;
            Spot::Registers(r)
        }
        Spot::Shared(mut place) => {
            place.offset += skip;
            place.width = width;
            Spot::Shared(place)
        }
    }
}
