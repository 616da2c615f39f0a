//! Two processes of a cluster with a bad network between them, and strangers at the door.
//!
//! Whatever happens, a verdict is never wrong, never lost once it is decided and never decided
//! twice; the processes end by themselves and say why; and the same command goes on when the
//! network is well again.

use super::cluster::{ended, expected, kept, log, merged, numbered};
use super::run::{command, file, folder, text};
use seriatim_testing::{Random, long};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const SECRET: &str = "what only these two processes know\n";

/// What the network does to the bytes of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    None,
    /// Both directions end after so many bytes.
    Cut(u64),
    /// A bit of this byte is another.
    Garbage(u64),
    /// From this byte on, what is sent is sent twice.
    Twice(u64),
    /// From this byte on nothing arrives, and nobody says so.
    Silence(u64),
    /// Every piece arrives late.
    Delay,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Towards {
    Accepting,
    Connecting,
}

/// A network with a fault between the process that connects and the one that accepts.
struct Proxy {
    address: SocketAddr,
    /// How many bytes arrived in each direction.
    bytes: Arc<[AtomicU64; 2]>,
    is_over: Arc<AtomicBool>,
}

impl Proxy {
    fn new(to: SocketAddr, fault: Fault, towards: Towards) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let proxy = Proxy { address, bytes: Arc::default(), is_over: Arc::default() };
        let (bytes, is_over) = (Arc::clone(&proxy.bytes), Arc::clone(&proxy.is_over));
        std::thread::spawn(move || {
            for connecting in listener.incoming() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                // A process that does not listen yet is called again by who connects.
                let (Ok(connecting), Ok(accepting)) = (connecting, TcpStream::connect(to)) else {
                    continue;
                };
                for direction in [Towards::Accepting, Towards::Connecting] {
                    let fault = if direction == towards { fault } else { Fault::None };
                    let ends =
                        [&connecting, &accepting].map(|end| end.try_clone().expect("a socket"));
                    let bytes = Arc::clone(&bytes);
                    std::thread::spawn(move || pump(ends, direction, fault, &bytes));
                }
            }
        });
        proxy
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for connections, so that it sees that.
        let _ = TcpStream::connect(self.address);
    }
}

/// Passes on what one end sends to the other, with a fault.
fn pump(ends: [TcpStream; 2], direction: Towards, fault: Fault, bytes: &[AtomicU64; 2]) {
    let [connecting, accepting] = ends;
    let (mut from, mut to) = match direction {
        Towards::Accepting => (connecting, accepting),
        Towards::Connecting => (accepting, connecting),
    };
    let (mut piece, mut passed) = ([0; 4096], 0);
    loop {
        let count = from.read(&mut piece).unwrap_or(0);
        let sent = pass_on(&mut piece[..count], passed, fault, &mut to);
        passed += count as u64;
        bytes[direction as usize].fetch_add(count as u64, Ordering::Relaxed);
        if count == 0 || sent.is_err() {
            break;
        }
    }
    if matches!(fault, Fault::Cut(_)) {
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    } else if !matches!(fault, Fault::Silence(_)) {
        let _ = to.shutdown(Shutdown::Write);
    }
}

/// Passes on a piece that begins at a byte; an error if the connection is over.
fn pass_on(piece: &mut [u8], begin: u64, fault: Fault, to: &mut TcpStream) -> std::io::Result<()> {
    let end = begin + piece.len() as u64;
    match fault {
        Fault::Cut(at) if end > at => {
            to.write_all(&piece[..(at.saturating_sub(begin)) as usize])?;
            return Err(std::io::ErrorKind::ConnectionAborted.into());
        }
        Fault::Garbage(at) if (begin..end).contains(&at) => piece[(at - begin) as usize] ^= 4,
        Fault::Twice(at) if end > at => to.write_all(piece)?,
        Fault::Silence(at) if end > at => return Ok(()),
        Fault::Delay => std::thread::sleep(Duration::from_millis(3)),
        _ => {}
    }
    to.write_all(piece)
}

/// Two processes that check a log together.
struct Pair {
    folder: PathBuf,
    log: String,
    base: String,
    /// What sets this process apart: its secret, its question.
    options: [Vec<String>; 2],
    patience: &'static str,
}

fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address")
}

impl Pair {
    fn new(folder: &Path, log: &str, name: &str) -> Pair {
        let secret = file(folder, "secret", SECRET);
        let options = [(); 2].map(|()| vec!["--secret-file".to_owned(), secret.clone()]);
        let base = text(&folder.join(name));
        Pair { folder: folder.to_owned(), log: log.to_owned(), base, options, patience: "20s" }
    }

    fn start(&self, process: usize, addresses: [SocketAddr; 2]) -> Child {
        let name = format!("hosts-{process}-{}", addresses[process].port());
        let hosts = file(&self.folder, &name, format!("{}\n{}\n", addresses[0], addresses[1]));
        let process = process.to_string();
        let mut arguments = vec!["check", &self.log, "--verdicts", &self.base, "--threads", "1"];
        arguments.extend(["--cluster", &hosts, "--process", &process, "--wait", self.patience]);
        let options = &self.options[usize::from(process == "1")];
        arguments.extend(options.iter().map(|option| &option[..]));
        command(&arguments).spawn().expect("a process")
    }

    /// Runs both with a fault between them; their exit codes and messages, and how many bytes
    /// arrived.
    fn run(&self, fault: Fault, towards: Towards) -> ([Option<i32>; 2], String, [u64; 2]) {
        loop {
            let addresses = [free(), free()];
            let proxy = Proxy::new(addresses[0], fault, towards);
            let children = [self.start(0, addresses), self.start(1, [proxy.address, addresses[1]])];
            let (codes, messages) = both(children);
            // A port that was free may be somebody else's by the time it is used.
            if !messages.contains("Address already in use") {
                let bytes = [0, 1].map(|way| proxy.bytes[way].load(Ordering::Relaxed));
                return (codes, messages, bytes);
            }
        }
    }
}

/// What became of both processes.
fn both(mut children: [Child; 2]) -> ([Option<i32>; 2], String) {
    let codes = [0, 1].map(|index| ended(&mut children[index]));
    let mut messages = String::new();
    for child in &mut children {
        let mut error = child.stderr.take().expect("a pipe");
        error.read_to_string(&mut messages).expect("UTF-8");
    }
    assert!(!messages.contains("panicked"), "{messages}");
    (codes, messages)
}

fn is_complete(codes: [Option<i32>; 2]) -> bool {
    codes.iter().all(|code| matches!(code, Some(0 | 1)))
}

#[test]
fn no_fault_of_the_network_makes_a_verdict_wrong_or_loses_one() {
    let folder = folder("network");
    let log = log(&folder, "1500");
    let expected = expected(&folder, &log);
    let undisturbed = Pair::new(&folder, &log, "undisturbed");
    let (codes, messages, bytes) = undisturbed.run(Fault::None, Towards::Accepting);
    assert!(is_complete(codes), "{messages}");
    let mut random = Random(5);
    let (mut failed, mut healed) = (0, 0);
    let faults = if long() { 500 } else { 14 };
    for number in 0..faults {
        let towards = [Towards::Accepting, Towards::Connecting][random.below(2) as usize];
        let at = random.below(bytes[towards as usize]);
        let (fault, patience) = match number % 7 {
            0 | 5 => (Fault::Cut(at), "2s"),
            1 | 6 => (Fault::Garbage(at), "2s"),
            2 => (Fault::Twice(at), "2s"),
            3 => (Fault::Silence(at), "2s"),
            _ => (Fault::Delay, "20s"),
        };
        let mut pair = Pair::new(&folder, &log, &format!("v{number}"));
        pair.patience = patience;
        let (codes, messages, _) = pair.run(fault, towards);
        let about = format!("{number}: {fault:?} {towards:?} {codes:?} {messages}");
        assert!(codes.iter().all(|code| matches!(code, Some(0 | 1 | 3))), "{about}");
        assert!(fault != Fault::Delay || is_complete(codes), "{about}");
        assert!(is_complete(codes) || messages.contains("start all processes again"), "{about}");
        failed += usize::from(!is_complete(codes));
        let files = numbered(&pair.base, 2);
        let before = kept(&files, &[]);
        if !is_complete(codes) {
            pair.patience = "20s";
            let (codes, messages, _) = pair.run(Fault::None, towards);
            assert!(is_complete(codes), "{about}\nthen {messages}");
            kept(&files, &before);
            healed += 1;
        }
        assert_eq!(merged(&folder, &files), expected, "{about}");
    }
    println!("{faults} faults: {failed} runs failed, {healed} went on");
    assert!(failed > faults / 3, "hardly any fault was felt: {failed} of {faults}");
}

#[test]
fn strangers_are_refused_and_change_nothing() {
    let folder = folder("strangers");
    let log = log(&folder, "1500");
    let expected = expected(&folder, &log);
    let pair = Pair::new(&folder, &log, "v");
    let addresses = [free(), free()];
    let accepting = pair.start(0, addresses);
    let mut silent = Vec::new();
    let greeting = loop {
        if let Ok(mut first) = TcpStream::connect(addresses[0]) {
            let mut greeting = [0; 44];
            first.read_exact(&mut greeting).expect("a greeting");
            break greeting;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut forged = b"seriatim".to_vec();
    forged.extend([1u32, 1, 0, 2, 0].iter().flat_map(|number| number.to_le_bytes()));
    forged.resize(92 + 32, 7);
    let words: [&[u8]; 6] =
        [b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", &[0; 8], &[255; 4096], &greeting, &forged];
    for _ in 0..8 {
        for word in words {
            let mut stranger = TcpStream::connect(addresses[0]).expect("a connection");
            // Who is sent away before all is said does not hear the rest.
            let _ = stranger.write_all(word);
            silent.push(stranger);
        }
    }
    let (codes, messages) = both([accepting, pair.start(1, addresses)]);
    assert!(is_complete(codes), "{codes:?} {messages}");
    assert_eq!(merged(&folder, &numbered(&pair.base, 2)), expected);
}

#[test]
fn who_is_not_of_the_cluster_hears_why() {
    let folder = folder("misfits");
    let log = log(&folder, "300");
    let other = file(&folder, "other", "another secret that is long enough\n");
    let misfits: [(&[&str], &str); 3] = [
        (&["--secret-file", &other], "it does not know the secret of the cluster"),
        (&[], "it does not know the secret of the cluster"),
        (
            &["--secret-file", "", "--failures", "observe"],
            "it checks another log, or the same one by other options",
        ),
    ];
    for (number, (options, reason)) in misfits.into_iter().enumerate() {
        let mut pair = Pair::new(&folder, &log, &format!("v{number}"));
        pair.patience = "1s";
        let secret = pair.options[1][1].clone();
        let named =
            |option: &&str| if option.is_empty() { secret.clone() } else { option.to_string() };
        pair.options[1] = options.iter().map(named).collect();
        let (codes, messages, _) = pair.run(Fault::None, Towards::Accepting);
        assert_eq!(codes, [Some(3), Some(3)], "{messages}");
        assert!(messages.contains(&format!("it refuses this process: {reason}")), "{messages}");
        assert!(messages.contains("did not appear within 1 s: 1"), "{messages}");
    }
}

#[test]
fn two_processes_with_one_number_and_one_that_goes_away() {
    let folder = folder("numbers");
    let log = log(&folder, "300");
    let pair = Pair::new(&folder, &log, "v");
    let addresses = [free(), free(), free()];
    let hosts = |own: SocketAddr| format!("{}\n{own}\n{}\n", addresses[0], addresses[2]);
    let start = |process: &str, own: SocketAddr| {
        let hosts = file(&folder, &format!("hosts-{process}-{}", own.port()), hosts(own));
        let base = format!("{}-{}", pair.base, own.port());
        let shape = ["--cluster", &hosts, "--process", process, "--wait", "60s"];
        let named = ["check", &log, "--verdicts", &base, "--secret-file", &pair.options[0][1]];
        command(&[&named[..], &shape[..]].concat()).spawn().expect("a process")
    };
    // Three are expected, and the third never comes; two say that they are the second.
    let first = start("0", addresses[1]);
    let mut second = [start("1", addresses[1]), start("1", free())];
    let mut messages = String::new();
    let refused = loop {
        let ended =
            second.iter_mut().position(|child| child.try_wait().expect("a process").is_some());
        if let Some(ended) = ended {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut error = second[refused].stderr.take().expect("a pipe");
    error.read_to_string(&mut messages).expect("UTF-8");
    assert!(messages.contains("another process with the same number"), "{messages}");
    // The one that was welcome is killed: the first does not wait for its minute to pass.
    let [a, b] = second;
    let mut welcome = if refused == 0 { b } else { a };
    welcome.kill().expect("a process");
    let (codes, messages) = both([first, welcome]);
    assert_eq!(codes[0], Some(3), "{messages}");
    assert!(messages.contains("process 1 went away before all 3 had appeared"), "{messages}");
}

#[test]
fn a_coordinator_that_is_killed_takes_its_processes_with_it_and_leaves_no_files() {
    let folder = folder("coordinator");
    let log = log(&folder, "30000");
    let temporary = folder.join("temporary");
    std::fs::create_dir(&temporary).expect("a folder");
    let base = text(&folder.join("v"));
    let files = numbered(&base, 2);
    let shape = ["--processes", "2", "--verdicts", &base, "--temp", &text(&temporary)];
    let mut coordinator =
        command(&[&["check", &log], &shape[..]].concat()).spawn().expect("a process");
    while !files.iter().all(|file| Path::new(file).exists()) {
        std::thread::sleep(Duration::from_millis(2));
    }
    coordinator.kill().expect("a process");
    coordinator.wait().expect("a process");
    // Each process holds the lock of its verdict file for as long as it lives.
    for file in &files {
        std::fs::File::open(file).and_then(|file| file.lock()).expect("a lock");
    }
    assert_eq!(std::fs::read_dir(&temporary).expect("a folder").count(), 0);
    // The next run goes on.
    let ran = super::run::seriatim(&[&["check", &log], &shape[..]].concat()).exits(1);
    ran.says("1 violated");
}
