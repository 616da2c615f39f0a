//! What the command prints: for people, for programs, for pipelines.

use super::run::{example, examples, file, folder, seriatim, text};
use super::schema::Schema;

#[test]
fn json_reports_obey_the_schema_one_line_a_history() {
    let schema = Schema::load();
    let pattern = text(&examples().join("*.*"));
    let examples = seriatim(&["check", "--json", "--spec", "queue", "--certify", &pattern]);
    let broken = file(&folder("json"), "broken", "{");
    let several =
        seriatim(&["check", "--json", &example("queue.jsonl"), &broken, &example("stack.limo")]);
    let mut verdicts = Vec::new();
    for ran in [examples, several.exits(2)] {
        for line in ran.out.lines() {
            let document: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
            schema.validate(&document).unwrap_or_else(|problem| panic!("{problem}: {line}"));
            verdicts.push(document["verdict"].as_str().map(str::to_owned));
        }
    }
    verdicts.sort();
    verdicts.dedup();
    assert_eq!(verdicts, [Some("linearizable".into()), Some("violation".into())]);
}

#[test]
fn quiet_is_one_line_a_history() {
    let ran = seriatim(&["check", "--quiet", &example("queue*.jsonl")]).exits(1);
    assert_eq!(ran.out.lines().count(), 2, "{ran:#?}");
    assert_eq!(ran.err, "");
}

#[test]
fn the_terminal_report_keeps_to_its_width_and_its_characters() {
    let wrong = example("queue-overtaken.jsonl");
    let ran = seriatim(&["check", &wrong, "--width", "60"]).exits(1);
    let told = ran.out.lines().skip(1).map(|line| line.chars().count()).max();
    assert!(told <= Some(60), "{}", ran.out);
    let ascii = seriatim(&["check", &wrong, "--ascii"]).exits(1);
    assert!(ascii.out.is_ascii(), "{}", ascii.out);
    assert!(!ascii.out.contains('\x1b'), "colours only on a terminal");
    seriatim(&["check", &wrong, "--color", "always"]).exits(1).says("\x1b[");
}

#[test]
fn a_part_is_named_by_its_key_not_by_the_first_argument_that_holds_it() {
    let folder = folder("part-names");
    let map = r#"{"process":0,"op":"put","arg":["a",1],"call":1,"return":2}
{"process":0,"op":"get","arg":"a","result":3,"call":3,"return":4}
{"process":0,"op":"put","arg":["b",3],"call":5,"return":6}
"#;
    let registers = r#"{"process":0,"op":"txn","arg":[["w","x",1],["w","y",1]],"call":1,"return":2}
{"process":1,"op":"txn","arg":[["r","x",null]],"result":[["r","x",2]],"call":3,"return":4}
{"process":1,"op":"txn","arg":[["w","z",1]],"call":5,"return":6}
"#;
    let check = |spec: &str, log: String| {
        seriatim(&["check", "--engine", "search", "--spec", spec, &log]).exits(1)
    };
    check("map", file(&folder, "map.jsonl", map)).says("of key \"a\":");
    let wrong = check("multi-register", file(&folder, "registers.jsonl", registers));
    wrong.says("r(x)=2");
}

#[test]
fn junit_tells_every_file_also_those_that_cannot_be_read() {
    let folder = folder("junit");
    let broken = file(&folder, "broken.jsonl", "{");
    let xml = text(&folder.join("report.xml"));
    let pattern = example("queue*.jsonl");
    seriatim(&["check", "-q", &pattern, &broken, "--junit", &xml]).exits(1);
    let xml = std::fs::read_to_string(xml).expect("a report");
    assert!(xml.contains("tests=\"3\" failures=\"1\" errors=\"1\""), "{xml}");
    assert!(xml.contains("broken.jsonl:1: "), "{xml}");
}

#[test]
fn engines_and_threads_agree() {
    for (name, code) in [("queue.jsonl", 0), ("queue-overtaken.jsonl", 1)] {
        for engine in ["auto", "depth-first", "breadth-first"] {
            for threads in ["1", "3"] {
                let path = example(name);
                let choice = ["--engine", engine, "--threads", threads, "--certify", "--all"];
                seriatim(&[&["check", &path], &choice[..]].concat()).exits(code);
            }
        }
    }
}

/// Every way to ask and every output: either it does what it says, or it is refused by its name.
#[test]
fn an_output_that_is_asked_for_is_there_or_refused_by_name() {
    let folder = folder("outputs");
    let register = file(
        &folder,
        "register.jsonl",
        "{\"process\":0,\"op\":\"write\",\"arg\":1,\"call\":1,\"return\":2}\n\
         {\"process\":1,\"op\":\"read\",\"result\":2,\"call\":3,\"return\":4}\n",
    );
    let bank = file(
        &folder,
        "bank.jsonl",
        "{\"process\":0,\"op\":\"read\",\"result\":{\"a\":1},\"call\":1,\"return\":2}\n\
         {\"process\":0,\"op\":\"read\",\"result\":{\"a\":2},\"call\":3,\"return\":4}\n",
    );
    let of_register = ["check", "--spec", "register", &*register];
    let questions: [Vec<&str>; 6] = [
        of_register.to_vec(),
        [&of_register[..], &["--engine", "search"]].concat(),
        [&of_register[..], &["--spill", "always"]].concat(),
        [&of_register[..], &["--level", "all"]].concat(),
        [&of_register[..], &["--order", "process"]].concat(),
        vec!["check", "--spec", "bank", &bank],
    ];
    for (number, question) in questions.iter().enumerate() {
        for option in ["--html", "--junit", "--verdicts"] {
            let written = folder.join(format!("{number}{option}"));
            let ran = seriatim(&[&question[..], &[option, &text(&written)]].concat());
            match ran.code {
                Some(2) => _ = ran.complains(&format!("{option} does not go with")),
                _ => assert!(written.is_file(), "{question:?} {option}: {ran:#?}"),
            }
        }
        let json = seriatim(&[&question[..], &["--json"]].concat()).exits(1);
        assert!(json.out.starts_with('{') && json.out.lines().count() == 1, "{json:#?}");
        let quiet = seriatim(&[&question[..], &["--quiet"]].concat()).exits(1);
        assert_eq!(quiet.out.lines().count(), 1, "{quiet:#?}");
    }
    let verdicts = text(&folder.join("verdicts"));
    let to_file = [&of_register[..], &["--verdicts", &verdicts]].concat();
    for option in [&["--json"][..], &["--html", "page"], &["--junit", "suite"]] {
        let refused = format!("{} does not go with --verdicts", option[0]);
        seriatim(&[&to_file[..], option].concat()).exits(2).complains(&refused);
    }
}
