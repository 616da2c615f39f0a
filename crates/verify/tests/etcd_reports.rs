//! Reports of etcd's own tests, read by the map `etcd-report`, against brute force on a store that
//! knows nothing of maps, models and versions: transactions with ranges, some cut short by a limit,
//! and events of watches.

use seriatim_map::{Map, Unmatched, ready_map};
use seriatim_monitor::{Options, check};
use seriatim_services::service;
use seriatim_testing::Random;
use seriatim_verify::SeriReader;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const KEYS: [&str; 3] = ["a", "a1", "b"];
const ENDS: [&str; 4] = ["a1", "b", "b5", "c"];

#[derive(Clone, Copy)]
enum Op {
    Put(&'static str, u64),
    Delete(&'static str),
    Range { start: &'static str, end: &'static str, limit: usize },
}

/// A key, its value, and the revision that wrote it.
type Entry = (&'static str, u64, u64);

#[derive(Clone, PartialEq)]
enum Answer {
    Done { deleted: u64 },
    Found { entries: Vec<Entry>, count: usize },
}

#[derive(Clone, PartialEq)]
struct Response {
    answers: Vec<Answer>,
    revision: u64,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Store {
    revision: u64,
    entries: BTreeMap<&'static str, (u64, u64)>,
}

impl Store {
    fn run(&mut self, ops: &[Op]) -> Response {
        let is_there = |key| self.entries.contains_key(key);
        let writes = ops.iter().any(|op| match op {
            Op::Put(..) => true,
            Op::Delete(key) => is_there(key),
            Op::Range { .. } => false,
        });
        self.revision += u64::from(writes);
        let answers = ops.iter().map(|op| self.answer(*op)).collect();
        Response { answers, revision: self.revision }
    }

    fn answer(&mut self, op: Op) -> Answer {
        match op {
            Op::Put(key, value) => {
                self.entries.insert(key, (value, self.revision));
                Answer::Done { deleted: 0 }
            }
            Op::Delete(key) => {
                Answer::Done { deleted: u64::from(self.entries.remove(key).is_some()) }
            }
            Op::Range { start, end, limit } => {
                let within = self.entries.range(start..).take_while(|(key, _)| **key < end);
                let all: Vec<Entry> = within.map(|(key, entry)| (*key, entry.0, entry.1)).collect();
                let shown = if limit == 0 { all.len() } else { limit.min(all.len()) };
                Answer::Found { entries: all[..shown].to_vec(), count: all.len() }
            }
        }
    }
}

/// Whether a response says what was told. Of what is behind the last key that is shown, a range that
/// was cut short is no evidence.
fn fits(ops: &[Op], real: &Response, told: &Response) -> bool {
    let same = |(op, (real, told)): (&Op, (&Answer, &Answer))| match (op, real, told) {
        (
            Op::Range { limit, .. },
            Answer::Found { entries, count },
            Answer::Found { entries: shown, count: claimed },
        ) => {
            let is_whole = *limit == 0 || claimed <= limit;
            let last = shown.last().map(|entry| entry.0);
            let up_to = entries.iter().filter(|entry| last.is_some_and(|last| entry.0 <= last));
            if is_whole { entries == shown && *count == shown.len() } else { up_to.eq(shown) }
        }
        _ => real == told,
    };
    let pairs = real.answers.iter().zip(&told.answers);
    real.revision == told.revision && ops.iter().zip(pairs).all(same)
}

struct Txn {
    ops: Vec<Op>,
    call: u64,
    ret: u64,
    told: Option<Response>,
    /// It is no request, but what a watch told: what was at a key, and at which revision.
    is_event: bool,
}

impl Txn {
    /// What a watch tells at some time of a key that has just been changed.
    fn event(store: &Store, key: &'static str, at: u64) -> Txn {
        let place = KEYS.iter().position(|known| *known == key).expect("a key");
        let mut alone = store.clone();
        let ops = vec![Op::Range { start: key, end: ENDS[place], limit: 0 }];
        let told = alone.run(&ops);
        Txn { ops, call: 0, ret: at, told: Some(told), is_event: true }
    }
}

/// Transactions that overlap, some without a response, and one response changed in every other log.
fn draw(random: &mut Random, is_right: bool) -> Vec<Txn> {
    let mut store = Store { revision: 1, entries: BTreeMap::new() };
    let mut txns: Vec<Txn> = Vec::new();
    for place in 0..3 + random.below(4) {
        let mut ops: Vec<Op> = (0..random.below(4)).map(|_| op(random)).collect();
        let mut written = BTreeSet::new();
        ops.retain(|op| match op {
            Op::Put(key, _) | Op::Delete(key) => written.insert(*key),
            Op::Range { .. } => true,
        });
        let point = 100 * (place + 4);
        let (call, ret) = (point - random.below(300), point + random.below(300));
        let is_lost = random.chance(20);
        let happened = !is_lost || random.chance(50);
        let before = store.clone();
        let response = happened.then(|| store.run(&ops));
        let changed: Vec<&str> = KEYS
            .into_iter()
            .filter(|key| before.entries.get(key) != store.entries.get(key))
            .collect();
        for key in changed {
            if random.chance(30) {
                txns.push(Txn::event(&store, key, point + random.below(300)));
            }
        }
        let told = response.filter(|_| !is_lost);
        txns.push(Txn { ops, call, ret, told, is_event: false });
    }
    if !is_right {
        let spoiled = random.index(txns.len());
        let is_event = txns[spoiled].is_event;
        if let Some(told) = &mut txns[spoiled].told {
            spoil(random, told);
            // An event has one revision.
            if is_event && let Answer::Found { entries, .. } = &mut told.answers[0] {
                entries.iter_mut().for_each(|entry| entry.2 = told.revision);
            }
        }
    }
    txns
}

fn op(random: &mut Random) -> Op {
    let key = *random.pick(&KEYS);
    match random.below(4) {
        0 => Op::Put(key, random.below(3)),
        1 => Op::Delete(key),
        _ => {
            let &end = random.pick(&ENDS);
            Op::Range { start: key, end, limit: *random.pick(&[0, 1, 1, 2]) }
        }
    }
}

fn spoil(random: &mut Random, told: &mut Response) {
    let found = told.answers.iter_mut().find_map(|answer| match answer {
        Answer::Found { entries, count } if !entries.is_empty() => Some((entries, count)),
        _ => None,
    });
    match found {
        Some((entries, count)) => match random.below(3) {
            0 => entries[0].1 = random.below(3),
            1 => entries[0].2 += 1,
            _ => {
                entries.remove(0);
                *count -= 1;
            }
        },
        None => told.revision += 1,
    }
}

fn brute_force(txns: &[Txn]) -> bool {
    let mut seen = BTreeSet::new();
    let mut waiting = vec![(0_u32, Store { revision: 1, entries: BTreeMap::new() })];
    while let Some((done, store)) = waiting.pop() {
        let is_over = |txn: &Txn, by: u64| txn.told.is_some() && txn.ret < by;
        let is_left = |place: &usize| done >> place & 1 == 0;
        if !(0..txns.len()).filter(is_left).any(|place| txns[place].told.is_some()) {
            return true;
        }
        if !seen.insert((done, store.clone())) {
            continue;
        }
        for place in (0..txns.len()).filter(is_left) {
            let txn = &txns[place];
            if (0..txns.len()).filter(is_left).any(|other| is_over(&txns[other], txn.call)) {
                continue;
            }
            let mut after = store.clone();
            let real = after.run(&txn.ops);
            if txn.told.as_ref().is_none_or(|told| fits(&txn.ops, &real, told)) {
                waiting.push((done | 1 << place, after));
            }
        }
    }
    false
}

/// As etcd's tests write it.
fn report(txns: &[Txn]) -> String {
    let mut lines = String::new();
    for (client, txn) in txns.iter().enumerate() {
        if txn.is_event {
            lines += &watch(txn);
            continue;
        }
        let ops: Vec<String> = txn.ops.iter().map(request).collect();
        let output = match &txn.told {
            None => "{\"Error\":\"context deadline exceeded\",\"Revision\":0}".to_owned(),
            Some(told) => {
                let results: Vec<String> = told.answers.iter().map(result).collect();
                let results = results.join(",");
                let revision = told.revision;
                format!(
                    "{{\"Txn\":{{\"Failure\":false,\"Results\":[{results}]}},\"Revision\":{revision},\"Error\":\"\"}}"
                )
            }
        };
        writeln!(
            lines,
            "{{\"ClientId\":{client},\"Input\":{{\"Type\":\"txn\",\"Txn\":{{\"Conditions\":null,\"OperationsOnSuccess\":[{}],\
             \"OperationsOnFailure\":null}}}},\"Call\":{},\"Output\":{output},\"Return\":{}}}",
            ops.join(","),
            txn.call,
            txn.ret,
        )
        .unwrap();
    }
    lines
}

/// A watch of which one event is told.
fn watch(event: &Txn) -> String {
    let Some(Response { answers, revision }) = &event.told else { unreachable!("it was told") };
    let (Op::Range { start, .. }, Answer::Found { entries, .. }) = (event.ops[0], &answers[0])
    else {
        unreachable!("a range of one key")
    };
    let (kind, value) = match entries.first() {
        Some((_, value, _)) => ("put-operation", format!("{{\"Value\":\"{value}\"}}")),
        None => ("delete-operation", "{}".to_owned()),
    };
    format!(
        "{{\"Request\":{{\"Key\":\"\",\"WithPrefix\":true}},\"Responses\":[{{\"Events\":[{{\"Type\":\"{kind}\",\"Key\":\"{start}\",\
         \"Value\":{value},\"Revision\":{revision}}}],\"Revision\":{revision},\"Time\":{}}}]}}\n",
        event.ret
    )
}

fn request(op: &Op) -> String {
    match op {
        Op::Put(key, value) => format!(
            "{{\"Type\":\"put-operation\",\"Put\":{{\"Key\":\"{key}\",\"Value\":{{\"Value\":\"{value}\"}},\"LeaseID\":0}}}}"
        ),
        Op::Delete(key) => {
            format!("{{\"Type\":\"delete-operation\",\"Delete\":{{\"Key\":\"{key}\"}}}}")
        }
        Op::Range { start, end, limit } => format!(
            "{{\"Type\":\"range-operation\",\"Range\":{{\"Start\":\"{start}\",\"End\":\"{end}\",\"Limit\":{limit}}}}}"
        ),
    }
}

fn result(answer: &Answer) -> String {
    match answer {
        Answer::Done { deleted } => format!("{{\"KVs\":null,\"Count\":0,\"Deleted\":{deleted}}}"),
        Answer::Found { entries, count } => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value, revision)| {
                    format!("{{\"Key\":\"{key}\",\"Value\":{{\"Value\":\"{value}\"}},\"ModRevision\":{revision}}}")
                })
                .collect();
            format!("{{\"KVs\":[{}],\"Count\":{count},\"Deleted\":0}}", entries.join(","))
        }
    }
}

#[test]
fn cut_ranges_in_transactions_and_events_of_watches_get_the_verdict_of_brute_force() {
    let map = Map::parse("etcd-report", ready_map("etcd-report").unwrap().text).unwrap();
    let etcd = SeriReader::parse(service("etcd-txn").unwrap().source, None).unwrap();
    let options = Options { threads: 1, ..Options::default() };
    let mut violations = 0;
    for seed in 0..1_000 {
        let txns = draw(&mut Random(seed), seed % 2 == 0);
        let text = report(&txns);
        let mut history = map.read(text.as_bytes(), "log", Unmatched::Refuse).unwrap().history;
        let checked = check(&mut history, &etcd, &options).unwrap();
        let expected = if brute_force(&txns) { "linearizable" } else { "violation" };
        assert_eq!(checked.verdict.word(), expected, "{seed}:\n{text}");
        assert_eq!(checked.defect, None, "{seed}:\n{text}");
        violations += u64::from(expected == "violation");
    }
    assert!(violations > 100, "{violations}");
}
