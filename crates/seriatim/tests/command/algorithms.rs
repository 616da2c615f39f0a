//! `verify`, `show`, `fmt` and `algorithms`; specifications of the language for recorded histories.

use crate::run::{file, folder, seriatim};

#[test]
fn the_engines_agree_on_right_and_broken_algorithms() {
    seriatim(&["verify", "treiber"]).exits(0).says("linearizable for 2 threads");
    seriatim(&["verify", "treiber", "--engine", "prove"]).exits(0).says("PROVED");
    let first_printing = "broken/harris_michael_first_printing";
    seriatim(&["verify", first_printing]).exits(1).says("VIOLATION");
    let lists = ["--engine", "lists", "--methods", "remove || remove"];
    seriatim(&[&["verify", first_printing], &lists[..]].concat()).exits(1).says("fails");
    seriatim(&[&["verify", "lazy_list"], &lists[..]].concat()).exits(0).says("holds");
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
    seriatim(&["check", "--spec", &spec, "--certify", &right]).exits(0).says("certified");
    seriatim(&["check", "--spec", &spec, &wrong]).exits(1).says("it would return true");
}
