//! Rust values as recorded values and back: what operations take.

use crate::tuples::for_all_tuples;
use seriatim_history::Value;

/// A type that operations may take as argument.
///
/// A scenario keeps arguments as [`Value`]s, so that it can be printed, shrunk, and read back from
/// a replay line; an operation gets the Rust value that they stand for.
pub trait Argument: Clone + Send + Sync + 'static {
    /// The value as a history records it.
    fn to_value(&self) -> Value;

    /// The Rust value that a recorded value stands for, if it stands for one.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! integers {
    ($($int:ty),*) => {$(
        impl Argument for $int {
            fn to_value(&self) -> Value {
                match i64::try_from(*self) {
                    Ok(number) => Value::Int(number),
                    Err(_) => Value::Number(self.to_string().into()),
                }
            }

            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    Value::Int(number) => <$int>::try_from(*number).ok(),
                    Value::Number(digits) => digits.parse().ok(),
                    _ => None,
                }
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

impl Argument for bool {
    fn to_value(&self) -> Value {
        Value::Bool(*self)
    }

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(truth) => Some(*truth),
            _ => None,
        }
    }
}

impl Argument for String {
    fn to_value(&self) -> Value {
        Value::text(self)
    }

    fn from_value(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl Argument for char {
    fn to_value(&self) -> Value {
        Value::text(self.encode_utf8(&mut [0; 4]))
    }

    fn from_value(value: &Value) -> Option<Self> {
        let mut characters = value.as_str()?.chars();
        characters.next().filter(|_| characters.next().is_none())
    }
}

impl<A: Argument> Argument for Option<A> {
    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Nil, |inner| something(inner.to_value()))
    }

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Nil => Some(None),
            value => A::from_value(unwrapped(value)).map(Some),
        }
    }
}

/// What is inside of a `Some` that is recorded as this.
pub(crate) fn unwrapped(value: &Value) -> &Value {
    match value {
        Value::List(items) if is_nothing(value) => &items[0],
        value => value,
    }
}

/// Nil, or a list of nothing else.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Nil => true,
        Value::List(items) => items.len() == 1 && is_nothing(&items[0]),
        _ => false,
    }
}

/// What `Some` of a value is: the value, except that `Some(None)` is not `None` but a list of it.
pub(crate) fn something(value: Value) -> Value {
    if is_nothing(&value) { Value::list([value]) } else { value }
}

impl<A: Argument> Argument for Vec<A> {
    fn to_value(&self) -> Value {
        Value::list(self.iter().map(A::to_value))
    }

    fn from_value(value: &Value) -> Option<Self> {
        value.as_list()?.iter().map(A::from_value).collect()
    }
}

impl<A: Argument, const N: usize> Argument for [A; N] {
    fn to_value(&self) -> Value {
        Value::list(self.iter().map(A::to_value))
    }

    fn from_value(value: &Value) -> Option<Self> {
        Vec::from_value(value)?.try_into().ok()
    }
}

macro_rules! tuples {
    ($(($($name:ident $place:tt),+))*) => {$(
        impl<$($name: Argument),+> Argument for ($($name,)+) {
            fn to_value(&self) -> Value {
                Value::list([$(self.$place.to_value()),+])
            }

            fn from_value(value: &Value) -> Option<Self> {
                let items = value.as_list()?;
                let expected = [$($place),+].len();
                if items.len() != expected {
                    return None;
                }
                Some(($($name::from_value(&items[$place])?,)+))
            }
        }
    )*};
}

for_all_tuples!(tuples);

#[cfg(test)]
mod tests {
    use super::*;

    fn comes_back<A: Argument + PartialEq + std::fmt::Debug>(argument: A) {
        assert_eq!(A::from_value(&argument.to_value()), Some(argument));
    }

    #[test]
    fn every_argument_comes_back_as_it_was() {
        comes_back(7_u8);
        comes_back(u64::MAX);
        comes_back(-3_i64);
        comes_back(true);
        comes_back('é');
        comes_back(String::from("a \"word\""));
        comes_back([3_u8, 4]);
        comes_back(Some(None::<u8>));
        comes_back(Some(Some(None::<u8>)));
        comes_back(Some(vec![None::<u8>]));
        comes_back(vec![None, Some(1_u8)]);
        comes_back((1_u32, Some(String::from("x")), vec![2_i8, 3]));
        assert_eq!(u8::from_value(&Value::Int(256)), None);
    }
}
