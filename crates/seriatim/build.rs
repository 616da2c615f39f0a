//! How the command is linked.
//!
//! A program that may be loaded anywhere has 22,000 addresses to be put right at every start: half a
//! megabyte to read, ninety pages to write, and a quarter of the time that a short check takes. So
//! the command is loaded where it was linked for, where the linker knows how to say so.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|set| set == value);
    let features = std::env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    let is_static = features.split(',').any(|feature| feature == "crt-static");
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && !is_static {
        println!("cargo::rustc-link-arg-bin=seriatim=-no-pie");
    }
}
