//! Specifications of stacks, queues, sets and maps, by what they do and not by their names: which
//! part each method plays is found by following its body on all sequences, sets or maps at once.
//!
//! A sequence is empty, or an item with a rest behind it, or an item with a rest before it. The
//! rest is opaque: it can be kept and put together with items, and whatever else is done with it is
//! not understood. So a body that can be followed does the same for every rest, and the two cases,
//! empty and not, say all that it does. A set is seen from the key of the call: it has it or has it
//! not, and all that a body may do is ask for that key, put it in and take it out; then operations
//! on different keys have nothing to do with each other. A map is a set whose keys have a value
//! each; its bodies may read what the key of the call has and give it the argument. Values are
//! never compared, and what is not understood has no role.
//!
//! It would be unsound to decide a condition that depends on the rest, or to give a role to a body
//! that was not followed to its end.

use crate::model::{Kind, Role};
use seriatim_lang::Program;
use seriatim_lang::ast::{BinaryOp, Block, Expr, ExprKind, Pattern, Stmt, StmtKind, UnaryOp};
use seriatim_lang::program::{Builtin, FunctionInfo, LocalId, Meaning, SpecInfo};
use seriatim_lang::types::Type;

/// What a method does with the key of its call, if the set or map has it, or if it has it not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OnKey {
    /// If it has it not.
    pub absent: KeyCase,
    /// If it has it.
    pub present: KeyCase,
}

/// What a method does in one of the cases.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KeyCase {
    /// It waits.
    Waits,
    /// Afterwards this is there, and this is returned.
    Ends {
        /// What there is under the key.
        after: Entry,
        /// What is returned.
        result: Told,
    },
}

/// What there is under a key after an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Entry {
    /// Nothing.
    Nothing,
    /// What was there before.
    Old,
    /// The key, which was not there, or the argument as its value.
    New,
}

/// What an operation on a key returns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Told {
    /// Nothing.
    Nothing,
    /// A boolean.
    Bool(bool),
    /// `null`.
    Null,
    /// The value that was there before.
    Old,
    /// The value that it was called with.
    New,
}

impl OnKey {
    /// What it does if the set has the key, or not.
    pub fn case(self, member: bool) -> KeyCase {
        if member { self.present } else { self.absent }
    }

    /// What it leaves, and returns, if it changes what there is.
    pub fn change(self, member: bool) -> Option<(Entry, Told)> {
        match self.case(member) {
            KeyCase::Ends { after, result } if !after.is_same(member) => Some((after, result)),
            _ => None,
        }
    }

    /// Whether it depends on the value that is there: it tells it, or it changes nothing only if
    /// that value is the argument already.
    pub fn asks_value(self) -> bool {
        matches!(
            self.present,
            KeyCase::Ends { after: Entry::New, .. } | KeyCase::Ends { result: Told::Old, .. }
        )
    }

    /// What it returns if it has changed something, where that is always the same.
    pub fn result_of_change(self) -> Option<Told> {
        let mut all = [false, true].into_iter().filter_map(|member| self.change(member));
        let (_, first) = all.next()?;
        let is_known = first != Told::Old && all.all(|(_, told)| told == first);
        is_known.then_some(first)
    }
}

impl Entry {
    /// Whether this is what was there.
    fn is_same(self, member: bool) -> bool {
        self == if member { Entry::Old } else { Entry::Nothing }
    }
}

/// The end of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Front,
    Back,
}

/// What a method does to a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Does {
    Puts(End),
    Takes(End, Role),
    IsEmpty(Role),
}

/// The kind of a specification and the roles of the program's methods; an error says what is not
/// understood.
pub fn roles(program: &Program) -> Result<(Kind, Vec<Role>), String> {
    let info = program.spec.as_ref().ok_or("it names no specification")?;
    let [var] = &info.vars[..] else {
        return Err("the state of its specification is not one sequence, set or map".to_string());
    };
    let empty = |expr: &Expr| match &expr.kind {
        ExprKind::List(items) | ExprKind::Set(items) => items.is_empty(),
        _ => false,
    };
    if !var.init.as_ref().is_some_and(empty) {
        return Err("its specification does not begin with nothing".to_string());
    }
    let specified = |name: &str| {
        let method = info.methods.iter().find(|m| m.name == name);
        method.ok_or_else(|| format!("`{name}` is not specified"))
    };
    let methods: Vec<&FunctionInfo> =
        program.methods.iter().map(|m| specified(&m.name)).collect::<Result<_, _>>()?;
    let unclear = |method: &FunctionInfo| {
        let (name, state) = (&method.name, &var.name);
        format!("what `{name}` does to `{state}` is not understood")
    };
    match &var.ty {
        ty if holds_keys(ty) => {
            let role =
                |m: &&FunctionInfo| on_key(info, m).map(Role::OnKey).ok_or_else(|| unclear(m));
            Ok((Kind::Set, methods.iter().map(role).collect::<Result<_, _>>()?))
        }
        Type::Seq(element) if **element == Type::Value => {
            let does = |m: &&FunctionInfo| on_sequence(info, m).ok_or_else(|| unclear(m));
            of_ends(&methods.iter().map(does).collect::<Result<Vec<_>, _>>()?)
        }
        _ => Err("the state of its specification is not one sequence, set or map".to_string()),
    }
}

/// Whether the state is a set of keys, or a map from keys to values.
fn holds_keys(ty: &Type) -> bool {
    match ty {
        Type::Set(element) => **element == Type::Key,
        Type::Map(key, value) => (&**key, &**value) == (&Type::Key, &Type::Value),
        _ => false,
    }
}

/// Whether it is a stack or a queue: all items are put to one end and taken from one end.
fn of_ends(all: &[Does]) -> Result<(Kind, Vec<Role>), String> {
    let one = |ends: Vec<End>| match ends.first() {
        Some(first) if ends.iter().all(|end| end == first) => Ok(*first),
        _ => Err("its specification does not put to one end and take from one end".to_string()),
    };
    let put = |does: &Does| if let Does::Puts(end) = does { Some(*end) } else { None };
    let taken = |does: &Does| if let Does::Takes(end, _) = does { Some(*end) } else { None };
    let puts = one(all.iter().filter_map(put).collect())?;
    let takes = one(all.iter().filter_map(taken).collect())?;
    let kind = if puts == takes { Kind::Stack } else { Kind::Queue };
    let role = |does: &Does| match does {
        Does::Puts(_) => Role::Put,
        Does::Takes(_, role) | Does::IsEmpty(role) => *role,
    };
    Ok((kind, all.iter().map(role).collect()))
}

/// A part of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// The argument of the call; of two, the key.
    Argument,
    /// The argument that is a value, beside a key.
    Given,
    /// The item at one end; the value under the key of the call.
    Item,
    /// All others, if there are any.
    Rest,
}

/// What an expression stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Term {
    /// `null`, or no result.
    Nothing,
    Bool(bool),
    /// A number; with the length of the rest added or not.
    Number(i64, bool),
    /// The argument, or an item.
    Datum(Part),
    Sequence(Vec<Part>),
    /// The content, by what there is under the key of the call.
    Keyed(Entry),
    /// Just the key of the call.
    Singleton,
}

/// How a statement or a body ends.
enum Flow {
    Next,
    Returns(Term),
    Waits,
}

/// What a method makes of a content, and returns; none if it waits.
type Outcome = Option<(Term, Term)>;

/// Follows the body of a method from a content; none if it is not understood.
fn follow(info: &SpecInfo, method: &FunctionInfo, content: Term) -> Option<Outcome> {
    let argument = match &method.params[..] {
        [] => vec![],
        [param] => vec![(param.local, Term::Datum(Part::Argument))],
        [key, value] if (&key.ty, &value.ty) == (&Type::Key, &Type::Value) => {
            let given = (value.local, Term::Datum(Part::Given));
            vec![(key.local, Term::Datum(Part::Argument)), given]
        }
        _ => return None,
    };
    let mut run = Run { info, content, locals: argument };
    match run.block(&method.body)? {
        Flow::Next => Some(Some((run.content, Term::Nothing))),
        Flow::Returns(result) => Some(Some((run.content, result))),
        Flow::Waits => Some(None),
    }
}

fn on_key(info: &SpecInfo, method: &FunctionInfo) -> Option<OnKey> {
    method.params.first().filter(|key| key.ty == Type::Key)?;
    let case = |before: Entry| {
        let Some((content, result)) = follow(info, method, Term::Keyed(before))? else {
            return Some(KeyCase::Waits);
        };
        let Term::Keyed(after) = content else { return None };
        let result = match result {
            Term::Nothing if method.result == Type::Unit => Told::Nothing,
            Term::Nothing => Told::Null,
            Term::Bool(result) => Told::Bool(result),
            Term::Datum(Part::Item) => Told::Old,
            Term::Datum(Part::Given) => Told::New,
            _ => return None,
        };
        Some(KeyCase::Ends { after, result })
    };
    let table = OnKey { absent: case(Entry::Nothing)?, present: case(Entry::Old)? };
    // Of an operation on a set that always changes something, the result would not say which change
    // it was; a map remembers what the change says.
    let both = table.change(false).is_some() && table.change(true).is_some();
    let is_map = matches!(info.vars[..], [ref var] if matches!(var.ty, Type::Map(..)));
    (is_map || !both).then_some(table)
}

fn on_sequence(info: &SpecInfo, method: &FunctionInfo) -> Option<Does> {
    use Part::{Argument, Item, Rest};
    let empty = follow(info, method, Term::Sequence(vec![]))?;
    let front = follow(info, method, Term::Sequence(vec![Item, Rest]));
    let back = follow(info, method, Term::Sequence(vec![Rest, Item]));
    let (end, Some((Term::Sequence(after), result))) = (match (front, back) {
        (Some(front), _) => (End::Front, front),
        (None, Some(back)) => (End::Back, back),
        (None, None) => return None,
    }) else {
        return None;
    };
    let whole = if end == End::Front { [Item, Rest] } else { [Rest, Item] };
    let puts = matches!(&method.params[..], [param] if param.ty == Type::Value);
    let nothing = Term::Sequence(vec![]);
    // On the empty sequence, one that gives an item gives none or waits.
    let waits = match &empty {
        None => Some(true),
        Some((after, Term::Nothing)) if *after == nothing => Some(false),
        Some(_) => None,
    };
    match (&after[..], result) {
        (parts, Term::Nothing) if puts && method.result == Type::Unit => {
            let to = match parts {
                [Argument, rest @ ..] if *rest == whole => End::Front,
                [rest @ .., Argument] if *rest == whole => End::Back,
                _ => return None,
            };
            let first = Some((Term::Sequence(vec![Argument]), Term::Nothing));
            (empty == first).then_some(Does::Puts(to))
        }
        ([Rest], Term::Datum(Item)) => Some(Does::Takes(end, Role::Take { waits: waits? })),
        (parts, Term::Datum(Item)) if *parts == whole => {
            Some(Does::Takes(end, Role::Peek { waits: waits? }))
        }
        (parts, Term::Bool(result)) if *parts == whole => {
            let opposite = Some((nothing, Term::Bool(!result)));
            (empty == opposite).then_some(Does::IsEmpty(Role::IsEmpty { says: !result }))
        }
        _ => None,
    }
}

struct Run<'s> {
    info: &'s SpecInfo,
    content: Term,
    locals: Vec<(LocalId, Term)>,
}

impl Run<'_> {
    fn block(&mut self, block: &Block) -> Option<Flow> {
        for statement in block {
            match self.statement(statement)? {
                Flow::Next => {}
                end => return Some(end),
            }
        }
        Some(Flow::Next)
    }

    fn statement(&mut self, statement: &Stmt) -> Option<Flow> {
        match &statement.kind {
            StmtKind::Let(Pattern::Bind(binding), _, value) => {
                let Meaning::Local(local) = self.info.facts.meaning(binding.id)? else {
                    return None;
                };
                let term = self.term(value)?;
                self.locals.push((local, term));
            }
            StmtKind::Assign(targets, value) => {
                let [Some(target)] = &targets[..] else { return None };
                let term = self.term(value)?;
                if let ExprKind::Index(map, key) = &target.kind {
                    self.content = self.with_entry(map, key, term)?;
                    return Some(Flow::Next);
                }
                match (&target.kind, self.info.facts.meaning(target.id)?) {
                    (ExprKind::Name(_), Meaning::Local(local)) => self.locals.push((local, term)),
                    (ExprKind::Name(_), Meaning::Shared(_)) => self.content = term,
                    _ => return None,
                }
            }
            StmtKind::If(condition, then, otherwise) => {
                return self.block(if self.holds(condition)? { then } else { otherwise });
            }
            StmtKind::Atomic(block) => return self.block(block),
            StmtKind::Return(None) => return Some(Flow::Returns(Term::Nothing)),
            StmtKind::Return(Some(value)) => return Some(Flow::Returns(self.term(value)?)),
            StmtKind::Assume(condition) => {
                if !self.holds(condition)? {
                    return Some(Flow::Waits);
                }
            }
            _ => return None,
        }
        Some(Flow::Next)
    }

    fn holds(&self, condition: &Expr) -> Option<bool> {
        match self.term(condition)? {
            Term::Bool(holds) => Some(holds),
            _ => None,
        }
    }

    fn term(&self, expr: &Expr) -> Option<Term> {
        Some(match &expr.kind {
            ExprKind::Int(n) => Term::Number(*n, false),
            ExprKind::Bool(b) => Term::Bool(*b),
            ExprKind::Null => Term::Nothing,
            ExprKind::Name(_) => match self.info.facts.meaning(expr.id)? {
                Meaning::Local(local) => {
                    self.locals.iter().rev().find(|(known, _)| *known == local)?.1.clone()
                }
                Meaning::Shared(_) => self.content.clone(),
                Meaning::Const(n) => Term::Number(n.into(), false),
                _ => return None,
            },
            ExprKind::Unary(UnaryOp::Not, a) => Term::Bool(!self.holds(a)?),
            ExprKind::Binary(BinaryOp::And, a, b) => Term::Bool(self.holds(a)? && self.holds(b)?),
            ExprKind::Binary(BinaryOp::Or, a, b) => Term::Bool(self.holds(a)? || self.holds(b)?),
            ExprKind::Binary(op, a, b) => binary(*op, self.term(a)?, self.term(b)?)?,
            ExprKind::If(condition, a, b) => {
                self.term(if self.holds(condition)? { a } else { b })?
            }
            ExprKind::List(items) => {
                Term::Sequence(items.iter().map(|i| self.datum(i)).collect::<Option<_>>()?)
            }
            ExprKind::Set(items) => match &items[..] {
                [item] if self.datum(item)? == Part::Argument => Term::Singleton,
                _ => return None,
            },
            ExprKind::Call(_, arguments) => {
                match (self.info.facts.meaning(expr.id)?, &arguments[..]) {
                    (Meaning::Builtin(Builtin::Len), [sequence]) => {
                        let parts = self.parts(sequence)?;
                        let items = parts.iter().filter(|p| **p != Part::Rest).count();
                        Term::Number(items as i64, parts.contains(&Part::Rest))
                    }
                    _ => return None,
                }
            }
            ExprKind::Index(map, key) if self.is_entry(map, key) => match self.term(map)? {
                Term::Keyed(Entry::Nothing) => Term::Nothing,
                Term::Keyed(Entry::Old) => Term::Datum(Part::Item),
                _ => Term::Datum(Part::Given),
            },
            ExprKind::Index(sequence, index) => {
                let parts = self.parts(sequence)?;
                let at = self.place(&parts, index)?;
                let part = *parts.get(at)?;
                (part != Part::Rest).then_some(Term::Datum(part))?
            }
            ExprKind::Slice(sequence, from, to) => {
                let parts = self.parts(sequence)?;
                let place = |bound: &Option<Box<Expr>>, open: usize| match bound {
                    None => Some(open),
                    Some(bound) => self.place(&parts, bound),
                };
                let range = place(from, 0)?..place(to, parts.len())?;
                Term::Sequence(parts.get(range)?.to_vec())
            }
            _ => return None,
        })
    }

    /// Whether this is the content of a map, at the key of the call.
    fn is_entry(&self, map: &Expr, key: &Expr) -> bool {
        matches!(self.term(map), Some(Term::Keyed(_))) && self.datum(key) == Some(Part::Argument)
    }

    /// The content of the map with this under the key of the call: `null` is no entry.
    fn with_entry(&self, map: &Expr, key: &Expr, value: Term) -> Option<Term> {
        let is_content = matches!(self.info.facts.meaning(map.id), Some(Meaning::Shared(_)));
        let entry = match value {
            Term::Nothing => Entry::Nothing,
            Term::Datum(Part::Item) => Entry::Old,
            Term::Datum(Part::Given) => Entry::New,
            _ => return None,
        };
        let is_map = matches!(self.info.vars[..], [ref var] if matches!(var.ty, Type::Map(..)));
        (is_map && is_content && self.is_entry(map, key)).then_some(Term::Keyed(entry))
    }

    fn datum(&self, expr: &Expr) -> Option<Part> {
        match self.term(expr)? {
            Term::Datum(part) => Some(part),
            _ => None,
        }
    }

    fn parts(&self, expr: &Expr) -> Option<Vec<Part>> {
        match self.term(expr)? {
            Term::Sequence(parts) => Some(parts),
            _ => None,
        }
    }

    /// The part that begins at an index: from the front before the rest, from the back behind it.
    fn place(&self, parts: &[Part], index: &Expr) -> Option<usize> {
        let Term::Number(index, counts_rest) = self.term(index)? else { return None };
        let index = usize::try_from(index).ok()?;
        let before = parts.iter().position(|p| *p == Part::Rest);
        match (before, counts_rest) {
            (None, false) => (index <= parts.len()).then_some(index),
            (Some(before), false) => (index <= before).then_some(index),
            // The rest is one part, whatever its length.
            (Some(before), true) if index >= before => (index < parts.len()).then_some(index + 1),
            _ => None,
        }
    }
}

fn binary(op: BinaryOp, a: Term, b: Term) -> Option<Term> {
    Some(match (op, a, b) {
        (BinaryOp::Concat, Term::Sequence(a), Term::Sequence(b)) => {
            let parts = [a, b].concat();
            // The rest is there once: what doubles it is not understood.
            (parts.iter().filter(|p| **p == Part::Rest).count() <= 1)
                .then_some(Term::Sequence(parts))?
        }
        (BinaryOp::Eq, a, b) => Term::Bool(equal(&a, &b)?),
        (BinaryOp::Ne, a, b) => Term::Bool(!equal(&a, &b)?),
        (BinaryOp::In, Term::Datum(Part::Argument), Term::Keyed(entry)) => {
            Term::Bool(entry != Entry::Nothing)
        }
        (BinaryOp::Add, Term::Keyed(entry), Term::Singleton) => Term::Keyed(match entry {
            Entry::Nothing => Entry::New,
            there => there,
        }),
        (BinaryOp::Sub, Term::Keyed(_), Term::Singleton) => Term::Keyed(Entry::Nothing),
        (BinaryOp::Sub, Term::Number(a, rest), Term::Number(b, false)) => Term::Number(a - b, rest),
        (BinaryOp::Add, Term::Number(a, rest), Term::Number(b, false)) => Term::Number(a + b, rest),
        (BinaryOp::Lt, a, b) => Term::Bool(less(&a, &b)?),
        (BinaryOp::Gt, a, b) => Term::Bool(less(&b, &a)?),
        (BinaryOp::Le, a, b) => Term::Bool(!less(&b, &a)?),
        (BinaryOp::Ge, a, b) => Term::Bool(!less(&a, &b)?),
        _ => return None,
    })
}

/// Whether two terms are equal, if that is the same for every rest.
fn equal(a: &Term, b: &Term) -> Option<bool> {
    match (a, b) {
        (Term::Nothing, Term::Nothing) => Some(true),
        // Items and what a map is given are never null.
        (Term::Nothing, Term::Datum(Part::Item | Part::Given))
        | (Term::Datum(Part::Item | Part::Given), Term::Nothing) => Some(false),
        (Term::Bool(a), Term::Bool(b)) => Some(a == b),
        (Term::Number(a, false), Term::Number(b, false)) => Some(a == b),
        (Term::Number(..), Term::Number(..)) => {
            let apart = less(a, b) == Some(true) || less(b, a) == Some(true);
            apart.then_some(false)
        }
        (Term::Sequence(parts), Term::Sequence(empty))
        | (Term::Sequence(empty), Term::Sequence(parts))
            if empty.is_empty() =>
        {
            match parts.iter().any(|p| *p != Part::Rest) {
                true => Some(false),
                false => parts.is_empty().then_some(true),
            }
        }
        _ => None,
    }
}

/// Whether a number is less than another one, if that is the same for every rest; no rest is
/// shorter than 0.
fn less(a: &Term, b: &Term) -> Option<bool> {
    match (a, b) {
        (Term::Number(a, x), Term::Number(b, y)) if x == y => Some(a < b),
        (Term::Number(a, false), Term::Number(b, true)) => (a < b).then_some(true),
        (Term::Number(a, true), Term::Number(b, false)) => (a >= b).then_some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_lang::machine::Bounds;
    use seriatim_lang::spec::{Datum, Spec};

    const SOURCE: &str = "object o : s
spec s {
  var items: seq<value> = []
  method push(v: value) { items = items ++ [v] }
  method pop() -> value? {
    if len(items) < 1 { return empty }
    let last = items[len(items) - 1]
    items = items[..len(items) - 1]
    return last
  }
  method top() -> value { assume items != []; return items[len(items) - 1] }
  method void() -> bool { return items == [] }
}
var x: int = 0
method push(v: value) { x = 0 }
method pop() -> value? { return empty }
method top() -> value { assume x > 0; loop { x = 0 } }
method void() -> bool { return true }
";

    fn of(source: &str) -> Result<(Kind, Vec<Role>), String> {
        roles(&seriatim_lang::check(source).expect("a program"))
    }

    #[test]
    fn built_in_specifications_have_their_roles() {
        let stub = "\nvar x: int = 0\n";
        let stack = format!(
            "object o : stack{stub}method push(v: value) {{ x = 0 }}\nmethod pop() -> value? {{ return empty }}"
        );
        assert_eq!(of(&stack), Ok((Kind::Stack, vec![Role::Put, Role::Take { waits: false }])));
        let queue = format!(
            "object o : queue{stub}method enqueue(v: value) {{ x = 0 }}\nmethod dequeue() -> value? {{ return empty }}"
        );
        assert_eq!(of(&queue), Ok((Kind::Queue, vec![Role::Put, Role::Take { waits: false }])));
        let set = format!(
            "object o : set{stub}method add(k: key) -> bool {{ return true }}\nmethod contains(k: key) -> bool {{ return true }}"
        );
        let ends = |after, result| KeyCase::Ends { after, result: Told::Bool(result) };
        let add = OnKey { absent: ends(Entry::New, true), present: ends(Entry::Old, false) };
        let contains =
            OnKey { absent: ends(Entry::Nothing, false), present: ends(Entry::Old, true) };
        assert_eq!(of(&set), Ok((Kind::Set, vec![Role::OnKey(add), Role::OnKey(contains)])));
        let deque = format!(
            "object o : deque{stub}method push_front(v: value) {{ x = 0 }}\nmethod push_back(v: value) {{ x = 0 }}\nmethod pop_front() -> value? {{ return empty }}"
        );
        assert!(of(&deque).is_err());
    }

    const MAP: &str = "object o : s
spec s {
  var m: map<key, value> = {}
  method put(k: key, v: value) -> value? { let old = m[k]; m[k] = v; return old }
  method add(k: key, v: value) -> bool {
    if k in m { return false }
    m[k] = v
    return true
  }
  method set(k: key, v: value) { if m[k] != null { m[k] = v } }
  method make(k: key, v: value) -> value { if m[k] == null { m[k] = v } return m[k] }
  method get(k: key) -> value? { return m[k] }
  method has(k: key) -> bool { return k in m }
  method take(k: key) -> value? { let old = m[k]; m[k] = null; return old }
  method wait(k: key) -> value? { assume k in m; return m[k] }
}
var x: int = 0
method put(k: key, v: value) -> value? { return v }
method add(k: key, v: value) -> bool { return true }
method set(k: key, v: value) { x = 0 }
method make(k: key, v: value) -> value { return v }
method get(k: key) -> value? { return empty }
method has(k: key) -> bool { return true }
method take(k: key) -> value? { return empty }
method wait(k: key) -> value? { return empty }
";

    /// What the roles of a map say is what the interpreter of the language does, with the key, with
    /// another value and with the argument already there, and with another key beside it.
    #[test]
    fn roles_of_a_map_do_what_the_specification_does() {
        let (kind, roles) = of(MAP).expect("understood");
        assert_eq!(kind, Kind::Set);
        let program = seriatim_lang::check(MAP).expect("a program");
        let bounds = Bounds { values: 3, keys: 3, nodes: None, capacity: None };
        let spec = Spec::new(program.spec.clone().expect("named"), bounds);
        let other = (Datum::Key(2), Datum::Value(0));
        for (method, role) in program.methods.iter().zip(roles) {
            let Role::OnKey(does) = role else { panic!("{role:?}") };
            let number = spec.method(&method.name).expect("specified");
            let arguments = &[Datum::Key(1), Datum::Value(2)][..method.params.len()];
            for held in [None, Some(1), Some(2)] {
                let state = |held: Option<i32>| {
                    let entry = held.map(|value| (Datum::Key(1), Datum::Value(value)));
                    vec![Datum::map(entry.into_iter().chain([other.clone()]).collect())]
                };
                let outcomes = spec.outcomes(&state(held), number, arguments).expect("it runs");
                let expected = match does.case(held.is_some()) {
                    KeyCase::Waits => vec![],
                    KeyCase::Ends { after, result } => {
                        let after = match after {
                            Entry::Nothing => None,
                            Entry::Old => held,
                            Entry::New => Some(2),
                        };
                        let result = match result {
                            Told::Nothing => outcomes[0].1.clone(),
                            Told::Bool(result) => Datum::Bool(result),
                            Told::Null => Datum::Null,
                            Told::Old => Datum::Value(held.expect("a value")),
                            Told::New => Datum::Value(2),
                        };
                        vec![(state(after), result)]
                    }
                };
                assert_eq!(outcomes, expected, "{} of {held:?}", method.name);
            }
        }
    }

    #[test]
    fn what_compares_values_of_a_map_or_asks_for_other_keys_has_no_role() {
        for (old, new) in [
            (
                "let old = m[k]; m[k] = v; return old",
                "let old = m[k]; if old != v { m[k] = v } return old",
            ),
            ("return k in m", "return len(m) > 0"),
            ("m[k] = null; return old", "m = {}; return old"),
            ("map<key, value> = {}", "map<key, value?> = {}"),
            ("map<key, value> = {}", "map<value, value> = {}"),
        ] {
            let source = MAP.replacen(old, new, 1);
            assert_ne!(source, MAP, "{old}");
            if seriatim_lang::check(&source).is_ok() {
                assert!(of(&source).is_err(), "{new}");
            }
        }
    }

    #[test]
    fn roles_are_found_at_either_end() {
        let roles = vec![
            Role::Put,
            Role::Take { waits: false },
            Role::Peek { waits: true },
            Role::IsEmpty { says: true },
        ];
        assert_eq!(of(SOURCE), Ok((Kind::Stack, roles)));
        let queue = SOURCE.replace("items ++ [v]", "[v] ++ items");
        assert_eq!(of(&queue).expect("understood").0, Kind::Queue);
    }

    /// A body that is almost that of a role, but not for all sequences, has none.
    #[test]
    fn what_depends_on_the_rest_has_no_role() {
        for (old, new) in [
            ("len(items) < 1", "len(items) < 2"),
            ("items = items[..len(items) - 1]", "items = items[1..]"),
            ("items = items ++ [v]", "items = [v]"),
            ("items = items ++ [v]", "items = items ++ [v, v]"),
            ("items = items ++ [v]", "items = items ++ items ++ [v]"),
            ("items = items ++ [v]", "if len(items) < 3 { items = items ++ [v] }"),
            ("items = items ++ [v]", "if !(v in items) { items = items ++ [v] }"),
            ("return items == []", "return len(items) == 1"),
            ("return items == []", "return true"),
            ("seq<value> = []", "seq<value> = [any]"),
        ] {
            let source = SOURCE.replacen(old, new, 1);
            assert_ne!(source, SOURCE, "{old}");
            assert!(of(&source).is_err(), "{new}");
        }
    }

    /// What the roles say is what the interpreter of the language does, on all sequences of up to
    /// four values.
    #[test]
    fn roles_do_what_the_specification_does() {
        let program = seriatim_lang::check(SOURCE).expect("a program");
        let bounds = Bounds { values: 3, keys: 1, nodes: None, capacity: None };
        let spec = Spec::new(program.spec.clone().expect("named"), bounds);
        for count in 0..5 {
            let items: Vec<Datum> = (0..count).map(|i| Datum::Value(i % 3)).collect();
            let state = vec![Datum::list(items.clone())];
            let run = |method: &str, arguments: &[Datum]| {
                let number = spec.method(method).expect("specified");
                spec.outcomes(&state, number, arguments).expect("it runs")
            };
            let longer = [&items[..], &[Datum::Value(2)]].concat();
            assert_eq!(run("push", &[Datum::Value(2)])[0].0, vec![Datum::list(longer)]);
            match items.split_last() {
                None => {
                    assert_eq!(run("pop", &[]), [(state.clone(), Datum::Null)]);
                    assert_eq!(run("top", &[]), []);
                }
                Some((last, rest)) => {
                    let rest = vec![Datum::list(rest.to_vec())];
                    assert_eq!(run("pop", &[]), [(rest, last.clone())]);
                    assert_eq!(run("top", &[]), [(state.clone(), last.clone())]);
                }
            }
            assert_eq!(run("void", &[]), [(state.clone(), Datum::Bool(count == 0))]);
        }
    }
}
