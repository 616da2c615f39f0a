//! `any` is every value of its type, in specifications, in methods and in clients: an object may
//! choose what its specification may choose, and nothing else.

use crate::common::program;
use seriatim_explore::{Options, Reductions, Verdict, ViolationKind, run};

fn found(source: &str, client: Option<&str>) -> Option<ViolationKind> {
    let kinds = [Reductions::ALL, Reductions::NONE].map(|reductions| {
        let client = client.map(str::to_owned);
        let options = Options { values: 2, client, reductions, ..Options::default() };
        match run(&program(source), &options).expect("it can be explored").verdict {
            Verdict::Holds => None,
            Verdict::Violation(found) => Some(found.kind),
            Verdict::Unknown(reason) => panic!("{reason:?}\n{source}"),
        }
    });
    assert_eq!(kinds[0], kinds[1], "{source}");
    kinds[0]
}

#[test]
fn an_object_may_choose_what_its_specification_may_choose() {
    // What is chosen, and which of null, one value and another one that may be.
    let one = [("bool", "true"), ("int 0..2", "1"), ("value", ""), ("key", ""), ("Colour", "Red")];
    for (ty, constant) in one {
        let choice = |of: &str| format!("let r: {of} = any\n return r");
        let mut choices = vec![
            (choice(ty), [false, true, true]),
            (choice(&format!("{ty}?")), [true; 3]),
            ("return null".to_owned(), [true, false, false]),
        ];
        if !constant.is_empty() {
            choices.push((format!("return {constant}"), [false, true, false]));
        }
        for (allowed, may) in &choices {
            for (made, can) in &choices {
                let source = format!(
                    "object o : s\nenum Colour {{ Red, Green }}\n\
                     spec s {{ method pick() -> {ty}? {{ {allowed} }} }}\n\
                     method pick() -> {ty}? {{ {made} }}\n"
                );
                let is_right = can.iter().zip(may).all(|(can, may)| !can || *may);
                let expected = (!is_right).then_some(ViolationKind::NotLinearizable);
                assert_eq!(found(&source, None), expected, "{source}");
            }
        }
    }
}

#[test]
fn a_client_that_passes_any_argument_passes_null_where_it_may_stand() {
    for (ty, is_wrong) in [("value?", true), ("value", false), ("bool?", true), ("bool", false)] {
        let source = format!(
            "object o : s\nspec s {{ method put(v: {ty}) {{ }} }}\n\
             method put(v: {ty}) {{ let w: {}? = v\n assert w != null }}\n\
             client c {{ thread a * rest {{ loop {{ put(any) }} }} }}\n",
            ty.trim_end_matches('?')
        );
        let expected = is_wrong.then_some("assertion failed");
        for client in [None, Some("c")] {
            let fault = found(&source, client).map(|kind| match kind {
                ViolationKind::Fault(fault) => fault.text(),
                other => panic!("{other:?}\n{source}"),
            });
            assert_eq!(fault, expected, "{source}");
        }
    }
}
