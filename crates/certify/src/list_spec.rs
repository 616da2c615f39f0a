//! What the methods of a stack, a queue, a set or a map are for, read off the bodies of their
//! specifications.
//!
//! *Theorem.* A sequence is empty, or one item next to a *remainder* that is any sequence at all. A
//! body is run on the empty sequence and on one with a remainder, which the run may keep and join
//! with items; a question whose answer depends on the remainder ends the run without a result. So
//! what a finished run says is true for every sequence, by induction over the statements of the
//! body. A set is seen from the key of the call: a body is run where the key is a member and where
//! it is not; it may ask for this key, add it and remove it, and nothing else, so that what it does
//! to one key depends on that key alone, and linearizability of the set is that of each key
//! (locality). A map from keys to values is seen in the same way: no value or some value is held
//! under the key of the call; a body may look at it, drop it and put its argument there.
//!
//! Nothing follows from the name of a specification or of a method, nor from trying it on some
//! sequences. *It would be unsound* to answer a question that depends on the remainder, to compare
//! values, or to take a body for something that it does in one of the two cases only.

use crate::object::{Role, Spec};
use seriatim_lang::Program;
use seriatim_lang::ast::{BinaryOp, Block, Expr, ExprKind, Pattern, StmtKind, UnaryOp};
use seriatim_lang::program::{Builtin, FunctionInfo, LocalId, Meaning, SpecInfo};
use seriatim_lang::types::Type;

/// What a method of a set or a map does where the key of the call is not held, and where it is;
/// none where it waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OnKey(pub [Option<KeyOutcome>; 2]);

/// What is held under the key afterwards, and what is returned.
pub type KeyOutcome = (Held, Given);

/// What is held under the key of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// Nothing.
    Nothing,
    /// What was held before.
    Before,
    /// What the call brings: the key of a set, the value of a map.
    Argument,
}

/// What is returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// No result.
    Nothing,
    /// A boolean.
    Truth(bool),
    /// `null`.
    Null,
    /// The value that was held before.
    Before,
    /// The value of the call.
    Argument,
}

impl OnKey {
    /// What is held and returned afterwards, if the method changes what is held.
    pub fn change(self, held: bool) -> Option<KeyOutcome> {
        let before = if held { Held::Before } else { Held::Nothing };
        self.0[usize::from(held)].filter(|(after, _)| *after != before)
    }

    /// What is returned after a change, if that follows from the call: a view need not remember it.
    pub fn result_of_change(self) -> Option<Given> {
        let results = [false, true].map(|held| self.change(held).map(|(_, result)| result));
        match results {
            [Some(a), Some(b)] if a != b => None,
            [Some(Given::Before), _] | [_, Some(Given::Before)] => None,
            [some, other] => some.or(other),
        }
    }

    /// What is returned where nothing changes, because the method changes nothing.
    pub fn unchanged(self, held: bool) -> Option<Given> {
        match self.change(held) {
            None => self.0[usize::from(held)].map(|(_, result)| result),
            Some(_) => None,
        }
    }

    /// Whether the result of the method, or what it leaves, depends on the value that is held.
    pub fn needs_value(self) -> bool {
        self.0[1].is_some_and(|(after, result)| after == Held::Argument || result == Given::Before)
    }
}

/// The specification of a program and the roles of its methods; none if it is not that of a stack,
/// queue or set.
pub fn of(program: &Program) -> Option<(Spec, Vec<Role>)> {
    let info = program.spec.as_ref()?;
    let [var] = &info.vars[..] else { return None };
    let nothing = |init: &Expr| match &init.kind {
        ExprKind::List(all) | ExprKind::Set(all) => all.is_empty(),
        _ => false,
    };
    if !var.init.as_ref().is_some_and(nothing) {
        return None;
    }
    let specified = |name: &str| info.methods.iter().find(|m| m.name == name);
    let methods = program.methods.iter().map(|m| specified(&m.name));
    let methods: Vec<&FunctionInfo> = methods.collect::<Option<_>>()?;
    match &var.ty {
        Type::Set(key) if **key == Type::Key => {
            let roles = methods.iter().map(|m| on_key(info, m, false).map(Role::OnKey));
            Some((Spec::Set, roles.collect::<Option<_>>()?))
        }
        Type::Map(key, value) if (&**key, &**value) == (&Type::Key, &Type::Value) => {
            let roles = methods.iter().map(|m| on_key(info, m, true).map(Role::OnKey));
            Some((Spec::Set, roles.collect::<Option<_>>()?))
        }
        Type::Seq(value) if **value == Type::Value => {
            let uses = methods.iter().map(|m| on_sequence(info, m));
            let uses: Vec<(Role, Option<Side>)> = uses.collect::<Option<_>>()?;
            let sides = |puts: bool| {
                let all = uses.iter().filter(move |(role, _)| (*role == Role::Put) == puts);
                let mut sides = all.filter_map(|(_, side)| *side);
                let first = sides.next()?;
                sides.all(|side| side == first).then_some(first)
            };
            let spec = if sides(true)? == sides(false)? { Spec::Stack } else { Spec::Queue };
            Some((spec, uses.into_iter().map(|(role, _)| role).collect()))
        }
        _ => None,
    }
}

/// A side of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Left,
    Right,
}

/// A piece of a sequence: the argument of the call, the item next to the remainder, the remainder.
/// Of a map: the key of the call, what is held under it before, the value of the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Piece {
    Given,
    Held,
    Remainder,
    Value,
}

/// What is known of a value during a run.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Known {
    Null,
    Truth(bool),
    /// A number, to which the length of the remainder is added or not.
    Count(i64, bool),
    One(Piece),
    Sequence(Vec<Piece>),
    /// The set or the map of the object, by what is held under the key of the call.
    Keyed(Held),
    /// The set of the key of the call.
    JustGiven,
}

/// How a run goes on.
enum Next {
    On,
    Return(Known),
    Wait,
}

/// The content afterwards and the result; none if the method waits.
type End = Option<(Known, Known)>;

fn run(info: &SpecInfo, method: &FunctionInfo, content: Known) -> Option<End> {
    let locals = match &method.params[..] {
        [] => vec![],
        [given] => vec![(given.local, Known::One(Piece::Given))],
        [key, value] if key.ty == Type::Key && value.ty == Type::Value => {
            vec![(key.local, Known::One(Piece::Given)), (value.local, Known::One(Piece::Value))]
        }
        _ => return None,
    };
    let mut run = Run { info, content, locals };
    let result = match run.block(&method.body)? {
        Next::On => Known::Null,
        Next::Return(result) => result,
        Next::Wait => return Some(None),
    };
    Some(Some((run.content, result)))
}

fn on_key(info: &SpecInfo, method: &FunctionInfo, map: bool) -> Option<OnKey> {
    let types: Vec<&Type> = method.params.iter().map(|param| &param.ty).collect();
    if types[..] != [&Type::Key] && !(map && types[..] == [&Type::Key, &Type::Value]) {
        return None;
    }
    let outcome = |before: Held| match run(info, method, Known::Keyed(before))? {
        None => Some(None),
        Some((Known::Keyed(after), result)) => {
            let result = match result {
                Known::Truth(result) => Given::Truth(result),
                Known::Null if method.result == Type::Unit => Given::Nothing,
                Known::Null => Given::Null,
                Known::One(Piece::Held) => Given::Before,
                Known::One(Piece::Value) => Given::Argument,
                _ => return None,
            };
            Some(Some((after, result)))
        }
        Some(_) => None,
    };
    let table = OnKey([outcome(Held::Nothing)?, outcome(Held::Before)?]);
    (map || table.change(false).is_none() || table.change(true).is_none()).then_some(table)
}

/// The role of a method of a sequence, and the side on which it works.
fn on_sequence(info: &SpecInfo, method: &FunctionInfo) -> Option<(Role, Option<Side>)> {
    use Piece::{Given, Held, Remainder};
    let on_empty = run(info, method, Known::Sequence(vec![]))?;
    let left = run(info, method, Known::Sequence(vec![Held, Remainder]));
    let (side, on_items) = match left {
        Some(end) => (Side::Left, end),
        None => (Side::Right, run(info, method, Known::Sequence(vec![Remainder, Held]))?),
    };
    let all = if side == Side::Left { vec![Held, Remainder] } else { vec![Remainder, Held] };
    let Some((Known::Sequence(after), result)) = on_items else { return None };
    let unchanged = after == all;
    let gives = || match &on_empty {
        None => Some(true),
        Some((Known::Sequence(after), Known::Null)) if after.is_empty() => Some(false),
        Some(_) => None,
    };
    match result {
        Known::One(Held) if unchanged => Some((Role::Peek { waits: gives()? }, Some(side))),
        Known::One(Held) if after == [Remainder] => {
            Some((Role::Take { waits: gives()? }, Some(side)))
        }
        Known::Truth(result) if unchanged => {
            let right = on_empty == Some((Known::Sequence(vec![]), Known::Truth(!result)));
            right.then_some((Role::IsEmpty { says: !result }, None))
        }
        Known::Null
            if method.result == Type::Unit && method.params.iter().any(|p| p.ty == Type::Value) =>
        {
            let right = on_empty == Some((Known::Sequence(vec![Given]), Known::Null));
            let to = match after.len() == 3 && right {
                true if after[0] == Given && after[1..] == all => Side::Left,
                true if after[2] == Given && after[..2] == all => Side::Right,
                _ => return None,
            };
            Some((Role::Put, Some(to)))
        }
        _ => None,
    }
}

struct Run<'s> {
    info: &'s SpecInfo,
    content: Known,
    locals: Vec<(LocalId, Known)>,
}

impl Run<'_> {
    fn block(&mut self, block: &Block) -> Option<Next> {
        for statement in block {
            let facts = &self.info.facts;
            let next = match &statement.kind {
                StmtKind::Let(Pattern::Bind(binding), _, value) => {
                    let Meaning::Local(local) = facts.meaning(binding.id)? else { return None };
                    self.locals.push((local, self.known(value)?));
                    Next::On
                }
                StmtKind::Assign(targets, value) => {
                    let [Some(target)] = &targets[..] else { return None };
                    let value = self.known(value)?;
                    if let ExprKind::Index(map, key) = &target.kind {
                        self.put(map, key, &value)?;
                        continue;
                    }
                    let ExprKind::Name(_) = target.kind else { return None };
                    match facts.meaning(target.id)? {
                        Meaning::Local(local) => self.locals.push((local, value)),
                        Meaning::Shared(_) => self.content = value,
                        _ => return None,
                    }
                    Next::On
                }
                StmtKind::If(condition, then, otherwise) => {
                    self.block(if self.holds(condition)? { then } else { otherwise })?
                }
                StmtKind::Atomic(block) => self.block(block)?,
                StmtKind::Return(None) => Next::Return(Known::Null),
                StmtKind::Return(Some(value)) => Next::Return(self.known(value)?),
                StmtKind::Assume(condition) if self.holds(condition)? => Next::On,
                StmtKind::Assume(_) => Next::Wait,
                _ => return None,
            };
            if !matches!(next, Next::On) {
                return Some(next);
            }
        }
        Some(Next::On)
    }

    /// Assigns to the entry of the map of the object under the key of the call; null is no entry.
    fn put(&mut self, map: &Expr, key: &Expr, value: &Known) -> Option<()> {
        let ExprKind::Name(_) = map.kind else { return None };
        let Meaning::Shared(_) = self.info.facts.meaning(map.id)? else { return None };
        let after = match value {
            Known::Null => Held::Nothing,
            Known::One(Piece::Held) => Held::Before,
            Known::One(Piece::Value) => Held::Argument,
            _ => return None,
        };
        let right =
            self.known(key)? == Known::One(Piece::Given) && matches!(self.content, Known::Keyed(_));
        self.content = right.then_some(Known::Keyed(after))?;
        Some(())
    }

    fn holds(&self, condition: &Expr) -> Option<bool> {
        if let Known::Truth(holds) = self.known(condition)? { Some(holds) } else { None }
    }

    fn known(&self, expr: &Expr) -> Option<Known> {
        let meaning = |expr: &Expr| self.info.facts.meaning(expr.id);
        Some(match &expr.kind {
            ExprKind::Int(n) => Known::Count(*n, false),
            ExprKind::Bool(b) => Known::Truth(*b),
            ExprKind::Null => Known::Null,
            ExprKind::Name(_) => match meaning(expr)? {
                Meaning::Local(name) => {
                    let last = self.locals.iter().rev().find(|(local, _)| *local == name);
                    last?.1.clone()
                }
                Meaning::Shared(_) => self.content.clone(),
                Meaning::Const(n) => Known::Count(n.into(), false),
                _ => return None,
            },
            ExprKind::Unary(UnaryOp::Not, a) => Known::Truth(!self.holds(a)?),
            ExprKind::Binary(op, a, b) => self.joined(*op, a, b)?,
            ExprKind::If(condition, a, b) => {
                self.known(if self.holds(condition)? { a } else { b })?
            }
            ExprKind::List(items) => {
                let piece = |item: &Expr| match self.known(item)? {
                    Known::One(piece) => Some(piece),
                    _ => None,
                };
                Known::Sequence(items.iter().map(piece).collect::<Option<_>>()?)
            }
            ExprKind::Set(items) => match &items[..] {
                [item] if self.known(item)? == Known::One(Piece::Given) => Known::JustGiven,
                _ => return None,
            },
            ExprKind::Call(_, arguments) => match (meaning(expr)?, &arguments[..]) {
                (Meaning::Builtin(Builtin::Len), [of]) => {
                    let pieces = self.sequence(of)?;
                    let open = pieces.contains(&Piece::Remainder);
                    Known::Count(pieces.len() as i64 - i64::from(open), open)
                }
                _ => return None,
            },
            ExprKind::Index(of, index) => {
                if let Known::Keyed(held) = self.known(of)? {
                    let right = self.known(index)? == Known::One(Piece::Given);
                    return right.then_some(match held {
                        Held::Nothing => Known::Null,
                        Held::Before => Known::One(Piece::Held),
                        Held::Argument => Known::One(Piece::Value),
                    });
                }
                let pieces = self.sequence(of)?;
                match pieces.get(self.border(&pieces, index)?)? {
                    Piece::Remainder => return None,
                    item => Known::One(*item),
                }
            }
            ExprKind::Slice(of, from, to) => {
                let pieces = self.sequence(of)?;
                let from = from.as_ref().map_or(Some(0), |from| self.border(&pieces, from))?;
                let to = to.as_ref().map_or(Some(pieces.len()), |to| self.border(&pieces, to))?;
                Known::Sequence(pieces.get(from..to)?.to_vec())
            }
            _ => return None,
        })
    }

    fn sequence(&self, expr: &Expr) -> Option<Vec<Piece>> {
        if let Known::Sequence(pieces) = self.known(expr)? { Some(pieces) } else { None }
    }

    /// How many pieces lie before an index: it must be one between two pieces, whatever the length
    /// of the remainder.
    fn border(&self, pieces: &[Piece], index: &Expr) -> Option<usize> {
        let wanted = self.known(index)?;
        let length = |before: &[Piece]| {
            let open = before.contains(&Piece::Remainder);
            Known::Count(before.len() as i64 - i64::from(open), open)
        };
        (0..=pieces.len()).find(|border| length(&pieces[..*border]) == wanted)
    }

    fn joined(&self, op: BinaryOp, a: &Expr, b: &Expr) -> Option<Known> {
        match op {
            BinaryOp::And => return Some(Known::Truth(self.holds(a)? && self.holds(b)?)),
            BinaryOp::Or => return Some(Known::Truth(self.holds(a)? || self.holds(b)?)),
            _ => {}
        }
        let (a, b) = (self.known(a)?, self.known(b)?);
        Some(match (op, &a, &b) {
            (BinaryOp::Concat, Known::Sequence(a), Known::Sequence(b)) => {
                let both = [&a[..], b].concat();
                let once = both.iter().filter(|p| **p == Piece::Remainder).count() <= 1;
                once.then_some(Known::Sequence(both))?
            }
            (BinaryOp::In, Known::One(Piece::Given), Known::Keyed(held)) => {
                Known::Truth(*held != Held::Nothing)
            }
            (BinaryOp::Add, Known::Keyed(Held::Nothing), Known::JustGiven) => {
                Known::Keyed(Held::Argument)
            }
            (BinaryOp::Add, Known::Keyed(held), Known::JustGiven) => Known::Keyed(*held),
            (BinaryOp::Sub, Known::Keyed(_), Known::JustGiven) => Known::Keyed(Held::Nothing),
            (BinaryOp::Add, Known::Count(a, open), Known::Count(b, false)) => {
                Known::Count(a.checked_add(*b)?, *open)
            }
            (BinaryOp::Sub, Known::Count(a, open), Known::Count(b, false)) => {
                Known::Count(a.checked_sub(*b)?, *open)
            }
            (BinaryOp::Eq, ..) => Known::Truth(equal(&a, &b)?),
            (BinaryOp::Ne, ..) => Known::Truth(!equal(&a, &b)?),
            (BinaryOp::Lt, ..) => Known::Truth(less(&a, &b)?),
            (BinaryOp::Ge, ..) => Known::Truth(!less(&a, &b)?),
            (BinaryOp::Gt, ..) => Known::Truth(less(&b, &a)?),
            (BinaryOp::Le, ..) => Known::Truth(!less(&b, &a)?),
            _ => return None,
        })
    }
}

/// Whether two things are equal, if that does not depend on the remainder. Values are not compared.
fn equal(a: &Known, b: &Known) -> Option<bool> {
    match (a, b) {
        (Known::Truth(a), Known::Truth(b)) => Some(a == b),
        (Known::Null, Known::Null) => Some(true),
        // An item of a map, and a value that it is given, is not null.
        (Known::Null, Known::One(Piece::Held | Piece::Value))
        | (Known::One(Piece::Held | Piece::Value), Known::Null) => Some(false),
        (Known::Count(..), Known::Count(..)) => match (less(a, b), less(b, a)) {
            (Some(true), _) | (_, Some(true)) => Some(false),
            (Some(false), Some(false)) => Some(true),
            _ => None,
        },
        (Known::Sequence(a), Known::Sequence(b)) if a.is_empty() || b.is_empty() => {
            let pieces = if a.is_empty() { b } else { a };
            match pieces.iter().any(|piece| *piece != Piece::Remainder) {
                true => Some(false),
                false => pieces.is_empty().then_some(true),
            }
        }
        _ => None,
    }
}

/// Whether a number is less than another one, if that does not depend on the remainder, which has a
/// length of 0 or more.
fn less(a: &Known, b: &Known) -> Option<bool> {
    match (a, b) {
        (Known::Count(a, x), Known::Count(b, y)) if x == y => Some(a < b),
        (Known::Count(a, false), Known::Count(b, true)) if a < b => Some(true),
        (Known::Count(a, true), Known::Count(b, false)) if a >= b => Some(false),
        _ => None,
    }
}
