//! What the tests share: the algorithms of the library and the certificates of their proofs.

#![allow(dead_code)]

use seriatim_certify::certificate::end_of;
use seriatim_lang::{Program, check};
use seriatim_prove::{Options, Outcome, prove};

/// The algorithms of the paper on Poling.
pub const ELEVEN: [&str; 11] = [
    "treiber",
    "michael_scott",
    "dglm",
    "two_lock_queue",
    "lock_coupling",
    "vechev_dcas",
    "vechev_cas",
    "orvyy_set",
    "lazy_list",
    "ccas",
    "hsy_stack",
];

/// The names of all algorithms of the library that are not broken.
pub fn library() -> Vec<String> {
    let folder = format!("{}/../../algorithms", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(folder).expect("the library is there");
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let files = paths.filter(|p| p.extension().is_some_and(|e| e == "seri"));
    let mut names: Vec<String> =
        files.filter_map(|p| Some(p.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    names
}

/// An algorithm of the library.
pub fn program(name: &str) -> Program {
    let path = format!("{}/../../algorithms/{name}.seri", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    check(&source).unwrap_or_else(|error| panic!("{}", error.render(&source, name)))
}

/// The certificate of the proof of a program, without needless lines, if it is proved and has one.
pub fn proved(program: &Program) -> Option<String> {
    match prove(program, &Options::default()) {
        Outcome::Proved(proof) => {
            let whole = proof.certificate(program).ok()?;
            Some(seriatim_certify::trimmed(program, &whole).expect("a certificate"))
        }
        Outcome::Unknown(_) | Outcome::Refused(_) => None,
    }
}

/// The lines of a certificate without its last one.
pub fn body(certificate: &str) -> Vec<String> {
    let mut lines: Vec<String> = certificate.lines().map(str::to_owned).collect();
    lines.pop();
    lines
}

/// Lines as a certificate, with the sum that belongs to them.
pub fn sealed(lines: &[String]) -> String {
    let body = lines.join("\n");
    format!("{body}\n{}\n", end_of(&body))
}

/// Whether the test is to take its time.
pub fn long() -> bool {
    seriatim_testing::long()
}

/// The certificate of one program, made out for another one.
pub fn made_out_for(program: &Program, certificate: &str) -> String {
    let hash = seriatim_certify::Object::of(program).expect("in the class").hash();
    let mut lines = body(certificate);
    lines[1] = format!("program made_out {hash:016x}");
    sealed(&lines)
}
