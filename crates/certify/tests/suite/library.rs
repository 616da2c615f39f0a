//! The proofs of the library are accepted, and only for what they prove.

use crate::common::{ELEVEN, made_out_for, program, proved};
use seriatim_certify::{Refusal, Unreadable, certify};

#[test]
fn every_proof_of_the_library_is_accepted() {
    let names = seriatim_testing::proved_algorithms();
    for name in &names {
        let program = program(name);
        let certificate = proved(&program).unwrap_or_else(|| panic!("{name} is not proved"));
        match certify(&program, &certificate) {
            Ok(found) => eprintln!("{name}: {} views, {} effects", found.views, found.effects),
            Err(refusal) => panic!("{name}: {refusal}"),
        }
    }
    assert!(ELEVEN.iter().all(|name| names.iter().any(|known| known == name)));
    assert!(names.len() > 50, "only {}", names.len());
}

const REGISTER: &str = include_str!("../../../prove/tests/programs/register.seri");

const SWAPPING: &str = include_str!("../../../prove/tests/programs/cas_register.seri");

const SEMAPHORE: &str = include_str!("../../../prove/tests/programs/semaphore.seri");

const RAISED: &str = "object o : numbers
spec numbers {
  var content: int = 0
  method read() -> int { return content }
  method raise(n: int) -> int {
    let old = content
    if old < n { content = n }
    return old
  }
}
var content: int = 0
method read() -> int { let c = content return c }
method raise(n: int) -> int {
  loop {
    let c = content
    if c >= n { return c }
    if cas(content, c, n) { return c }
  }
}
";

/// Certificates of right registers and semaphores, and the same made out for wrong ones.
#[test]
fn registers_and_numbers_are_certified_and_wrong_ones_are_not() {
    let cases = [
        (REGISTER, "{ content = v }", "{ content = null }"),
        (REGISTER, "{ let v = content return v }", "{ let v = content return null }"),
        (SWAPPING, "{ return true }", "{ return false }"),
        (SWAPPING, "  return false", "  return true"),
        (SWAPPING, "cas(content, old, next)", "cas(content, old, old)"),
        (SWAPPING, "cas(content, old, next)", "cas(content, next, old)"),
        (SEMAPHORE, "if f < 1", "if f < 2"),
        (SEMAPHORE, "if f > 0", "if f > -1"),
        (SEMAPHORE, "fetch_add(free, 1)", "fetch_add(free, 2)"),
        (SEMAPHORE, "{ return true }", "{ return false }"),
        (SEMAPHORE, "var free: int = 2\nmethod", "var free: int = 3\nmethod"),
        (RAISED, "if c >= n { return c }", "if c > n { return n }"),
        (RAISED, "if cas(content, c, n) { return c }", "if cas(content, c, n) { return n }"),
        (RAISED, "cas(content, c, n)", "cas(content, n, c)"),
    ];
    for (source, old, new) in cases {
        let right = seriatim_lang::check(source).expect("a program");
        let certificate = proved(&right).expect("it is proved");
        assert!(certify(&right, &certificate).is_ok());
        let wrong = seriatim_lang::check(&source.replacen(old, new, 1)).expect("a program");
        assert_ne!(wrong.source, right.source);
        let refusal = certify(&wrong, &made_out_for(&wrong, &certificate));
        assert!(matches!(refusal, Err(Refusal::Proof(_))), "{}", wrong.source);
    }
}

#[test]
fn a_certificate_of_another_program_is_refused() {
    let certificate = proved(&program("coarse_stack")).expect("it is proved");
    let refusal = certify(&program("treiber"), &certificate).expect_err("it is another program");
    let other = Unreadable::OtherProgram("coarse_stack".to_owned());
    assert_eq!(refusal, Refusal::Text(other));
    assert!(refusal.to_string().contains("another program, `coarse_stack`"));
}

#[test]
fn comments_and_expectations_do_not_make_another_program() {
    let certificate = proved(&program("coarse_stack")).expect("it is proved");
    let source = format!("// A new comment.\n{}", program("coarse_stack").source);
    let commented = seriatim_lang::check(&source).expect("it is right");
    assert!(certify(&commented, &certificate).is_ok());
}

#[test]
fn a_program_outside_of_the_class_is_refused_with_the_reason() {
    let refusal = certify(&program("snapshot"), "").expect_err("no content is known for it");
    assert!(matches!(refusal, Refusal::Program(_)), "{refusal}");
}

/// The certificate of a correct program, made out for a wrong one that differs in a single step.
#[test]
fn a_proof_does_not_fit_a_program_that_is_almost_the_same() {
    let right = program("two_lock_queue");
    let certificate = proved(&right).expect("it is proved");
    let changes = [
        ("lock(tail_lock)\n", "lock(head_lock)\n"),
        ("let v = x.val\n  @lin head = x", "let v = h.val\n  @lin head = x"),
        ("head = x\n", "head = h\n"),
        ("t.next = n\n", "t.next = t\n"),
    ];
    for (old, new) in changes {
        let source = right.source.replacen(old, new, 1);
        assert_ne!(source, &*right.source, "{old}");
        let wrong = seriatim_lang::check(&source).expect("it is a program");
        let refusal =
            certify(&wrong, &made_out_for(&wrong, &certificate)).expect_err("it is wrong");
        assert!(matches!(refusal, Refusal::Proof(_)), "{refusal}");
    }
}

/// The certificate speaks of the steps alone; what they have to do is read off the bodies of the
/// specification each time.
#[test]
fn a_certificate_proves_nothing_of_another_specification() {
    let right = program("treiber_peek");
    let certificate = proved(&right).expect("it is proved");
    assert!(certify(&right, &certificate).is_ok());
    let changes = [
        ("items ++ [v]", "[v] ++ items"),
        ("items ++ [v]", "items ++ [v] ++ [v]"),
        ("if len(items) == 0 { return empty }\n    let last", "assume items != []\n    let last"),
        ("if len(items) == 0 { return empty }\n    return", "assume items != []\n    return"),
        ("return items[len(items) - 1]", "return items[0]"),
        ("items == []", "items != []"),
        ("items == []", "len(items) < 2"),
        ("items = items[..len(items) - 1]", "items = []"),
    ];
    for (old, new) in changes {
        let source = right.source.replacen(old, new, 1);
        assert_ne!(source, &*right.source, "{old}");
        let other = seriatim_lang::check(&source).expect("it is a program");
        assert!(certify(&other, &certificate).is_err(), "{new}");
    }
}
