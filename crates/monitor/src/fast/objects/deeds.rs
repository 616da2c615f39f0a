//! What the operations of a map do to a key, as recorded and as done.

use super::appends::Expected;
use super::texts::Texts;
use crate::fast::Declined;
use seriatim_history::{History, MethodId, OpId, Outcome, ValueId};
use seriatim_spec::names;

/// What a method does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    Get,
    Put,
    Insert,
    Delete,
    Cas,
    Contains,
    Append,
}

impl Method {
    fn named(name: &str) -> Result<Self, Declined> {
        let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let known = [
            (const { names("map", "get") }, Method::Get),
            (const { names("map", "put") }, Method::Put),
            (const { names("map", "insert") }, Method::Insert),
            (const { names("map", "delete") }, Method::Delete),
            (const { names("map", "cas") }, Method::Cas),
            (const { names("map", "contains") }, Method::Contains),
            (const { names("map", "append") }, Method::Append),
        ];
        let found = known.into_iter().find(|(names, _)| is(names)).map(|(_, method)| method);
        found.ok_or_else(|| Declined::UnknownMethod { method: name.to_owned() })
    }
}

/// What an operation does to its key and what it answered; no answer is known of what is pending.
#[derive(Clone, Copy, Debug)]
pub(super) enum Deed {
    /// It saw this value, or the default where there is none.
    Saw(ValueId),
    /// It saw whether there is a value.
    Found(bool),
    /// A value is put.
    Put(ValueId),
    /// A value is put where there is none; whether it was.
    Insert(ValueId, Option<bool>),
    /// The value is taken away; whether there was one.
    Delete(Option<bool>),
    /// The first value is replaced by the second; whether it was there.
    Cas(ValueId, ValueId, Option<bool>),
    /// A text is put behind the one that is there.
    Append(ValueId),
}

impl Deed {
    /// Whether with its answer it never changes anything.
    pub fn only_looks(self) -> bool {
        match self {
            Deed::Saw(_) | Deed::Found(_) => true,
            Deed::Put(_) | Deed::Append(_) => false,
            Deed::Insert(_, done) | Deed::Delete(done) | Deed::Cas(_, _, done) => {
                done == Some(false)
            }
        }
    }

    /// Whether it may change a key otherwise than by appending.
    pub fn overwrites(self) -> bool {
        !self.only_looks() && !matches!(self, Deed::Append(_))
    }
}

/// Knows what deeds do.
pub(super) struct Judge<'h> {
    /// What a key reads as that holds nothing.
    pub default: ValueId,
    pub texts: Texts<'h>,
}

impl Judge<'_> {
    /// What a key holds after a deed, [`ValueId::ABSENT`] being nothing; `None` if its answer does
    /// not fit.
    #[inline]
    pub fn after(
        &mut self,
        deed: Deed,
        held: ValueId,
        expected: impl FnOnce() -> Expected,
    ) -> Option<ValueId> {
        let seen = if held.is_present() { held } else { self.default };
        let (succeeds, next, told) = match deed {
            Deed::Saw(value) => return self.texts.is(seen, value).then_some(held),
            Deed::Found(told) => return (held.is_present() == told).then_some(held),
            Deed::Put(value) => return Some(value),
            Deed::Append(piece) => return self.appended(held, piece, expected()),
            Deed::Insert(value, told) => (!held.is_present(), value, told),
            Deed::Delete(told) => (held.is_present(), ValueId::ABSENT, told),
            Deed::Cas(old, new, told) => (seen == old, new, told),
        };
        let fits = told.is_none_or(|told| told == succeeds);
        fits.then_some(if succeeds { next } else { held })
    }

    /// Whether what only looks may have seen this.
    #[inline]
    pub fn fits(&mut self, deed: Deed, held: ValueId) -> bool {
        self.after(deed, held, || Expected::Anything).is_some()
    }

    #[inline(never)]
    fn appended(&mut self, held: ValueId, piece: ValueId, expected: Expected) -> Option<ValueId> {
        let base = match (held, self.default) {
            (ValueId::ABSENT, ValueId::NIL) => ValueId::ABSENT,
            (ValueId::ABSENT, default) => default,
            (held, _) => held,
        };
        match expected {
            Expected::Anything => self.texts.append(base, piece),
            Expected::Nothing => self.texts.append_unseen(base),
            Expected::Begins(whole) => {
                let text = self.texts.append(base, piece)?;
                self.texts.begins(whole, text).then_some(text)
            }
        }
    }
}

/// Reads recorded operations.
pub(super) struct Recorded<'h> {
    history: &'h History,
    methods: Vec<Result<Method, Declined>>,
}

impl<'h> Recorded<'h> {
    pub fn new(history: &'h History) -> Self {
        let names = (0..history.method_count()).map(|id| history.method_name(MethodId::from(id)));
        Recorded { history, methods: names.map(Method::named).collect() }
    }

    /// Whether values are compared and set.
    pub fn compares(&self) -> bool {
        self.methods.contains(&Ok(Method::Cas))
    }

    /// Why a history is declined in which texts are appended, if they are.
    pub fn declined_texts(&self) -> Option<Declined> {
        let append = self.methods.iter().position(|method| *method == Ok(Method::Append))?;
        let method = self.history.method_name(MethodId::from(append)).to_owned();
        Some(Declined::UnknownMethod { method })
    }

    /// The key of an operation and what it does; no deed if it says nothing.
    #[inline]
    pub fn read(&self, op: OpId) -> Result<(ValueId, Option<Deed>), Declined> {
        let history = self.history;
        let method = self.methods[history.method(op).index()].clone()?;
        let (key, arg) = self.key_and_rest(op, method)?;
        let is_over = match history.outcome(op) {
            // It did not happen.
            Outcome::Failed => return Ok((key, None)),
            Outcome::Ok => true,
            Outcome::Pending => false,
        };
        let result = history.result(op);
        let told = || match (is_over, result) {
            (false, _) | (true, ValueId::ABSENT | ValueId::NIL) => Ok(None),
            (true, ValueId::TRUE) => Ok(Some(true)),
            (true, ValueId::FALSE) => Ok(Some(false)),
            _ => Err(self.unreadable(op, "true or false as result")),
        };
        let deed = match method {
            Method::Get => (is_over && result.is_present()).then_some(Deed::Saw(result)),
            Method::Contains => told()?.map(Deed::Found),
            Method::Put => Some(Deed::Put(arg)),
            Method::Append if history.values().as_str(arg).is_some() => Some(Deed::Append(arg)),
            Method::Append => return Err(self.unreadable(op, "a text to append")),
            Method::Insert => Some(Deed::Insert(arg, told()?)),
            Method::Delete => Some(Deed::Delete(told()?)),
            Method::Cas => {
                let pair = history.values().as_pair(arg);
                let (old, new) = pair.ok_or_else(|| self.unreadable(op, "two values"))?;
                // One that says no more than that it is over had success.
                let told = told()?.or(is_over.then_some(true));
                Some(Deed::Cas(old, new, told))
            }
        };
        Ok((key, deed))
    }

    #[inline]
    fn key_and_rest(&self, op: OpId, method: Method) -> Result<(ValueId, ValueId), Declined> {
        let (key, arg) = (self.history.key(op), self.history.arg(op));
        if key.is_present() {
            return Ok((key, arg));
        }
        let pair = self.history.values().as_pair(arg);
        match (method, pair) {
            (Method::Put | Method::Insert | Method::Append, Some(pair)) => Ok(pair),
            (Method::Put | Method::Insert | Method::Append | Method::Cas, _) => {
                Err(self.unreadable(op, "a key"))
            }
            // A read that repeats its unknown value.
            (_, Some((key, ValueId::NIL))) => Ok((key, ValueId::ABSENT)),
            _ if arg.is_present() => Ok((arg, ValueId::ABSENT)),
            _ => Err(self.unreadable(op, "a key")),
        }
    }

    fn unreadable(&self, op: OpId, expected: &'static str) -> Declined {
        Declined::Unreadable { operation: self.history.operation(op).to_string(), expected }
    }
}
