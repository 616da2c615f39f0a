//! A look at the footer of a file before the Parquet library reads it.
//!
//! The library builds the tree of the columns by calling itself for every group within a group, as
//! deep as the file says; some hundred thousand groups, a megabyte, overflow the stack and end the
//! process. A history has a dozen columns and no groups, so whoever lists many more is refused here,
//! where nothing is built: the footer, a struct in Thrift's compact notation, is passed over value
//! by value.
//!
//! The library also makes room for as many things as the file claims to have. What a footer cannot
//! hold is an error of the file, and is said to be one before memory runs out for it: more items of a
//! list than the footer has bytes left, more members of a group than there are columns and groups.

use parquet::file::reader::ChunkReader;

/// The most columns and groups that a file may list.
const MOST: u64 = 256;

/// Structs and lists within one another: the footer itself has seven, and the library does not pass
/// over more than 64.
const DEEPEST: usize = 64;

/// The field of the footer that lists columns and groups.
const COLUMNS: i64 = 2;

/// The field of a group that says how many members it has.
const MEMBERS: i64 = 5;

/// Refuses a file that lists too many columns and groups, or claims what it cannot hold. Whatever else
/// is wrong with it, the library says.
pub fn look_at(file: &impl ChunkReader) -> Result<(), String> {
    let length = file.len();
    let Some(end) = length.checked_sub(8) else { return Ok(()) };
    let Ok(last) = file.get_bytes(end, 8) else { return Ok(()) };
    let Some(size) = last.first_chunk().map(|size| u32::from_le_bytes(*size)) else {
        return Ok(());
    };
    let Some(start) = end.checked_sub(size.into()) else { return Ok(()) };
    let Ok(footer) = file.get_bytes(start, size as usize) else { return Ok(()) };
    let mut rest = Rest { bytes: &footer, impossible: None };
    match walk(&mut rest) {
        Some(()) => Ok(()),
        None => Err(rest.impossible.unwrap_or_else(|| "its footer is damaged".to_owned())),
    }
}

/// Passes over a footer; `None` if it is damaged or claims what cannot be.
fn walk(rest: &mut Rest<'_>) -> Option<()> {
    let mut field = 0;
    loop {
        let kind = rest.field(&mut field)?;
        match (kind, field) {
            (STOP, _) => return Some(()),
            (LIST, COLUMNS) => columns(rest)?,
            _ => rest.pass(kind)?,
        }
    }
}

/// Passes over the list of columns and groups.
fn columns(rest: &mut Rest<'_>) -> Option<()> {
    let (kind, count) = rest.list()?;
    if count > MOST {
        return rest.refuse(format!("{count} columns and groups; expected at most {MOST}"));
    }
    if kind != STRUCT {
        return (count == 0).then_some(());
    }
    for _ in 0..count {
        let mut field = 0;
        loop {
            match (rest.field(&mut field)?, field) {
                (STOP, _) => break,
                (I32, MEMBERS) => {
                    let members = signed(rest.number()?);
                    if !(0..count as i64).contains(&members) {
                        return rest.refuse(format!(
                            "a group of {members} members in a list of {count} columns and groups"
                        ));
                    }
                }
                (kind, _) => rest.pass(kind)?,
            }
        }
    }
    Some(())
}

/// A number that was written so that small ones are short, whatever their sign.
fn signed(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

// The kinds of values.
const STOP: u8 = 0;
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// What is not passed over yet.
struct Rest<'f> {
    bytes: &'f [u8],
    /// What it claims and cannot be.
    impossible: Option<String>,
}

/// A value that consists of others: a struct until it stops, or so many of these kinds in turn.
enum Within {
    Struct,
    Items(u64, [u8; 2]),
}

impl Rest<'_> {
    fn refuse(&mut self, impossible: String) -> Option<()> {
        self.impossible = Some(impossible);
        None
    }

    /// Refuses more items than there are bytes: each takes one at least.
    fn holds(&mut self, items: u64) -> Option<()> {
        match self.bytes.len() as u64 {
            left if items > left => self.refuse(format!(
                "its footer claims a list of {items} items and has {left} bytes left"
            )),
            _ => Some(()),
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    fn skip(&mut self, count: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// The kind of the next field of a struct; `last` is the number of the one before, and becomes
    /// its own.
    fn field(&mut self, last: &mut i64) -> Option<u8> {
        let head = self.byte()?;
        *last = match head >> 4 {
            0 if head & 15 == STOP => *last,
            0 => signed(self.number()?),
            more => *last + i64::from(more),
        };
        Some(head & 15)
    }

    /// The kind of the items of a list, and how many there are.
    fn list(&mut self) -> Option<(u8, u64)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.number()?,
            few => few.into(),
        };
        Some((head & 15, count))
    }

    /// Passes over a value that is a field, and all that it consists of.
    fn pass(&mut self, kind: u8) -> Option<()> {
        let mut open: Vec<Within> = Vec::new();
        if !matches!(kind, TRUE | FALSE) {
            open.extend(self.begin(kind)?);
        }
        while let Some(within) = open.last_mut() {
            let kind = match within {
                Within::Struct => match self.field(&mut 0)? {
                    // The kind of a field says what is true.
                    TRUE | FALSE => continue,
                    kind => kind,
                },
                Within::Items(0, _) => STOP,
                Within::Items(left, kinds) => {
                    *left -= 1;
                    kinds.swap(0, 1);
                    kinds[1]
                }
            };
            match kind {
                STOP => _ = open.pop(),
                kind => open.extend(self.begin(kind)?),
            }
            if open.len() > DEEPEST {
                return None;
            }
        }
        Some(())
    }

    /// Passes over a value, or over the beginning of one that consists of others.
    fn begin(&mut self, kind: u8) -> Option<Option<Within>> {
        match kind {
            TRUE | FALSE | BYTE => self.skip(1)?,
            I16..=I64 => _ = self.number()?,
            DOUBLE => self.skip(8)?,
            BINARY => {
                let length = self.number()?;
                self.skip(length)?;
            }
            LIST | SET => {
                let (kind, count) = self.list()?;
                self.holds(count)?;
                // An item of the kind that ends a struct would take no room.
                let is_known = count == 0 || (TRUE..=STRUCT).contains(&kind);
                return is_known.then_some(Some(Within::Items(count, [kind; 2])));
            }
            MAP => {
                let count = self.number()?;
                self.holds(count)?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                let kinds = [kinds >> 4, kinds & 15];
                let is_known =
                    count == 0 || kinds.iter().all(|kind| (TRUE..=STRUCT).contains(kind));
                return is_known.then_some(Some(Within::Items(count.checked_mul(2)?, kinds)));
            }
            STRUCT => return Some(Some(Within::Struct)),
            _ => return None,
        }
        Some(None)
    }
}
