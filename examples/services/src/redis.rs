//! Redis: strings, over its own protocol.

use crate::server::{Server, find};
use crate::{Client, Operation, PATIENCE};
use seriatim::harness::Reply;
use seriatim::history::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;

/// Whether a server that is killed keeps what it acknowledged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// In memory only: all is lost.
    Nothing,
    /// Every write goes to a file before it is acknowledged.
    Everything,
}

/// Starts a server; `None` if it is not installed.
pub fn start(keeps: Keeps) -> Option<io::Result<Server>> {
    let program = find("redis-server", &[])?;
    let append = if keeps == Keeps::Everything { "yes" } else { "no" };
    let command = move |port: u16, folder: &std::path::Path| {
        let mut command = Command::new(&program);
        command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""]);
        command.args(["--appendonly", append, "--appendfsync", "always", "--dir"]).arg(folder);
        command
    };
    Some(Server::start(
        |_| Ok(()),
        command,
        |port| {
            Redis::connect(port)
                .and_then(|mut redis| redis.ask(&["PING"]))
                .is_ok_and(|pong| pong != Answer::Error)
        },
    ))
}

/// A connection.
pub struct Redis {
    stream: BufReader<TcpStream>,
}

/// What the server says.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Answer {
    Ok,
    Error,
    Number(i64),
    Text(String),
    Nil,
}

impl Redis {
    fn ask(&mut self, words: &[&str]) -> io::Result<Answer> {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (kind, rest) = line.trim_end().split_at(1);
        let odd = || io::Error::new(io::ErrorKind::InvalidData, "an answer that is no answer");
        match kind {
            "+" => Ok(Answer::Ok),
            "-" => Ok(Answer::Error),
            ":" => rest.parse().map(Answer::Number).map_err(|_| odd()),
            "$" if rest == "-1" => Ok(Answer::Nil),
            "$" => {
                let mut text = vec![0; rest.parse::<usize>().map_err(|_| odd())? + 2];
                self.stream.read_exact(&mut text)?;
                text.truncate(text.len() - 2);
                String::from_utf8(text).map(Answer::Text).map_err(|_| odd())
            }
            _ => Err(odd()),
        }
    }
}

impl Client for Redis {
    fn connect(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Redis { stream: BufReader::new(stream) })
    }

    fn run(&mut self, operation: &Operation) -> io::Result<Reply> {
        let key = operation.key.as_deref().unwrap_or_default();
        let arg = operation.arg.as_ref().and_then(Value::as_str).unwrap_or_default();
        let answer = match operation.name {
            "set" => self.ask(&["SET", key, arg])?,
            "set_nx" => self.ask(&["SET", key, arg, "NX"])?,
            "getset" => self.ask(&["GETSET", key, arg])?,
            "del" => self.ask(&["DEL", key])?,
            _ => self.ask(&["GET", key])?,
        };
        Ok(match (operation.name, answer) {
            // A server that is loading its file refuses: nothing happened.
            (_, Answer::Error) => Reply::Failed(None),
            ("set", _) => Reply::Answer(None),
            ("set_nx", answer) => Reply::Answer(Some(Value::Bool(answer == Answer::Ok))),
            ("del", answer) => Reply::Answer(Some(Value::Bool(answer == Answer::Number(1)))),
            (_, Answer::Text(text)) => Reply::Answer(Some(Value::text(&text))),
            (_, _) => Reply::Answer(Some(Value::Nil)),
        })
    }
}
