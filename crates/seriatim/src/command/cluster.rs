//! Logs that are checked by several processes, which exchange operations by part.

use super::amounts::{duration, positive};
use super::output::remark;
use super::question::Question;
use super::scale::{self, Scale};
use super::verdicts;
use super::{Exit, Failure};
use clap::Args;
use seriatim::cluster::hosts::{self, Reach};
use seriatim::cluster::{Cluster, run};
use seriatim::limits::stopped;
use seriatim::scale::merge::merge;
use seriatim::scale::run::{Defects, Shard};
use seriatim::scale::verdicts::{Contents, Line, Writer};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The processes that check a log together.
#[derive(Args)]
pub struct Processes {
    /// Check with so many processes on this machine, which exchange operations by part; 1 is this one
    #[arg(long, value_name = "NUMBER", requires = "verdicts", conflicts_with = "shard", value_parser = positive)]
    processes: Option<usize>,

    /// The addresses of the processes, host:port a line; this is the one that --process names
    #[arg(long, value_name = "FILE", requires_all = ["verdicts", "process"], conflicts_with_all = ["shard", "processes"])]
    cluster: Option<PathBuf>,

    /// Which process of the cluster this is, counted from 0
    #[arg(long, value_name = "I", requires = "cluster")]
    process: Option<usize>,

    /// The addresses may be of other machines. What travels is neither encrypted nor authenticated
    #[arg(long, requires = "cluster")]
    open_network: bool,

    /// How long to wait for the other processes to appear
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    wait: Duration,
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
    let threads = question.options().threads;
    let patience = arguments.wait;
    match (&arguments.cluster, arguments.process, arguments.processes) {
        (Some(hosts), Some(process), _) => {
            let reach = if arguments.open_network { Reach::Network } else { Reach::Loopback };
            let failed = |reason: String| Failure(format!("{}: {reason}", hosts.display()));
            let text = std::fs::read_to_string(hosts).map_err(|error| failed(error.to_string()))?;
            let addresses = hosts::parse(&text, reach).map_err(failed)?;
            if process >= addresses.len() {
                let count = addresses.len();
                return Err(failed(format!("there is no process {process} of {count} (from 0)")));
            }
            let lost = heed_coordinator();
            let cluster = Cluster { addresses, process, threads, patience, lost };
            work(question, scale, (paths, file), cluster)
        }
        (_, _, Some(count @ 2..)) => coordinate(question, scale, count, file),
        _ => {
            let (addresses, lost) = (Vec::new(), Arc::default());
            let cluster = Cluster { addresses, process: 0, threads, patience, lost };
            work(question, scale, (paths, file), cluster)
        }
    }
}

/// Does the work of one process.
fn work(
    question: &Question,
    scale: &Scale,
    (paths, file): (&[PathBuf], &Path),
    cluster: Cluster,
) -> Result<Exit, Failure> {
    let mut plan = scale::plan(question, scale, paths, Defects::Note)?;
    let count = cluster.addresses.len().max(1) as u32;
    let shard = Shard { index: cluster.process as u32, count };
    let file = numbered(file, shard);
    let mut writer = Writer::open(&file, &scale::about(question, &plan, shard)?)?;
    let before = writer.before.as_ref();
    let is_done = before.is_some_and(Contents::is_finished);
    plan.decided = before.map(Contents::decided).unwrap_or_default().into();
    // The others may still need what this process reads.
    if !is_done || count > 1 {
        end_when_lost(&file);
        let (files, spec) = (Arc::clone(&plan.log.files), plan.reader.name());
        let outcome =
            run(&plan, &cluster, &mut |verdict| writer.append(&Line::of(&verdict, &files, &spec)))?;
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

/// Timely ends a process that lost another by a panic in one of its threads: say what happened instead, and
/// what to do.
fn end_when_lost(file: &Path) {
    let file = file.display().to_string();
    std::panic::set_hook(Box::new(move |panic| {
        let payload = panic.payload();
        let reason = payload.downcast_ref::<String>().map(String::as_str);
        let reason =
            reason.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        let what = match reason.starts_with("timely communication error") {
            true => "another process of the cluster was lost",
            false => "a worker failed",
        };
        remark(&format!(
            "error: {what} ({reason}); what was decided is in {file}: start all processes again with the same \
             arguments to go on"
        ));
        std::process::exit(Exit::Unknown as i32);
    }));
}

/// Says to a process that it was started by another, which talks to it by its standard input.
const COORDINATED: &str = "SERIATIM_COORDINATED";

/// Follows what the process says that has started this one, if one has: that another is gone, or, by
/// ending, that there is nobody any more who would put the verdicts together.
fn heed_coordinator() -> Arc<AtomicBool> {
    let lost: Arc<AtomicBool> = Arc::default();
    if std::env::var_os(COORDINATED).is_some() {
        let lost = Arc::clone(&lost);
        std::thread::spawn(move || {
            let mut word = [0];
            while matches!(std::io::stdin().read(&mut word), Ok(1)) {
                lost.store(true, Ordering::Relaxed);
            }
            std::process::exit(Exit::Unknown as i32);
        });
    }
    lost
}

/// Starts the processes of a cluster on this machine and puts their verdicts together.
fn coordinate(
    question: &Question,
    scale: &Scale,
    count: usize,
    file: &Path,
) -> Result<Exit, Failure> {
    let shards = (0..count as u32).map(|index| Shard { index, count: count as u32 });
    let files: Vec<PathBuf> = shards.map(|shard| numbered(file, shard)).collect();
    let hosts = HostsFile::write(scale.scratch().folder(), count)?;
    let threads = (question.options().threads / count).max(1);
    let start = |process: usize| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(without_processes(std::env::args_os().skip(1)));
        command.arg("--cluster").arg(&hosts.0).args(["--process", &process.to_string()]);
        if !question.names_threads() {
            command.args(["--threads", &threads.to_string()]);
        }
        command.env(COORDINATED, "1").stdin(Stdio::piped()).stdout(Stdio::null()).spawn()
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
    drop(hosts);
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

/// Waits until all processes have ended; gives what became of those that were lost. The others hear of one
/// that was lost or gave up at once: they may be waiting for it.
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

/// A temporary file with free addresses of this machine.
struct HostsFile(PathBuf);

impl HostsFile {
    fn write(folder: &Path, count: usize) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure(format!("{}: {error}", folder.display()));
        let listeners: Vec<TcpListener> = (0..count)
            .map(|_| TcpListener::bind("127.0.0.1:0"))
            .collect::<Result<_, _>>()
            .map_err(failed)?;
        let mut text = String::new();
        for listener in &listeners {
            text.push_str(&format!("{}\n", listener.local_addr().map_err(failed)?));
        }
        let path = folder.join(format!("seriatim-hosts-{}", std::process::id()));
        std::fs::write(&path, text).map_err(failed)?;
        Ok(HostsFile(path))
    }
}

impl Drop for HostsFile {
    fn drop(&mut self) {
        // One that is gone already needs no removing.
        let _ = std::fs::remove_file(&self.0);
    }
}
