//! The algorithms of the library.

use seriatim_lang::check;
use seriatim_prove::{Options, Outcome, prove};

#[test]
fn probe() {
    let names = std::env::var("PROBE").unwrap_or("treiber".into());
    for name in names.split(',') {
        let path = format!("{}/../../algorithms/{name}.seri", env!("CARGO_MANIFEST_DIR"));
        let source = std::fs::read_to_string(path).unwrap();
        let program = check(&source).unwrap();
        let t = std::time::Instant::now();
        match prove(&program, &Options::default()) {
            Outcome::Proved(p) => println!("{name}: proved {} views {} effects {:?}", p.views.len(), p.effects, t.elapsed()),
            Outcome::Unknown(s) => println!("{name}: unknown after {} views {:?} {}", s.views, t.elapsed(), s.text),
            Outcome::Refused(w) => println!("{name}: refused {w}"),
        }
    }
}
