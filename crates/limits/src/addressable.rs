//! Amounts of memory where addresses have 32 bits.

/// An amount of memory in bytes, or half of what can be addressed if that is less: so a limit of 4
/// GiB is none that no search can reach, and not nought, where `usize` has 32 bits.
///
/// ```
/// use seriatim_limits::addressable;
///
/// assert_eq!(addressable(1 << 20), 1 << 20);
/// assert_eq!(addressable(u64::MAX), usize::MAX / 2);
/// ```
pub const fn addressable(bytes: u64) -> usize {
    const HALF: usize = usize::MAX / 2;
    if bytes < HALF as u64 { bytes as usize } else { HALF }
}
