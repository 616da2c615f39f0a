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
fn what_may_be_null_is_neither_added_nor_added_to() {
    for (kind, amount) in [("int", "null"), ("int", "maybe"), ("int?", "1")] {
        let source = format!(
            "object o\nvar n: {kind} = 0\nmethod m() {{ let maybe: int? = 1; fetch_add(n, {amount}) }}"
        );
        refused(&source, &["expected `int`, found"]);
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
fn an_algorithm_goes_through_the_threads_alone() {
    let each = |what: &str| format!("object o\nvar a: [bool; 2] = [false; 2]\n{what}");
    refused(&each("method m() { for x in a { } }"), &["no collection", "for t in tid"]);
    refused(&each("method m() { for t in tid { t = self } }"), &["`t` is set by `for` alone"]);
    let client = "method m() { }\nclient c { thread a { for t in tid { m() } } }";
    refused(&each(client), &["`for` belongs into an algorithm"]);
    let spec = "spec s { method m(t: tid, u: tid) -> bool { return t < u } }";
    refused(&each(spec), &["has no order"]);
}

#[test]
fn a_function_that_calls_itself_says_how_deep() {
    let calls = |depth: &str| {
        format!("object o\nmethod m() {{ f() }}\nfn f(){depth} {{ g() }}\nfn g() {{ f() }}")
    };
    refused(&calls(""), &["calls itself", "depth 3"]);
    refused(&calls(" depth 17"), &["a number from 1 to 16"]);
    check(&calls(" depth 2")).expect("a limit on one of two functions is enough");
    let spec = "object o\nspec s { fn f() depth 2 { f() } method m() { f() } }";
    refused(spec, &["only a helper function of an algorithm"]);
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

/// An object whose only method does this.
fn doing(what: &str) -> String {
    format!(
        "object o\nvar x: int 0..3 = 0\nplain var y: int 0..3 = 0\n\
         struct N {{ plain v: int 0..3, w: int 0..3 }}\nvar n: N = new N {{ v: 0, w: 0 }}\n\
         method m() {{ {what} }}"
    )
}

#[test]
fn orderings_stand_where_they_have_a_meaning() {
    for (what, needles) in [
        ("let a = load(x)", ["`load` needs an ordering", "relaxed, acquire, seqcst"]),
        ("let a = load(x, release)", ["a load cannot be `release`", "relaxed, acquire, seqcst"]),
        ("store(x, 1, acqrel)", ["a store cannot be `acqrel`", "relaxed, release, seqcst"]),
        ("store(x, 1, aquire)", ["expected an ordering", "relaxed, release, seqcst"]),
        ("fence(relaxed)", ["a fence cannot be `relaxed`", "acquire, release, acqrel, seqcst"]),
        (
            "let b = cas(x, 0, 1, seqcst, release)",
            ["a `cas` that fails cannot be `release`", "relaxed, acquire, seqcst"],
        ),
        (
            "let b = cas(x, 0, 1, seqcst, seqcst, seqcst)",
            ["`cas` takes 5 arguments, not 6", "x.seri:6"],
        ),
        ("let a = swap(y, 1)", ["this is plain", "by its name"]),
        ("store(n.v, 1, release)", ["`store` works on atomics", "by its name"]),
        ("let z = 1; let a = load(z, acquire)", ["z", "x.seri:6"]),
    ] {
        refused(&doing(what), &needles);
    }
    let source = "object o\nplain thread var x: bool = false\nmethod m() { }";
    refused(source, &["a thread variable needs no `plain`"]);
    refused("object o\nplain var x: lock\nmethod m() { }", &["a lock cannot be plain"]);
    let source = "object o\nmethod m() { }\nexpect explore(memory: arm) holds";
    refused(source, &["no such memory model", "`sc`, `tso` or `rc20`"]);
}

#[test]
fn orderings_and_plain_take_no_names_away() {
    let source = "object o\nstruct plain { plain: bool }\nvar acquire: int 0..3 = 0\n\
                  fn load(relaxed: int 0..3) -> int 0..3 { return relaxed }\n\
                  method m() -> int { let b = cas(acquire, 0, 1); return load(acquire) }";
    let program = check(source).unwrap_or_else(|e| panic!("{}", e.render(source, "x.seri")));
    assert!(seriatim_lang::sequential::required(&program, "nobody").is_ok());
}

#[test]
fn only_keys_are_hashed_to_a_constant_number_of_places() {
    let object = |body: &str| {
        format!(
            "object o\nconst N = 2\nvar a: [bool; N] = [false; N]\nmethod m(k: key, n: int 0..3) -> bool {{ {body} }}"
        )
    };
    let right = object("let h: int 0..N - 1 = hash(k, N); return a[h]");
    check(&right).unwrap_or_else(|e| panic!("{}", e.render(&right, "x.seri")));
    refused(&object("return a[hash(n, N)]"), &["key", "x.seri:4"]);
    refused(&object("return a[hash(k, n)]"), &["this must be a constant"]);
    refused(&object("return a[hash(k, N - 2)]"), &["at least one", "0, …, n - 1"]);
    refused(&object("return a[hash(k)]"), &["`hash` takes 2 arguments, not 1"]);
    let own =
        format!("{}\nfn hash(k: key) -> int 0..1 {{ return 1 }}", object("return a[hash(k)]"));
    check(&own).unwrap_or_else(|e| panic!("{}", e.render(&own, "x.seri")));
}

#[test]
fn an_engine_without_orderings_is_told_of_the_first_that_is_weaker() {
    for (what, message) in [
        ("x = 1; let a = load(x, acquire); store(x, a, release)", "this access is `acquire`"),
        ("fence(acqrel)", "this access is `acqrel`"),
        ("let b = cas(x, 0, 1, seqcst, relaxed)", "this access is `relaxed`"),
    ] {
        let source = doing(what).replace("plain ", "");
        let program = check(&source).unwrap_or_else(|e| panic!("{}", e.render(&source, "x.seri")));
        let refused = seriatim_lang::sequential::required(&program, "it").expect_err("weaker");
        assert!(refused.message.contains(message), "{}", refused.message);
    }
    let source = doing("let a = load(x, seqcst); fence(seqcst)");
    let plain = seriatim_lang::sequential::required(&check(&source).expect("right"), "it");
    assert!(plain.expect_err("plain").message.contains("`y` is plain"));
    let program = check(&source.replace("plain ", "")).expect("right");
    assert!(seriatim_lang::sequential::required(&program, "it").is_ok());
}

#[test]
fn records_texts_and_large_numbers_are_for_logs() {
    let spec = |inside: &str, body: &str| {
        format!("spec s {{ {inside}\nvar n: int = 0\nmethod m() -> int {{ {body}\nreturn n }} }}")
    };
    let object = |inside: &str, body: &str| {
        format!("object o : s\nmethod m() -> int {{ return 0 }}\n{}", spec(inside, body))
    };
    let record = "record R { a: int, b: value }";
    for (inside, body) in [
        (record, "let r = new R { a: 1, b: \"x\" }\nr.a = 2\nn = r.a"),
        ("", "let t = \"a \\\"b\\\"\"\nif t == \"c\" { n = 1 }"),
        ("", "n = 4294967297"),
    ] {
        let text = spec(inside, body);
        assert!(check(&text).is_ok(), "{}", message(&text));
        // As older files say.
        assert!(check(&text.replace("record ", "struct ")).is_ok());
        refused(&object(inside, body), &["for logs"]);
    }
    refused(&spec(record, "let r = new R { a: 1 }"), &["the field `b` has no value"]);
    refused(&spec(record, "let r = new R { a: 1, b: \"x\", a: 2 }"), &["given twice"]);
    refused(&spec(record, "let r = new R { a: 1, b: 2 }"), &["expected `value`"]);
    refused(&spec(record, "let r = new R { a: 1, b: \"x\" }\nn = r.c"), &["has no field `c`"]);
    refused(&spec("", "let r = new R { a: 1 }"), &["not a record of this specification"]);
    refused(&spec("record R { a: int = 1 }", ""), &["a record has no defaults"]);
    refused(&spec("record R { a: int, a: int }", ""), &["declared twice"]);
    refused("object o\nmethod m() { let x = \"a\" }", &["only specifications have texts"]);
    refused("object o\nmethod m() -> int { return 2147483648 }", &["too large"]);
    refused("spec s { var n: int = 9223372036854775808 }", &["must be below 2^63"]);
}
