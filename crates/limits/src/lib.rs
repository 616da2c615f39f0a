//! Time, memory and interruption: one account of each for the whole process.
//!
//! Three things end work before it is done: the time is over, the memory is used up, somebody
//! presses Ctrl-C. All three are one event here, a [`Reason`] to stop, and work learns of it in one
//! of two ways:
//!
//! - engines with a natural place to stop ask a [`Cancel`] and give back what they know;
//! - everything else (readers, monitors, provers, drawings) passes a [`checkpoint`] now and then.
//!   When there is a reason to stop, the checkpoint unwinds the stack to the [`Cancel::during`]
//!   around it, which gives [`Stopped`] to whoever knows what is known so far.
//!
//! **What the bounds rest on.** A command that forgets both would run on; so [`guard::install`]
//! starts a warden, a thread that looks at the clock and at the resident size, and that has the
//! last word: if work does not stop by itself soon after it was asked to, the warden says what was
//! prepared with [`guard::prepare`] and ends the process. Memory is counted by the
//! [allocator](account::Counting), which ends the process in the same way before it hands out
//! memory beyond the bound. Neither can make an answer wrong: what they say is *unknown*, or a
//! verdict that was found and checked before.
//!
//! A library that installs no guard has no process-wide limits: then only a [`Cancel`] of its own
//! stops it.
//!
//! Here is also what depends on the host: its [clock], how much it can [address](addressable), and
//! sorting in little code where the size of the code counts ([`InOrder`]).

pub mod account;
mod addressable;
mod cancel;
mod checkpoint;
pub mod clock;
pub mod guard;
#[cfg(unix)]
pub mod measure;
mod patient;
mod reason;
mod sorting;

pub use addressable::addressable;
pub use cancel::Cancel;
pub use checkpoint::{Stopped, both, checkpoint, checkpoint_after, checkpoint_now};
pub use clock::Instant;
pub use patient::Patient;
pub use reason::{Reason, forget_memory, stop, stopped};
pub use sorting::InOrder;
