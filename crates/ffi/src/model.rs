//! Models by callback.

use crate::{SERIATIM_MODEL_FAILED, SeriatimModel, slice, text};
use seriatim::Next;
use seriatim::foreign::Model;
use seriatim::question::Refused;
use std::ffi::{c_char, c_void};

/// The caller's model, with what is fixed about it copied.
pub struct Callbacks {
    model: SeriatimModel,
    step: Step,
    name: String,
    parts: Option<Vec<u64>>,
}

type Step = unsafe extern "C" fn(*mut c_void, u32, u32, *mut u32, usize) -> i64;
type Tell = unsafe extern "C" fn(*mut c_void, u32, *mut c_char, usize) -> usize;

// SAFETY: a model is asked by one thread at a time, the one that called us: `check_model` sees to
// that.
unsafe impl Send for Callbacks {}
// SAFETY: as above.
unsafe impl Sync for Callbacks {}

/// More successors than this make no sense.
const MOST: i64 = 1 << 20;

impl Callbacks {
    /// # Safety
    ///
    /// The pointers of the model are null or valid for as long as this lives.
    pub unsafe fn of(model: &SeriatimModel) -> Result<Callbacks, Refused> {
        let step =
            model.step.ok_or_else(|| Refused("step: expected one, found null".to_owned()))?;
        // SAFETY: the caller's promise.
        let name = unsafe { text(model.name, "name") }?.unwrap_or_else(|| "model".to_owned());
        // SAFETY: the caller's promise.
        let parts = match model.parts.is_null() {
            true => None,
            false => {
                Some(unsafe { slice(model.parts, model.operations as usize, "parts") }?.to_vec())
            }
        };
        Ok(Callbacks { model: *model, step, name, parts })
    }

    fn told(&self, tell: Option<Tell>, number: u32, otherwise: &str) -> String {
        let Some(tell) = tell else { return format!("{otherwise} {number}") };
        let mut text = vec![0u8; 128];
        // Twice at most: a callback whose texts grow as they are asked for gets its first bytes.
        for _ in 0..2 {
            let (start, capacity) = (text.as_mut_ptr().cast(), text.len());
            // SAFETY: the callback writes at most `capacity` bytes.
            let length = unsafe { tell(self.model.context, number, start, capacity) };
            if length <= capacity {
                text.truncate(length);
                break;
            }
            text.resize(length.min(MOST as usize), 0);
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Model for Callbacks {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn initial(&self) -> u32 {
        self.model.initial
    }

    fn step(&self, state: u32, operation: u32) -> Result<Next<u32>, String> {
        let ask = |next: &mut [u32]| {
            let (start, capacity) = (next.as_mut_ptr(), next.len());
            // SAFETY: the callback writes at most `capacity` states.
            unsafe { (self.step)(self.model.context, state, operation, start, capacity) }
        };
        let mut few = [0u32; 4];
        let count = ask(&mut few);
        match count {
            0 => Ok(Next::None),
            1 => Ok(Next::One(few[0])),
            2..=4 => Ok(Next::Many(few[..count as usize].to_vec())),
            5..=MOST => {
                let mut many = vec![0u32; count as usize];
                match ask(&mut many) == count {
                    true => Ok(Next::Many(many)),
                    false => {
                        Err(format!("{} changed its answer when it was given room", self.name))
                    }
                }
            }
            SERIATIM_MODEL_FAILED => Err(format!("the model {} failed", self.name)),
            other => Err(format!("{}: expected a number of states, found {other}", self.name)),
        }
    }

    fn part(&self, operation: u32) -> Option<u64> {
        self.parts.as_ref().map(|parts| parts[operation as usize])
    }

    fn describe(&self, operation: u32) -> String {
        self.told(self.model.describe, operation, "operation")
    }

    fn show(&self, state: u32) -> String {
        self.told(self.model.show, state, "state")
    }
}
