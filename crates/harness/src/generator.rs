//! Where the arguments of operations come from.

use crate::Argument;
use crate::random::Random;
use crate::tracked::{Ledger, Tracked};
use seriatim_history::Value;
use std::marker::PhantomData;
use std::ops::{Range, RangeInclusive};

/// Draws the arguments of an operation.
///
/// A range draws from itself, an array or a `Vec` draws one of its items, a tuple draws each of its
/// parts, `()` draws nothing. [`distinct`] draws a number that nobody drew before in the scenario: what
/// is stored should be distinct, because then a lost or doubled value is seen and the fast monitors
/// apply; what is looked up (keys) should collide, so draw it from a small range.
pub trait Generator: Send + Sync + 'static {
    /// What the operation gets.
    type Item;

    /// A new argument for a scenario; `None` if the operation takes none.
    fn draw(&self, draw: &mut Draw) -> Option<Value>;

    /// The Rust value that a scenario's argument stands for, if it stands for one.
    fn build(&self, value: Option<&Value>) -> Option<Self::Item>;

    /// Whether every argument is a number that occurs once in a scenario, so that a shrunk scenario
    /// may number them anew.
    fn is_distinct(&self) -> bool {
        false
    }

    /// The account of the values that this generator builds, if it keeps one.
    fn ledger(&self) -> Option<&'static Ledger> {
        None
    }
}

/// The luck of one scenario.
#[derive(Debug)]
pub struct Draw {
    random: Random,
    last_distinct: i64,
}

impl Draw {
    pub(crate) fn new(random: Random) -> Self {
        Draw { random, last_distinct: 0 }
    }

    /// A number below a bound, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// A number that was not given out before in this scenario: 1, 2, 3, …
    pub fn distinct(&mut self) -> i64 {
        self.last_distinct += 1;
        self.last_distinct
    }

    pub(crate) fn random(&mut self) -> &mut Random {
        &mut self.random
    }
}

impl Generator for () {
    type Item = ();

    fn draw(&self, _: &mut Draw) -> Option<Value> {
        None
    }

    fn build(&self, value: Option<&Value>) -> Option<()> {
        value.is_none().then_some(())
    }
}

/// Draws numbers that are new in the scenario: 1, 2, 3, …
///
/// ```
/// # use seriatim_harness::{distinct, test};
/// # use std::sync::Mutex;
/// let test = test(|| Mutex::new(Vec::new()))
///     .operation("push", distinct(), |stack, value: u32| stack.lock().unwrap().push(value));
/// ```
pub fn distinct<A: Argument>() -> Distinct<A> {
    Distinct(PhantomData)
}

/// See [`distinct`].
pub struct Distinct<A>(PhantomData<fn() -> A>);

impl<A: Argument> Generator for Distinct<A> {
    type Item = A;

    fn draw(&self, draw: &mut Draw) -> Option<Value> {
        // A type with fewer values starts again.
        let number = Value::Int(draw.distinct());
        let fits = A::from_value(&number).is_some();
        Some(if fits { number } else { Value::Int(1 + draw.below(100) as i64) })
    }

    fn build(&self, value: Option<&Value>) -> Option<A> {
        A::from_value(value?)
    }

    fn is_distinct(&self) -> bool {
        true
    }
}

/// Draws distinct numbers as [`Tracked`] values: the test then also fails when the object drops one
/// twice, or still has one after it was dropped itself.
pub fn tracked() -> TrackedValues {
    TrackedValues(Ledger::open())
}

/// See [`tracked`].
pub struct TrackedValues(&'static Ledger);

impl Generator for TrackedValues {
    type Item = Tracked;

    fn draw(&self, draw: &mut Draw) -> Option<Value> {
        Some(Value::Int(draw.distinct()))
    }

    fn build(&self, value: Option<&Value>) -> Option<Tracked> {
        Some(Tracked::new(value?.as_int()?, self.0))
    }

    fn is_distinct(&self) -> bool {
        true
    }

    fn ledger(&self) -> Option<&'static Ledger> {
        Some(self.0)
    }
}

/// Draws whatever a function makes of the scenario's luck.
///
/// ```
/// # use seriatim_harness::drawn_by;
/// let even = drawn_by(|draw| 2 * draw.below(50));
/// ```
pub fn drawn_by<A: Argument>(draw: impl Fn(&mut Draw) -> A + Send + Sync + 'static) -> DrawnBy<A> {
    DrawnBy(Box::new(draw))
}

/// See [`drawn_by`].
pub struct DrawnBy<A>(Box<dyn Fn(&mut Draw) -> A + Send + Sync>);

impl<A: Argument> Generator for DrawnBy<A> {
    type Item = A;

    fn draw(&self, draw: &mut Draw) -> Option<Value> {
        Some((self.0)(draw).to_value())
    }

    fn build(&self, value: Option<&Value>) -> Option<A> {
        A::from_value(value?)
    }
}

macro_rules! ranges {
    ($($int:ty),*) => {$(
        impl Generator for Range<$int> {
            type Item = $int;

            fn draw(&self, draw: &mut Draw) -> Option<Value> {
                let width = (self.end as i128 - self.start as i128).max(1) as u64;
                Some(((self.start as i128 + i128::from(draw.below(width))) as $int).to_value())
            }

            fn build(&self, value: Option<&Value>) -> Option<$int> {
                <$int>::from_value(value?)
            }
        }

        impl Generator for RangeInclusive<$int> {
            type Item = $int;

            fn draw(&self, draw: &mut Draw) -> Option<Value> {
                let width = (*self.end() as i128 - *self.start() as i128).max(0) as u64;
                let offset = i128::from(draw.below(width.saturating_add(1)));
                Some(((*self.start() as i128 + offset) as $int).to_value())
            }

            fn build(&self, value: Option<&Value>) -> Option<$int> {
                <$int>::from_value(value?)
            }
        }
    )*};
}

ranges!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

impl<A: Argument> Generator for Vec<A> {
    type Item = A;

    fn draw(&self, draw: &mut Draw) -> Option<Value> {
        assert!(!self.is_empty(), "cannot draw an argument from an empty list");
        Some(self[draw.below(self.len() as u64) as usize].to_value())
    }

    fn build(&self, value: Option<&Value>) -> Option<A> {
        A::from_value(value?)
    }
}

impl<A: Argument, const N: usize> Generator for [A; N] {
    type Item = A;

    fn draw(&self, draw: &mut Draw) -> Option<Value> {
        const { assert!(N > 0, "cannot draw an argument from an empty array") };
        Some(self[draw.below(N as u64) as usize].to_value())
    }

    fn build(&self, value: Option<&Value>) -> Option<A> {
        A::from_value(value?)
    }
}

macro_rules! tuples {
    ($(($($name:ident $place:tt),+))*) => {$(
        impl<$($name: Generator),+> Generator for ($($name,)+) {
            type Item = ($($name::Item,)+);

            fn draw(&self, draw: &mut Draw) -> Option<Value> {
                Some(Value::list([$(self.$place.draw(draw).unwrap_or(Value::Nil)),+]))
            }

            fn build(&self, value: Option<&Value>) -> Option<Self::Item> {
                let items = value?.as_list()?;
                Some(($(self.$place.build(items.get($place))?,)+))
            }

            fn ledger(&self) -> Option<&'static Ledger> {
                let ledgers = [$(self.$place.ledger()),+];
                ledgers.into_iter().flatten().next()
            }
        }
    )*};
}

tuples! { (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) }
