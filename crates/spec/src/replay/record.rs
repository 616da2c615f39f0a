//! What the log says of one operation, read once more and more plainly than by any engine.

use seriatim_history::{Echo, History, Nil, OpId, Outcome, Value, ValueId, Values};

/// One recorded operation.
#[derive(Clone, Copy)]
pub struct Record<'h> {
    /// Where it stands.
    pub history: &'h History,
    /// Which one it is.
    pub op: OpId,
    /// Its argument.
    pub arg: ValueId,
    /// Its result.
    pub result: ValueId,
    /// How it ended. A failed one is replayed only where its failure is an observation.
    pub ended: Outcome,
}

/// What a log says of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Said<T> {
    /// Nothing: any result fits.
    Nothing,
    /// This result.
    This(T),
    /// Something that is no result of the operation: none fits.
    Nonsense,
}

impl<T: PartialEq> Said<T> {
    /// Whether the log agrees with what the object returned.
    #[inline]
    pub fn fits(self, returned: T) -> bool {
        match self {
            Said::Nothing => true,
            Said::This(said) => said == returned,
            Said::Nonsense => false,
        }
    }
}

impl<'h> Record<'h> {
    /// The values of the history.
    pub fn values(&self) -> &'h Values {
        self.history.values()
    }

    /// The key that it names apart from its argument.
    pub fn key(&self) -> ValueId {
        self.history.key(self.op)
    }

    /// The argument, if there is one; `nil` counts as none.
    pub fn given(&self) -> Option<ValueId> {
        (!matches!(self.arg, ValueId::ABSENT | ValueId::NIL)).then_some(self.arg)
    }

    /// The items of a list.
    pub fn items(&self, list: ValueId) -> Option<Vec<Value>> {
        match self.values().get(list) {
            Value::List(items) => Some(items.into_vec()),
            _ => None,
        }
    }

    /// What the log says, where a completed operation says this.
    fn if_returned<T>(&self, said: impl FnOnce() -> Said<T>) -> Said<T> {
        match self.ended {
            Outcome::Pending => Said::Nothing,
            _ => said(),
        }
    }

    /// Whether the result says no more than that the operation is over.
    pub fn is_bare(&self) -> bool {
        let is_ok = |word: &str| word.eq_ignore_ascii_case("ok");
        let is_word = || self.values().as_str(self.result).is_some_and(is_ok);
        matches!(self.result, ValueId::ABSENT | ValueId::NIL) || self.is_echo() || is_word()
    }

    /// Whether the result is the argument repeated, in a log that repeats arguments.
    fn is_echo(&self) -> bool {
        self.history.echo() == Echo::Argument && self.result == self.arg
    }

    /// Whether the log tells a number of an operation that returns one or nothing.
    pub fn tells_a_number(&self) -> bool {
        self.values().as_int(self.result).is_some() && !self.is_echo()
    }

    /// Whether the log fits an operation that returns nothing.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.ended == Outcome::Pending || self.result == ValueId::TRUE || self.is_bare()
    }

    /// What the log says where the result is not of the kind that the operation returns: nothing,
    /// if nobody recorded it.
    fn said_otherwise<T>(&self) -> Said<T> {
        match self.result {
            ValueId::ABSENT => Said::Nothing,
            ValueId::NIL if self.history.nil() == Nil::Unknown => Said::Nothing,
            _ => Said::Nonsense,
        }
    }

    /// The answer of a question.
    #[inline]
    pub fn truth(&self) -> Said<bool> {
        self.if_returned(|| match self.result {
            ValueId::TRUE | ValueId::FALSE => Said::This(self.result == ValueId::TRUE),
            _ => self.said_otherwise(),
        })
    }

    /// Whether the operation had success; `bare` where it only says that it is over.
    #[inline]
    pub fn success(&self, bare: Said<bool>) -> Said<bool> {
        self.if_returned(|| match self.result {
            _ if self.ended == Outcome::Failed => Said::This(false),
            ValueId::TRUE | ValueId::FALSE => Said::This(self.result == ValueId::TRUE),
            _ if self.is_bare() => bare,
            _ => Said::Nonsense,
        })
    }

    /// A value, `nil` too.
    #[inline]
    pub fn value(&self) -> Said<ValueId> {
        self.if_returned(|| match self.result {
            ValueId::ABSENT => Said::Nothing,
            value => Said::This(value),
        })
    }

    /// A value that was there, or none.
    pub fn found(&self) -> Said<Option<ValueId>> {
        self.if_returned(|| match self.result {
            _ if self.ended == Outcome::Failed => Said::This(None),
            ValueId::ABSENT => Said::Nothing,
            ValueId::NIL => Said::This(None),
            value => Said::This(Some(value)),
        })
    }

    /// A number.
    pub fn number(&self) -> Said<i64> {
        self.if_returned(|| match self.values().as_int(self.result) {
            Some(number) => Said::This(number),
            None => self.said_otherwise(),
        })
    }

    /// Whether the log agrees with a sum, which may have more than the 64 bits that a log tells.
    pub fn tells(&self, sum: i128) -> bool {
        match self.number() {
            Said::This(number) => i128::from(number) == sum,
            said => said.fits(0),
        }
    }

    /// A value that was taken or seen, or none because there was none. Some recorders write the
    /// value as the argument.
    #[inline]
    pub fn taken(&self) -> Said<Option<ValueId>> {
        self.if_returned(|| match (self.given(), self.result) {
            _ if self.ended == Outcome::Failed => Said::This(None),
            (_, ValueId::NIL) => Said::This(None),
            (Some(arg), ValueId::ABSENT) => Said::This(Some(arg)),
            (None, ValueId::ABSENT) => Said::Nonsense,
            (None, result) => Said::This(Some(result)),
            (Some(arg), result) if arg == result => Said::This(Some(result)),
            _ => Said::Nonsense,
        })
    }

    /// A list.
    pub fn list(&self) -> Said<Vec<Value>> {
        self.if_returned(|| match self.result {
            ValueId::ABSENT | ValueId::NIL => self.said_otherwise(),
            result => self.items(result).map_or(Said::Nonsense, Said::This),
        })
    }
}
