//! How the processes of a cluster find each other: each listens at its own address and connects to
//! those with lower numbers, until all are connected.
//!
//! Timely would do this, too, but it takes the first eight bytes of any connection for the number
//! of a process, and waits for ever. Here a stranger who connects is refused and changes nothing
//! (`handshake.rs`); who is silent keeps nobody waiting, since every handshake has its own thread;
//! a process that goes away again, or is known to be lost, ends the waiting at once.

use crate::exchange::{Cluster, ClusterError};
use crate::handshake::{Membership, Refusal, accept, connect};
use crate::sealed::Sealed;
use crate::secret::Secret;
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

/// How often somebody looks whether anything has changed.
const LOOK: Duration = Duration::from_millis(5);
/// How long to wait before a process that is not there is called again.
const AGAIN: Duration = Duration::from_millis(20);
/// The most handshakes with unknown others at a time; who comes then is sent away.
const MOST: usize = 64;

/// What a thread that shakes hands has to say.
enum Word {
    Met(usize, Sealed),
    /// This process cannot become part of the cluster.
    Failed(String),
    /// Somebody was sent away.
    Refused(String),
}

/// The threads that shake hands.
#[derive(Clone)]
struct Meeting {
    member: Membership,
    words: mpsc::Sender<Word>,
    /// The numbers of those who have connected.
    taken: Arc<Mutex<BTreeSet<u32>>>,
    busy: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

/// Connects this process with all others; none to itself. `round` counts how often they have met
/// before.
pub fn meet(cluster: &Cluster, round: u32) -> Result<Vec<Option<Sealed>>, ClusterError> {
    let member = Membership {
        secret: cluster.secret.clone(),
        count: cluster.addresses.len() as u32,
        process: cluster.process as u32,
        round,
        question: Secret::none().tag("question", &[cluster.question.as_bytes()]),
        patience: cluster.patience,
    };
    let (words, heard) = mpsc::channel();
    let meeting = Meeting {
        member,
        words,
        taken: Arc::default(),
        busy: Arc::default(),
        is_over: Arc::default(),
    };
    let met = meeting.wait_for_all(cluster, &heard);
    meeting.is_over.store(true, Ordering::Relaxed);
    met.map_err(ClusterError::Failed)
}

impl Meeting {
    fn wait_for_all(
        &self,
        cluster: &Cluster,
        heard: &mpsc::Receiver<Word>,
    ) -> Result<Vec<Option<Sealed>>, String> {
        let count = cluster.addresses.len();
        let address = &cluster.addresses[cluster.process];
        let listener =
            listen(address).map_err(|error| format!("cannot listen at {address}: {error}"))?;
        for (to, address) in cluster.addresses.iter().enumerate().take(cluster.process) {
            let (meeting, address) = (self.clone(), address.clone());
            std::thread::spawn(move || meeting.call(to, &address));
        }
        let start = Instant::now();
        let mut met: Vec<Option<Sealed>> = (0..count).map(|_| None).collect();
        let mut last_refused = None;
        while met.iter().flatten().count() + 1 < count {
            self.receive(&listener).map_err(|error| format!("{address}: {error}"))?;
            match heard.recv_timeout(LOOK) {
                Ok(Word::Met(index, sealed)) => met[index] = Some(sealed),
                Ok(Word::Failed(reason)) => return Err(reason),
                Ok(Word::Refused(reason)) => last_refused = Some(reason),
                Err(_) => {}
            }
            if cluster.lost.load(Ordering::Relaxed) {
                return Err(format!(
                    "another of the {count} processes ended before all had appeared"
                ));
            }
            let gone = met.iter().position(|other| other.as_ref().is_some_and(Sealed::is_closed));
            if let Some(gone) = gone {
                return Err(format!("process {gone} went away before all {count} had appeared"));
            }
            if start.elapsed() >= cluster.patience {
                return Err(missing(&met, cluster, last_refused));
            }
        }
        for other in met.iter().flatten() {
            other.keep_alive().map_err(|error| format!("cannot start a thread: {error}"))?;
        }
        Ok(met)
    }

    /// Shakes hands with everybody who waits at the door.
    fn receive(&self, listener: &TcpListener) -> io::Result<()> {
        loop {
            let (stream, from) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // Who has gone again before being let in does not matter.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            if self.busy.fetch_add(1, Ordering::Relaxed) >= MOST {
                self.busy.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let meeting = self.clone();
            std::thread::spawn(move || {
                let word = meeting.shake_hands(stream).map_err(|refusal| match refusal {
                    Refusal::NotYet(error) => format!("{from}: {error}"),
                    Refusal::Wrong(reason) => format!("{from}: {reason}"),
                });
                meeting.busy.fetch_sub(1, Ordering::Relaxed);
                // If nobody listens any more, all are there.
                let _ = meeting.words.send(word.unwrap_or_else(Word::Refused));
            });
        }
    }

    fn shake_hands(&self, stream: TcpStream) -> Result<Word, Refusal> {
        stream.set_nonblocking(false)?;
        let take = |from| self.taken.lock().is_ok_and(|mut taken| taken.insert(from));
        let (from, sealed) = accept(stream, &self.member, take)?;
        Ok(Word::Met(from as usize, sealed))
    }

    /// Calls a process until it answers.
    fn call(&self, to: usize, address: &str) {
        while !self.is_over.load(Ordering::Relaxed) {
            let connected = TcpStream::connect(address).map_err(Refusal::NotYet);
            let word = match connected.and_then(|stream| connect(stream, &self.member, to as u32)) {
                Ok(sealed) => Word::Met(to, sealed),
                Err(Refusal::NotYet(_)) => {
                    std::thread::sleep(AGAIN);
                    continue;
                }
                Err(Refusal::Wrong(reason)) => {
                    Word::Failed(format!("process {to} at {address}: {reason}"))
                }
            };
            // If nobody listens any more, the meeting is over.
            let _ = self.words.send(word);
            return;
        }
    }
}

fn listen(address: &str) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Who did not appear, and whom this process sent away last: that may be the same.
fn missing(met: &[Option<Sealed>], cluster: &Cluster, refused: Option<String>) -> String {
    let absent: Vec<String> = (0..met.len())
        .filter(|index| met[*index].is_none() && *index != cluster.process)
        .map(|index| index.to_string())
        .collect();
    let (count, seconds) = (met.len(), cluster.patience.as_secs());
    let absent = absent.join(", ");
    let refused = refused.map(|reason| format!("; the last connection that was refused: {reason}"));
    format!(
        "some of the {count} processes did not appear within {seconds} s: {absent}{}",
        refused.unwrap_or_default()
    )
}
