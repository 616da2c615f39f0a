//! `seriatim view`: check a history and look at the report in a browser.

use super::output::{remark, say};
use super::question::{Done, Question, Share};
use super::{Exit, Failure};
use seriatim::history::path_in_line;
use seriatim::limits::stopped;
use seriatim::monitor::Detail;
use std::fs::OpenOptions;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Check a history and open its report in a browser
///
/// The page is a single file that needs no network. With --serve nothing is written: the page is
/// served, to this machine only, at an address that is printed.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    question: Question,

    /// Serve the page to this machine instead of opening a file, until Ctrl-C
    #[arg(long)]
    serve: bool,
}

/// Carries out `seriatim view`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let paths = arguments.question.input.paths()?;
    let [path] = &paths[..] else {
        return Err(Failure(format!("expected one history to view, found {}", paths.len())));
    };
    let done = arguments.question.answer(&paths, Detail::Minimal, Share::ALL)?;
    remark(&format!(
        "{}: {}",
        done.answered.history.source(),
        done.answered.checked.verdict.word()
    ));
    if arguments.serve {
        serve(&done.answered.html())?;
    } else {
        let file = write_page(&done, path)?;
        say(&format!("{}\n", file.display()))?;
        show(&file);
    }
    Ok(done.exit())
}

/// Writes the page to a new file of a name that nobody can know before: in a folder that all may
/// write to, another could have put a link to a file of ours there.
fn write_page(done: &Done, history: &Path) -> Result<PathBuf, Failure> {
    let stem = history.file_stem().map_or("history".into(), |stem| stem.to_string_lossy());
    // The name is printed, and handed to other programs.
    let is_plain = |c: &char| c.is_alphanumeric() || "-_.".contains(*c);
    let name: String = stem.chars().filter(is_plain).take(80).collect();
    let number = RandomState::new().hash_one(std::process::id());
    let path = std::env::temp_dir().join(format!("seriatim-{number:016x}-{name}.html"));
    let unwritable = |error| Failure(format!("{}: cannot write: {error}", path_in_line(&path)));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path).map_err(unwritable)?;
    file.write_all(&done.answered.html()).map_err(unwritable)?;
    Ok(path)
}

/// Opens a file as the desktop does; where there is no desktop, its name has been printed.
fn show(file: &Path) {
    let opener = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let started =
        Command::new(opener).arg(file).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if started.is_err() {
        remark("no browser could be started; open the file yourself");
    }
}

/// How many visitors are served at a time; more wait.
const VISITORS: usize = 16;
/// The pause before looking for a visitor again.
const PAUSE: Duration = Duration::from_millis(20);

/// Serves a page on the loopback address until somebody presses Ctrl-C or the time is over.
fn serve(page: &[u8]) -> Result<(), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    say(&format!("http://{}/\n", listener.local_addr()?))?;
    let visitors = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        while stopped().is_none() {
            let is_full = visitors.load(Ordering::Relaxed) >= VISITORS;
            let Some((stream, _)) = listener.accept().ok().filter(|_| !is_full) else {
                std::thread::sleep(PAUSE);
                continue;
            };
            visitors.fetch_add(1, Ordering::Relaxed);
            let visitors = &visitors;
            scope.spawn(move || {
                // A visitor who hangs up is no reason to stop.
                if let Err(error) = respond(stream, port, page) {
                    remark(&format!("a request failed: {error}"));
                }
                visitors.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
    Ok(())
}

/// Answers one request.
fn respond(mut stream: TcpStream, port: u16, page: &[u8]) -> std::io::Result<()> {
    let patience = Some(Duration::from_secs(5));
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(patience)?;
    stream.set_write_timeout(patience)?;
    let mut request = Vec::new();
    let mut lines = BufReader::new(std::io::Read::take(&stream, 16 << 10));
    loop {
        let mut line = String::new();
        lines.read_line(&mut line)?;
        match line.trim_end() {
            "" => break,
            line => request.push(line.to_owned()),
        }
    }
    let (status, body) = answer(&request, port, page);
    let is_head = request.first().is_some_and(|line| line.starts_with("HEAD "));
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Content-Security-Policy: {POLICY}\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(if is_head { b"" } else { body })
}

/// A page may load nothing, and nobody may put it into a frame.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What a request gets: the page for `/`, nothing for anything else. One that names another host,
/// or that a page of another origin sends, is refused: by rebinding its name to this machine a page
/// elsewhere could read ours.
fn answer<'p>(request: &[String], port: u16, page: &'p [u8]) -> (&'static str, &'p [u8]) {
    let field = |name: &str| {
        let fields = request.iter().skip(1).filter_map(|line| line.split_once(':'));
        let mut named = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.trim().to_owned())
    };
    let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let is_ours = field("host").is_some_and(|host| hosts.contains(&host));
    let is_from_us = field("origin")
        .is_none_or(|origin| hosts.iter().any(|host| origin == format!("http://{host}")));
    let line = request.first().map_or("", String::as_str);
    match line.split_whitespace().collect::<Vec<_>>()[..] {
        _ if !is_ours || !is_from_us => ("403 Forbidden", b""),
        ["GET" | "HEAD", "/", _] => ("200 OK", page),
        ["GET" | "HEAD", ..] => ("404 Not Found", b""),
        _ => ("405 Method Not Allowed", b""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_asks_for_this_machine_gets_the_page() {
        let status = |request: &[&str]| {
            let request: Vec<String> = request.iter().map(|line| (*line).to_owned()).collect();
            answer(&request, 8000, b"page").0
        };
        let ours = "Host: 127.0.0.1:8000";
        assert_eq!(status(&["GET / HTTP/1.1", ours]), "200 OK");
        assert_eq!(status(&["HEAD / HTTP/1.1", "host: localhost:8000"]), "200 OK");
        assert_eq!(status(&["GET / HTTP/1.1", ours, "Origin: http://127.0.0.1:8000"]), "200 OK");
        assert_eq!(status(&["GET /etc/passwd HTTP/1.1", ours]), "404 Not Found");
        assert_eq!(status(&["POST / HTTP/1.1", ours]), "405 Method Not Allowed");
        for stranger in ["Host: evil.example:8000", "Host: 127.0.0.1:80", "Accept: */*"] {
            assert_eq!(status(&["GET / HTTP/1.1", stranger]), "403 Forbidden", "{stranger}");
        }
        assert_eq!(status(&["GET / HTTP/1.1", ours, "Origin: null"]), "403 Forbidden");
        assert_eq!(status(&[]), "403 Forbidden");
    }
}
