//! Several processes on this machine: the same verdicts, also if one is killed on the way.

use super::run::{command, file, folder, seriatim, text};
use std::net::TcpListener;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

pub fn log(folder: &Path, operations: &str) -> String {
    let shape = ["gen", "map", "-n", operations, "--keys", "200", "--violation", "0.4"];
    let made = seriatim(&shape).exits(0);
    file(folder, "map.jsonl", made.out)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file")
}

/// The merged verdicts of one process that reads everything itself.
pub fn expected(folder: &Path, log: &str) -> String {
    let (alone, merged) = (text(&folder.join("alone")), folder.join("alone-merged"));
    seriatim(&["check", log, "--verdicts", &alone]).exits(1);
    seriatim(&["merge", &alone, "-o", &text(&merged)]).exits(1);
    read(&merged)
}

pub fn merged(folder: &Path, files: &[String]) -> String {
    let merged = folder.join("merged");
    let output = text(&merged);
    let files: Vec<&str> = files.iter().map(|file| &file[..]).collect();
    seriatim(&[&["merge", "-o", &output], &files[..]].concat()).exits(1);
    read(&merged)
}

pub fn numbered(base: &str, count: usize) -> Vec<String> {
    (0..count).map(|index| format!("{base}.{index}-of-{count}")).collect()
}

#[test]
fn one_two_and_four_processes_give_the_same_verdicts_bit_for_bit() {
    let folder = folder("processes");
    let log = log(&folder, "6000");
    let expected = expected(&folder, &log);
    for (processes, threads) in [("1", "1"), ("1", "3"), ("2", "1"), ("4", "2")] {
        let base = text(&folder.join(format!("v{processes}-{threads}")));
        let shape = ["--processes", processes, "--threads", threads, "--verdicts", &base];
        let ran = seriatim(&[&["check", &log], &shape[..]].concat()).exits(1);
        ran.says("200 parts: 199 linearizable, 1 violated");
        let files = match processes {
            "1" => vec![base],
            count => numbered(&base, count.parse().expect("a number")),
        };
        assert_eq!(merged(&folder, &files), expected, "{processes} processes, {threads} threads");
    }
}

#[test]
fn events_whole_objects_and_damaged_files_travel_too() {
    let folder = folder("travelling");
    let log = log(&folder, "2000");
    let events = seriatim(&["convert", &log, "--to", "jsonl-events"]).exits(0).out;
    let events = file(&folder, "events", events);
    let base = text(&folder.join("events-v"));
    let shape = ["--processes", "2", "--verdicts", &base];
    seriatim(&[&["check", &events], &shape[..]].concat()).exits(1).says("1 violated");
    let sized = seriatim(&["gen", "map", "-n", "300", "--shares", "size=1"]).exits(0).out;
    let sized = file(&folder, "sized", sized);
    let base = text(&folder.join("sized-v"));
    let shape = ["--processes", "2", "--verdicts", &base];
    seriatim(&[&["check", &sized], &shape[..]].concat()).exits(0).says("in 1 parts");
    let damaged = read(Path::new(&log)).replacen("\"op\":\"put\"", "\"op\":\"p", 1);
    let line = damaged.lines().position(|line| line.contains("\"p,")).expect("a line") + 1;
    let damaged = file(&folder, "damaged", damaged);
    let base = text(&folder.join("damaged-v"));
    let shape = ["--processes", "2", "--verdicts", &base];
    let ran = seriatim(&[&["check", &damaged], &shape[..]].concat()).exits(2);
    ran.complains(&format!("damaged:{line}: "));
}

#[test]
fn addresses_of_other_machines_must_be_allowed() {
    let folder = folder("addresses");
    let log = log(&folder, "100");
    let hosts = file(&folder, "hosts", "127.0.0.1:4001\n192.0.2.1:4001\n");
    let base = text(&folder.join("v"));
    let shape = ["--cluster", &hosts, "--process", "0", "--verdicts", &base];
    let refused = seriatim(&[&["check", &log], &shape[..]].concat()).exits(2);
    refused
        .complains("hosts: line 2: 192.0.2.1:4001 is not of this machine")
        .complains("--open-network");
    let shape = ["--cluster", &hosts, "--process", "2", "--verdicts", &base, "--open-network"];
    let named = [&["check", &log], &shape[..]].concat();
    seriatim(&named).exits(2).complains("--secret-file");
    let short = file(&folder, "short", "0123456789\n");
    seriatim(&[&named[..], &["--secret-file", &short]].concat())
        .exits(2)
        .complains("short: expected a secret of at least 16 bytes, found 10");
    let secret = file(&folder, "secret", "0123456789abcdef\n");
    seriatim(&[&named[..], &["--secret-file", &secret]].concat())
        .exits(2)
        .complains("no process 2 of 2");
}

#[test]
fn a_process_that_gives_up_at_the_start_is_noticed_at_once() {
    let folder = folder("gave-up");
    let log = log(&folder, "2000");
    let base = text(&folder.join("v"));
    // Somebody else writes the verdict file of the second process, so it is refused.
    let taken = std::fs::File::create(format!("{base}.1-of-2")).expect("a file");
    taken.lock().expect("a lock");
    let shape = ["--processes", "2", "--verdicts", &base, "--wait", "100s"];
    let ran = seriatim(&[&["check", &log], &shape[..]].concat()).exits(3);
    let ran = ran.complains("another process writes or reads it");
    ran.complains("another of the 2 processes ended before all had appeared");
}

/// What the verdict files hold now: what they held before is still there, and no part was decided
/// twice.
pub fn kept(files: &[String], before: &[String]) -> Vec<String> {
    let read = |file: &String| std::fs::read_to_string(file).unwrap_or_default();
    let now: Vec<String> = files.iter().map(read).collect();
    for (before, now) in before.iter().zip(&now) {
        let whole = before.rfind('\n').map_or(0, |end| end + 1);
        assert_eq!(before[..whole], now[..whole]);
    }
    for text in &now {
        let mut hashes: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("{\"hash\":")).collect();
        let count = hashes.len();
        hashes.sort_by_key(|line| &line[..18.min(line.len())]);
        hashes.dedup_by_key(|line| line[..18.min(line.len())].to_owned());
        assert_eq!(hashes.len(), count, "a part was decided twice");
    }
    now
}

/// Waits for a process to end; an error if it does not.
pub fn ended(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(120) {
        if let Some(status) = child.try_wait().expect("a process") {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("a process");
    panic!("a process did not end after another was lost");
}

#[test]
fn a_killed_process_costs_only_what_was_not_decided() {
    let long = seriatim_testing::long();
    let (runs, operations) = if long { (24, "400000") } else { (3, "30000") };
    let folder = folder("killed");
    let log = log(&folder, operations);
    let expected = expected(&folder, &log);
    let undisturbed = Instant::now();
    let shape = ["--processes", "2", "--threads", "1", "--verdicts", &text(&folder.join("timed"))];
    seriatim(&[&["check", &log], &shape[..]].concat()).exits(1);
    // A process is killed at any moment of what it takes; earlier and earlier, if that comes too late
    // because the machine has less to do by now.
    let whole = undisturbed.elapsed().as_millis().max(20) as u64;
    let (mut seed, mut interrupted) = (11u64, 0);
    for run in 0..100 {
        if run >= runs && interrupted > 0 {
            break;
        }
        let base = text(&folder.join(format!("v{run}")));
        let files = numbered(&base, 2);
        let latest = (whole >> (run / runs).min(10)).max(1);
        let mut decided_before = Vec::new();
        for attempt in 0.. {
            let free = || TcpListener::bind("127.0.0.1:0").expect("a port");
            let ports = [free(), free()].map(|port| port.local_addr().expect("an address"));
            let hosts = format!("{}\n{}\n", ports[0], ports[1]);
            let hosts = file(&folder, &format!("hosts{run}-{attempt}"), hosts);
            let mut children: Vec<Child> = ["0", "1"]
                .map(|process| {
                    let shape = ["--cluster", &hosts, "--process", process, "--wait", "10s"];
                    let named = ["check", &log, "--verdicts", &base, "--threads", "1"];
                    command(&[&named[..], &shape[..]].concat()).spawn().expect("a process")
                })
                .into();
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let victim = (seed >> 40) as usize % 2;
            if attempt < 2 {
                std::thread::sleep(Duration::from_millis((seed >> 33) % latest));
                children[victim].kill().expect("a process");
            }
            let codes: Vec<Option<i32>> = children.iter_mut().map(ended).collect();
            let complete = codes.iter().all(|code| matches!(code, Some(0 | 1)));
            interrupted += usize::from(!complete);
            decided_before = kept(&files, &decided_before);
            if complete {
                break;
            }
            assert!(attempt < 5, "the cluster does not come to an end: {codes:?}");
        }
        assert_eq!(merged(&folder, &files), expected, "run {run}");
    }
    assert!(interrupted > 0, "no process was killed in time");
}
