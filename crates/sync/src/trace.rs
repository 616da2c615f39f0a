//! Who accessed what: the report of a failing execution shows each access with its place in the
//! source, and what an explorer let the threads read can be held against the rules of C11.
//!
//! An explorer runs all threads of an execution on one thread of the system, and only one of them
//! at a time, so that a listener belongs to a thread of the system and hears the accesses in the
//! order in which they happen. While nobody listens, an access costs one look at a thread-local
//! variable; texts are made only for those who want to read them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::atomic::Ordering;

/// An access of a primitive: what it was, with its operands and result, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// For instance `load -> 3` or `compare_exchange(3, 4) -> Err(5)`.
    pub what: String,
    /// The place in the source.
    pub place: &'static Location<'static>,
}

/// What an access did to the atomics. Values are given by their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// An atomic came into being with a value.
    New(Atom, u64),
    /// A load returned a value.
    Load(Atom, u64, Ordering),
    /// A value was stored.
    Store(Atom, u64, Ordering),
    /// A value was read and replaced by another in one step.
    Update(Atom, u64, u64, Ordering),
    /// A fence.
    Fence(Ordering),
    /// An atomic was handed out, so that it may change without being heard.
    Unheard(Atom),
}

/// The name of an atomic, unlike its address never used for another. Shuttle's atomics, which are
/// made in constants too, have none: there all accesses have one order anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Atom(pub u64);

impl Atom {
    /// An atomic without a name of its own.
    #[cfg(feature = "shuttle")]
    pub(crate) const NAMELESS: Atom = Atom(0);

    /// A name that no other atomic of this thread of the system has.
    #[cfg(all(feature = "loom", not(feature = "shuttle")))]
    pub(crate) fn fresh() -> Self {
        thread_local! {
            static LAST: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
        }
        Atom(LAST.with(|last| {
            last.set(last.get() + 1);
            last.get()
        }))
    }
}

/// Who listens, and to what.
#[derive(Default)]
pub struct Ear {
    /// Hears each access as a reader is told of it.
    pub accesses: Option<Box<dyn FnMut(Access)>>,
    /// Hears what each access did.
    pub effects: Option<Box<dyn FnMut(Effect)>>,
}

struct Listener {
    ear: Ear,
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
pub fn listen(ear: Ear) -> Listening {
    let listener = Listener { ear, addresses: HashMap::new() };
    LISTENER.with(|current| *current.borrow_mut() = Some(listener));
    Listening(())
}

impl Drop for Listening {
    fn drop(&mut self) {
        LISTENER.with(|current| *current.borrow_mut() = None);
    }
}

fn with_listener(tell: impl FnOnce(&mut Listener)) {
    LISTENER.with(|current| {
        // An access inside of the listener's own work is none of the object's.
        let Ok(mut current) = current.try_borrow_mut() else { return };
        if let Some(listener) = current.as_mut() {
            tell(listener);
        }
    });
}

/// Tells the listener, if there is one, what an access that has just happened did.
pub(crate) fn effect(effect: Effect) {
    with_listener(|listener| {
        if let Some(hear) = &mut listener.ear.effects {
            hear(effect);
        }
    });
}

/// Tells the listener, if there is one, of an access that has just happened.
pub(crate) fn note(place: &'static Location<'static>, what: impl FnOnce(&mut Names) -> String) {
    with_listener(|listener| {
        if let Some(hear) = &mut listener.ear.accesses {
            hear(Access { what: what(&mut Names(&mut listener.addresses)), place });
        }
    });
}

/// Names for addresses, in the order in which they come up.
pub(crate) struct Names<'l>(&'l mut HashMap<usize, usize>);

/// A value that an access shows.
pub(crate) trait Shown {
    fn show(&self, names: &mut Names) -> String;
}

/// A value that fits into an atomic.
pub(crate) trait Word: Shown {
    fn bits(&self) -> u64;
}

macro_rules! words {
    ($($kind:ty)*) => {$(
        impl Shown for $kind {
            fn show(&self, _: &mut Names) -> String {
                self.to_string()
            }
        }

        impl Word for $kind {
            fn bits(&self) -> u64 {
                *self as u64
            }
        }
    )*};
}

words!(bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

impl<T> Shown for *mut T {
    fn show(&self, names: &mut Names) -> String {
        if self.is_null() {
            return "null".to_owned();
        }
        let next = names.0.len() + 1;
        format!("#{}", names.0.entry(self.addr()).or_insert(next))
    }
}

impl<T> Word for *mut T {
    fn bits(&self) -> u64 {
        self.addr() as u64
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
