//! The drawings in the book are drawings of the proof that the prover finds today.

use crate::common::{program, proved};
use seriatim_certify::draw::Draw;
use seriatim_certify::{Object, certificate};
use std::collections::BTreeSet;

/// The contents of the fenced blocks of a sort.
fn blocks<'t>(page: &'t str, sort: &str) -> BTreeSet<&'t str> {
    let fence = format!("```{sort}\n");
    let parts = page.split(&fence).skip(1);
    parts.map(|part| part.split("\n```").next().unwrap_or_default()).collect()
}

#[test]
fn the_drawings_of_treibers_stack_are_those_of_its_proof() {
    let path = format!("{}/../../docs/treiber-proof.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(path).expect("the page is there");
    let program = program("treiber");
    let object = Object::of(&program).expect("in the class");
    let text = proved(&program).expect("it is proved");
    let certificate = certificate::read(&text, &object).expect("readable");
    let draw = Draw::new(&program, &object);
    let views: BTreeSet<String> = certificate.views.iter().map(|(v, _)| draw.view(v)).collect();
    for block in blocks(&page, "view") {
        assert!(views.contains(block), "no view of the proof looks like this:\n{block}");
    }
    let effects: BTreeSet<String> =
        certificate.effects.iter().map(|(e, _)| draw.effect(e)).collect();
    let drawn: BTreeSet<String> = blocks(&page, "effect").into_iter().map(str::to_owned).collect();
    assert_eq!(drawn, effects, "the page shows all effects");
    assert!((600..800).contains(&certificate.views.len()), "the page says some seven hundred");
}
