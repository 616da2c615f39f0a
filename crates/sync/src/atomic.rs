//! The explorer's atomics, with an ear for accesses. What is not defined here is the explorer's
//! own, reached through `Deref`.

use crate::explorer::sync::atomic as own;
use crate::trace::{Atom, Effect, Shown, Word, effect, note};
use std::ops::{Deref, DerefMut};
use std::panic::Location;

pub use std::sync::atomic::Ordering;

/// A fence between accesses of several threads.
#[track_caller]
pub fn fence(order: Ordering) {
    own::fence(order);
    effect(Effect::Fence(order));
    note(Location::caller(), |_| format!("fence({order:?})"));
}

/// `new` of an atomic: Shuttle's can be made in a `const` and a `static`, Loom's has a name.
#[cfg(feature = "shuttle")]
macro_rules! atomic_constructor {
    ($name:ident, $value:ty) => {
        /// A new one.
        pub const fn new(value: $value) -> Self {
            Self(own::$name::new(value), Atom::NAMELESS)
        }
    };
}

#[cfg(all(feature = "loom", not(feature = "shuttle")))]
macro_rules! atomic_constructor {
    ($name:ident, $value:ty) => {
        /// A new one.
        #[track_caller]
        pub fn new(value: $value) -> Self {
            let atom = Atom::fresh();
            effect(Effect::New(atom, value.bits()));
            Self(own::$name::new(value), atom)
        }
    };
}

macro_rules! atomic {
    ($name:ident $(<$of:ident>)?, $value:ty, $zero:expr, [$($fetch:ident)*]) => {
        #[doc = concat!("See [`", stringify!($name), "`](std::sync::atomic::", stringify!($name), ").")]
        pub struct $name $(<$of>)? (own::$name $(<$of>)?, Atom);

        impl $(<$of>)? $name $(<$of>)? {
            atomic_constructor! { $name, $value }

            /// The value, without its atomic.
            pub fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            /// See `std`.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                let value = self.0.load(order);
                effect(Effect::Load(self.1, value.bits(), order));
                note(Location::caller(), |names| format!("load -> {}", value.show(names)));
                value
            }

            /// See `std`.
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, order);
                effect(Effect::Store(self.1, value.bits(), order));
                note(Location::caller(), |names| format!("store({})", value.show(names)));
            }

            /// See `std`.
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                let old = self.0.swap(value, order);
                effect(Effect::Update(self.1, old.bits(), value.bits(), order));
                note(Location::caller(), |names| {
                    format!("swap({}) -> {}", value.show(names), old.show(names))
                });
                old
            }

            /// See `std`.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let result = self.0.compare_exchange(current, new, success, failure);
                effect(self.exchanged(result, new, success, failure));
                note(Location::caller(), |names| {
                    let (current, new) = (current.show(names), new.show(names));
                    format!("compare_exchange({current}, {new}) -> {}", result.show(names))
                });
                result
            }

            /// See `std`.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let result = self.0.compare_exchange_weak(current, new, success, failure);
                effect(self.exchanged(result, new, success, failure));
                note(Location::caller(), |names| {
                    let (current, new) = (current.show(names), new.show(names));
                    format!("compare_exchange_weak({current}, {new}) -> {}", result.show(names))
                });
                result
            }

            /// See `std`.
            #[track_caller]
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut update: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut new = $zero;
                let result = self.0.fetch_update(set, fetch, |old| {
                    let wanted = update(old)?;
                    new = wanted;
                    Some(wanted)
                });
                effect(self.exchanged(result, new, set, fetch));
                note(Location::caller(), |names| format!("fetch_update -> {}", result.show(names)));
                result
            }

            /// What an exchange did, which succeeded or saw another value.
            fn exchanged(
                &self,
                result: Result<$value, $value>,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Effect {
                match result {
                    Ok(old) => Effect::Update(self.1, old.bits(), new.bits(), success),
                    Err(seen) => Effect::Load(self.1, seen.bits(), failure),
                }
            }

            $(
                /// See `std`.
                #[track_caller]
                pub fn $fetch(&self, value: $value, order: Ordering) -> $value {
                    let old = self.0.$fetch(value, order);
                    let new = std::sync::atomic::$name::new(old);
                    new.$fetch(value, Ordering::Relaxed);
                    let new = new.into_inner();
                    effect(Effect::Update(self.1, old.bits(), new.bits(), order));
                    note(Location::caller(), |names| {
                        let value = value.show(names);
                        format!("{}({value}) -> {}", stringify!($fetch), old.show(names))
                    });
                    old
                }
            )*
        }

        impl $(<$of>)? Deref for $name $(<$of>)? {
            type Target = own::$name $(<$of>)?;

            fn deref(&self) -> &Self::Target {
                effect(Effect::Unheard(self.1));
                &self.0
            }
        }

        impl $(<$of>)? DerefMut for $name $(<$of>)? {
            fn deref_mut(&mut self) -> &mut Self::Target {
                effect(Effect::Unheard(self.1));
                &mut self.0
            }
        }

        impl $(<$of>)? Default for $name $(<$of>)? {
            fn default() -> Self {
                $name::new($zero)
            }
        }

        impl $(<$of>)? From<$value> for $name $(<$of>)? {
            fn from(value: $value) -> Self {
                $name::new(value)
            }
        }

        impl $(<$of>)? std::fmt::Debug for $name $(<$of>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

macro_rules! integers {
    ($($name:ident: $value:ty),*) => {$(
        atomic! { $name, $value, 0, [
            fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min
        ] }
    )*};
}

integers! {
    AtomicI8: i8, AtomicI16: i16, AtomicI32: i32, AtomicI64: i64, AtomicIsize: isize,
    AtomicU8: u8, AtomicU16: u16, AtomicU32: u32, AtomicU64: u64, AtomicUsize: usize
}
atomic! { AtomicBool, bool, false, [fetch_and fetch_nand fetch_or fetch_xor] }
atomic! { AtomicPtr<T>, *mut T, std::ptr::null_mut(), [] }
