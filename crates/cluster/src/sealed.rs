//! A connection whose every byte is known to come from the other process, in order and undamaged.
//!
//! What is written travels in frames: the length of the payload (four bytes, little endian), a tag
//! of 32 bytes, the payload. The tag is of a key that this direction of this connection has to
//! itself, of the number of the frame and of the payload. So a frame that was damaged, repeated,
//! left out, moved, sent back or made by somebody else is noticed before a byte of it is read by
//! the dataflow, which would trust it. A connection that ends early is noticed by the dataflow: its
//! last message says that it is the last.
//!
//! An empty frame is a sign of life. One is sent every [`HEARTBEAT`], since a peer whose machine or
//! network is gone does not say so: who hears nothing for the patience of the cluster gives it up.
//! Nothing is encrypted.

use crate::secret::{Secret, Tag};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use timely::communication::allocator::zero_copy::stream::Stream;

/// The most bytes of a payload; a longer one is not read but refused.
const LONGEST: usize = 1 << 20;
const HEAD: usize = 4 + size_of::<Tag>();
/// How often a sign of life is sent.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// A sealed connection to another process. Clones are handles of the same connection.
pub struct Sealed {
    stream: TcpStream,
    outgoing: Arc<Mutex<Outgoing>>,
    incoming: Arc<Mutex<Incoming>>,
}

/// Which end of a connection this is; the directions have different keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Connected,
    Accepted,
}

/// One direction of a connection.
struct Direction {
    key: Secret,
    frames: u64,
}

struct Outgoing {
    stream: TcpStream,
    direction: Direction,
}

struct Incoming {
    stream: TcpStream,
    direction: Direction,
    payload: Vec<u8>,
    read: usize,
}

const TAGGED: &str = "frame";

impl Direction {
    fn new(session: &Secret, from: End) -> Self {
        let name: &[u8] = if from == End::Connected { b"connected" } else { b"accepted " };
        Direction { key: session.derived("direction", &[name]), frames: 0 }
    }

    fn seal(&mut self, payload: &[u8]) -> Tag {
        let number = self.frames.to_le_bytes();
        self.frames += 1;
        self.key.tag(TAGGED, &[&number, payload])
    }

    fn opens(&mut self, tag: &[u8], payload: &[u8]) -> bool {
        let number = self.frames.to_le_bytes();
        self.frames += 1;
        self.key.accepts(tag, TAGGED, &[&number, payload])
    }
}

impl Sealed {
    /// Seals a connection with the key of a session that both ends have agreed on. Who is silent
    /// for the given time is given up.
    pub fn new(
        stream: TcpStream,
        session: &Secret,
        end: End,
        patience: Duration,
    ) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        // Shorter than a few heartbeats would be a guess about how busy the other machine is.
        stream.set_read_timeout(Some(patience.max(5 * HEARTBEAT)))?;
        let other = if end == End::Connected { End::Accepted } else { End::Connected };
        let outgoing =
            Outgoing { stream: stream.try_clone()?, direction: Direction::new(session, end) };
        let incoming = Incoming {
            stream: stream.try_clone()?,
            direction: Direction::new(session, other),
            payload: Vec::new(),
            read: 0,
        };
        let outgoing = Arc::new(Mutex::new(outgoing));
        let incoming = Arc::new(Mutex::new(incoming));
        Ok(Sealed { stream, outgoing, incoming })
    }

    /// Sends signs of life from now on, as long as the connection lasts.
    pub fn keep_alive(&self) -> io::Result<()> {
        let outgoing = Arc::downgrade(&self.outgoing);
        let builder = std::thread::Builder::new().name("heartbeat".to_owned());
        builder.spawn(move || send_heartbeats(&outgoing)).map(drop)
    }

    /// Whether the other process has closed the connection.
    pub fn is_closed(&self) -> bool {
        let mut byte = [0];
        let peeked = self.stream.set_nonblocking(true).and_then(|()| self.stream.peek(&mut byte));
        let is_blocking = self.stream.set_nonblocking(false);
        match peeked {
            Ok(0) => true,
            Ok(_) => is_blocking.is_err(),
            Err(error) => error.kind() != io::ErrorKind::WouldBlock || is_blocking.is_err(),
        }
    }
}

fn send_heartbeats(outgoing: &Weak<Mutex<Outgoing>>) {
    loop {
        std::thread::sleep(HEARTBEAT);
        let Some(outgoing) = outgoing.upgrade() else { return };
        // A connection that is shut down or broken needs no sign of life; its users hear of it
        // themselves.
        if locked(&outgoing).send(&[]).is_err() {
            return;
        }
    }
}

/// A lock that a panic elsewhere does not take away: the process ends by it anyhow.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Outgoing {
    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut frame = Vec::with_capacity(HEAD + payload.len());
        frame.extend((payload.len() as u32).to_le_bytes());
        frame.extend(self.direction.seal(payload));
        frame.extend(payload);
        self.stream.write_all(&frame)
    }
}

impl Incoming {
    /// Receives a frame; whether there was one.
    fn receive(&mut self) -> io::Result<bool> {
        let mut head = [0; HEAD];
        // Between two frames a connection may end.
        if self.stream.read(&mut head[..1]).map_err(said_nothing)? == 0 {
            return Ok(false);
        }
        self.stream.read_exact(&mut head[1..]).map_err(said_nothing)?;
        let (length, tag) = head.split_at(4);
        let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
        if length > LONGEST {
            return Err(not_from_it());
        }
        self.payload.resize(length, 0);
        self.read = 0;
        self.stream.read_exact(&mut self.payload).map_err(said_nothing)?;
        match self.direction.opens(tag, &self.payload) {
            true => Ok(true),
            false => Err(not_from_it()),
        }
    }
}

fn not_from_it() -> io::Error {
    let reason = "what arrived was damaged on the way, or is not from the other process";
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

fn said_nothing(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            io::Error::new(io::ErrorKind::TimedOut, "the other process gives no sign of life")
        }
        _ => error,
    }
}

impl Read for Sealed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut incoming = locked(&self.incoming);
        while incoming.read == incoming.payload.len() {
            if !incoming.receive()? {
                return Ok(0);
            }
        }
        let at = incoming.read;
        let count = buffer.len().min(incoming.payload.len() - at);
        buffer[..count].copy_from_slice(&incoming.payload[at..at + count]);
        incoming.read += count;
        Ok(count)
    }
}

impl Write for Sealed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(LONGEST)];
        if !bytes.is_empty() {
            locked(&self.outgoing).send(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Sealed {
    fn try_clone(&self) -> io::Result<Self> {
        let stream = self.stream.try_clone()?;
        let (outgoing, incoming) = (Arc::clone(&self.outgoing), Arc::clone(&self.incoming));
        Ok(Sealed { stream, outgoing, incoming })
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.stream.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.stream.shutdown(how)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// The frames of two writes, as they travel.
    fn frames() -> (Secret, [Vec<u8>; 2]) {
        let session = Secret::none().derived("session", &[b"of a test"]);
        let mut direction = Direction::new(&session, End::Connected);
        let frame = |direction: &mut Direction, payload: &[u8]| {
            let mut frame = (payload.len() as u32).to_le_bytes().to_vec();
            frame.extend(direction.seal(payload));
            frame.extend(payload);
            frame
        };
        let frames = [frame(&mut direction, b"one operation"), frame(&mut direction, b"another")];
        (session, frames)
    }

    /// What the accepting end reads of bytes that arrive.
    fn read(session: &Secret, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mut sender = TcpStream::connect(listener.local_addr()?)?;
        sender.write_all(bytes)?;
        drop(sender);
        let patience = Duration::from_secs(60);
        let mut sealed = Sealed::new(listener.accept()?.0, session, End::Accepted, patience)?;
        let mut all = Vec::new();
        sealed.read_to_end(&mut all).map(|_| all)
    }

    #[test]
    fn what_was_written_is_read() {
        let (session, frames) = frames();
        assert_eq!(read(&session, &frames.concat()).unwrap(), b"one operationanother");
    }

    #[test]
    fn no_damage_is_read_as_something_else() {
        let (session, [first, second]) = frames();
        let whole = [first.clone(), second.clone()].concat();
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&session, &damaged).is_err(), "bit {bit}");
        }
        let moved = [
            [second.clone(), first.clone()].concat(),
            [first.clone(), first.clone()].concat(),
            second.clone(),
            [whole.clone(), second.clone()].concat(),
            [whole.clone(), b"GET / HTTP/1.1\r\n\r\n".repeat(9)].concat(),
        ];
        for (number, bytes) in moved.iter().enumerate() {
            assert!(read(&session, bytes).is_err(), "case {number}");
        }
        // A connection that is cut gives a beginning, which the dataflow knows to be no whole.
        for end in 0..whole.len() {
            if let Ok(read) = read(&session, &whole[..end]) {
                assert!(b"one operationanother".starts_with(&read[..]) && read.len() < 20, "{end}");
            }
        }
        let other = session.derived("session", &[b"of another"]);
        assert!(read(&other, &whole).is_err());
    }
}
