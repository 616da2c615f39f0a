//! The way through WebAssembly: bytes in, bytes out.
//!
//! The host asks for [`seriatim_room`], writes a question there (and a log, in room of its own),
//! calls [`seriatim_ask`], which takes both back, reads the answer and frees it. It provides the
//! module `seriatim`: `now`, the milliseconds since some moment, and `tell`, which is given the
//! words of a panic (0) or of progress (1).
//!
//! **What would make it unsound**: a host that gives a place or a length that it did not get here,
//! or that gives one twice.

use crate::ask;
use seriatim::limits::clock::told;
use std::sync::Once;
use std::time::Duration;

#[link(wasm_import_module = "seriatim")]
unsafe extern "C" {
    safe fn now() -> f64;
    fn tell(what: u32, words: *const u8, length: usize);
}

const PANIC: u32 = 0;
const PROGRESS: u32 = 1;

fn say(what: u32, words: &str) {
    // SAFETY: the host reads these bytes and is done with them when it returns.
    unsafe { tell(what, words.as_ptr(), words.len()) }
}

/// Room for so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn seriatim_room(length: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; length].into_boxed_slice()).cast()
}

/// Answers a question: the place of the answer in the upper half, its length in the lower. Takes
/// the room of the question and of the log.
///
/// # Safety
///
/// The question and the log lie in room that was asked for with their lengths, and that nobody
/// uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seriatim_ask(
    question: *mut u8,
    question_length: usize,
    log: *mut u8,
    log_length: usize,
) -> u64 {
    static START: Once = Once::new();
    START.call_once(|| {
        told::tell(|| Duration::from_secs_f64(now().max(0.0) / 1000.0));
        std::panic::set_hook(Box::new(|panic| say(PANIC, &panic.to_string())));
    });
    // SAFETY: the host's promise.
    let (question, log) = unsafe { (taken(question, question_length), taken(log, log_length)) };
    let question = String::from_utf8_lossy(&question);
    let answer = ask(&question, log, &mut |words| say(PROGRESS, words)).into_bytes();
    let answer = answer.into_boxed_slice();
    let length = answer.len() as u64;
    let place = Box::into_raw(answer).cast::<u8>() as usize as u64;
    place << 32 | length
}

/// Frees an answer.
///
/// # Safety
///
/// The place and the length are those of an answer that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seriatim_free(place: *mut u8, length: usize) {
    // SAFETY: the host's promise.
    drop(unsafe { taken(place, length) });
}

/// # Safety
///
/// The bytes are a boxed slice of this length that nobody uses any more.
unsafe fn taken(place: *mut u8, length: usize) -> Vec<u8> {
    let slice = std::ptr::slice_from_raw_parts_mut(place, length);
    // SAFETY: the caller's promise.
    unsafe { Box::from_raw(slice) }.into_vec()
}
