//! etcd: keys with values and revisions, over the JSON gateway.

use crate::server::{Server, find};
use crate::{Client, Operation, PATIENCE};
use seriatim::harness::Reply;
use seriatim::history::{Value, json_value};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;

/// Starts a server; `None` if it is not installed.
pub fn start() -> Option<io::Result<Server>> {
    let program = find("etcd", &[])?;
    let command = move |port: u16, folder: &std::path::Path| {
        let client = format!("http://127.0.0.1:{port}");
        let mut command = Command::new(&program);
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        // Nobody else is in this cluster: any free port will do.
        command.args([
            "--listen-peer-urls",
            "http://127.0.0.1:0",
            "--log-level",
            "error",
            "--data-dir",
        ]);
        command.arg(folder.join("data"));
        command
    };
    Some(Server::start(
        |_| Ok(()),
        command,
        |port| {
            Etcd::connect(port)
                .and_then(|etcd| etcd.ask("kv/range", "{\"key\":\"YQ==\"}"))
                .is_ok_and(|answer| has(&answer, "header"))
        },
    ))
}

/// A client. It opens a connection for each request.
pub struct Etcd {
    port: u16,
}

impl Etcd {
    fn ask(&self, what: &str, body: &str) -> io::Result<Value> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let length = body.len();
        let head = format!("POST /v3/{what} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(format!("{head}{body}").as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let odd = || io::Error::new(io::ErrorKind::InvalidData, "an answer that is no answer");
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(odd)?;
        if !head.lines().next().is_some_and(|line| line.contains(" 200")) {
            return Err(odd());
        }
        json_value(body.trim()).map_err(|_| odd())
    }
}

impl Client for Etcd {
    fn connect(port: u16) -> io::Result<Self> {
        // Asked at once, so that a request to a server that is down is not taken for one that was
        // sent.
        TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        Ok(Etcd { port })
    }

    fn run(&mut self, operation: &Operation) -> io::Result<Reply> {
        let items = match &operation.arg {
            Some(Value::List(items)) => items.to_vec(),
            Some(value) => vec![value.clone()],
            None => Vec::new(),
        };
        if let ("txn", [Value::List(compares), Value::List(then), Value::List(otherwise)]) =
            (operation.name, &items[..])
        {
            return self.transaction(compares, [then, otherwise]);
        }
        // A transaction has its key among its arguments: the model takes three.
        let key = operation.key.as_deref().or_else(|| items.first()?.as_str());
        let key = base64(key.unwrap_or_default());
        let text =
            |place: usize| base64(items.get(place).and_then(Value::as_str).unwrap_or_default());
        let answer = match operation.name {
            "put" => {
                self.ask("kv/put", &format!("{{\"key\":\"{key}\",\"value\":\"{}\"}}", text(0)))?
            }
            "delete" => self.ask("kv/deleterange", &format!("{{\"key\":\"{key}\"}}"))?,
            "txn" => {
                let expected = items.get(1).and_then(Value::as_int).unwrap_or(0);
                let compare = format!(
                    "{{\"key\":\"{key}\",\"target\":\"MOD\",\"result\":\"EQUAL\",\"mod_revision\":\"{expected}\"}}"
                );
                let put =
                    format!("{{\"request_put\":{{\"key\":\"{key}\",\"value\":\"{}\"}}}}", text(2));
                self.ask("kv/txn", &format!("{{\"compare\":[{compare}],\"success\":[{put}]}}"))?
            }
            _ => self.ask("kv/range", &format!("{{\"key\":\"{key}\"}}"))?,
        };
        let odd = || io::Error::new(io::ErrorKind::InvalidData, "an answer without a revision");
        let revision = field(&answer, "header")
            .and_then(|header| number(&header, "revision"))
            .ok_or_else(odd)?;
        let revision = Value::Int(revision);
        Ok(Reply::Answer(Some(match operation.name {
            "put" => revision,
            "delete" => Value::list([Value::Bool(number(&answer, "deleted") == Some(1)), revision]),
            "txn" => {
                let succeeded = field(&answer, "succeeded") == Some(Value::Bool(true));
                Value::list([Value::Bool(succeeded), revision])
            }
            _ => match field(&answer, "kvs")
                .and_then(|kvs| kvs.as_list().map(<[Value]>::to_vec))
                .unwrap_or_default()
                .first()
            {
                None => Value::list([Value::Nil, Value::Int(0), revision]),
                Some(kv) => {
                    let value = field(kv, "value")
                        .and_then(|value| value.as_str().map(unbase64))
                        .unwrap_or_default();
                    let modified = number(kv, "mod_revision").unwrap_or(0);
                    Value::list([Value::text(&value), Value::Int(modified), revision])
                }
            },
        })))
    }
}

/// Whole transactions, as the model `etcd-txn` has them.
impl Etcd {
    fn transaction(&self, compares: &[Value], branches: [&[Value]; 2]) -> io::Result<Reply> {
        let joined = |parts: Vec<String>| parts.join(",");
        let compares = joined(compares.iter().map(compare).collect());
        let [success, failure] = branches.map(|ops| joined(ops.iter().map(request).collect()));
        let answer = self.ask(
            "kv/txn",
            &format!(
                "{{\"compare\":[{compares}],\"success\":[{success}],\"failure\":[{failure}]}}"
            ),
        )?;
        let odd = || io::Error::new(io::ErrorKind::InvalidData, "an answer without a revision");
        let header = field(&answer, "header").ok_or_else(odd)?;
        let revision = number(&header, "revision").ok_or_else(odd)?;
        let holds = field(&answer, "succeeded") == Some(Value::Bool(true));
        let responses = field(&answer, "responses");
        let responses = responses.as_ref().and_then(Value::as_list).unwrap_or_default();
        let changes = responses.iter().any(|response| {
            let deleted = field(response, "response_delete_range");
            has(response, "response_put") || deleted.is_some_and(|d| has(&d, "deleted"))
        });
        Ok(Reply::Answer(Some(Value::list([
            Value::Bool(holds),
            Value::Bool(changes),
            Value::list(responses.iter().map(told)),
            Value::Int(revision),
        ]))))
    }
}

/// The parts of a compare or an operation.
fn part(parts: &Value, place: usize) -> &Value {
    parts.as_list().and_then(|parts| parts.get(place)).unwrap_or(&Value::Nil)
}

fn text_of(parts: &Value, place: usize) -> String {
    base64(part(parts, place).as_str().unwrap_or_default())
}

fn compare(wanted: &Value) -> String {
    let (target, name) = match part(wanted, 1).as_str() {
        Some("Version") => ("VERSION", "version"),
        _ => ("MOD", "mod_revision"),
    };
    let (key, expected) = (text_of(wanted, 0), part(wanted, 2).as_int().unwrap_or(0));
    format!(
        "{{\"key\":\"{key}\",\"target\":\"{target}\",\"result\":\"EQUAL\",\"{name}\":\"{expected}\"}}"
    )
}

fn request(op: &Value) -> String {
    let key = text_of(op, 1);
    match part(op, 0).as_str() {
        Some("Put") => {
            let value = text_of(op, 2);
            format!("{{\"request_put\":{{\"key\":\"{key}\",\"value\":\"{value}\"}}}}")
        }
        Some("Delete") => format!("{{\"request_delete_range\":{{\"key\":\"{key}\"}}}}"),
        _ => format!("{{\"request_range\":{{\"key\":\"{key}\"}}}}"),
    }
}

/// What one operation of a transaction answers: what a get found, how many keys a delete took away.
fn told(response: &Value) -> Value {
    let deleted = field(response, "response_delete_range");
    let gone = deleted.and_then(|deleted| number(&deleted, "deleted")).unwrap_or(0);
    let found = field(response, "response_range").and_then(|range| field(&range, "kvs"));
    match found.as_ref().and_then(Value::as_list).and_then(<[Value]>::first) {
        None => Value::list([Value::Nil, Value::Int(gone)]),
        Some(kv) => {
            let value = field(kv, "value").and_then(|value| value.as_str().map(unbase64));
            let modified = number(kv, "mod_revision").unwrap_or(0);
            Value::list([Value::text(&value.unwrap_or_default()), Value::Int(modified)])
        }
    }
}

fn has(value: &Value, name: &str) -> bool {
    field(value, name).is_some()
}

fn field(value: &Value, name: &str) -> Option<Value> {
    let Value::Map(entries) = value else { return None };
    entries.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value.clone())
}

/// The gateway writes numbers of 64 bits as texts.
fn number(value: &Value, name: &str) -> Option<i64> {
    field(value, name)?.as_str()?.parse().ok()
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(text: &str) -> String {
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits = chunk.iter().fold(0, |bits, &byte| bits << 8 | u32::from(byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

fn unbase64(text: &str) -> String {
    let (mut out, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for byte in text.bytes() {
        let Some(six) = LETTERS.iter().position(|&letter| letter == byte) else { break };
        bits = bits << 6 | six as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_survive_base64() {
        for text in ["", "a", "ab", "abc", "abcd", "é~"] {
            assert_eq!(unbase64(&base64(text)), text);
        }
        assert_eq!(base64("hello"), "aGVsbG8=");
    }
}
