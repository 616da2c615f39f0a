//! PostgreSQL: two rows that are written and read together, over its own protocol.

use crate::server::{Server, find};
use crate::{Client, Operation, PATIENCE};
use seriatim::harness::Reply;
use seriatim::history::Value;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Starts a server; `None` if it is not installed.
pub fn start() -> Option<io::Result<Server>> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok();
    let folders: Vec<PathBuf> =
        versions.into_iter().flatten().flatten().map(|entry| entry.path().join("bin")).collect();
    let (program, initdb) = (find("postgres", &folders)?, find("initdb", &folders)?);
    let prepare = move |folder: &Path| {
        if let Some((user, group)) = other_user() {
            std::os::unix::fs::chown(folder, Some(user), Some(group))?;
        }
        let mut command = as_other_user(Command::new(&initdb));
        command
            .args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync", "-D"])
            .arg(folder.join("data"));
        let ran =
            command.stdout(Stdio::null()).stderr(Stdio::null()).current_dir(folder).status()?;
        if ran.success() { Ok(()) } else { Err(io::Error::other("initdb failed")) }
    };
    let command = move |port: u16, folder: &Path| {
        let mut command = as_other_user(Command::new(&program));
        command
            .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-k"])
            .arg(folder);
        command.arg("-D").arg(folder.join("data")).current_dir(folder);
        command
    };
    Some(Server::start(prepare, command, |port| {
        Postgres::connect(port)
            .and_then(|mut postgres| postgres.ask("select 1"))
            .is_ok_and(|answer| answer.is_ok())
    }))
}

/// PostgreSQL refuses to run as root: root lets the user `postgres` run it.
fn other_user() -> Option<(u32, u32)> {
    let id = |arguments: &[&str]| {
        let ran = Command::new("id").args(arguments).output().ok()?;
        String::from_utf8(ran.stdout).ok()?.trim().parse::<u32>().ok()
    };
    match id(&["-u"])? {
        0 => Some((id(&["-u", "postgres"])?, id(&["-g", "postgres"])?)),
        _ => None,
    }
}

fn as_other_user(mut command: Command) -> Command {
    if let Some((user, group)) = other_user() {
        command.uid(user).gid(group);
    }
    command
}

/// A connection.
pub struct Postgres {
    stream: TcpStream,
}

/// The rows of an answer, or the code of an error: the transaction was rolled back.
type Answer = Result<Vec<String>, String>;

impl Postgres {
    /// Asks for the first columns of some statements, one after another.
    pub fn ask(&mut self, statements: &str) -> io::Result<Answer> {
        let mut message = vec![b'Q'];
        message.extend((statements.len() as u32 + 5).to_be_bytes());
        message.extend(statements.as_bytes());
        message.push(0);
        self.stream.write_all(&message)?;
        self.answer()
    }

    fn answer(&mut self) -> io::Result<Answer> {
        let mut answer = Ok(Vec::new());
        loop {
            let mut head = [0; 5];
            self.stream.read_exact(&mut head)?;
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let mut body = vec![0; length.saturating_sub(4)];
            self.stream.read_exact(&mut body)?;
            match head[0] {
                b'Z' => return Ok(answer),
                b'E' => {
                    let fields = body.split(|&byte| byte == 0);
                    let code =
                        { fields }.find(|field| field.first() == Some(&b'C')).unwrap_or_default();
                    answer = Err(String::from_utf8_lossy(code).into_owned());
                }
                b'D' if body.len() > 6 => {
                    if let Ok(rows) = &mut answer {
                        rows.push(String::from_utf8_lossy(&body[6..]).into_owned());
                    }
                }
                _ => {}
            }
        }
    }
}

impl Client for Postgres {
    fn connect(port: u16) -> io::Result<Self> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(PATIENCE * 4))?;
        let parameters = b"\x00\x03\x00\x00user\0postgres\0database\0postgres\0\0";
        let mut message = (parameters.len() as u32 + 4).to_be_bytes().to_vec();
        message.extend(parameters);
        stream.write_all(&message)?;
        let mut postgres = Postgres { stream };
        match postgres.answer()? {
            Ok(_) => Ok(postgres),
            Err(code) => Err(io::Error::other(code)),
        }
    }

    /// Runs a transaction that writes both rows or reads both, at the isolation level that is its
    /// mode.
    fn run(&mut self, operation: &Operation) -> io::Result<Reply> {
        let begin = format!("begin isolation level {}", operation.mode);
        let rows = match operation.arg.as_ref().and_then(written) {
            Some(value) => {
                let x = format!("update kv set v = {value} where k = 'x'");
                let y = format!("update kv set v = {value} where k = 'y'");
                self.all(&[&begin, &x, &y, "commit"])?
            }
            None => {
                let [x, y] = ["select v from kv where k = 'x'", "select v from kv where k = 'y'"];
                self.all(&[&begin, x, y, "commit"])?
            }
        };
        Ok(match rows {
            // The server says that it did nothing.
            Err(code) if code == "C40001" || code == "C40P01" => Reply::Failed(None),
            Err(code) => return Err(io::Error::other(code)),
            Ok(rows) => {
                let values: Vec<Value> =
                    rows.iter().filter_map(|row| row.parse().ok().map(Value::Int)).collect();
                let steps = operation.arg.as_ref().and_then(Value::as_list).unwrap_or_default();
                let seen = steps.iter().enumerate().map(|(place, step)| {
                    match (step.as_list(), values.get(place)) {
                        (Some([kind, key, _]), Some(value)) if kind.as_str() == Some("r") => {
                            Value::list([kind.clone(), key.clone(), value.clone()])
                        }
                        _ => step.clone(),
                    }
                });
                Reply::Answer(Some(Value::list(seen.collect::<Vec<_>>())))
            }
        })
    }
}

impl Postgres {
    /// Statements one after another; after an error the transaction is rolled back.
    fn all(&mut self, statements: &[&str]) -> io::Result<Answer> {
        let mut rows = Vec::new();
        for statement in statements {
            match self.ask(statement)? {
                Ok(more) => rows.extend(more),
                Err(code) => {
                    return self.ask("rollback").map(|_| Err(code));
                }
            }
        }
        Ok(Ok(rows))
    }
}

/// The value that a transaction writes.
fn written(steps: &Value) -> Option<i64> {
    let [kind, _, value] = steps.as_list()?.first()?.as_list()? else { return None };
    (kind.as_str() == Some("w")).then(|| value.as_int()).flatten()
}
