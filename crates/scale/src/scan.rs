//! Reading a log operation by operation, all of it or a share of it.
//!
//! A log of events is read from its beginning; an operation is told when it returns, and at the end
//! if it never does. Its moments are the numbers of its events, as in a history that is read whole.
//! A log of operations that is not compressed can be read from any byte on: a *share* holds the
//! lines that begin in its bytes, so shares that cover a file tell every line once. What stands
//! before the first operation (the header) is read with every share.
//!
//! Memory: one block of the file, the open operations, the names of the processes.

use crate::record::{self, StreamedOperation};
use seriatim_history::{
    Forgets, Header, InputError, Interval, Listener, LiveCall, LiveOperation, LiveReturn, Outcome,
    Problem, Tells, Time, Value, Values, name_of, open,
};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// What the lines of a log are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Calls and returns.
    Events,
    /// Whole operations.
    Operations,
    /// There are none.
    Nothing,
}

/// A file of a log, as its beginning shows it.
#[derive(Clone)]
pub struct FileInfo {
    /// Where it is.
    pub path: PathBuf,
    /// Its name in messages.
    pub name: String,
    /// How to read it.
    pub read: Arc<dyn Tells>,
    /// What it says of itself.
    pub header: Header,
    /// What its lines are.
    pub layout: Layout,
    /// Its size in bytes.
    pub bytes: u64,
    /// How many lines stand before the first operation.
    header_lines: u64,
    /// Whether it can be read from the middle.
    pub is_divisible: bool,
}

/// Hears of operations as they are read, and may ask to stop.
pub trait Sink {
    /// An operation is read.
    fn row(&mut self, told: StreamedOperation<'_>) -> ControlFlow<()>;

    /// Everything was read, and this is what has to be said of it.
    fn remark(&mut self, _: Vec<String>) {}
}

impl FileInfo {
    /// Looks at the beginning of a file.
    pub fn of(path: &Path, read: Arc<dyn Tells>) -> Result<Self, InputError> {
        let name = name_of(path);
        let peek = Rc::new(RefCell::new((Layout::Nothing, 1)));
        let header = read.listen(open(path)?, &name, Box::new(Peek(Rc::clone(&peek))))?;
        let (layout, line) = *peek.borrow();
        let unreadable = |error: io::Error| InputError::new(&name, 0, Problem::of_reading(&error));
        let (bytes, magic) = match path == Path::new("-") {
            true => (0, Vec::new()),
            false => size_and_magic(path).map_err(unreadable)?,
        };
        // Lines of text can be read from the middle; gzip, zstd and Parquet cannot.
        let is_packed = magic.starts_with(&[0x1f, 0x8b])
            || magic == [0x28, 0xb5, 0x2f, 0xfd]
            || magic == *b"PAR1";
        let is_of_lines = layout == Layout::Operations && read.is_by_lines();
        let is_divisible = is_of_lines && !is_packed && bytes > 0;
        let (path, header_lines) = (path.to_owned(), line - 1);
        Ok(FileInfo { path, name, read, header, layout, bytes, header_lines, is_divisible })
    }

    /// A file whose beginning cannot be read; it has no operations.
    pub fn unreadable(path: &Path, read: Arc<dyn Tells>) -> Self {
        FileInfo {
            path: path.to_owned(),
            name: name_of(path),
            read,
            header: Header::default(),
            layout: Layout::Nothing,
            bytes: 0,
            header_lines: 0,
            is_divisible: false,
        }
    }
}

/// The size of a file and its first bytes.
fn size_and_magic(path: &Path) -> io::Result<(u64, Vec<u8>)> {
    let mut magic = Vec::new();
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    file.take(4).read_to_end(&mut magic)?;
    Ok((bytes, magic))
}

struct Peek(Rc<RefCell<(Layout, u64)>>);

impl Listener for Peek {
    fn call(&mut self, call: LiveCall<'_>) -> ControlFlow<()> {
        *self.0.borrow_mut() = (Layout::Events, call.line);
        ControlFlow::Break(())
    }

    fn ret(&mut self, _: LiveReturn<'_>) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn operation(&mut self, operation: LiveOperation<'_>) -> Option<ControlFlow<()>> {
        *self.0.borrow_mut() = (Layout::Operations, operation.line);
        Some(ControlFlow::Break(()))
    }
}

/// Some of the lines of a file: those that begin in these bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// The file, counted from 0.
    pub file: u32,
    /// The first byte.
    pub start: u64,
    /// The byte behind the last; `u64::MAX` is the end of the file.
    pub end: u64,
}

impl Share {
    /// A whole file.
    pub fn whole(file: u32) -> Self {
        Share { file, start: 0, end: u64::MAX }
    }
}

/// Divides the files of a log among readers: whole files where there are enough of them, else
/// ranges of bytes. Together the readers get every line once.
pub fn shares(files: &[FileInfo], readers: usize, reader: usize) -> Vec<Share> {
    let pieces = readers.div_ceil(files.len().max(1)) as u64;
    let mut all = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let index = index as u32;
        if !file.is_divisible || pieces == 1 {
            all.push(Share::whole(index));
            continue;
        }
        let cut = |piece: u64| {
            let byte = u128::from(file.bytes) * u128::from(piece) / u128::from(pieces);
            if piece == pieces { u64::MAX } else { byte as u64 }
        };
        all.extend((0..pieces).map(|piece| Share {
            file: index,
            start: cut(piece),
            end: cut(piece + 1),
        }));
    }
    all.into_iter().skip(reader).step_by(readers).collect()
}

/// Reads a share and tells the sink, until the share ends or the sink has heard enough. The sink
/// comes back in any case.
pub fn scan<S: Sink + 'static>(
    info: &FileInfo,
    share: Share,
    sink: S,
) -> (S, Result<(), InputError>) {
    let source = match Source::open(info, share) {
        Ok(source) => source,
        Err(error) => return (sink, Err(error)),
    };
    let Source { reader, skipped_lines, extra_lines } = source;
    let ear = Ear {
        sink,
        file: share.file,
        shift: Shift { skipped_lines, extra_lines },
        events: 0,
        open: Vec::new(),
        stopped: false,
    };
    let ear = Rc::new(RefCell::new(ear));
    let listener = Box::new(Shared(Rc::clone(&ear)));
    let heard = info.read.listen(reader, &info.name, listener);
    let mut ear = Rc::into_inner(ear).expect("the reader is gone").into_inner();
    match heard {
        Ok(header) => {
            if !ear.stopped {
                ear.tell_pending();
                ear.sink.remark(header.remarks);
            }
            (ear.sink, Ok(()))
        }
        Err(mut error) => {
            error.line = ear.shift.line(error.line);
            (ear.sink, Err(error))
        }
    }
}

/// The share that begins behind a line of a file and ends where another ends.
pub fn behind(info: &FileInfo, share: Share, line: u64) -> Result<Option<Share>, InputError> {
    if !info.is_divisible || line == 0 {
        return Ok(None);
    }
    let start = end_of_line(&info.path, line)
        .map_err(|error| InputError::new(&info.name, 0, Problem::of_reading(&error)))?;
    Ok(start.filter(|&start| start < share.end).map(|start| Share { start, ..share }))
}

/// The byte behind a line of a file; `None` if the file has fewer lines.
fn end_of_line(path: &Path, line: u64) -> io::Result<Option<u64>> {
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path)?);
    let mut start = 0;
    for _ in 0..line {
        let length = reader.skip_until(b'\n')?;
        if length == 0 {
            return Ok(None);
        }
        start += length as u64;
    }
    Ok(Some(start))
}

/// The bytes of a share, and how their lines are counted.
struct Source {
    reader: Box<dyn Read>,
    skipped_lines: u64,
    extra_lines: u64,
}

impl Source {
    fn open(info: &FileInfo, share: Share) -> Result<Self, InputError> {
        if share.start == 0 && share.end == u64::MAX {
            let reader = open(&info.path)?;
            return Ok(Source { reader, skipped_lines: 0, extra_lines: 0 });
        }
        Source::of_lines(info, share)
            .map_err(|error| InputError::new(&info.name, 0, Problem::of_reading(&error)))
    }

    /// Those lines of a file that begin in the bytes of a share.
    fn of_lines(info: &FileInfo, share: Share) -> io::Result<Self> {
        let mut file = File::open(&info.path)?;
        let start = line_start(&mut file, share.start)?;
        let end = line_start(&mut file, share.end.min(info.bytes))?;
        let skipped_lines = count_lines(&mut file, start)?;
        file.seek(SeekFrom::Start(0))?;
        let mut header = Vec::new();
        let mut lines = BufReader::new(&file);
        // A share that begins within the header has the rest of it in its own lines.
        let extra_lines = info.header_lines.min(skipped_lines);
        for _ in 0..extra_lines {
            lines.read_until(b'\n', &mut header)?;
        }
        file.seek(SeekFrom::Start(start))?;
        let body = file.take(end.saturating_sub(start));
        let reader = Box::new(Cursor::new(header).chain(body));
        Ok(Source { reader, skipped_lines, extra_lines })
    }
}

/// The first byte at or behind a place at which a line begins.
fn line_start(file: &mut File, place: u64) -> io::Result<u64> {
    if place == 0 {
        return Ok(0);
    }
    file.seek(SeekFrom::Start(place - 1))?;
    let skipped = BufReader::new(file).skip_until(b'\n')?;
    Ok(place - 1 + skipped as u64)
}

/// How many lines end before a place.
fn count_lines(file: &mut File, place: u64) -> io::Result<u64> {
    file.seek(SeekFrom::Start(0))?;
    let mut block = vec![0; 1 << 20];
    let (mut lines, mut left) = (0, place);
    while left > 0 {
        let wanted = left.min(block.len() as u64) as usize;
        let read = file.read(&mut block[..wanted])?;
        if read == 0 {
            break;
        }
        lines += block[..read].iter().filter(|&&byte| byte == b'\n').count() as u64;
        left -= read as u64;
    }
    Ok(lines)
}

/// From the lines that the reader counts to those of the file.
#[derive(Clone, Copy)]
struct Shift {
    skipped_lines: u64,
    extra_lines: u64,
}

impl Shift {
    fn line(self, line: u64) -> u64 {
        match line {
            0 => 0,
            line => (line + self.skipped_lines).saturating_sub(self.extra_lines),
        }
    }
}

/// Turns what is read into operations.
struct Ear<S> {
    sink: S,
    file: u32,
    shift: Shift,
    events: u64,
    open: Vec<Option<Open>>,
    stopped: bool,
}

/// An operation that has not returned.
struct Open {
    call: Time,
    line: u64,
    caller: Value,
    /// The operation as if it never returned.
    bytes: Vec<u8>,
}

impl<S: Sink> Ear<S> {
    fn tell(&mut self, told: StreamedOperation<'_>) -> ControlFlow<()> {
        let flow = self.sink.row(told);
        self.stopped |= flow.is_break();
        flow
    }

    fn stamp(&mut self) -> Time {
        self.events += 1;
        self.events - 1
    }

    /// Tells of the operations that never returned.
    fn tell_pending(&mut self) {
        let mut rest: Vec<Open> = self.open.drain(..).flatten().collect();
        rest.sort_unstable_by_key(|open| open.call);
        for open in rest {
            let mut values = Values::default();
            let row = record::take(&open.bytes, &mut values);
            let row = row.expect("the bytes are what was put there");
            if self.tell(row.told(&values)).is_break() {
                return;
            }
        }
    }
}

struct Shared<S>(Rc<RefCell<Ear<S>>>);

impl<S: Sink> Listener for Shared<S> {
    fn call(&mut self, call: LiveCall<'_>) -> ControlFlow<()> {
        let ear = &mut *self.0.borrow_mut();
        let stamp = ear.stamp();
        let line = ear.shift.line(call.line);
        let told = StreamedOperation {
            file: ear.file,
            line,
            caller: Some(call.caller),
            method: call.method,
            call: call.call,
            interval: Interval { call: stamp, ret: None },
            outcome: Outcome::Pending,
            result: seriatim_history::ValueId::ABSENT,
            values: call.values,
        };
        let mut bytes = Vec::with_capacity(48);
        record::put(&mut bytes, &told);
        let slot = call.op.index();
        if ear.open.len() <= slot {
            ear.open.resize_with(slot + 1, || None);
        }
        ear.open[slot] = Some(Open { call: stamp, line, caller: call.caller.clone(), bytes });
        ControlFlow::Continue(())
    }

    fn ret(&mut self, ret: LiveReturn<'_>) -> ControlFlow<()> {
        let ear = &mut *self.0.borrow_mut();
        let stamp = ear.stamp();
        let Some(open) = ear.open.get_mut(ret.op.index()).and_then(Option::take) else {
            return ControlFlow::Continue(());
        };
        let told = StreamedOperation {
            file: ear.file,
            line: open.line,
            caller: Some(&open.caller),
            method: ret.method,
            call: ret.call,
            interval: Interval { call: open.call, ret: Some(stamp) },
            outcome: ret.ret.outcome,
            result: ret.ret.result,
            values: ret.values,
        };
        ear.tell(told)
    }

    fn operation(&mut self, operation: LiveOperation<'_>) -> Option<ControlFlow<()>> {
        let ear = &mut *self.0.borrow_mut();
        let LiveOperation { line, caller, method, call, interval, ret, values } = operation;
        let outcome = if interval.ret.is_none() { Outcome::Pending } else { ret.outcome };
        let (file, line) = (ear.file, ear.shift.line(line));
        let result = ret.result;
        Some(ear.tell(StreamedOperation {
            file,
            line,
            caller,
            method,
            call,
            interval,
            outcome,
            result,
            values,
        }))
    }

    fn forgets(&self) -> Forgets {
        Forgets::ValuesAndOperations
    }
}
