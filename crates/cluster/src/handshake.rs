//! How two processes of a cluster make sure of each other before they exchange anything.
//!
//! ```text
//! who accepts -> who connects    greeting: "seriatim", version, nonce
//! who connects -> who accepts    claim: "seriatim", version, from, to, count, round, question, nonce, tag
//! who accepts -> who connects    welcome and tag, or the reason why not
//! ```
//!
//! Each tag is of the shared secret, of both nonces and of the whole claim, for one end only: who
//! does not know the secret can neither make one nor use one that was seen in another handshake.
//! The key of the connection that follows ([`Sealed`]) comes from the same. `question` is a digest
//! of what the processes are to decide together, so that processes of different runs do not mix
//! their operations. Versions are compared first: nothing is known of the layout of another version
//! but its first twelve bytes.

use crate::sealed::{End, Sealed};
use crate::secret::{Secret, Tag, nonce};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const NAME: [u8; 8] = *b"seriatim";
/// The version of what the processes say to each other, from the first byte to the last.
const VERSION: u32 = 1;
/// How long a handshake may take.
const PATIENCE: Duration = Duration::from_secs(5);
const GREETING: usize = 8 + 4 + 32;
const CLAIM: usize = 8 + 4 + 4 * 4 + 32 + 32;
const TAG: usize = size_of::<Tag>();

/// What a process knows of the cluster that it belongs to.
#[derive(Clone, Debug)]
pub struct Membership {
    pub secret: Secret,
    /// How many processes there are.
    pub count: u32,
    /// Which of them this is.
    pub process: u32,
    /// How many times the processes have met before.
    pub round: u32,
    /// A digest of what they are to decide.
    pub question: Tag,
    /// How long the other process may be silent afterwards.
    pub patience: Duration,
}

/// Why there is no connection.
#[derive(Debug)]
pub enum Refusal {
    /// The other process is not ready, or the network failed: it may be tried again.
    NotYet(io::Error),
    /// The other process is none of this cluster, or not as it should be.
    Wrong(String),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Refusal::NotYet(error)
    }
}

/// The answer to a claim, as a byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    Welcome = 0,
    OtherVersion = 1,
    OtherSecret = 2,
    OtherCount = 3,
    OtherProcess = 4,
    OtherRound = 5,
    OtherQuestion = 6,
    Taken = 7,
}

impl Answer {
    const ALL: [Answer; 8] = [
        Answer::Welcome,
        Answer::OtherVersion,
        Answer::OtherSecret,
        Answer::OtherCount,
        Answer::OtherProcess,
        Answer::OtherRound,
        Answer::OtherQuestion,
        Answer::Taken,
    ];

    /// What is wrong with who connects, as both ends can say it.
    fn in_words(self) -> &'static str {
        match self {
            Answer::Welcome => "nothing is wrong",
            Answer::OtherVersion => "it is of another version of seriatim",
            Answer::OtherSecret => "it does not know the secret of the cluster",
            Answer::OtherCount => "it knows another number of processes",
            Answer::OtherProcess => "it takes one process for another: the addresses differ",
            Answer::OtherRound => "it is not at the same point of the exchange",
            Answer::OtherQuestion => "it checks another log, or the same one by other options",
            Answer::Taken => "another process with the same number is connected already",
        }
    }
}

/// The claim of who connects, without its tag.
struct Claim([u8; CLAIM]);

impl Claim {
    fn new(member: &Membership, to: u32) -> io::Result<Self> {
        let numbers = [VERSION, member.process, to, member.count, member.round];
        let mut claim = NAME.to_vec();
        numbers.iter().for_each(|number| claim.extend(number.to_le_bytes()));
        claim.extend(member.question);
        claim.extend(nonce()?);
        Ok(Claim(claim.try_into().expect("a claim has one length")))
    }

    /// A number of the claim, in the order in which they are written.
    fn number(&self, index: usize) -> u32 {
        let at = 8 + 4 * index;
        u32::from_le_bytes(self.0[at..at + 4].try_into().expect("four bytes"))
    }

    fn from(&self) -> u32 {
        self.number(1)
    }

    fn question(&self) -> &[u8] {
        &self.0[CLAIM - 64..CLAIM - 32]
    }

    /// What is wrong with it for a process that expects others with higher numbers.
    fn judge(&self, member: &Membership, tag: &[u8], greeting: &[u8]) -> Answer {
        if self.0[..8] != NAME || self.number(0) != VERSION {
            Answer::OtherVersion
        } else if !member.secret.accepts(tag, CONNECTS, &[greeting, &self.0]) {
            Answer::OtherSecret
        } else if self.number(3) != member.count {
            Answer::OtherCount
        } else if self.number(2) != member.process
            || !(member.process + 1..member.count).contains(&self.from())
        {
            Answer::OtherProcess
        } else if self.number(4) != member.round {
            Answer::OtherRound
        } else if self.question() != member.question {
            Answer::OtherQuestion
        } else {
            Answer::Welcome
        }
    }
}

const CONNECTS: &str = "connects";
const ACCEPTS: &str = "accepts";
const SESSION: &str = "session";

/// The side that connects to process `to`.
pub fn connect(mut stream: TcpStream, member: &Membership, to: u32) -> Result<Sealed, Refusal> {
    let mut hurried = Hurried::new(&mut stream);
    let mut greeting = [0; GREETING];
    hurried.read_exact(&mut greeting)?;
    if greeting[..8] != NAME {
        return Err(Refusal::Wrong("something else answers there".to_owned()));
    }
    if greeting[8..12] != VERSION.to_le_bytes() {
        return Err(Refusal::Wrong(Answer::OtherVersion.in_words().to_owned()));
    }
    let claim = Claim::new(member, to)?;
    hurried.write_all(&claim.0)?;
    hurried.write_all(&member.secret.tag(CONNECTS, &[&greeting, &claim.0]))?;
    let mut answer = [0];
    hurried.read_exact(&mut answer)?;
    if answer[0] != Answer::Welcome as u8 {
        let answer = Answer::ALL.into_iter().find(|known| *known as u8 == answer[0]);
        let reason = answer.map_or("for an unknown reason", Answer::in_words);
        return Err(Refusal::Wrong(format!("it refuses this process: {reason}")));
    }
    let mut tag = [0; TAG];
    hurried.read_exact(&mut tag)?;
    if !member.secret.accepts(&tag, ACCEPTS, &[&greeting, &claim.0]) {
        return Err(Refusal::Wrong(Answer::OtherSecret.in_words().to_owned()));
    }
    let session = member.secret.derived(SESSION, &[&greeting, &claim.0]);
    Ok(Sealed::new(stream, &session, End::Connected, member.patience)?)
}

/// The side that accepts; gives the number of the process that has connected. `take` hears of it
/// while it can still be refused: whether nobody with that number was there before.
pub fn accept(
    mut stream: TcpStream,
    member: &Membership,
    take: impl FnOnce(u32) -> bool,
) -> Result<(u32, Sealed), Refusal> {
    let mut hurried = Hurried::new(&mut stream);
    let mut greeting = [0; GREETING];
    greeting[..8].copy_from_slice(&NAME);
    greeting[8..12].copy_from_slice(&VERSION.to_le_bytes());
    greeting[12..].copy_from_slice(&nonce()?);
    hurried.write_all(&greeting)?;
    // Of another version only the beginning is known, and perhaps there is no more.
    let mut claim = Claim([0; CLAIM]);
    hurried.read_exact(&mut claim.0[..12])?;
    let mut tag = [0; TAG];
    if claim.0[..8] == NAME && claim.number(0) == VERSION {
        hurried.read_exact(&mut claim.0[12..])?;
        hurried.read_exact(&mut tag)?;
    }
    let answer = match claim.judge(member, &tag, &greeting) {
        Answer::Welcome if !take(claim.from()) => Answer::Taken,
        answer => answer,
    };
    hurried.write_all(&[answer as u8])?;
    if answer != Answer::Welcome {
        return Err(Refusal::Wrong(answer.in_words().to_owned()));
    }
    hurried.write_all(&member.secret.tag(ACCEPTS, &[&greeting, &claim.0]))?;
    let session = member.secret.derived(SESSION, &[&greeting, &claim.0]);
    Ok((claim.from(), Sealed::new(stream, &session, End::Accepted, member.patience)?))
}

/// A connection that must be done with everything in time, however slowly its bytes arrive.
struct Hurried<'s> {
    stream: &'s mut TcpStream,
    deadline: Instant,
}

impl<'s> Hurried<'s> {
    fn new(stream: &'s mut TcpStream) -> Self {
        Hurried { stream, deadline: Instant::now() + PATIENCE }
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(io::Error::new(io::ErrorKind::TimedOut, "the handshake took too long")),
            false => Ok(Some(left)),
        }
    }
}

impl Read for Hurried<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer)
    }
}

impl Write for Hurried<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        let written = self.stream.write(bytes);
        self.stream.set_write_timeout(None)?;
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
