//! The explorer's locks, with an ear for who gets them. What is not defined here is the explorer's
//! own, reached through `Deref`.

use crate::explorer::sync as own;
use crate::trace::note;
use own::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::LockResult;

macro_rules! lock {
    ($name:ident, $($enter:ident -> $guard:ident),*) => {
        #[doc = concat!("See [`", stringify!($name), "`](std::sync::", stringify!($name), ").")]
        #[derive(Debug)]
        pub struct $name<T>(own::$name<T>);

        impl<T> $name<T> {
            constructor! { own::$name, T }

            /// The data, without its lock.
            pub fn into_inner(self) -> LockResult<T> {
                self.0.into_inner()
            }

            $(
                /// See `std`.
                #[track_caller]
                pub fn $enter(&self) -> LockResult<$guard<'_, T>> {
                    let guard = self.0.$enter();
                    note(Location::caller(), |_| format!("{}()", stringify!($enter)));
                    guard
                }
            )*
        }

        impl<T> Deref for $name<T> {
            type Target = own::$name<T>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        impl<T> DerefMut for $name<T> {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.0
            }
        }

        impl<T: Default> Default for $name<T> {
            fn default() -> Self {
                $name(Default::default())
            }
        }

        impl<T> From<T> for $name<T> {
            fn from(data: T) -> Self {
                $name::new(data)
            }
        }
    };
}

lock! { Mutex, lock -> MutexGuard }
lock! { RwLock, read -> RwLockReadGuard, write -> RwLockWriteGuard }
