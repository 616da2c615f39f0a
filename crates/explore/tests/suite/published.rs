//! Without reductions the engine counts the states that PAT counted (Liu, Chen, Liu, Sun: Model
//! Checking Linearizability via Refinement, FM 2009, Table 1, column "w/o POR"). PAT's
//! specification begins in a term of its own and does not come back to it, so what is reached
//! before the first visible event counts once more if it is reached again: the initial state of
//! registers and stacks, but not that of the mailbox, to which nothing leads back.

use crate::common::algorithm;
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
    if !seriatim_testing::long() {
        eprintln!("left to SERIATIM_LONG=1: the register with six values");
        return;
    }
    assert_eq!(states("pat/register", 2, Some("one_reader"), &[("K", 6)]) + 1, 2_062_437);
}

/// PAT begins with all processes running; the model here has more states before that, in which each
/// process is not called, called, or counted, and not all are counted.
fn stack_with_points(processes: u32, size: i32) -> u64 {
    let consts = [("N", size), ("PROCESSES", processes as i32)];
    states("pat/stack_points", processes, None, &consts) - (3u64.pow(processes) - 1)
}

#[test]
fn the_stacks_with_linearization_points_have_the_published_numbers_of_states() {
    assert_eq!(stack_with_points(2, 12), 9_677);
    assert_eq!(stack_with_points(2, 14), 12_963);
    assert_eq!(stack_with_points(3, 2), 10_385);
    assert_eq!(stack_with_points(4, 2), 219_471);
}

#[test]
fn the_mailbox_of_three_operations_has_the_published_number_of_states() {
    assert_eq!(states("pat/mailbox", 2, Some("post"), &[("N", 3)]), 272_608);
}

#[test]
fn the_mailbox_of_four_operations_has_the_published_number_of_states() {
    if !seriatim_testing::long() {
        eprintln!("left to SERIATIM_LONG=1: the mailbox of four operations");
        return;
    }
    assert_eq!(states("pat/mailbox", 2, Some("post"), &[("N", 4)]), 9_928_706);
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
