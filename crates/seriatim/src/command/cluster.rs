//! Logs that are checked by several processes, which exchange operations by part.

use super::amounts::{duration, positive};
use super::input::{secret_of, text_of};
use super::output::remark;
use super::question::Question;
use super::scale::{self, Scale};
use super::verdicts;
use super::{Exit, Failure};
use clap::Args;
use seriatim::cluster::hosts::{self, Reach};
use seriatim::cluster::{Cluster, ClusterError, Secret, run};
use seriatim::history::{Outside, path_in_line};
use seriatim::limits::stopped;
use seriatim::scale::merge::merge;
use seriatim::scale::run::{Defects, Shard};
use seriatim::scale::verdicts::{Contents, Line, Writer};
use std::ffi::OsString;
use std::io::{BufRead, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The processes that check a log together.
#[derive(Args)]
#[cfg_attr(test, derive(Debug))]
pub struct Processes {
    /// Use this many processes on this machine, which exchange operations by part; 1 is only this
    /// process
    #[arg(long, value_name = "NUMBER", requires = "verdicts", conflicts_with = "shard", value_parser = positive)]
    processes: Option<usize>,

    /// A file with the addresses of the processes, one host:port per line; this is the one that
    /// --process names. All of them need the same --secret-file
    #[arg(long, value_name = "FILE", requires_all = ["verdicts", "process"], conflicts_with_all = ["shard", "processes"])]
    cluster: Option<PathBuf>,

    /// Which process of the cluster this is, counted from 0
    #[arg(long, value_name = "I", requires = "cluster")]
    process: Option<usize>,

    /// A secret of at least 16 bytes, shared by the processes of a cluster: others are refused, and
    /// messages cannot be forged
    #[arg(long, value_name = "FILE", requires = "cluster")]
    secret_file: Option<PathBuf>,

    /// Allow addresses of other machines. Messages are authenticated, but not encrypted
    #[arg(long, requires_all = ["cluster", "secret_file"])]
    open_network: bool,

    /// How long to wait for the other processes to appear, and for a sign of life from each of them
    /// afterwards
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    wait: Duration,
}

/// This process alone.
impl Default for Processes {
    fn default() -> Self {
        Processes {
            processes: None,
            cluster: None,
            process: None,
            secret_file: None,
            open_network: false,
            wait: Duration::from_secs(60),
        }
    }
}

impl Processes {
    /// Whether several processes, or the workers of one, are asked for.
    pub fn is_asked(&self) -> bool {
        self.processes.is_some() || self.cluster.is_some()
    }
}

/// The verdict file of a shard.
fn numbered(file: &Path, shard: Shard) -> PathBuf {
    match shard.count {
        1 => file.to_owned(),
        count => {
            let mut name = file.as_os_str().to_owned();
            name.push(format!(".{}-of-{count}", shard.index));
            name.into()
        }
    }
}

/// Checks one log with the processes that the arguments ask for.
pub fn check(
    question: &Question,
    scale: &Scale,
    paths: &[PathBuf],
    file: &Path,
) -> Result<Exit, Failure> {
    question.refuse_what_needs_all()?;
    let arguments = &scale.cluster;
    match (&arguments.cluster, arguments.process, arguments.processes) {
        (Some(hosts), Some(process), _) => {
            let (peers, lost) = match is_coordinated() {
                true => heed_coordinator()?,
                false => (arguments.peers(hosts)?, Arc::default()),
            };
            if process >= peers.addresses.len() {
                let (hosts, count) = (path_in_line(hosts), peers.addresses.len());
                let reason = format!("{hosts}: there is no process {process} of {count} (from 0)");
                return Err(Failure(reason));
            }
            work(
                question,
                scale,
                paths,
                numbered(file, shard(process, &peers)),
                Place { peers, process, lost },
            )
        }
        (_, _, Some(count @ 2..)) => coordinate(question, count, file),
        _ => {
            let place = Place { peers: Peers::none(), process: 0, lost: Arc::default() };
            work(question, scale, paths, file.to_owned(), place)
        }
    }
}

/// The processes of a cluster, as each of them has to know them.
struct Peers {
    addresses: Vec<String>,
    secret: Secret,
}

impl Peers {
    /// This process is alone.
    fn none() -> Self {
        Peers { addresses: Vec::new(), secret: Secret::none() }
    }
}

/// One process of a cluster.
struct Place {
    peers: Peers,
    process: usize,
    /// Raised when another is known to be gone.
    lost: Arc<AtomicBool>,
}

/// What the process with this number decides.
fn shard(process: usize, peers: &Peers) -> Shard {
    Shard { index: process as u32, count: peers.addresses.len().max(1) as u32 }
}

impl Processes {
    /// The processes that the files name.
    fn peers(&self, hosts: &Path) -> Result<Peers, Failure> {
        let reach = if self.open_network { Reach::Network } else { Reach::Loopback };
        let text = text_of(hosts)?;
        let addresses = hosts::parse(&text, reach)
            .map_err(|reason| Failure(format!("{}: {reason}", path_in_line(hosts))))?;
        let secret = match &self.secret_file {
            None => Secret::none(),
            Some(path) => secret_of(path)
                .map_err(|error| error.to_string())
                .and_then(|bytes| Secret::new(&bytes))
                .map_err(|reason| Failure(format!("{}: {reason}", path_in_line(path))))?,
        };
        Ok(Peers { addresses, secret })
    }
}

/// Does the work of one process.
fn work(
    question: &Question,
    scale: &Scale,
    paths: &[PathBuf],
    file: PathBuf,
    place: Place,
) -> Result<Exit, Failure> {
    let mut plan = scale::plan(question, scale, paths, Defects::Note)?;
    let shard = shard(place.process, &place.peers);
    let count = shard.count;
    let about = scale::about(question, &plan, shard)?;
    let mut writer = Writer::open(&file, &about)?;
    let cluster = Cluster {
        addresses: place.peers.addresses,
        process: place.process,
        threads: question.options().threads,
        patience: scale.cluster.wait,
        secret: place.peers.secret,
        question: format!("{}\n{}\n{}", about.input, about.spec, about.options),
        lost: place.lost,
    };
    let before = writer.before.as_ref();
    let is_done = before.is_some_and(Contents::is_finished);
    plan.decided = before.map(Contents::decided).unwrap_or_default().into();
    // The others may still need what this process reads.
    if !is_done || count > 1 {
        end_when_lost(&file);
        let (files, spec) = (Arc::clone(&plan.log.files), plan.reader.name());
        let ran =
            run(&plan, &cluster, &mut |verdict| writer.append(&Line::of(&verdict, &files, &spec)));
        let outcome = match ran {
            Err(ClusterError::Failed(reason)) => {
                remark(&format!("error: {}", to_go_on(&reason, &file)));
                return Ok(Exit::Unknown);
            }
            ran => ran?,
        };
        if !is_done {
            writer.finish(&outcome.problems)?;
        } else {
            drop(writer);
        }
    } else {
        drop(writer);
    }
    verdicts::tell_one(&file)
}

/// Timely ends a process that lost another by a panic in one of its threads: say what happened
/// instead, and what to do.
fn end_when_lost(file: &Path) {
    let file = file.to_owned();
    std::panic::set_hook(Box::new(move |panic| {
        let payload = panic.payload();
        let reason = payload.downcast_ref::<String>().map(String::as_str);
        let reason =
            reason.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        // It may quote what came from outside.
        let what = match reason.strip_prefix("timely communication error: ") {
            Some(reason) => {
                format!("another process of the cluster was lost ({})", Outside(reason))
            }
            None => format!("a worker failed ({})", Outside(reason)),
        };
        remark(&format!("error: {}", to_go_on(&what, &file)));
        std::process::exit(Exit::Unknown as i32);
    }));
    #[cfg(feature = "parquet")]
    seriatim::parquet::hush();
}

/// What happened to a cluster, and what to do.
fn to_go_on(what: &str, file: &Path) -> String {
    let file = path_in_line(file);
    format!(
        "{what}; what was decided is in {file}: start all processes again with the same arguments to go on"
    )
}

/// Says to a process that it was started by another, which talks to it by its standard input.
const COORDINATED: &str = "SERIATIM_COORDINATED";

fn is_coordinated() -> bool {
    std::env::var_os(COORDINATED).is_some()
}

/// What the process that starts the others tells each of them first: a line of addresses and a line
/// with the secret. It has no file for this, which others could read, or which would stay when it
/// is killed.
fn orders(peers: &Peers) -> String {
    let secret: String = peers.secret.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}\n{secret}\n", peers.addresses.join(" "))
}

/// Hears from the process that has started this one who the others are, and follows what it says
/// then: that another is gone, or, by ending, that there is nobody any more who would put the
/// verdicts together.
fn heed_coordinator() -> Result<(Peers, Arc<AtomicBool>), Failure> {
    let mut input = std::io::stdin().lock();
    let mut line = || {
        let mut line = String::new();
        let read = input.read_line(&mut line);
        read.map(|_| line).map_err(|error| Failure(format!("{COORDINATED}: {error}")))
    };
    let (addresses, secret) = (line()?, line()?);
    // The secret is the text of the line, for all processes alike.
    let secret = Secret::new(secret.as_bytes())
        .map_err(|reason| Failure(format!("{COORDINATED}: standard input: {reason}")))?;
    let addresses = addresses.split_whitespace().map(str::to_owned).collect();
    let lost: Arc<AtomicBool> = Arc::default();
    let flag = Arc::clone(&lost);
    std::thread::spawn(move || {
        let mut word = [0];
        while matches!(std::io::stdin().read(&mut word), Ok(1)) {
            flag.store(true, Ordering::Relaxed);
        }
        std::process::exit(Exit::Unknown as i32);
    });
    Ok((Peers { addresses, secret }, lost))
}

/// Starts the processes of a cluster on this machine and puts their verdicts together.
fn coordinate(question: &Question, count: usize, file: &Path) -> Result<Exit, Failure> {
    let shards = (0..count as u32).map(|index| Shard { index, count: count as u32 });
    let files: Vec<PathBuf> = shards.map(|shard| numbered(file, shard)).collect();
    let peers = Peers {
        addresses: free_addresses(count).map_err(|error| Failure(format!("127.0.0.1: {error}")))?,
        secret: Secret::random().map_err(|error| Failure(format!("no secret: {error}")))?,
    };
    let orders = orders(&peers);
    let threads = (question.options().threads / count).max(1);
    let start = |process: usize| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(without_processes(std::env::args_os().skip(1)));
        command.args(["--cluster", "-", "--process", &process.to_string()]);
        if !question.names_threads() {
            command.args(["--threads", &threads.to_string()]);
        }
        command.env(COORDINATED, "1").stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn()?;
        // One that ends at once does not listen; its exit code says so.
        let input = child.stdin.as_mut().expect("its standard input is a pipe");
        let _ = input.write_all(orders.as_bytes()).and_then(|()| input.flush());
        Ok::<Child, std::io::Error>(child)
    };
    let mut children: Vec<Child> = Vec::new();
    for process in 0..count {
        match start(process) {
            Ok(child) => children.push(child),
            Err(error) => {
                children.iter_mut().for_each(stop);
                return Err(Failure(format!("process {process} cannot be started: {error}")));
            }
        }
    }
    let mut lost = wait_for_all(&mut children)?;
    let merged = merge(&files);
    match (&lost[..], merged) {
        ([], Ok(merged)) => verdicts::tell(&merged),
        (_, merged) => {
            let reason = merged.err().map(|error| error.to_string());
            lost.extend(reason);
            remark(&format!(
                "error: {}; what was decided is kept: run the same command again to go on",
                lost.join("; ")
            ));
            Ok(Exit::Unknown)
        }
    }
}

/// Waits until all processes have ended; gives what became of those that were lost. The others hear
/// of one that was lost or gave up at once: they may be waiting for it.
fn wait_for_all(children: &mut [Child]) -> Result<Vec<String>, Failure> {
    let mut lost = Vec::new();
    let mut ended = vec![false; children.len()];
    while ended.contains(&false) {
        if stopped().is_some() {
            // A process whose coordinator says nothing more ends.
            children.iter_mut().for_each(|child| drop(child.stdin.take()));
        }
        let mut is_one_gone = false;
        for (process, (child, is_over)) in children.iter_mut().zip(&mut ended).enumerate() {
            let status = child.try_wait();
            let status = status.map_err(|error| Failure(format!("process {process}: {error}")))?;
            let Some(status) = status.filter(|_| !*is_over) else { continue };
            *is_over = true;
            is_one_gone |= !matches!(status.code(), Some(0 | 1));
            if status.code().is_none() {
                lost.push(format!("process {process} was lost ({status})"));
            }
        }
        if is_one_gone {
            for input in children.iter_mut().filter_map(|child| child.stdin.as_mut()) {
                // One that has ended does not hear it, and needs not.
                let _ = input.write_all(b"!").and_then(|()| input.flush());
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(lost)
}

fn stop(child: &mut Child) {
    // One that has ended already needs no stopping.
    let _ = child.kill();
    let _ = child.wait();
}

/// The arguments of this command without the one that says how many processes there are.
fn without_processes(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        if text == "--processes" {
            arguments.next();
        } else if !text.starts_with("--processes=") {
            kept.push(argument);
        }
    }
    kept
}

/// Addresses of this machine at which nobody listens.
fn free_addresses(count: usize) -> std::io::Result<Vec<String>> {
    // All are held until all are found, so that none is found twice.
    let listeners: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    listeners.iter().map(|listener| Ok(listener.local_addr()?.to_string())).collect()
}
