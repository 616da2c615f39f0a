//! A server of one's own: started on a free port with its own data folder, killed and stopped by
//! its process id.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The command that starts a server on a port with a data folder.
type Start = dyn Fn(u16, &Path) -> Command + Send + Sync;

/// A running server. It is stopped, and its folder removed, when it is dropped.
pub struct Server {
    child: Child,
    port: u16,
    folder: PathBuf,
    command: Box<Start>,
    answers: fn(u16) -> bool,
}

impl Server {
    /// Starts a server and waits until it answers.
    pub fn start(
        prepare: impl Fn(&Path) -> io::Result<()>,
        command: impl Fn(u16, &Path) -> Command + Send + Sync + 'static,
        answers: fn(u16) -> bool,
    ) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("seriatim-server-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        prepare(&folder)?;
        let port = free_port()?;
        let child = spawn(&mut command(port, &folder))?;
        let mut server = Server { child, port, folder, command: Box::new(command), answers };
        server.wait()?;
        Ok(server)
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Kills it in the middle of whatever it does.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(|_| ())
    }

    /// Starts it again, with the data that it left.
    pub fn restart(&mut self) -> io::Result<()> {
        self.child = spawn(&mut (self.command)(self.port, &self.folder))?;
        self.wait()
    }

    /// Waits until it answers; starts it anew if it gave up because what was killed still held its
    /// files.
    fn wait(&mut self) -> io::Result<()> {
        let start = Instant::now();
        while !(self.answers)(self.port) {
            if self.child.try_wait()?.is_some() {
                std::thread::sleep(Duration::from_millis(200));
                self.child = spawn(&mut (self.command)(self.port, &self.folder))?;
            }
            if start.elapsed() > Duration::from_secs(60) {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the server does not answer"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself, and nobody is left to tell.
        let _ = self.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn spawn(command: &mut Command) -> io::Result<Child> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Where a program is: on the path, or in one of some folders.
pub fn find(program: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(folders.iter().cloned());
    folders.map(|folder| folder.join(program)).find(|program| program.is_file())
}
