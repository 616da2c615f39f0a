//! `verify`, `show`, `fmt` and `algorithms`; specifications of the language for recorded histories.

use crate::run::{file, folder, seriatim};
use seriatim::explore::{self, starting_bounds};
use seriatim::lang::check_with;

#[test]
fn the_engines_agree_on_right_and_broken_algorithms() {
    seriatim(&["verify", "treiber"])
        .exits(0)
        .says("PROVED linearizable")
        .says("deadlock-free  proved");
    seriatim(&["verify", "treiber", "--threads", "2"]).exits(0).says("linearizable for 2 threads");
    seriatim(&["verify", "treiber", "--engine", "prove"]).exits(0).says("PROVED");
    let first_printing = "broken/harris_michael_first_printing";
    seriatim(&["verify", first_printing]).exits(1).says("VIOLATION");
    let lists = ["--engine", "lists", "--methods", "remove || remove"];
    seriatim(&[&["verify", first_printing], &lists[..]].concat()).exits(1).says("fails");
    seriatim(&[&["verify", "lazy_list"], &lists[..]].concat()).exits(0).says("holds");
}

#[test]
fn what_cannot_be_proved_is_unknown_and_says_what_was_covered() {
    for (algorithm, reason) in [
        ("ticket_lock", "not proved: the proof got stuck"),
        ("peterson_lock", "not proved: the prover does not"),
    ] {
        let answer = seriatim(&["verify", algorithm, "--time", "2s"]).exits(3);
        answer.says("unknown: every run is right for").says(reason);
    }
}

#[test]
fn a_certificate_is_written_checked_and_refused_for_another_algorithm() {
    let folder = folder("certificate");
    let path = folder.join("stack.cert").display().to_string();
    let prove = ["--engine", "prove", "--certificate", &path];
    seriatim(&[&["verify", "coarse_stack"], &prove[..]].concat())
        .exits(0)
        .says("certificate accepted");
    seriatim(&["certify", "coarse_stack", &path]).exits(0).says("PROVED");
    let drawn = seriatim(&["certify", "coarse_stack", &path, "--draw"]).exits(0);
    drawn.says("an idle thread").says("top = null").says("after: top ─→");
    seriatim(&["certify", "treiber", &path]).exits(2).complains("another program, `coarse_stack`");
    let text = std::fs::read_to_string(&path).expect("just written");
    let damaged = file(&folder, "damaged.cert", text.replacen("null", "#0", 1));
    seriatim(&["certify", "coarse_stack", &damaged]).exits(2).complains("damaged");
    let explore = ["verify", "treiber", "--engine", "explore", "--certificate", &path];
    seriatim(&explore).exits(2).complains("only a proof has one");
}

#[test]
fn the_history_of_a_violation_is_rejected_as_a_recorded_one_too() {
    let folder = folder("counterexample");
    let history = folder.join("history.jsonl").display().to_string();
    let verified =
        seriatim(&["verify", "broken/harris_michael_first_printing", "--history", &history]);
    verified.exits(1);
    seriatim(&["check", "--spec", "set", &history]).exits(1).says("VIOLATION");
}

#[test]
fn a_mistake_in_a_file_is_shown_where_it_stands() {
    let folder = folder("mistake");
    let broken =
        file(&folder, "broken.seri", "object o : stack\nmethod push(v: value) { x = 1 }\n");
    seriatim(&["verify", &broken]).exits(2).complains("broken.seri");
    seriatim(&["verify", "no_such_algorithm"]).exits(2).complains("seriatim algorithms");
}

#[test]
fn algorithms_can_be_listed_shown_and_formatted() {
    seriatim(&["algorithms"]).exits(0).says("michael_scott");
    let treiber = seriatim(&["algorithms", "treiber"]).exits(0).out;
    seriatim(&["show", "treiber"]).exits(0).says("push");
    seriatim(&["show", "treiber", "--dot"]).exits(0).says("digraph");
    let folder = folder("format");
    let path = file(&folder, "treiber.seri", &treiber);
    seriatim(&["fmt", "--check", &path]).exits(0);
    let untidy = file(&folder, "untidy.seri", treiber.replace("let t = top", "let   t=top"));
    seriatim(&["fmt", "--check", &untidy]).exits(1).complains("not formatted");
    seriatim(&["fmt", &untidy]).exits(0);
    seriatim(&["fmt", "--check", &untidy]).exits(0);
}

#[test]
fn a_specification_of_the_language_judges_recorded_histories() {
    let folder = folder("own-spec");
    let spec = "spec flag {\n  var up: bool = false\n  method raise() -> bool {\n    let old = up\n    \
                up = true\n    return old\n  }\n}\n";
    let spec = file(&folder, "flag.seri", spec);
    let row = |result: bool, call: u32| {
        let ret = call + 1;
        format!(
            "{{\"process\":0,\"op\":\"raise\",\"result\":{result},\"call\":{call},\"return\":{ret}}}\n"
        )
    };
    let right = file(&folder, "right.jsonl", row(false, 1) + &row(true, 3));
    let wrong = file(&folder, "wrong.jsonl", row(false, 1) + &row(false, 3));
    seriatim(&["check", "--spec", &spec, &right]).exits(0).says("own steps");
    seriatim(&["check", "--spec", &spec, &wrong]).exits(1).says("it would return true");
}

#[test]
fn every_broken_algorithm_has_a_run_whose_history_is_rejected_as_a_recorded_one_too() {
    let mut rejected = 0;
    for algorithm in seriatim::algorithms().filter(|a| a.is_broken()) {
        let name = algorithm.name;
        let program = seriatim::lang::check(algorithm.source).expect("the library is right");
        let (options, constants) = starting_bounds(&program);
        let program = check_with(algorithm.source, &constants).expect("the constants are right");
        let outcome = explore::run(&program, &options).expect("it can be explored");
        let explore::Verdict::Violation(found) = outcome.verdict else { continue };
        if found.kind != explore::ViolationKind::NotLinearizable {
            continue;
        }
        let mut history = seriatim::history_of(&found.history, name).expect("a history");
        let reader = seriatim::SeriReader::parse_with(algorithm.source, None, &constants);
        let reader = reader.expect("a specification");
        let checked = seriatim::check_with(&mut history, &reader, &seriatim::Options::default());
        let verdict = checked.expect("the specification fits").verdict;
        assert!(matches!(verdict, seriatim::Verdict::Violation(_)), "{name}: {}", verdict.word());
        rejected += 1;
    }
    assert!(rejected >= 60, "{rejected} broken algorithms");
}

#[test]
fn a_run_that_goes_wrong_can_be_saved_shown_and_replayed() {
    let folder = folder("replay");
    let run = folder.join("run.txt").display().to_string();
    let page = folder.join("run.html").display().to_string();
    let broken = "broken/harris_michael_first_printing";
    seriatim(&["verify", broken, "--engine", "explore", "--save", &run, "--html", &page]).exits(1);
    let html = std::fs::read_to_string(&page).expect("the page was written");
    assert!(html.contains("head → #"), "{html}");
    seriatim(&["verify", broken, "--replay", &run]).exits(1).says("the run goes wrong");
    seriatim(&["verify", "treiber", "--replay", &run]).exits(2).complains("another algorithm");
    let damaged = file(&folder, "damaged.txt", "seriatim run 1\nthreads many\n");
    seriatim(&["verify", broken, "--replay", &damaged]).exits(2).complains("line 2");
}
