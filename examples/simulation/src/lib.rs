//! A register on two servers, and clients that record what they do, for any simulator.
//!
//! Everything goes over datagrams, which come late or not at all. The simulator brings sockets and
//! time ([`Network`]); the history is recorded by the time of the simulation, so that a seed makes
//! the same history in every run.

use seriatim::harness::{Clock, IntoReply, Log, MethodName, Recorder, Reply};
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

/// What a simulator brings.
pub trait Network {
    /// Sends a datagram, which may be lost.
    fn send(&self, text: String, to: SocketAddr) -> impl Future<Output = ()>;

    /// The next datagram.
    fn receive(&self) -> impl Future<Output = (String, SocketAddr)>;

    /// The same, but nothing if none comes in time.
    fn receive_in(&self, time: Duration) -> impl Future<Output = Option<(String, SocketAddr)>>;
}

/// Where the clients read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// From the server that writes go to.
    Primary,
    /// From the one that learns of writes later, so that a read may be stale.
    Backup,
}

/// A server: keeps a number, and tells the backup, if there is one, of every write.
pub async fn serve(network: impl Network, backup: Option<SocketAddr>) {
    let mut value = 0;
    loop {
        let (request, client) = network.receive().await;
        let mut words = request.split(' ');
        let number = words.next().unwrap_or_default();
        if let Some(written) = words.next().and_then(|word| word.parse::<i64>().ok()) {
            value = written;
            if let Some(backup) = backup {
                network.send(format!("- {written}"), backup).await;
            }
        }
        if number != "-" {
            network.send(format!("{number} {value}"), client).await;
        }
    }
}

/// A client that reads and writes and records it.
pub struct Client<N> {
    network: N,
    log: Log,
    read: MethodName,
    write: MethodName,
    requests: u64,
}

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_millis(300);

impl<N: Network> Client<N> {
    /// A client of this name.
    pub fn new(network: N, recorder: &Recorder, name: i64) -> Self {
        let (read, write) = (recorder.method("read"), recorder.method("write"));
        Client { network, log: recorder.log(name), read, write, requests: 0 }
    }

    /// Reads the register.
    pub async fn read(&mut self, from: SocketAddr) {
        let answer = answer(&self.network, &mut self.requests, String::new(), from);
        let reply = async { answer.await.map_or(Reply::Unknown, IntoReply::reply) };
        self.log.record_async(self.read, (), reply).await;
    }

    /// Writes the register. If no answer comes, or if whoever asked waits no longer and drops the
    /// future, nobody knows whether it happened.
    pub async fn write(&mut self, value: i64, to: SocketAddr) {
        let answer = answer(&self.network, &mut self.requests, format!(" {value}"), to);
        let reply = async { answer.await.map_or(Reply::Unknown, |_| ().reply()) };
        self.log.record_async(self.write, value, reply).await;
    }
}

/// The answer to a request. Answers to older ones may come first.
async fn answer(
    network: &impl Network,
    requests: &mut u64,
    request: String,
    server: SocketAddr,
) -> Option<i64> {
    *requests += 1;
    let number = requests.to_string();
    network.send(number.clone() + &request, server).await;
    loop {
        let (answer, _) = network.receive_in(PATIENCE).await?;
        match answer.split_once(' ') {
            Some((of, value)) if of == number => return value.parse().ok(),
            _ => {}
        }
    }
}

/// A recorder with the time of a simulation, whose reports name the seed.
pub fn recorder(
    simulator: &str,
    seed: u64,
    elapsed: impl Fn() -> Duration + Send + Sync + 'static,
) -> Recorder {
    Recorder::with_clock(Clock::simulated(elapsed)).named(&format!("{simulator}, seed {seed},"))
}

/// What was recorded, as a log, and what the check says of it: nothing, or the report of a
/// violation.
pub fn judge(recorder: &Recorder) -> Result<(String, Option<String>), Box<dyn std::error::Error>> {
    let spec = "register(init=0)";
    let history = recorder.history(spec)?;
    let mut log = Vec::new();
    seriatim::history::write(&history, seriatim::history::Format::JsonLines, &mut log)?;
    let answer = seriatim::check(&history, spec)?;
    let report = (!answer.is_linearizable()).then(|| answer.to_string());
    Ok((String::from_utf8(log)?, report))
}

/// Runs seeds until one shows a violation, and expects that it shows the same again.
pub fn first_violation(seeds: u64, run: impl Fn(u64) -> Recorder) -> Option<(u64, String)> {
    for seed in 0..seeds {
        let (log, report) = judge(&run(seed)).expect("what was recorded can be checked");
        if let Some(report) = report {
            let again = judge(&run(seed)).expect("what was recorded can be checked");
            assert_eq!((log, Some(report.clone())), again, "seed {seed} is not the same again");
            return Some((seed, report));
        }
    }
    None
}
