//! Real servers, driven, killed and checked.
//!
//! What a client records decides what a check can find: every operation with its key and real time;
//! a request that was never sent did not happen and is not recorded; one that was sent and not
//! answered is *unknown*; and at the end everything is read once more, or a lost write stays
//! unseen.

pub mod etcd;
pub mod postgres;
pub mod redis;
pub mod server;

use seriatim::harness::{Log, Recorder, Reply};
use seriatim::history::Value;
use seriatim::{History, SeriReader, check};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a client waits for an answer.
pub const PATIENCE: Duration = Duration::from_millis(500);

/// A client of a server: does one operation of a workload and tells what came back.
pub trait Client: Sized {
    /// Connects; fails if the server is down, and then nothing was sent.
    fn connect(port: u16) -> io::Result<Self>;

    /// Sends an operation and waits for its answer. An error means that nobody knows what became of
    /// it.
    fn run(&mut self, operation: &Operation) -> io::Result<Reply>;
}

/// An operation of a workload.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its name in the specification.
    pub name: &'static str,
    /// The key.
    pub key: Option<String>,
    /// The arguments behind the key.
    pub arg: Option<Value>,
    /// What the client has to know besides, and nobody records: an isolation level.
    pub mode: &'static str,
}

impl Operation {
    /// An operation on a key.
    pub fn on(key: &str, name: &'static str, arg: Option<Value>) -> Self {
        Operation { name, key: Some(key.to_owned()), arg, mode: "" }
    }

    /// Records that the operation is called.
    pub fn record_call(&self, recorder: &Recorder, log: &mut Log) {
        let method = recorder.method(self.name);
        if let Some(key) = &self.key {
            log.key(key.as_str());
        }
        match &self.arg {
            Some(arg) => log.call(method, arg.clone()),
            None => log.call(method, ()),
        }
    }
}

/// Lets clients run until they are told to stop, each the operations that `next` gives it by client
/// and number.
pub fn drive<C: Client>(
    recorder: &Recorder,
    clients: u64,
    port: u16,
    stop: &AtomicBool,
    next: impl Fn(u64, u64) -> Operation + Sync,
) {
    std::thread::scope(|scope| {
        for client in 0..clients {
            let next = &next;
            scope.spawn(move || {
                let mut log = recorder.log(client as i64);
                let mut connection: Option<C> = None;
                let mut number = 0;
                while !stop.load(Ordering::Acquire) {
                    let Some(open) = &mut connection else {
                        // Nothing was sent, so nothing happened: there is nothing to record.
                        connection = C::connect(port).ok();
                        std::thread::sleep(Duration::from_millis(5));
                        continue;
                    };
                    let operation = next(client, number);
                    number += 1;
                    operation.record_call(recorder, &mut log);
                    match open.run(&operation) {
                        Ok(reply) => log.ret(reply),
                        Err(_) => {
                            log.give_up();
                            connection = None;
                        }
                    }
                }
            });
        }
    });
}

/// What a check of a history against the model of a service says: the verdict in a word, and the
/// report.
pub fn verdict(history: &History, service: &str) -> (&'static str, String) {
    let model = seriatim_services::service(service).expect("a model of that name");
    let reader = SeriReader::parse_with(model.source, None, &Default::default())
        .expect("a model that is right");
    let answer = check(history, &reader).expect("operations of the model");
    (answer.verdict().word(), answer.to_string())
}
