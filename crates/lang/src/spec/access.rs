//! Which parts of the state a method of a specification looks at and changes, read off its text.
//!
//! An access `m[p]` or `p in m`, where `m` is a map and `p` a parameter that the method never
//! assigns, touches the entry of the argument and nothing else. So does `m[x]` or `m[x.0]` where `x`
//! goes through a list that is such a parameter, or one of two: it touches the entries of what the
//! lists hold. And `m[k]` where `k` goes through a range `m[a..b]` whose ends are such: it touches
//! the entries of the range, which are those of the keys in it that anything else names.
//! A function that touches entries of its arguments touches those of what is passed on to it.
//! Every other mention of a variable touches all of it. A method that mentions variables in these
//! ways only acts on the entries of its arguments: what it does and returns is the same whatever the
//! other entries are.

use crate::front::ast::*;
use crate::front::program::{FunctionInfo, LocalId, Meaning, SpecInfo, VarId};
use crate::front::types::Type;
use crate::front::walk;
use crate::spec::Datum;
use crate::spec::code::{bottom, field_place};

/// What a method touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// These entries of maps; and perhaps the variables that were set aside.
    Entries(Vec<Entry>),
    /// Perhaps everything.
    Everything,
}

/// Entries of maps that arguments name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry {
    /// That of an argument, by its place.
    Of(usize),
    /// Those of all elements of an argument, or of one part of each.
    OfEach(usize, Option<usize>),
    /// Those between two parts of each element of an argument.
    Between(usize, usize, usize),
}

impl Entry {
    /// The keys of the entries that some arguments name. A range names none by itself.
    pub fn keys<'a>(&self, args: &'a [Datum]) -> Vec<&'a Datum> {
        match *self {
            Entry::Between(..) => Vec::new(),
            Entry::Of(argument) => vec![&args[argument]],
            Entry::OfEach(argument, part) => {
                let part_of = |element: &'a Datum| match (part, element) {
                    (Some(part), Datum::Tuple(parts)) => parts.get(part),
                    _ => Some(element),
                };
                args[argument].elements().filter_map(part_of).collect()
            }
        }
    }

    /// The ranges of entries, with some arguments: from the first key on, before the second.
    pub fn ranges<'a>(&self, args: &'a [Datum]) -> Vec<(&'a Datum, &'a Datum)> {
        let Entry::Between(argument, low, high) = *self else { return Vec::new() };
        let ends = |element: &'a Datum| match element {
            Datum::Tuple(parts) => Some((parts.get(low)?, parts.get(high)?)),
            _ => None,
        };
        let all = args[argument].elements().filter_map(ends);
        all.filter(|(_, high)| **high != Datum::Null).collect()
    }
}

/// What a method touches, some variables set aside.
pub fn access(spec: &SpecInfo, method: &FunctionInfo, aside: &[VarId]) -> Access {
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
        ExprKind::Field(of, _)
        | ExprKind::Part(of, _)
        | ExprKind::Index(of, _)
        | ExprKind::Slice(of, ..) => root(spec, of),
        _ => None,
    }
}

struct Scan<'s> {
    spec: &'s SpecInfo,
    method: &'s FunctionInfo,
    aside: &'s [VarId],
    entries: Vec<Entry>,
    is_wide: bool,
}

impl Scan<'_> {
    fn expression(&mut self, expr: &Expr) {
        if let ExprKind::Index(of, index) | ExprKind::Binary(BinaryOp::In, index, of) = &expr.kind
            && let Some(entries) = self.entries(of, index)
        {
            self.entries.extend(entries);
            return;
        }
        if let ExprKind::Slice(of, Some(low), Some(high)) = &expr.kind
            && let Some(entries) = self.range(of, low, high)
        {
            self.entries.extend(entries);
            return;
        }
        match self.spec.facts.meaning(expr.id) {
            Some(Meaning::Shared(var)) => self.is_wide |= !self.aside.contains(&var),
            Some(Meaning::Function(index)) => match self.called(expr, index as usize) {
                Some(entries) => self.entries.extend(entries),
                None => self.is_wide = true,
            },
            _ => {}
        }
        walk::children(expr, &mut |part| self.expression(part));
    }

    /// The entries that a function touches, if they are those of arguments that the method passes on.
    fn called(&self, call: &Expr, index: usize) -> Option<Vec<Entry>> {
        let ExprKind::Call(_, args) = &call.kind else { return None };
        let Access::Entries(inner) = access(self.spec, &self.spec.functions[index], self.aside)
        else {
            return None;
        };
        let passed = |entry: Entry| match entry {
            Entry::Of(place) => Some(Entry::Of(self.parameter(self.fixed(args.get(place)?)?)?)),
            Entry::OfEach(..) | Entry::Between(..) => None,
        };
        inner.into_iter().map(passed).collect()
    }

    /// Whether an expression is a map of the state.
    fn is_map(&self, of: &Expr) -> bool {
        matches!(self.spec.facts.meaning(of.id), Some(Meaning::Shared(_)))
            && matches!(self.spec.facts.type_of(of), Type::Map(..))
            && matches!(of.kind, ExprKind::Name(_))
    }

    /// The entries of a range of a map, if its ends are parts of what goes through arguments.
    fn range(&self, of: &Expr, low: &Expr, high: &Expr) -> Option<Vec<Entry>> {
        let end = |end: &Expr| match &end.kind {
            ExprKind::Part(name, part) => Some((self.fixed(name)?, *part as usize)),
            ExprKind::Field(name, field) => {
                Some((self.fixed(name)?, field_place(self.spec, name, field)?))
            }
            _ => None,
        };
        let ((local, low), (other, high)) = (end(low)?, end(high)?);
        (self.is_map(of) && local == other).then_some(())?;
        let lists = self.lists_of(local)?.into_iter();
        Some(lists.map(|list| Entry::Between(list, low, high)).collect())
    }

    /// The entries of a range that a variable goes through.
    fn ranged(&self, local: LocalId) -> Option<Vec<Entry>> {
        let mut found = None;
        walk::statements(&self.method.body, &mut |statement| {
            if let StmtKind::For(binding, over, _) = &statement.kind
                && self.spec.facts.meaning(binding.id) == Some(Meaning::Local(local))
                && let ExprKind::Slice(of, Some(low), Some(high)) = &over.kind
            {
                found = self.range(of, low, high);
            }
        });
        found
    }

    /// The entries of a map of which this is one, if arguments name them.
    fn entries(&self, of: &Expr, index: &Expr) -> Option<Vec<Entry>> {
        if !self.is_map(of) {
            return None;
        }
        let (name, part) = match &index.kind {
            ExprKind::Part(name, part) => (&**name, Some(*part as usize)),
            ExprKind::Field(name, field) => (&**name, Some(field_place(self.spec, name, field)?)),
            _ => (index, None),
        };
        let local = self.fixed(name)?;
        match (self.parameter(local), part) {
            (Some(parameter), None) => Some(vec![Entry::Of(parameter)]),
            (Some(_), Some(_)) => None,
            (None, part) => match (self.lists_of(local), part) {
                (Some(lists), part) => {
                    Some(lists.into_iter().map(|list| Entry::OfEach(list, part)).collect())
                }
                (None, None) => self.ranged(local),
                (None, Some(_)) => None,
            },
        }
    }

    /// The local variable that a name is, if the method never assigns it.
    fn fixed(&self, name: &Expr) -> Option<LocalId> {
        let Some(Meaning::Local(local)) = self.spec.facts.meaning(name.id) else { return None };
        let is_name = matches!(name.kind, ExprKind::Name(_));
        (is_name && !self.is_assigned(local)).then_some(local)
    }

    fn parameter(&self, local: LocalId) -> Option<usize> {
        self.method.params.iter().position(|param| param.local == local)
    }

    /// The parameters through whose elements a variable goes.
    fn lists_of(&self, local: LocalId) -> Option<Vec<usize>> {
        let mut lists = None;
        walk::statements(&self.method.body, &mut |statement| {
            if let StmtKind::For(binding, of, _) = &statement.kind
                && self.spec.facts.meaning(binding.id) == Some(Meaning::Local(local))
            {
                lists = self.parameters(of);
            }
        });
        lists
    }

    /// The parameters of which an expression is one: a parameter, one or the other, or a variable
    /// that is bound to such an expression.
    fn parameters(&self, list: &Expr) -> Option<Vec<usize>> {
        if let ExprKind::If(_, then, otherwise) = &list.kind {
            return Some([self.parameters(then)?, self.parameters(otherwise)?].concat());
        }
        let local = self.fixed(list)?;
        if let Some(parameter) = self.parameter(local) {
            return Some(vec![parameter]);
        }
        let mut found = None;
        walk::statements(&self.method.body, &mut |statement| {
            if let StmtKind::Let(Pattern::Bind(binding), _, value) = &statement.kind
                && self.spec.facts.meaning(binding.id) == Some(Meaning::Local(local))
            {
                found = self.parameters(value);
            }
        });
        found
    }

    fn is_assigned(&self, local: LocalId) -> bool {
        let mut is_assigned = false;
        walk::statements(&self.method.body, &mut |statement| {
            if let StmtKind::Assign(targets, _) = &statement.kind {
                let names = targets.iter().flatten().filter_map(|place| bottom(place));
                let mut meanings = names.map(|name| self.spec.facts.meaning(name.id));
                is_assigned |= meanings.any(|meaning| meaning == Some(Meaning::Local(local)));
            }
        });
        is_assigned
    }
}
