//! Registers and other cells: correct ones are proved, whether their specification is built in or
//! their own; incorrect ones are not.

use crate::common::program;
use seriatim_prove::{Obstacle, Options, Outcome, prove};

const REGISTER: &str = include_str!("../programs/register.seri");

const CAS: &str = include_str!("../programs/cas_register.seri");

fn stuck(source: &str) -> Option<Obstacle> {
    match prove(&program(source), &Options::default()) {
        Outcome::Proved(_) => None,
        Outcome::Unknown(stuck) => Some(stuck.obstacle),
        Outcome::Refused(why) => panic!("refused: {why}\n{source}"),
    }
}

#[test]
fn a_register_is_proved() {
    assert_eq!(stuck(REGISTER), None);
}

#[test]
fn a_register_with_compare_and_swap_is_proved() {
    assert_eq!(stuck(CAS), None);
}

#[test]
fn wrong_registers_are_not_proved() {
    let wrong = [
        ("{ content = v }", "{ }"),
        ("{ content = v }", "{ content = null }"),
        ("{ content = v }", "{ content = v content = v }"),
        ("{ content = v }", "{ let w = content content = v content = w }"),
        ("{ let v = content return v }", "{ return null }"),
        ("{ let v = content return v }", "{ let v = content content = null return v }"),
    ];
    for (from, to) in wrong {
        let source = REGISTER.replace(from, to);
        assert_ne!(source, REGISTER);
        assert!(stuck(&source).is_some(), "{source}");
    }
}

#[test]
fn wrong_compare_and_swaps_are_not_proved() {
    let wrong = [
        ("{ return true }", "{ return false }"),
        ("  return false", "  return true"),
        ("if cas(content, old, next)", "if cas(content, old, old)"),
        ("if cas(content, old, next)", "if cas(content, next, old)"),
        (
            "  if cas(content, old, next) { return true }",
            "  let v = content if v == old { content = next return true }",
        ),
    ];
    for (from, to) in wrong {
        let source = CAS.replace(from, to);
        assert_ne!(source, CAS);
        assert!(stuck(&source).is_some(), "{source}");
    }
}

/// A descriptor that is installed by somebody who is not its owner, a second time, or over another
/// one, and an operation that returns while its descriptor is still there.
#[test]
fn descriptors_are_installed_once_and_by_their_owners() {
    let ccas = crate::common::algorithm("ccas");
    let wrong = [
        ("if v == old { complete(d) }\n      return v", "return v"),
        ("complete(other)\n  }", "cell = (null, other)\n  }"),
        ("cas(cell, (null, d), (d.old, null))", "cas(cell, (null, d), (null, null))"),
        (
            "if v == old { complete(d) }",
            "if v == old { complete(d); cas(cell, (old, null), (null, d)) }",
        ),
    ];
    for (from, to) in wrong {
        let source = ccas.replacen(from, to, 1);
        assert_ne!(source, ccas, "{from}");
        assert!(stuck(&source).is_some(), "{source}");
    }
}

/// The values of the control variable since an installation are bits of a word: more of them than
/// it has would be confused.
#[test]
fn a_control_variable_with_too_many_values_is_refused() {
    let names: Vec<String> = (0..33).map(|i| format!("M{i}")).collect();
    let rdcss = crate::common::algorithm("rdcss").replace("Off", "M0").replace("On", "M1");
    let source =
        rdcss.replace("enum Mode { M0, M1 }", &format!("enum Mode {{ {} }}", names.join(", ")));
    assert_ne!(source, rdcss);
    let outcome = prove(&program(&source), &Options { views: 100, ..Options::default() });
    assert!(matches!(outcome, Outcome::Refused(_)));
}
