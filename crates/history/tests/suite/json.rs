//! Our JSON scanner against serde_json: both accept the same lines and find the same values.

use seriatim_history::{Value, read_str};
use seriatim_testing::Random;

/// What our reader makes of a value of serde_json, and whether texts of numbers agree.
fn same(ours: &Value, theirs: &serde_json::Value) -> bool {
    match (ours, theirs) {
        (Value::Nil, serde_json::Value::Null) => true,
        (Value::Bool(a), serde_json::Value::Bool(b)) => a == b,
        (Value::Int(a), serde_json::Value::Number(b)) => {
            // A number is one value however it is written: 1e5 is 100000.
            b.as_i64() == Some(*a) || b.as_f64() == Some(*a as f64)
        }
        (Value::Number(a), serde_json::Value::Number(b)) => {
            // serde_json rounds the last bit of a long fraction as is fastest.
            let (a, b) = (a.parse::<f64>().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= a.abs() * 1e-14
        }
        (Value::Text(a), serde_json::Value::String(b)) => **a == **b,
        (Value::List(a), serde_json::Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Map(a), serde_json::Value::Object(b)) => {
            let found = |(key, value): &(Value, Value)| {
                key.as_str().and_then(|key| b.get(key)).is_some_and(|theirs| same(value, theirs))
            };
            a.len() == b.len() && a.iter().all(found)
        }
        _ => false,
    }
}

const PIECES: [&str; 44] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    "\t",
    "null",
    "true",
    "false",
    "nul",
    "0",
    "7",
    "-1",
    "-",
    "-0",
    "01",
    "1.5",
    "1.",
    ".5",
    "1e5",
    "1E+05",
    "1e",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "123456789012345678",
    "1234567890123456789",
    "\"a\"",
    "\"\"",
    "\"b\"",
    "\"",
    "\\",
    "\"\\n\\u0041\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud83d\"",
    "\"\\x\"",
    "\"ü\"",
    "[1,2]",
    "{\"a\":1}",
    "{\"b\":[null]}",
    "\u{1}",
    "\"\u{1}\"",
];

fn text(random: &mut Random, depth: usize) -> String {
    match random.index(if depth < 3 { 8 } else { 4 }) {
        0..4 => random.pick(&PIECES[8..31]).to_string(),
        4 => {
            let items: Vec<String> =
                (0..random.index(4)).map(|_| text(random, depth + 1)).collect();
            format!("[{}]", items.join(", "))
        }
        5 | 6 => {
            let keys = ["\"a\"", "\"b\"", "\"\\u0063\""];
            let entries: Vec<String> = (0..random.index(4))
                .map(|index| format!("{}:{}", keys[index], text(random, depth + 1)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        _ => (0..random.index(6)).map(|_| *random.pick(&PIECES)).collect(),
    }
}

#[test]
fn the_scanner_agrees_with_serde_json() {
    let mut accepted = 0;
    for seed in 0..100_000 {
        let arg = text(&mut Random(seed), 0);
        let line = format!("{{\"op\":\"a\",\"arg\":{arg},\"call\":1}}");
        let ours = read_str(&line);
        let theirs = serde_json::from_str::<serde_json::Value>(&line);
        // The one thing that we refuse and serde_json does not: a key or field twice, or unknown.
        let strict = ours.as_ref().is_err_and(|error| {
            let message = error.to_string();
            message.contains("once") || message.contains("known field")
        });
        // And what it refuses: numbers that are too large for 64 bits of floating point.
        let large = theirs.as_ref().is_err_and(|error| error.to_string().contains("out of range"));
        if strict || large {
            continue;
        }
        assert_eq!(ours.is_ok(), theirs.is_ok(), "{line}: {:?}", ours.err());
        if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
            accepted += 1;
            let arg = ours.values().get(ours.operations().next().unwrap().arg());
            assert!(same(&arg, &theirs["arg"]), "{line}: {arg}");
        }
    }
    assert!(accepted > 20_000, "{accepted}");
}
