//! Without reductions the engine counts the states that PAT counted (Liu, Chen, Liu, Sun: Model Checking
//! Linearizability via Refinement, FM 2009, Table 1, column "w/o POR"). PAT's numbers are one higher: its
//! initial specification term is a state of its own.

mod common;

use common::algorithm;
use seriatim_explore::{Mode, Options, Reductions, Verdict, run};
use std::collections::BTreeMap;

fn states(name: &str, threads: u32, client: Option<&str>, consts: &[(&str, i32)]) -> u64 {
    let consts: BTreeMap<String, i32> = consts.iter().map(|(k, v)| (k.to_string(), *v)).collect();
    let program = seriatim_lang::check_with(&algorithm(name), &consts).expect("the model is right");
    let options = Options {
        threads,
        client: client.map(str::to_string),
        mode: Mode::Compat,
        reductions: Reductions::COMPAT,
        ..Options::default()
    };
    let outcome = run(&program, &options).expect("the model can be explored");
    assert!(matches!(outcome.verdict, Verdict::Holds));
    outcome.statistics.stored
}

#[test]
fn the_four_and_five_valued_registers_have_the_published_numbers_of_states() {
    assert_eq!(states("pat/register", 2, Some("one_reader"), &[("K", 4)]) + 1, 50_893);
    assert_eq!(states("pat/register", 2, Some("one_reader"), &[("K", 5)]) + 1, 349_333);
}

#[test]
fn the_register_with_two_readers_has_the_published_number_of_states() {
    assert_eq!(states("pat/register_two_readers", 3, Some("two_readers"), &[]) + 1, 479_859);
}

#[test]
fn the_stack_of_twelve_has_the_published_number_of_states() {
    assert_eq!(states("pat/stack", 2, None, &[("N", 12)]) + 1, 540_769);
}

#[test]
fn the_six_valued_register_has_the_published_number_of_states() {
    if std::env::var_os("SERIATIM_LONG").is_none() {
        eprintln!("left to SERIATIM_LONG=1: the register with six values");
        return;
    }
    assert_eq!(states("pat/register", 2, Some("one_reader"), &[("K", 6)]) + 1, 2_062_437);
}

/// The states that are left of the stack of two with reductions.
fn reduced_stack(threads: u32) -> u64 {
    let consts = BTreeMap::from([("N".to_string(), 2)]);
    let program =
        seriatim_lang::check_with(&algorithm("pat/stack"), &consts).expect("the model is right");
    let options = Options { threads, ..Options::default() };
    let outcome = run(&program, &options).expect("the model can be explored");
    assert!(matches!(outcome.verdict, Verdict::Holds));
    outcome.statistics.kept
}

#[test]
fn reductions_shrink_the_stack_of_three_processes_ten_thousandfold() {
    let kept = reduced_stack(3);
    assert!(kept < 476, "{kept}");
}

#[test]
fn the_stack_of_four_processes_which_was_out_of_reach_is_decided() {
    let kept = reduced_stack(4);
    assert!(kept < 10_000, "{kept}");
}
