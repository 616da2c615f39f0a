//! Large histories for the page: a key-value store under load, linearizable by construction.

use seriatim_history::{Builder, Call, History, Interval, OpId, Outcome, Return, Value, ValueId};
use seriatim_spec::{ChosenReader, Failures, SpecChoice, Verdict, Witness, replay};

/// Numbers that look random, from a seed.
pub struct Numbers(u64);

impl Numbers {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

/// A run of `operations` puts and gets on 40 keys by 16 clients, with times in nanoseconds, and the
/// order in which they took effect.
pub fn store(operations: usize) -> (History, Verdict) {
    let mut numbers = Numbers(0x5eed);
    let mut builder = Builder::new("store.jsonl");
    let clients: Vec<_> = (0..16).map(|client| builder.process(&Value::Int(client))).collect();
    let (put, get) = (builder.method("put"), builder.method("get"));
    let keys: Vec<ValueId> =
        (0..40).map(|key| builder.values().intern_text(&format!("key-{key}"))).collect();
    let mut contents = vec![ValueId::NIL; keys.len()];
    // The clients by the moment at which they are free again.
    let mut free = vec![1_700_000_000_000_000_000_u64; clients.len()];
    let mut effects = Vec::with_capacity(operations);
    for index in 0..operations {
        let client = (0..clients.len()).min_by_key(|&client| free[client]).expect("clients");
        let call = free[client] + 1_000 + numbers.below(40_000);
        let effect = call + 500 + numbers.below(20_000);
        let ret = effect + 500 + numbers.below(20_000);
        free[client] = ret;
        effects.push((effect, index, client, call, ret));
    }
    effects.sort_unstable();
    let mut rows = Vec::with_capacity(operations);
    // Effects may fall on the same moment: their place in the order is their number here.
    for (place, (_, _, client, call, ret)) in effects.into_iter().enumerate() {
        let key = numbers.below(keys.len() as u64) as usize;
        let is_put = numbers.below(2) == 0;
        if is_put {
            let value = numbers.below(100_000) as i64;
            contents[key] = ValueId::inline_int(value).expect("a small number");
        }
        rows.push((call, place, client, keys[key], is_put, contents[key], ret));
    }
    rows.sort_unstable_by_key(|row| row.0);
    let mut order: Vec<(usize, OpId)> = Vec::with_capacity(operations);
    for (line, (call, place, client, key, is_put, value, ret)) in rows.into_iter().enumerate() {
        let what = match is_put {
            true => Call::new(put).key(key).arg(value),
            false => Call::new(get).key(key),
        };
        let result = if is_put { ValueId::ABSENT } else { value };
        let interval = Interval { call, ret: Some(ret) };
        let back = Return::new(Outcome::Ok, result);
        let op = builder
            .operation(line as u64 + 1, Some(clients[client]), what, interval, back)
            .expect("a right operation");
        order.push((place, op));
    }
    order.sort_unstable();
    let order = order.into_iter().map(|(_, op)| op).collect();
    let mut history = builder.finish().expect("a right history");
    let choice = SpecChoice::parse("map").expect("a specification");
    let reader = ChosenReader { choice, failures: Failures::default() };
    let replayed = replay(&mut history, &reader, Witness { order }).expect("a readable history");
    (history, Verdict::Linearizable(replayed.expect("a right order")))
}
