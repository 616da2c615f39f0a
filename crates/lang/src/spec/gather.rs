//! Methods that list the entries of a map in a range, read off their text.
//!
//! Such a method goes through `m[low..high]`, adds for each key something that begins with the key
//! and follows from the key's own entries alone, and returns the list:
//!
//! ```text
//! let found: seq<(key, value)> = []
//! for k in m[low..high] { found = found ++ [(k, m[k])] }
//! return (found, rev)
//! ```
//!
//! What it lists of one key is what it would list of the range of that key alone. So a result says
//! the same as one result for each key: a read of many keys is as good as many reads of one key.

use super::access::root;
use crate::front::ast::*;
use crate::front::program::{FunctionInfo, LocalId, Meaning, SpecInfo, VarId};
use crate::front::types::Type;
use crate::front::walk;
use crate::spec::Datum;
use crate::spec::code::written_parts;

/// A method that lists entries: the parameters that are the ends of the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gather {
    low: usize,
    high: usize,
}

impl Gather {
    /// The key whose entries are listed, if the range has room for one only.
    pub fn only<'a>(&self, args: &'a [Datum]) -> Option<&'a Datum> {
        match (&args[self.low], &args[self.high]) {
            (low, high) if next(low).as_ref() == Some(high) => Some(low),
            _ => None,
        }
    }

    /// A call and its result as one for each key, of those that any operation names; `None` if the
    /// list is not one that the method can return.
    pub fn split(
        &self,
        args: &[Datum],
        result: &Datum,
        keys: &[Datum],
    ) -> Option<Vec<(Vec<Datum>, Datum)>> {
        let Datum::Tuple(parts) = result else { return None };
        let found @ (Datum::List(_) | Datum::LongList(_)) = parts.first()? else { return None };
        let mut found = found.elements().peekable();
        let mut pieces = Vec::new();
        for key in keys.iter().filter(|key| (&args[self.low]..&args[self.high]).contains(key)) {
            let listed = found.next_if(|item| item.elements().next() == Some(key));
            let mut narrow = args.to_vec();
            (narrow[self.low], narrow[self.high]) = (key.clone(), next(key)?);
            let mut answer = parts.to_vec();
            answer[0] = Datum::list(listed.into_iter().cloned().collect());
            pieces.push((narrow, Datum::Tuple(answer.into())));
        }
        found.peek().is_none().then_some(pieces)
    }
}

/// The key after a key.
fn next(key: &Datum) -> Option<Datum> {
    match key {
        Datum::Key(key) => key.checked_add(1).map(Datum::Key),
        Datum::Int(key) => key.checked_add(1).map(Datum::Int),
        _ => None,
    }
}

/// What a method lists, if that is what it does. `number`: the version, which it may return.
pub fn gather(spec: &SpecInfo, method: &FunctionInfo, number: Option<VarId>) -> Option<Gather> {
    let [start, through, end] = &method.body[..] else { return None };
    let reading = Reading { spec, method };
    let found = match &start.kind {
        StmtKind::Let(Pattern::Bind(list), _, Expr { kind: ExprKind::List(none), .. }) => {
            none.is_empty().then(|| reading.local(list.id))??
        }
        _ => return None,
    };
    let StmtKind::For(key, range, body) = &through.kind else { return None };
    let gather = reading.range(range)?;
    reading.adds(found, reading.local(key.id)?, body)?;
    let StmtKind::Return(Some(result)) = &end.kind else { return None };
    let parts = written_parts(spec, result)?;
    let (first, rest) = parts.split_first()?;
    let is_number = |part: &&Expr| {
        number.is_some() && matches!(part.kind, ExprKind::Name(_)) && root(spec, part) == number
    };
    (reading.named(first) == Some(found) && rest.iter().all(is_number)).then_some(gather)
}

struct Reading<'s> {
    spec: &'s SpecInfo,
    method: &'s FunctionInfo,
}

impl Reading<'_> {
    fn local(&self, id: ExprId) -> Option<LocalId> {
        match self.spec.facts.meaning(id)? {
            Meaning::Local(local) => Some(local),
            _ => None,
        }
    }

    fn named(&self, expr: &Expr) -> Option<LocalId> {
        matches!(expr.kind, ExprKind::Name(_)).then(|| self.local(expr.id))?
    }

    /// `m[low..high]`, where `m` is a map of the state and the ends are parameters.
    fn range(&self, range: &Expr) -> Option<Gather> {
        let ExprKind::Slice(map, Some(low), Some(high)) = &range.kind else { return None };
        let is_map = matches!(self.spec.facts.type_of(map), Type::Map(..));
        let is_state = matches!(map.kind, ExprKind::Name(_)) && root(self.spec, map).is_some();
        let parameter = |end: &Expr| {
            let local = self.named(end)?;
            self.method.params.iter().position(|param| param.local == local)
        };
        (is_map && is_state).then_some(())?;
        Some(Gather { low: parameter(low)?, high: parameter(high)? })
    }

    /// `found = found ++ [(key, …)]`, and what is added follows from the entries of the key.
    fn adds(&self, found: LocalId, key: LocalId, body: &Block) -> Option<()> {
        let [Stmt { kind: StmtKind::Assign(targets, value), .. }] = &body[..] else { return None };
        let [Some(target)] = &targets[..] else { return None };
        let ExprKind::Binary(BinaryOp::Concat, list, more) = &value.kind else { return None };
        let ExprKind::List(items) = &more.kind else { return None };
        let [item] = &items[..] else { return None };
        let parts = written_parts(self.spec, item)?;
        let is_found = |expr: &Expr| self.named(expr) == Some(found);
        let begins = parts.first().is_some_and(|first| self.named(first) == Some(key));
        let follows = parts.iter().all(|part| self.follows(part, key));
        (is_found(target) && is_found(list) && begins && follows).then_some(())
    }

    /// Whether an expression mentions the state as `m[key]` only, and no other variable.
    fn follows(&self, expr: &Expr, key: LocalId) -> bool {
        if let ExprKind::Index(map, index) = &expr.kind
            && matches!(map.kind, ExprKind::Name(_))
            && root(self.spec, map).is_some()
            && matches!(self.spec.facts.type_of(map), Type::Map(..))
        {
            return self.named(index) == Some(key);
        }
        let is_right = match self.spec.facts.meaning(expr.id) {
            Some(Meaning::Local(local)) => local == key,
            Some(Meaning::Shared(_) | Meaning::Function(_)) => false,
            _ => !matches!(expr.kind, ExprKind::Any),
        };
        let mut are_right = true;
        walk::children(expr, &mut |part| are_right &= self.follows(part, key));
        is_right && are_right
    }
}
