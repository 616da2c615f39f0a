//! Histories to verdicts through a C interface, for every language that can call C.
//!
//! A question is one call: bytes and options in, a report out, which is asked for its verdict, for
//! its error if it has none, and for its forms, and then freed. The header `include/seriatim.h` is
//! made from this file by cbindgen.
//!
//! **What the caller promises** stands at each function: pointers that are valid for as long as it
//! says. What is checked: null pointers, alignment, lengths, text that is no UTF-8, numbers out of range. **What is
//! promised to the caller**: nothing unwinds across the interface, a panic of ours is an error with
//! its words, and only reports whose verdict is one of the first three have anything to render. A
//! model that says that it failed, that answers out of range or that contradicts itself yields an
//! error and no verdict (see [`seriatim::foreign`]).
//!
//! **What would make it unsound**: a callback that throws or jumps through our frames (an exception
//! of C++ that leaves a callback ends the process), one that writes beyond the capacity it was
//! given, or reports that two threads use at once.

mod model;

use crate::model::Callbacks;
use seriatim::foreign::{Operation, check_model};
use seriatim::history::{ReadOptions, read_bytes, read_with};
use seriatim::monitor::Detail;
use seriatim::question::{Answered, Question, Refused, Specified};
use seriatim::{Failures, Options};
use std::any::Any;
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// A report on a history, or the reason why there is none.
pub struct SeriatimReport {
    answer: Result<Answered, String>,
    /// What was rendered last, or the error.
    rendered: Vec<u8>,
}

/// What the verdict is, as the exit codes of the command.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeriatimVerdict {
    /// The history is linearizable: an order was found, and replayed.
    Linearizable = 0,
    /// It is not: there is no such order.
    Violation = 1,
    /// There is no verdict: the input makes no sense. The error says why.
    Error = 2,
    /// A limit was reached.
    Unknown = 3,
}

/// The forms of a report.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeriatimForm {
    /// The JSON report, one line.
    Json = 0,
    /// For people: a violation is drawn. 100 columns, UTF-8, no colours.
    Text = 1,
    /// A page that any browser opens.
    Html = 2,
}

/// How to check. All zero is the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SeriatimOptions {
    /// The specification, as `seriatim specs` lists them, or a file `FILE.seri` or
    /// `FILE.seri#NAME`. Null: what the history names, or what all specifications that can read it
    /// agree on.
    pub spec: *const c_char,
    /// A specification in the algorithm language, as text; null: none. Goes before `spec`.
    pub seri: *const c_char,
    /// What the history is called in messages and reports; null: `<memory>`.
    pub source: *const c_char,
    /// The time limit in milliseconds; 0: none.
    pub milliseconds: u64,
    /// The memory limit of the searches in bytes; 0: 4 GiB.
    pub memory: u64,
    /// The number of threads; 0: one for each core. Models are always asked by one thread.
    pub threads: u32,
    /// `SERIATIM_OBSERVE_FAILURES`, `SERIATIM_INDEPENDENT`, `SERIATIM_PLAIN`, together with `|`.
    pub flags: u32,
}

/// A failed operation saw that its condition did not hold. Otherwise it did not happen.
pub const SERIATIM_OBSERVE_FAILURES: u32 = 1;
/// Jepsen's independent keys: a value is `[key value]`, and each key is an object of its own.
pub const SERIATIM_INDEPENDENT: u32 = 2;
/// Only the verdict counts: a violation is not made small, and hardly explained.
pub const SERIATIM_PLAIN: u32 = 4;

/// An operation without process; either all operations of a history have one or none.
pub const SERIATIM_NO_PROCESS: i64 = i64::MIN;
/// The return of an operation that never returned: nobody knows whether it happened.
pub const SERIATIM_PENDING: u64 = u64::MAX;
/// What a step returns if the model failed: the check stops, and there is no verdict.
pub const SERIATIM_MODEL_FAILED: i64 = -1;

/// An operation of a model's history.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SeriatimOperation {
    /// Who called it, or `SERIATIM_NO_PROCESS`.
    pub process: i64,
    /// When it was called.
    pub call: u64,
    /// When it returned, or `SERIATIM_PENDING`. Intervals are closed.
    pub ret: u64,
    /// Its number, which stands for the operation, its arguments and its result; below `operations`
    /// of the model.
    pub operation: u32,
}

/// A sequential object of the caller's: its states and operations are the caller's numbers.
/// Different states must have different numbers; equal states with different numbers only cost
/// time.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SeriatimModel {
    /// Given to every callback.
    pub context: *mut c_void,
    /// What the specification is called in reports; null: `model`.
    pub name: *const c_char,
    /// The state before the first operation.
    pub initial: u32,
    /// How many numbers of operations there are.
    pub operations: u32,
    /// Writes the states after an operation in a state to `next`, and returns how many there are: 0
    /// if the operation is impossible there. If there are more than `capacity` it writes none and
    /// is called again with room for them. `SERIATIM_MODEL_FAILED` stops the check. Must be a
    /// function of `state` and `operation`.
    pub step: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            state: u32,
            operation: u32,
            next: *mut u32,
            capacity: usize,
        ) -> i64,
    >,
    /// Writes an operation as a person reads it, `dequeue() -> 7`, in UTF-8, and returns its length
    /// in bytes; if that is more than `capacity` it is called again. May be null.
    pub describe: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            operation: u32,
            text: *mut c_char,
            capacity: usize,
        ) -> usize,
    >,
    /// Writes a state in the same way. May be null.
    pub show: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            state: u32,
            text: *mut c_char,
            capacity: usize,
        ) -> usize,
    >,
    /// For each number of an operation the independent part of the object that it acts on; null: it
    /// is one object.
    pub parts: *const u64,
}

/// Checks a history, in any format that the command reads, also compressed. `history` points to
/// `length` bytes; `options` may be null. Never null; to be freed with `seriatim_free`.
///
/// # Safety
///
/// The pointers are null or valid during the call, and the texts of the options end with a zero
/// byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seriatim_check(
    history: *const u8,
    length: usize,
    options: *const SeriatimOptions,
) -> *mut SeriatimReport {
    report(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { slice(history, length, "history") }?;
        let asked = unsafe { Asked::of(options) }?;
        let source = asked.source.as_deref().unwrap_or("<memory>");
        let history = read_bytes(bytes.to_vec(), source, asked.read_options())?;
        asked.question().answer(history)
    })
}

/// Checks the history in a file; `.gz` and `.zst` are unpacked. `path` ends with a zero byte;
/// `options` may be null. Never null; to be freed with `seriatim_free`.
///
/// # Safety
///
/// As for `seriatim_check`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seriatim_check_file(
    path: *const c_char,
    options: *const SeriatimOptions,
) -> *mut SeriatimReport {
    report(|| {
        // SAFETY: the caller's promise.
        let path = unsafe { text(path, "path") }?;
        let path = path.ok_or_else(|| Refused("path: expected a text, found null".to_owned()))?;
        let asked = unsafe { Asked::of(options) }?;
        // A lone - would be the standard input, which is the host's.
        let path = if path == "-" { "./-".to_owned() } else { path };
        let history = read_with(path, asked.read_options())?;
        asked.question().answer(history)
    })
}

/// Checks operations under a model of the caller's. Of the options only the limits count. Never
/// null; to be freed with `seriatim_free`.
///
/// # Safety
///
/// The pointers are null or valid during the call: `operations` to `count` operations, `parts` of
/// the model to as many numbers as it says. The callbacks return to their caller, and write no more
/// than they may.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seriatim_check_model(
    model: *const SeriatimModel,
    operations: *const SeriatimOperation,
    count: usize,
    options: *const SeriatimOptions,
) -> *mut SeriatimReport {
    report(|| {
        // SAFETY: the caller's promise.
        let asked = unsafe { Asked::of(options) }?;
        let operations = unsafe { slice(operations, count, "operations") }?;
        let model = unsafe { reference(model, "model") }?;
        let model = model.ok_or_else(|| Refused("model: expected one, found null".to_owned()))?;
        let callbacks = unsafe { Callbacks::of(model) }?;
        let told = operations.iter().enumerate().map(|(index, operation)| {
            let &SeriatimOperation { process, call, ret, operation } = operation;
            if operation >= model.operations {
                let most = model.operations;
                return Err(Refused(format!(
                    "operation {index}: expected a number below {most}, found {operation}"
                )));
            }
            Ok(Operation {
                process: (process != SERIATIM_NO_PROCESS).then_some(process),
                call,
                ret: (ret != SERIATIM_PENDING).then_some(ret),
                operation,
            })
        });
        let told: Vec<Operation> = told.collect::<Result<_, _>>()?;
        check_model(callbacks, &told, &asked.question())
    })
}

/// The verdict of a report; `SERIATIM_VERDICT_ERROR` for null.
///
/// # Safety
///
/// The report is null or one of ours that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seriatim_verdict(report: *const SeriatimReport) -> SeriatimVerdict {
    // SAFETY: the caller's promise.
    match unsafe { report.as_ref() }.map(|report| &report.answer) {
        Some(Ok(answered)) => match answered.exit_code() {
            0 => SeriatimVerdict::Linearizable,
            1 => SeriatimVerdict::Violation,
            _ => SeriatimVerdict::Unknown,
        },
        Some(Err(_)) | None => SeriatimVerdict::Error,
    }
}

/// A form of a report (a `SeriatimForm`), or the error if there is no verdict, in UTF-8; `length`
/// gets the number of bytes, and a zero byte stands behind them. They live until the report is
/// rendered again or freed.
///
/// # Safety
///
/// The report is null or one of ours that was not freed, and nobody else uses it. `length` is null
/// or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seriatim_render(
    report: *mut SeriatimReport,
    form: i32,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: the caller's promise.
    let length = unsafe { length.as_mut() };
    let Some(report) = (unsafe { report.as_mut() }) else {
        if let Some(length) = length {
            *length = 0;
        }
        return c"".as_ptr();
    };
    let rendered = catch_unwind(AssertUnwindSafe(|| match &report.answer {
        Err(message) => message.clone().into_bytes(),
        Ok(answered) if form == SeriatimForm::Json as i32 => answered.json().into_bytes(),
        Ok(answered) if form == SeriatimForm::Text as i32 => answered.text(100).into_bytes(),
        Ok(answered) if form == SeriatimForm::Html as i32 => answered.html(),
        Ok(_) => format!("{form} is no form of a report").into_bytes(),
    }));
    report.rendered = rendered.unwrap_or_else(|panic| defect(&*panic).into_bytes());
    if let Some(length) = length {
        *length = report.rendered.len();
    }
    report.rendered.push(0);
    report.rendered.as_ptr().cast()
}

/// Frees a report; null is nothing to free.
///
/// # Safety
///
/// The report is null or one of ours that was not freed. It is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seriatim_free(report: *mut SeriatimReport) {
    if !report.is_null() {
        // SAFETY: the caller's promise; the report comes from `Box::into_raw`.
        drop(unsafe { Box::from_raw(report) });
    }
}

/// The version of the library, as text.
#[unsafe(no_mangle)]
pub extern "C" fn seriatim_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// The report on a question. A panic is an error.
fn report(work: impl FnOnce() -> Result<Answered, Refused>) -> *mut SeriatimReport {
    // What a panic may have left half done is dropped.
    let answer = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(answer) => answer.map_err(|Refused(message)| message),
        Err(panic) => Err(defect(&*panic)),
    };
    Box::into_raw(Box::new(SeriatimReport { answer, rendered: Vec::new() }))
}

fn defect(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<String>().map(String::as_str);
    let said = said.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no reason");
    format!(
        "this is a defect of Seriatim, not of what it was asked about; please report it: {said}"
    )
}

/// The options, with texts of our own.
#[derive(Default)]
struct Asked {
    spec: Option<String>,
    seri: Option<String>,
    source: Option<String>,
    milliseconds: u64,
    memory: u64,
    threads: u32,
    flags: u32,
}

impl Asked {
    /// # Safety
    ///
    /// The pointers are null or valid, and texts end with a zero byte.
    unsafe fn of(options: *const SeriatimOptions) -> Result<Asked, Refused> {
        // SAFETY: the caller's promise.
        let options = unsafe { reference(options, "options") }?;
        let Some(options) = options else { return Ok(Asked::default()) };
        let known = SERIATIM_OBSERVE_FAILURES | SERIATIM_INDEPENDENT | SERIATIM_PLAIN;
        if options.flags & !known != 0 {
            return Err(Refused(format!("flags: {} is none", options.flags & !known)));
        }
        // SAFETY: the caller's promise.
        let (spec, seri, source) = unsafe {
            (
                text(options.spec, "spec")?,
                text(options.seri, "seri")?,
                text(options.source, "source")?,
            )
        };
        let &SeriatimOptions { milliseconds, memory, threads, flags, .. } = options;
        Ok(Asked { spec, seri, source, milliseconds, memory, threads, flags })
    }

    fn read_options(&self) -> ReadOptions {
        ReadOptions { format: None, independent: self.flags & SERIATIM_INDEPENDENT != 0 }
    }

    fn question(&self) -> Question<'_> {
        let mut options = Options::default();
        if self.milliseconds > 0 {
            options.time = Some(Duration::from_millis(self.milliseconds));
        }
        if self.memory > 0 {
            options.memory = usize::try_from(self.memory).unwrap_or(usize::MAX);
        }
        if self.threads > 0 {
            options.threads = self.threads as usize;
        }
        if self.flags & SERIATIM_PLAIN != 0 {
            options.detail = Detail::Plain;
        }
        let spec = match (&self.seri, &self.spec) {
            (Some(source), _) => Specified::Seri(source),
            (None, Some(name)) => Specified::Name(name),
            (None, None) => Specified::ByHistory,
        };
        let failures = match self.flags & SERIATIM_OBSERVE_FAILURES != 0 {
            true => Failures::Observe,
            false => Failures::Drop,
        };
        Question { spec, failures, options, ..Question::default() }
    }
}

/// # Safety
///
/// The pointer is null or valid for `length` items. A length that no memory has, such as the -1 of a call that failed, and a
/// pointer that is not aligned are refused.
unsafe fn slice<'s, T>(start: *const T, length: usize, what: &str) -> Result<&'s [T], Refused> {
    if length == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(Refused(format!("{what}: expected {length} items, found null")));
    }
    let has_room = isize::try_from(length)
        .is_ok_and(|many| many.checked_mul(size_of::<T>() as isize).is_some());
    if !has_room {
        return Err(Refused(format!(
            "{what}: expected as many items as fit in memory, found {length}"
        )));
    }
    aligned(start, what)?;
    // SAFETY: the caller's promise, and what was checked.
    Ok(unsafe { std::slice::from_raw_parts(start, length) })
}

/// # Safety
///
/// The pointer is null or valid.
unsafe fn reference<'s, T>(start: *const T, what: &str) -> Result<Option<&'s T>, Refused> {
    aligned(start, what)?;
    // SAFETY: the caller's promise, and what was checked.
    Ok(unsafe { start.as_ref() })
}

fn aligned<T>(start: *const T, what: &str) -> Result<(), Refused> {
    match start.is_null() || start.is_aligned() {
        true => Ok(()),
        false => {
            Err(Refused(format!("{what}: expected a pointer that is aligned, found {start:p}")))
        }
    }
}

/// # Safety
///
/// The pointer is null, or to a text that ends with a zero byte.
unsafe fn text(start: *const c_char, what: &str) -> Result<Option<String>, Refused> {
    if start.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(start) };
    let text =
        text.to_str().map_err(|error| Refused(format!("{what}: expected UTF-8: {error}")))?;
    Ok(Some(text.to_owned()))
}
