//! The recorders in other languages write logs that are read and linearizable, and a lie in them is
//! found.

use seriatim::history::read_str;
use seriatim_service_examples::redis::{Keeps, start};
use seriatim_service_examples::server::find;
use seriatim_service_examples::verdict;
use std::path::Path;
use std::process::Command;

fn records(tool: &str, arguments: &[&str], file: &str) {
    let (Some(program), Some(server)) = (find(tool, &[]), start(Keeps::Nothing)) else {
        return seriatim_testing::skipped(
            "servers",
            &format!("{tool} or redis-server is not installed"),
        );
    };
    let server = server.expect("a server");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorders").join(file);
    let ran = Command::new(program)
        .args(arguments)
        .arg(file)
        .arg(server.port().to_string())
        .output()
        .expect(tool);
    let log = String::from_utf8(ran.stdout).expect("UTF-8");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let history = read_str(&log).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((history.len(), history.spec()), (1200, Some("redis")));
    let (word, report) = verdict(&history, "redis");
    assert_eq!(word, "linearizable", "{report}");
    let read = log.find("\"get\"").expect("a read");
    let place = read + log[read..].find("\"result\":").expect("what it saw");
    let end = log[place..].find(['}', ',']).expect("its end") + place;
    let lie = format!("{}\"result\":\"never written\"{}", &log[..place], &log[end..]);
    assert_eq!(verdict(&read_str(&lie).expect("a log"), "redis").0, "violation");
}

#[test]
fn python_records_a_log() {
    records("python3", &[], "record.py");
}

#[test]
fn go_records_a_log() {
    records("go", &["run"], "record.go");
}

#[test]
fn java_records_a_log() {
    records("java", &[], "Record.java");
}
