#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| seriatim_fuzzing::history(bytes));
