//! Embeds the algorithms: every `.seri` file in this folder and below it, by name.
//!
//! Their texts are much alike, one behind the other and packed they take a seventh of the room. In a
//! module of WebAssembly they stand as they are: a page packs the whole of it, and packs them better.

use flate2::{Compression, write::DeflateEncoder};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    // Asked when the script runs, not when it was compiled: a checkout may have been moved since.
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = root.as_path();
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    collect(root, &mut files);
    assert!(!files.is_empty(), "no algorithm in {}", root.display());
    files.sort();
    let (mut places, mut texts) = (String::from("&[\n"), String::new());
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(root).expect("below the root").with_extension("");
        let name = name.to_string_lossy().replace('\\', "/");
        let text = std::fs::read_to_string(file).expect("algorithms are text");
        let begin = texts.len();
        texts.push_str(&text);
        writeln!(places, "    ({name:?}, {begin}..{}),", texts.len())
            .expect("a string takes every character");
    }
    places.push_str("]\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(out.join(name), bytes).expect("the build directory is writable");
    };
    write("places.rs", places.as_bytes());
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        write("algorithms.txt", texts.as_bytes());
    } else {
        let mut packer = DeflateEncoder::new(Vec::new(), Compression::best());
        packer.write_all(texts.as_bytes()).expect("a vector takes every byte");
        write("algorithms.deflate", &packer.finish().expect("a vector takes every byte"));
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            println!("cargo::rerun-if-changed={}", path.display());
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "seri") {
            files.push(path);
        }
    }
}
