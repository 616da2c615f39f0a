//! The register in madsim: datagrams take up to 100 ms, and one in fifty is lost.

use madsim::net::UdpSocket;
use madsim::runtime::{NodeHandle, Runtime};
use madsim::time::{TimeHandle, timeout};
use madsim::{Config, task::JoinHandle};
use seriatim::harness::Recorder;
use seriatim_simulation::{Client, Network, Reads, first_violation, recorder, serve};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

struct Socket(UdpSocket);

impl Socket {
    async fn bind(address: SocketAddr) -> Self {
        Socket(UdpSocket::bind(address).await.expect("the port is free"))
    }
}

impl Network for Socket {
    async fn send(&self, text: String, to: SocketAddr) {
        // A datagram may be lost, whatever the reason.
        let _ = self.0.send_to(to, text.as_bytes()).await;
    }

    async fn receive(&self) -> (String, SocketAddr) {
        let mut buffer = [0; 100];
        let (length, from) = self.0.recv_from(&mut buffer).await.expect("the socket is open");
        (String::from_utf8_lossy(&buffer[..length]).into_owned(), from)
    }

    async fn receive_in(&self, time: Duration) -> Option<(String, SocketAddr)> {
        timeout(time, self.receive()).await.ok()
    }
}

fn address(host: u8) -> SocketAddr {
    ([10, 0, 0, host], 9000).into()
}

const PRIMARY: u8 = 1;
const BACKUP: u8 = 2;

fn elapsed() -> Duration {
    TimeHandle::try_current().map(|time| time.elapsed()).unwrap_or_default()
}

/// How long a client gives its first write; the second has twice as long, and so on.
const HURRY: Duration = Duration::from_millis(60);

/// Three clients, each six operations.
fn run(seed: u64, reads: Reads) -> Recorder {
    let recorder = Arc::new(recorder("madsim", seed, elapsed));
    let mut config = Config::default();
    config.net.packet_loss_rate = 0.02;
    config.net.send_latency = Duration::from_millis(1)..Duration::from_millis(100);
    let runtime = Runtime::with_seed_and_config(seed, config);
    let node = |host: u8| runtime.create_node().ip(address(host).ip()).build();
    let (primary, backup) = (node(PRIMARY), node(BACKUP));
    let clients: Vec<NodeHandle> = (0..3).map(|name| node(10 + name)).collect();
    runtime.block_on(async {
        backup.spawn(async { serve(Socket::bind(address(BACKUP)).await, None).await });
        primary.spawn(async {
            serve(Socket::bind(address(PRIMARY)).await, Some(address(BACKUP))).await;
        });
        let clients: Vec<JoinHandle<()>> = clients
            .iter()
            .zip(0..)
            .map(|(node, name)| {
                let recorder = Arc::clone(&recorder);
                node.spawn(async move {
                    let socket = Socket::bind(address(10 + name)).await;
                    let mut client = Client::new(socket, &recorder, i64::from(name));
                    let from = address(if reads == Reads::Backup { BACKUP } else { PRIMARY });
                    for round in 0..3 {
                        let value = 10 * (i64::from(name) + 1) + round;
                        let write = client.write(value, address(PRIMARY));
                        // A future that is dropped half-way is an operation that may have happened.
                        let _ = timeout(HURRY * (round as u32 + 1), write).await;
                        client.read(from).await;
                    }
                })
            })
            .collect();
        for client in clients {
            client.await.expect("a client does not panic");
        }
    });
    drop(runtime);
    Arc::into_inner(recorder).expect("all clients are done")
}

#[test]
fn reads_of_the_backup_may_be_stale() {
    let (seed, report) =
        first_violation(20, |seed| run(seed, Reads::Backup)).expect("a stale read is found");
    println!("{report}");
    assert!(report.contains(&format!("seed {seed}")), "the report names its seed\n{report}");
}

#[test]
fn reads_of_the_primary_are_not() {
    assert_eq!(first_violation(20, |seed| run(seed, Reads::Primary)), None);
}
