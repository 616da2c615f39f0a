//! The register in turmoil: datagrams take up to 100 ms, and one in a hundred links fails.

use seriatim::harness::Recorder;
use seriatim_simulation::{Client, Network, Reads, first_violation, recorder, serve};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;
use turmoil::net::UdpSocket;

const PORT: u16 = 9000;

struct Socket(UdpSocket);

impl Socket {
    async fn bind() -> Self {
        let any = IpAddr::from([0, 0, 0, 0]);
        Socket(UdpSocket::bind((any, PORT)).await.expect("the port is free"))
    }
}

impl Network for Socket {
    async fn send(&self, text: String, to: SocketAddr) {
        // A datagram may be lost, whatever the reason.
        let _ = self.0.send_to(text.as_bytes(), to).await;
    }

    async fn receive(&self) -> (String, SocketAddr) {
        let mut buffer = [0; 100];
        let (length, from) = self.0.recv_from(&mut buffer).await.expect("the socket is open");
        (String::from_utf8_lossy(&buffer[..length]).into_owned(), from)
    }

    async fn receive_in(&self, time: Duration) -> Option<(String, SocketAddr)> {
        tokio::time::timeout(time, self.receive()).await.ok()
    }
}

fn address(host: &str) -> SocketAddr {
    (turmoil::lookup(host), PORT).into()
}

/// How long a client gives its first write; the second has twice as long, and so on.
const HURRY: Duration = Duration::from_millis(60);

/// Three clients, each six operations.
fn run(seed: u64, reads: Reads) -> Recorder {
    let recorder =
        Rc::new(recorder("turmoil", seed, || turmoil::sim_elapsed().unwrap_or_default()));
    let mut builder = turmoil::Builder::new();
    builder.rng_seed(seed).simulation_duration(Duration::from_secs(60));
    builder.max_message_latency(Duration::from_millis(100)).fail_rate(0.01).repair_rate(0.5);
    let mut simulation = builder.build();
    simulation.host("backup", || async {
        serve(Socket::bind().await, None).await;
        Ok(())
    });
    simulation.host("primary", || async {
        serve(Socket::bind().await, Some(address("backup"))).await;
        Ok(())
    });
    for name in 0..3 {
        let recorder = Rc::clone(&recorder);
        simulation.client(format!("client-{name}"), async move {
            let mut client = Client::new(Socket::bind().await, &recorder, name);
            let from = address(if reads == Reads::Backup { "backup" } else { "primary" });
            for round in 0..3 {
                let write = client.write(10 * (name + 1) + round, address("primary"));
                // A future that is dropped half-way is an operation that may have happened.
                let _ = tokio::time::timeout(HURRY * (round as u32 + 1), write).await;
                client.read(from).await;
            }
            Ok(())
        });
    }
    simulation.run().expect("the simulation comes to its end");
    drop(simulation);
    Rc::into_inner(recorder).expect("all clients are done")
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
