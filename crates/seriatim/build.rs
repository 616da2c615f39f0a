//! How the command is linked.
//!
//! A program that may be loaded anywhere has 22,000 addresses to be put right at every start: half a
//! megabyte to read, ninety pages to write, and a quarter of the time that a short check takes. So
//! the command is loaded where it was linked for, where the linker knows how to say so.
//!
//! A library that is loaded beside the program costs a tenth of that time, too. That of the C compiler
//! only walks stacks when there is a panic, and exists as an archive of 24 KB: so the program brings
//! it along. The C library stays outside: as an archive it is 0.9 MB, and would look up the names of hosts by loading itself.
//!
//! The same generic code is compiled for many types, and often comes out the same: linkers that fold
//! identical functions into one make the command smaller by a twenty-fifth. Not all of them can, and
//! no list of them stays true: one is asked to link a program of one line. Only what people install
//! is folded, for in a backtrace a folded function has another one's name. **What would make it
//! wrong** is code that tells functions apart by their addresses, which Rust does not promise either.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|set| set == value);
    let features = std::env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    let is_static = features.split(',').any(|feature| feature == "crt-static");
    if !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    if !is_static {
        println!("cargo::rustc-link-arg-bin=seriatim=-no-pie");
    }
    if !is_static && let Some(folder) = folder_with_unwinder() {
        let argument = format!("-L{}", folder.display());
        if links_with(&argument).unwrap_or(false) {
            println!("cargo::rustc-link-arg-bin=seriatim={argument}");
        }
    }
    let is_optimised = !is("OPT_LEVEL", "0") && !is("OPT_LEVEL", "1");
    if is_optimised && is("DEBUG", "false") && links_with(FOLD).unwrap_or(false) {
        println!("cargo::rustc-link-arg-bin=seriatim={FOLD}");
    }
}

const FOLD: &str = "-Wl,--icf=all";

/// A folder in which the linker finds the archive under the name of the shared library.
fn folder_with_unwinder() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("OUT_DIR")?).join("unwinder");
    std::fs::create_dir_all(&folder).ok()?;
    std::fs::write(folder.join("libgcc_s.so"), "INPUT(-lgcc_eh -lgcc)\n").ok()?;
    Some(folder)
}

/// Whether the linker of this build takes an argument; nothing if that cannot be found out.
fn links_with(argument: &str) -> Option<bool> {
    let folder = PathBuf::from(std::env::var_os("OUT_DIR")?);
    let program = folder.join("one_line.rs");
    std::fs::write(&program, "fn main() {}\n").ok()?;
    let mut command = Command::new(std::env::var_os("RUSTC")?);
    command.arg(&program).arg("-o").arg(folder.join("one_line"));
    command.arg("--target").arg(std::env::var_os("TARGET")?);
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    command.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    if let Some(linker) = std::env::var_os("RUSTC_LINKER") {
        let mut told = OsString::from("linker=");
        told.push(linker);
        command.arg("-C").arg(told);
    }
    command.arg("-C").arg(format!("link-arg={argument}"));
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    Some(status.success())
}
