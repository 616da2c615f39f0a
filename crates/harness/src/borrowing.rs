//! Handles that borrow from the shared object: guards, pinned references, readers.
//!
//! A handle lives beside the object that it borrows from, in a [`Borrowed`]. That is sound because
//! (a) the object stands in an `Arc`, so that it does not move; (b) the handle is dropped before
//! the `Arc`; (c) whoever makes or uses a handle does it for *every* lifetime ([`Borrows::handle`],
//! `operation`), so that nobody can take a reference out of it that outlives it.

use crate::generator::Generator;
use crate::reply::IntoReply;
use crate::subject::Caller;
use crate::test::{Shared, Test};
use std::sync::Arc;

/// Says what threads borrow from an object. See [`Test::borrowing`].
pub trait Borrows<T>: 'static {
    /// What a thread holds.
    type Handle<'a>
    where
        T: 'a;

    /// Makes the handle of a thread, on that thread.
    fn handle<'a>(object: &'a T, caller: Caller) -> Self::Handle<'a>;
}

/// Threads hold something that borrows from the object.
pub struct Borrowing;

/// A handle with the object that it borrows from. The order of the fields is that in which they are
/// dropped.
pub struct Borrowed<T: 'static, B: Borrows<T>> {
    handle: B::Handle<'static>,
    _object: Arc<T>,
}

impl<T: 'static, B: Borrows<T>> Borrowed<T, B> {
    fn of(object: Arc<T>, caller: Caller) -> Self {
        // Sound: see the module's header. The reference lives in the handle alone, which goes
        // first.
        let borrowed: &'static T = unsafe { &*Arc::as_ptr(&object) };
        Borrowed { handle: B::handle(borrowed, caller), _object: object }
    }
}

impl<T: Send + Sync + 'static> Test<T, Arc<T>, Shared> {
    /// Gives every thread a handle that borrows from the shared object. To be called before the
    /// operations, which then take `&mut` handles.
    ///
    /// ```
    /// use seriatim_harness::{Borrows, Caller, distinct, test};
    /// use std::sync::Mutex;
    ///
    /// /// What a thread that has pinned the list can do.
    /// struct Pinned<'a>(&'a Mutex<Vec<u32>>);
    ///
    /// struct Pins;
    ///
    /// impl Borrows<Mutex<Vec<u32>>> for Pins {
    ///     type Handle<'a> = Pinned<'a>;
    ///     fn handle<'a>(list: &'a Mutex<Vec<u32>>, _: Caller) -> Pinned<'a> { Pinned(list) }
    /// }
    ///
    /// test(|| Mutex::new(Vec::new()))
    ///     .borrowing::<Pins>()
    ///     .operation("push", distinct(), |pinned, value| pinned.0.lock().unwrap().push(value))
    ///     .operation("pop", (), |pinned, ()| pinned.0.lock().unwrap().pop())
    ///     .spec("stack")
    /// #   .budget(std::time::Duration::from_millis(50))
    ///     .check();
    /// ```
    pub fn borrowing<B: Borrows<T>>(self) -> Test<T, Borrowed<T, B>, Borrowing> {
        self.with_handles(Box::new(|object, caller| Borrowed::of(object.clone(), caller)))
    }
}

impl<T: Send + Sync + 'static, B: Borrows<T>> Test<T, Borrowed<T, B>, Borrowing> {
    /// Declares an operation on a handle: its name, where its arguments come from, how to call it.
    pub fn operation<G: Generator, R: IntoReply>(
        self,
        name: &str,
        arguments: G,
        call: impl for<'a> Fn(&mut B::Handle<'a>, G::Item) -> R + Send + Sync + 'static,
    ) -> Self {
        let call = move |borrowed: &mut Borrowed<T, B>, item| call(&mut borrowed.handle, item);
        self.declare(name, arguments, call)
    }
}
