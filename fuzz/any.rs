//! libFuzzer for any target: `SERIATIM_TARGET` names it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use seriatim_fuzzing::{TARGETS, Target};
use std::sync::LazyLock;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("SERIATIM_TARGET").unwrap_or_default();
    let found = TARGETS.iter().find(|(target, _)| *target == name);
    found.unwrap_or_else(|| panic!("SERIATIM_TARGET must name a target: {TARGETS:?}")).1
});

fuzz_target!(|bytes: &[u8]| TARGET(bytes));
