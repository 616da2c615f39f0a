//! Errors name what is wrong, point at it and suggest a way out.

use seriatim_lang::check;

fn message(source: &str) -> String {
    match check(source) {
        Ok(_) => panic!("this should be refused:\n{source}"),
        Err(error) => error.render(source, "x.seri"),
    }
}

#[track_caller]
fn refused(source: &str, needles: &[&str]) {
    let text = message(source);
    for needle in needles {
        assert!(text.contains(needle), "`{needle}` is missing in:\n{text}");
    }
}

#[test]
fn an_unknown_name_is_pointed_at_with_a_near_one() {
    let source = "object o\nvar top: int 0..3 = 0\nmethod m() -> int { return tpo }";
    refused(source, &["unknown name `tpo`", "^^^", "did you mean `top`?", "x.seri:3"]);
}

#[test]
fn a_constant_that_does_not_exist_cannot_be_set() {
    let source = "const K = 2\nspec s { var n: int = 0\nmethod get() -> int { return n } }";
    let set = |name: &str| {
        let constants = std::collections::BTreeMap::from([(name.to_string(), 3)]);
        seriatim_lang::check_with(source, &constants)
    };
    assert!(set("K").is_ok());
    let error = set("J").expect_err("there is no such constant").render(source, "x.seri");
    assert!(error.contains("no constant `J`") && error.contains("K"), "{error}");
}

#[test]
fn an_initial_state_that_is_chosen_is_refused_for_only_one_would_be_explored() {
    for start in [
        "var b: bool = any",
        "thread var mine: bool = any",
        "var b: bool = false\ninit { b = any }",
        "var b: bool = false\ninit { choose { b = true or b = false } }",
        "var b: bool = false\nfn some() -> bool { return any }\ninit { b = some() }",
    ] {
        let source = format!("object o\n{start}\nmethod m() {{ let free: bool = any }}");
        let program = check(&source).unwrap_or_else(|e| panic!("{}", e.render(&source, "x.seri")));
        let error = seriatim_lang::lower(&program, 2, None).expect_err(start);
        let text = error.render(&source, "x.seri");
        assert!(text.contains("the initial state cannot be chosen"), "{text}");
    }
}

#[test]
fn a_missing_return_is_found() {
    refused(
        "object o\nmethod m(b: bool) -> int { if b { return 1 } }",
        &["can end without `return`"],
    );
}

#[test]
fn values_have_no_order() {
    refused("object o\nmethod m(a: value, b: value) -> bool { return a < b }", &["has no order"]);
}

#[test]
fn a_type_error_names_both_types() {
    refused(
        "object o\nvar x: bool = false\nmethod m() { x = 3 }",
        &["expected `bool`", "found `int 3..3`"],
    );
}

#[test]
fn methods_must_match_the_specification() {
    refused("object o : stack\nmethod push(v: key) { }", &["does not match", "push(value)"]);
    refused(
        "object o : stack\nmethod shove(v: value) { }",
        &["has no method `shove`", "push, pop"],
    );
    refused("object o : heap\n", &["unknown specification", "queue"]);
}

#[test]
fn recursion_is_refused() {
    refused("object o\nfn f() { g() }\nfn g() { f() }", &["calls itself"]);
}

#[test]
fn a_cas_needs_a_shared_place() {
    refused("object o\nmethod m() { let x = 1\n if cas(x, 1, 2) { return } }", &["not shared"]);
}

#[test]
fn clients_see_only_methods() {
    let source =
        "object o\nvar x: int 0..1 = 0\nmethod m() { x = 1 }\nclient { thread a { x = 0 } }";
    refused(source, &["does not see the object's state"]);
}

#[test]
fn a_linearization_condition_sees_locals_only() {
    let source = "object o\nvar x: int 0..1 = 0\nmethod m() { @lin(x == 0) x = 1 }";
    refused(source, &["sees local variables only"]);
}

#[test]
fn the_branches_of_choose_share_their_braces() {
    let source = "object o\nmethod m() { choose { return } or { return } }";
    refused(source, &["`or` stands inside of `choose`", "choose { … or … }"]);
}
