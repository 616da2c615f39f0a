//! The proofs of the library.

use std::time::Instant;

#[test]
fn try_all() {
    let names = std::env::var("NAMES").unwrap_or_else(|_| "treiber".into());
    for name in names.split(',') {
        let path = format!("{}/../../algorithms/{name}.seri", env!("CARGO_MANIFEST_DIR"));
        let program = seriatim_lang::check(&std::fs::read_to_string(path).unwrap()).unwrap();
        let start = Instant::now();
        let outcome = seriatim_prove::prove(&program, &seriatim_prove::Options::default());
        let seriatim_prove::Outcome::Proved(proof) = outcome else { println!("{name}: not proved"); continue };
        let proved = start.elapsed();
        let text = proof.certificate(&program);
        std::fs::write(format!("/tmp/cert-{name}.txt"), &text).unwrap();
        let start = Instant::now();
        println!("{name}: {:?} in {:?} (proof {proved:?})", seriatim_certify::certify(&program, &text), start.elapsed());
    }
}
