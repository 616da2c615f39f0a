//! What operations give back, as a history records it.

use crate::argument::something;
use crate::tuples::for_all_tuples;
use seriatim_history::Value;
use std::fmt::Debug;

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// It returned, with a value or without one.
    Answer(Option<Value>),
    /// It returned a failure: this one, or any.
    Failed(Option<Value>),
    /// It came back, but nobody knows whether it took effect: a time-out, a cancellation. It stays
    /// *pending* in the history: it may have happened at any time since, or never.
    Unknown,
    /// For models only: in this state the call waits.
    Waits,
}

impl Reply {
    /// Whether this is what is right. A failure of which no more is said is every failure.
    pub(crate) fn is_as(&self, right: &Reply) -> bool {
        match (self, right) {
            (Reply::Failed(None), Reply::Failed(_)) | (Reply::Failed(_), Reply::Failed(None)) => {
                true
            }
            _ => self == right,
        }
    }

    /// The Rust value of an answer, if it has one of that type.
    pub fn value<A: crate::Argument>(&self) -> Option<A> {
        match self {
            Reply::Answer(Some(value)) | Reply::Failed(Some(value)) => A::from_value(value),
            _ => None,
        }
    }
}

/// A type that operations may return.
///
/// `()` is no value, an `Option` is its content or nil (`Some(None)` is a list of nil). `Err` is a
/// failed operation with the error as `Debug` writes it, so that a model that replies with another
/// error disagrees; `Err(())` is a failure of which no more is said, and agrees with every one. A
/// specification by name looks at no error: it drops failed operations unless their failure tells something (a
/// compare-and-set that saw another value), so give it `pop().ok()` rather than `pop()` when
/// "empty" is an answer.
pub trait IntoReply {
    /// The reply that this stands for.
    fn reply(self) -> Reply;
}

impl IntoReply for Reply {
    fn reply(self) -> Reply {
        self
    }
}

impl IntoReply for () {
    fn reply(self) -> Reply {
        Reply::Answer(None)
    }
}

impl IntoReply for Value {
    fn reply(self) -> Reply {
        Reply::Answer(Some(self))
    }
}

/// A result that is a value.
pub trait IntoValue {
    /// The value as a history records it.
    fn into_value(self) -> Value;
}

impl IntoValue for Value {
    fn into_value(self) -> Value {
        self
    }
}

impl<T: IntoValue> IntoValue for Option<T> {
    fn into_value(self) -> Value {
        self.map_or(Value::Nil, |inner| something(inner.into_value()))
    }
}

impl<T: IntoValue> IntoValue for Vec<T> {
    fn into_value(self) -> Value {
        Value::list(self.into_iter().map(T::into_value))
    }
}

impl<T: IntoValue, const N: usize> IntoValue for [T; N] {
    fn into_value(self) -> Value {
        Value::list(self.into_iter().map(T::into_value))
    }
}

impl<T: IntoValue, const N: usize> IntoReply for [T; N] {
    fn reply(self) -> Reply {
        Reply::Answer(Some(self.into_value()))
    }
}

impl<T: IntoValue> IntoReply for Option<T> {
    fn reply(self) -> Reply {
        Reply::Answer(Some(self.into_value()))
    }
}

impl<T: IntoValue> IntoReply for Vec<T> {
    fn reply(self) -> Reply {
        Reply::Answer(Some(self.into_value()))
    }
}

impl<T: IntoReply, E: Debug> IntoReply for Result<T, E> {
    fn reply(self) -> Reply {
        self.map_or_else(|error| failed(&format!("{error:?}")), T::reply)
    }
}

fn failed(error: &str) -> Reply {
    Reply::Failed((error != "()").then(|| Value::text(error)))
}

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl IntoValue for $type {
            fn into_value(self) -> Value {
                crate::Argument::to_value(&self)
            }
        }

        impl IntoReply for $type {
            fn reply(self) -> Reply {
                Reply::Answer(Some(self.into_value()))
            }
        }
    )*};
}

plain!(bool, char, String, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

impl IntoValue for &str {
    fn into_value(self) -> Value {
        Value::text(self)
    }
}

impl IntoReply for &str {
    fn reply(self) -> Reply {
        Reply::Answer(Some(self.into_value()))
    }
}

macro_rules! tuples {
    ($(($($name:ident $place:tt),+))*) => {$(
        impl<$($name: IntoValue),+> IntoValue for ($($name,)+) {
            fn into_value(self) -> Value {
                Value::list([$(self.$place.into_value()),+])
            }
        }

        impl<$($name: IntoValue),+> IntoReply for ($($name,)+) {
            fn reply(self) -> Reply {
                Reply::Answer(Some(self.into_value()))
            }
        }
    )*};
}

for_all_tuples!(tuples);
