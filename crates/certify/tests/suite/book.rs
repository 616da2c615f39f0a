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

/// Of an object without a list, a drawing leaves nothing out: two views of one position that differ
/// look different.
#[test]
fn records_windows_and_numbers_are_drawn() {
    let names = ["ccas", "ccas_waits", "cas_counter", "int_register", "spin_lock", "swap_register"];
    for name in names {
        let program = program(name);
        let text = proved(&program).expect("it is proved");
        let object = Object::named_in(&program, &text).expect("in the class");
        let certificate = certificate::read(&text, &object).expect("readable");
        let draw = Draw::new(&program, &object);
        let mut drawn = std::collections::BTreeMap::new();
        for (view, line) in &certificate.views {
            let drawing = draw.view(view);
            for number in 0..view.records.len() {
                assert!(drawing.contains(&format!("  record {number} = (")), "{name}: {drawing}");
            }
            let at = view.operation.as_ref().map(|operation| operation.pc);
            if let Some(other) = drawn.insert((at, drawing.clone()), line) {
                panic!("{name}: lines {other} and {line} look the same:\n{drawing}");
            }
        }
        for shape in &certificate.shapes {
            assert!(!draw.shape(shape).is_empty());
        }
    }
}
