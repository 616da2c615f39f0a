//! Real servers: what clients see of them before, while and after they are killed.

use seriatim::harness::Recorder;
use seriatim::history::{History, Value};
use seriatim_service_examples::server::Server;
use seriatim_service_examples::{Client, Operation, drive, etcd, postgres, redis, verdict};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const KEYS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// How long clients run before the server is killed, and after it is back.
const WHILE: Duration = Duration::from_millis(400);

/// A number that looks random, the same in every run.
fn mixed(client: u64, number: u64) -> u64 {
    (client * 1_000_003 + number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33
}

/// Drives a server, kills it in the middle, and reads every key at the end.
fn killed<C: Client>(
    server: &mut Server,
    clients: u64,
    next: impl Fn(u64, u64) -> Operation + Sync,
    last: &[Operation],
) -> History {
    let recorder = Recorder::timed();
    let stop = AtomicBool::new(false);
    let port = server.port();
    std::thread::scope(|scope| {
        scope.spawn(|| drive::<C>(&recorder, clients, port, &stop, &next));
        std::thread::sleep(WHILE);
        recorder.annotate("nemesis", "kill -9");
        server.kill().expect("a server to kill");
        server.restart().expect("a server that comes back");
        recorder.annotate("nemesis", "back");
        std::thread::sleep(WHILE);
        stop.store(true, Ordering::Release);
    });
    // Final reads: without them a write that was lost is seen by nobody.
    let mut log = recorder.log("final");
    let mut client = C::connect(port).expect("a server that answers");
    for operation in last {
        operation.record_call(&recorder, &mut log);
        log.ret(client.run(operation).expect("an answer"));
    }
    drop(log);
    recorder.history("").expect("a history")
}

/// The figures of a run, for whoever looks (`--no-capture`).
fn tell(name: &str, history: &History, verdict: &str) {
    let tally = history.tally();
    let (operations, unknown, failed) = (history.len(), tally.pending, tally.failed);
    println!("{name}: {operations} operations, {unknown} unknown, {failed} failed: {verdict}");
}

fn redis_next(client: u64, number: u64) -> Operation {
    let random = mixed(client, number);
    let key = KEYS[(random % 5) as usize];
    let value = Some(Value::text(&format!("{client}-{number}")));
    match random / 5 % 10 {
        0..4 => Operation::on(key, "set", value),
        4 => Operation::on(key, "getset", value),
        5 => Operation::on(key, "set_nx", value),
        6 => Operation::on(key, "del", None),
        _ => Operation::on(key, "get", None),
    }
}

fn final_gets() -> Vec<Operation> {
    KEYS.iter().map(|key| Operation::on(key, "get", None)).collect()
}

#[test]
fn redis_that_keeps_everything_is_linearizable_over_a_kill() {
    let Some(server) = redis::start(redis::Keeps::Everything) else {
        return seriatim_testing::skipped("servers", "redis-server is not installed");
    };
    let mut server = server.expect("a server");
    let history = killed::<redis::Redis>(&mut server, 6, redis_next, &final_gets());
    let (word, report) = verdict(&history, "redis");
    tell("Redis with its file", &history, word);
    assert_eq!(word, "linearizable", "{report}");
}

#[test]
fn redis_that_keeps_nothing_loses_writes_and_the_final_reads_show_it() {
    let Some(server) = redis::start(redis::Keeps::Nothing) else {
        return seriatim_testing::skipped("servers", "redis-server is not installed");
    };
    let mut server = server.expect("a server");
    // Before the kill everybody writes, afterwards everybody reads: a write that is lost is not
    // written over.
    let recorder = Recorder::timed();
    let port = server.port();
    let run = |next: fn(u64, u64) -> Operation| {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| drive::<redis::Redis>(&recorder, 4, port, &stop, next));
            std::thread::sleep(WHILE);
            stop.store(true, Ordering::Release);
        });
    };
    run(redis_next);
    recorder.annotate("nemesis", "kill -9");
    server.kill().expect("a server to kill");
    server.restart().expect("a server that comes back");
    run(|client, number| Operation::on(KEYS[(mixed(client, number) % 5) as usize], "get", None));
    let history = recorder.history("").expect("a history");
    let (word, report) = verdict(&history, "redis");
    tell("Redis in memory", &history, word);
    assert_eq!(word, "violation", "{report}");
    assert!(report.contains("nemesis"), "the kill is not drawn:\n{report}");
}

#[test]
fn etcd_is_linearizable_over_a_kill() {
    let Some(server) = etcd::start() else {
        return seriatim_testing::skipped("servers", "etcd is not installed");
    };
    let mut server = server.expect("a server");
    let next = |client: u64, number: u64| {
        let random = mixed(client, number);
        let key = KEYS[(random % 5) as usize];
        let value = Value::text(&format!("{client}-{number}"));
        match random / 5 % 10 {
            0..4 => Operation::on(key, "put", Some(value)),
            4 => {
                let arg = Some(Value::list([Value::text(key), Value::Int(0), value]));
                Operation { name: "txn", key: None, arg, mode: "" }
            }
            5 => Operation::on(key, "delete", None),
            _ => Operation::on(key, "get", None),
        }
    };
    let history = killed::<etcd::Etcd>(&mut server, 6, next, &final_gets());
    let (word, report) = verdict(&history, "etcd");
    tell("etcd", &history, word);
    assert_eq!(word, "linearizable", "{report}");
}

/// A transaction of etcd: compares of two keys, and in either branch writes, deletes and reads.
fn etcd_transaction(client: u64, number: u64) -> Operation {
    let random = mixed(client, number);
    let text = |text: &str| Value::text(text);
    let (one, other) = ((random % 5) as usize, (random / 5 % 4) as usize);
    let keys = [KEYS[one], KEYS[(one + 1 + other) % 5]];
    let op = |bits: u64, key: &str| match bits % 4 {
        0 => Value::list([text("Delete"), text(key), Value::Nil, Value::Nil]),
        1 => Value::list([text("Get"), text(key), Value::Nil, Value::Nil]),
        _ => {
            let value = text(&format!("{client}-{number}"));
            Value::list([text("Put"), text(key), value, Value::Nil])
        }
    };
    let branch = |bits: u64| Value::list([op(bits, keys[0]), op(bits / 4, keys[1])]);
    let target = if (random / 100).is_multiple_of(2) { "ModRevision" } else { "Version" };
    let expected = Value::Int((random / 200 % 3) as i64);
    let compare = Value::list([text(keys[0]), text(target), expected]);
    let compares = match random / 20 % 5 {
        0 => Value::list([]),
        _ => Value::list([compare]),
    };
    let arg = Value::list([compares, branch(random / 1_000), branch(random / 20_000)]);
    Operation { name: "txn", key: None, arg: Some(arg), mode: "" }
}

#[test]
fn whole_transactions_of_etcd_are_linearizable_over_a_kill() {
    let Some(server) = etcd::start() else {
        return seriatim_testing::skipped("servers", "etcd is not installed");
    };
    let mut server = server.expect("a server");
    let next = |client: u64, number: u64| match mixed(client, number) % 7 {
        0 => Operation::on(KEYS[(number % 5) as usize], "get", None),
        _ => etcd_transaction(client, number),
    };
    let history = killed::<etcd::Etcd>(&mut server, 6, next, &final_gets());
    let (word, report) = verdict(&history, "etcd-txn");
    tell("etcd, whole transactions", &history, word);
    assert_eq!(word, "linearizable", "{report}");
}

/// A transaction on both rows.
fn transaction(mode: &'static str, write: Option<i64>) -> Operation {
    let step = |key: &str| match write {
        Some(value) => Value::list([Value::text("w"), Value::text(key), Value::Int(value)]),
        None => Value::list([Value::text("r"), Value::text(key), Value::Nil]),
    };
    Operation { name: "txn", key: None, arg: Some(Value::list([step("x"), step("y")])), mode }
}

fn postgres_history(server: &mut Server, mode: &'static str) -> History {
    let mut setup = postgres::Postgres::connect(server.port()).expect("a connection");
    for statement in [
        "drop table if exists kv",
        "create table kv (k text primary key, v bigint)",
        "insert into kv values ('x', 0), ('y', 0)",
    ] {
        setup.ask(statement).expect("an answer").expect("a table");
    }
    let next = |client: u64, number: u64| {
        let write = (client < 2).then(|| (number * 10 + client) as i64 + 1);
        transaction(mode, write)
    };
    killed::<postgres::Postgres>(server, 6, next, &[transaction(mode, None)])
}

#[test]
fn postgres_is_linearizable_where_it_promises_snapshots_and_skews_reads_where_it_does_not() {
    let Some(server) = postgres::start() else {
        return seriatim_testing::skipped("servers", "postgresql is not installed");
    };
    let mut server = server.expect("a server");
    let word = |history: &History| {
        let answer = seriatim::check(history, "multi-register(init={\"x\":0,\"y\":0})")
            .expect("transactions");
        (answer.verdict().word(), answer.to_string())
    };
    for mode in ["repeatable read", "serializable"] {
        let history = postgres_history(&mut server, mode);
        let (word, report) = word(&history);
        tell(&format!("PostgreSQL, {mode}"), &history, word);
        assert_eq!(word, "linearizable", "{mode}:\n{report}");
    }
    let history = postgres_history(&mut server, "read committed");
    let (word, report) = word(&history);
    tell("PostgreSQL, read committed", &history, word);
    assert_eq!(
        word, "violation",
        "a reader that looks twice in hundreds of transactions sees one in between:\n{report}"
    );
}
