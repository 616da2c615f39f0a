//! Who accessed what: the report of a failing execution shows each access with its place in the
//! source.
//!
//! An explorer runs all threads of an execution on one thread of the system, and only one of them
//! at a time, so that a listener belongs to a thread of the system and hears the accesses in the
//! order in which they happen. Nobody listens while executions are only looked for: an access costs
//! one look at a thread-local variable then.

use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::Location;

/// An access of a primitive: what it was, with its operands and result, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// For instance `load -> 3` or `compare_exchange(3, 4) -> Err(5)`.
    pub what: String,
    /// The place in the source.
    pub place: &'static Location<'static>,
}

struct Listener {
    hear: Box<dyn FnMut(Access)>,
    /// Names for addresses, which differ from one execution to the next.
    addresses: HashMap<usize, usize>,
}

thread_local! {
    static LISTENER: RefCell<Option<Listener>> = const { RefCell::new(None) };
}

/// Hears the accesses of this thread of the system until it is dropped.
#[must_use = "listening ends when this is dropped"]
pub struct Listening(());

/// Begins to listen.
pub fn listen(hear: impl FnMut(Access) + 'static) -> Listening {
    let listener = Listener { hear: Box::new(hear), addresses: HashMap::new() };
    LISTENER.with(|current| *current.borrow_mut() = Some(listener));
    Listening(())
}

impl Drop for Listening {
    fn drop(&mut self) {
        LISTENER.with(|current| *current.borrow_mut() = None);
    }
}

/// Tells the listener, if there is one, of an access that has just happened.
pub(crate) fn note(place: &'static Location<'static>, what: impl FnOnce(&mut Names) -> String) {
    LISTENER.with(|current| {
        // An access inside of the listener's own work is none of the object's.
        let Ok(mut current) = current.try_borrow_mut() else { return };
        if let Some(listener) = current.as_mut() {
            let what = what(&mut Names(&mut listener.addresses));
            (listener.hear)(Access { what, place });
        }
    });
}

/// Names for addresses, in the order in which they come up.
pub(crate) struct Names<'l>(&'l mut HashMap<usize, usize>);

/// A value that an access shows.
pub(crate) trait Shown {
    fn show(&self, names: &mut Names) -> String;
}

macro_rules! shown_as_they_are {
    ($($kind:ty)*) => {$(
        impl Shown for $kind {
            fn show(&self, _: &mut Names) -> String {
                self.to_string()
            }
        }
    )*};
}

shown_as_they_are!(bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

impl<T> Shown for *mut T {
    fn show(&self, names: &mut Names) -> String {
        if self.is_null() {
            return "null".to_owned();
        }
        let next = names.0.len() + 1;
        format!("#{}", names.0.entry(self.addr()).or_insert(next))
    }
}

impl<T: Shown> Shown for Result<T, T> {
    fn show(&self, names: &mut Names) -> String {
        match self {
            Ok(value) => format!("Ok({})", value.show(names)),
            Err(value) => format!("Err({})", value.show(names)),
        }
    }
}
