//! Models with types: an ordinary type whose methods are the operations.
//!
//! The compiler checks the arguments and results against the methods; whether the test calls
//! operations that the model does not have, or with arguments of other types, is said before
//! anything runs, all at once.

use crate::model::ModelCall;
use crate::reply::Reply;

/// A type whose methods are the operations of a test. Implemented by [`methods!`](crate::methods),
/// used by [`Test::object`](crate::Test::object).
pub trait Methods {
    /// Calls the method that a call names.
    fn call(&mut self, call: &ModelCall) -> Reply;
}

/// Makes the methods of a type the operations of a test.
///
/// ```
/// use seriatim_harness::{distinct, methods, test};
/// use std::collections::VecDeque;
/// use std::sync::Mutex;
///
/// /// A queue with room for two values.
/// #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
/// struct TwoPlaces(VecDeque<u32>);
///
/// impl TwoPlaces {
///     fn push(&mut self, value: u32) -> bool {
///         let room = self.0.len() < 2;
///         if room {
///             self.0.push_back(value);
///         }
///         room
///     }
///
///     fn pop(&mut self) -> Option<u32> {
///         self.0.pop_front()
///     }
/// }
///
/// methods!(TwoPlaces { push(value: u32), pop() });
///
/// test(|| Mutex::new(TwoPlaces::default()))
///     .operation("push", distinct(), |queue, value| queue.lock().unwrap().push(value))
///     .operation("pop", (), |queue, ()| queue.lock().unwrap().pop())
///     .object(TwoPlaces::default())
/// #   .budget(std::time::Duration::from_millis(50))
///     .check();
/// ```
#[macro_export]
macro_rules! methods {
    ($model:ty { $($name:ident($($arg:ident: $type:ty),* $(,)?)),+ $(,)? }) => {
        impl $crate::Methods for $model {
            fn call(&mut self, call: &$crate::ModelCall) -> $crate::Reply {
                match call.name() {
                    $(stringify!($name) => {
                        $crate::methods!(@arguments call $($arg: $type),*);
                        $crate::IntoReply::reply(self.$name($($arg),*))
                    })+
                    other => panic!(
                        "{} has no method `{other}`, only {}",
                        stringify!($model),
                        [$(stringify!($name)),+].join(", "),
                    ),
                }
            }
        }
    };
    (@arguments $call:ident) => {};
    (@arguments $call:ident $arg:ident: $type:ty) => {
        let $arg: $type = $call.arg();
    };
    (@arguments $call:ident $($arg:ident: $type:ty),+) => {
        let ($($arg),+): ($($type),+) = $call.arg();
    };
}
