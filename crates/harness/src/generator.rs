//! Where the arguments of operations come from.

use crate::Argument;
use crate::argument::{something, unwrapped};
use crate::random::Random;
use crate::tracked::Tracked;
use crate::tuples::for_all_tuples;
use seriatim_history::Value;
use std::marker::PhantomData;
use std::ops::{Range, RangeInclusive};

/// Draws the arguments of an operation.
///
/// A range draws from itself, an array or a `Vec` draws one of its items, a tuple draws each of its
/// parts, `()` draws nothing. [`distinct`] draws a number that nobody drew before in the scenario:
/// what is stored should be distinct, because then a lost or doubled value is seen and the fast
/// monitors apply; what is looked up (keys) should collide, so draw it from a small range.
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
/// twice, or when values outlive their objects and become more the more executions there are.
/// Values that are merely dropped later, as by epoch-based reclamation, are no failure. Put it into
/// whatever the operation takes: a tuple, [`maybe`], [`list_of`], [`array_of`], a generator of your
/// own.
pub fn tracked() -> TrackedValues {
    TrackedValues(())
}

/// See [`tracked`].
pub struct TrackedValues(());

impl Generator for TrackedValues {
    type Item = Tracked;

    fn draw(&self, draw: &mut Draw) -> Option<Value> {
        Some(Value::Int(draw.distinct()))
    }

    fn build(&self, value: Option<&Value>) -> Option<Tracked> {
        Some(Tracked::new(value?.as_int()?))
    }

    fn is_distinct(&self) -> bool {
        true
    }
}

/// Draws `None` or what another generator draws, each half of the time.
///
/// ```
/// # use seriatim_harness::{maybe, test, tracked};
/// # use std::sync::Mutex;
/// let test = test(|| Mutex::new(None))
///     .operation("set", maybe(tracked()), |cell, value| *cell.lock().unwrap() = value);
/// ```
pub fn maybe<G: Generator>(inner: G) -> Maybe<G> {
    Maybe(inner)
}

/// See [`maybe`].
pub struct Maybe<G>(G);

impl<G: Generator> Generator for Maybe<G> {
    type Item = Option<G::Item>;

    fn draw(&self, draw: &mut Draw) -> Option<Value> {
        let some = draw.below(2) == 1;
        let inner = some.then(|| self.0.draw(draw).unwrap_or(Value::Nil));
        Some(inner.map_or(Value::Nil, something))
    }

    fn build(&self, value: Option<&Value>) -> Option<Self::Item> {
        match value? {
            Value::Nil => Some(None),
            value => match unwrapped(value) {
                // What has no value is drawn as nil.
                Value::Nil => self.0.build(Some(&Value::Nil)).or_else(|| self.0.build(None)),
                value => self.0.build(Some(value)),
            }
            .map(Some),
        }
    }
}

/// Draws lists of some length whose items another generator draws.
///
/// ```
/// # use seriatim_harness::{list_of, test, tracked};
/// # use std::sync::Mutex;
/// let test = test(|| Mutex::new(Vec::new()))
///     .operation("extend", list_of(0..=3, tracked()), |list, items| list.lock().unwrap().extend(items));
/// ```
pub fn list_of<G: Generator>(length: RangeInclusive<usize>, item: G) -> ListOf<G> {
    ListOf { length, item }
}

/// See [`list_of`].
pub struct ListOf<G> {
    length: RangeInclusive<usize>,
    item: G,
}

impl<G: Generator> Generator for ListOf<G> {
    type Item = Vec<G::Item>;

    fn draw(&self, draw: &mut Draw) -> Option<Value> {
        let length = draw.random().between(*self.length.start(), *self.length.end());
        let items: Vec<Value> =
            (0..length).map(|_| self.item.draw(draw).unwrap_or(Value::Nil)).collect();
        Some(Value::list(items))
    }

    fn build(&self, value: Option<&Value>) -> Option<Self::Item> {
        value?.as_list()?.iter().map(|item| self.item.build(Some(item))).collect()
    }
}

/// Draws arrays whose items another generator draws.
///
/// ```
/// # use seriatim_harness::{array_of, test, tracked};
/// # use std::sync::Mutex;
/// let test = test(|| Mutex::new(Vec::new()))
///     .operation("pair", array_of::<2, _>(tracked()), |list, pair| list.lock().unwrap().extend(pair));
/// ```
pub fn array_of<const N: usize, G: Generator>(item: G) -> ArrayOf<N, G> {
    ArrayOf(list_of(N..=N, item))
}

/// See [`array_of`].
pub struct ArrayOf<const N: usize, G>(ListOf<G>);

impl<const N: usize, G: Generator> Generator for ArrayOf<N, G> {
    type Item = [G::Item; N];

    fn draw(&self, draw: &mut Draw) -> Option<Value> {
        self.0.draw(draw)
    }

    fn build(&self, value: Option<&Value>) -> Option<Self::Item> {
        self.0.build(value)?.try_into().ok()
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
        }
    )*};
}

for_all_tuples!(tuples);
