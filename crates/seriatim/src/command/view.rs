//! `seriatim view`: check a history and look at the report in a browser.

use super::output::{remark, say};
use super::question::Question;
use super::{Exit, Failure, page};
use seriatim::monitor::Detail;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Check a history and open its report in a browser
///
/// The page is one file without any link to the network. With --serve nothing is written: the page is
/// served to this machine only, on a port that the system chooses and that is printed.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    question: Question,

    /// Serve the page on this machine instead of opening a file; ends with Ctrl-C
    #[arg(long)]
    serve: bool,
}

/// Carries out `seriatim view`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let paths = arguments.question.input.paths()?;
    let [path] = &paths[..] else {
        return Err(Failure(format!("expected one history to view, found {}", paths.len())));
    };
    let done = arguments.question.answer(path, Detail::Minimal)?;
    remark(&format!("{}: {}", done.history.source(), done.checked.verdict.word()));
    if arguments.serve {
        serve(&page::render(&done))?;
    } else {
        let file = place(path);
        page::write(&done, &file)?;
        say(&format!("{}\n", file.display()))?;
        show(&file);
    }
    Ok(done.exit())
}

/// Where the page of a history goes.
fn place(history: &Path) -> PathBuf {
    let name = history.file_stem().map_or("history".into(), |stem| stem.to_string_lossy());
    std::env::temp_dir().join(format!("seriatim-{}-{name}.html", std::process::id()))
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

/// Serves a page on the loopback address, one request after another.
fn serve(page: &[u8]) -> Result<(), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    say(&format!("http://{}/\n", listener.local_addr()?))?;
    for stream in listener.incoming() {
        // A visitor who hangs up is no reason to stop.
        if let Err(error) = stream.and_then(|stream| respond(stream, page)) {
            remark(&format!("a request failed: {error}"));
        }
    }
    Ok(())
}

/// Answers one request: the page for `/`, nothing for anything else.
fn respond(mut stream: TcpStream, page: &[u8]) -> std::io::Result<()> {
    let patience = Some(Duration::from_secs(5));
    stream.set_read_timeout(patience)?;
    stream.set_write_timeout(patience)?;
    let mut request = String::new();
    let mut lines = BufReader::new(std::io::Read::take(&stream, 16 << 10));
    lines.read_line(&mut request)?;
    let (status, body) = match request.split_whitespace().collect::<Vec<_>>()[..] {
        ["GET", "/", _] => ("200 OK", page),
        ["GET", ..] => ("404 Not Found", &b""[..]),
        _ => ("405 Method Not Allowed", &b""[..]),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}
