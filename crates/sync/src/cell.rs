//! Cells for data that the object's own protocol protects. Loom's cell watches who uses it;
//! elsewhere it is the plain cell behind the same interface.

#[cfg(all(feature = "loom", not(feature = "shuttle")))]
pub use loom::cell::UnsafeCell;
#[cfg(not(all(feature = "loom", not(feature = "shuttle"))))]
pub use plain::UnsafeCell;

#[cfg(not(all(feature = "loom", not(feature = "shuttle"))))]
mod plain {
    /// Data that several threads use under a protocol of the object's own (a lock, a sequence
    /// number).
    ///
    /// Under Loom an access that another thread's access races with fails the test; elsewhere this
    /// is [`std::cell::UnsafeCell`].
    ///
    /// ```
    /// use seriatim_sync::cell::UnsafeCell;
    /// # if seriatim_sync::BACKEND != seriatim_sync::Backend::Loom {
    /// let cell = UnsafeCell::new(7);
    /// // Sound: nobody else has the cell.
    /// assert_eq!(cell.with(|value| unsafe { *value }), 7);
    /// # }
    /// ```
    #[derive(Debug, Default)]
    pub struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// A cell with a value.
        pub const fn new(value: T) -> Self {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }

        /// The value, taken out of the cell.
        pub fn into_inner(self) -> T {
            self.0.into_inner()
        }
    }

    impl<T: ?Sized> UnsafeCell<T> {
        /// Gives a pointer to read from while the closure runs.
        #[inline]
        pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
            read(self.0.get())
        }

        /// Gives a pointer to write to while the closure runs.
        #[inline]
        pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
            write(self.0.get())
        }
    }
}
