//! Jepsen's events as its writers write them: known keys, short numbers, keywords, texts without
//! escapes, pairs of numbers. Nearly all events are so, and are taken apart here in one pass;
//! every other one, right or wrong, is left to the reader that knows all of EDN.
//!
//! *What would make it wrong:* an event that is read here in another way than there. What is taken
//! here is a part of what is taken there, key by key and form by form, and interned in the same
//! order; a test holds both against each other.

use super::jepsen::{Event, Function, Kind};
use crate::{Time, Value, ValueId, Values};
use memchr::memchr2;

/// The event that bytes begin with and how many it takes, the end of its line included.
pub(super) fn event<'l>(
    bytes: &'l [u8],
    line: u64,
    values: &mut Values,
) -> Option<(Event<'l>, usize)> {
    let mut event = Event::at(line);
    let mut seen = 0u8;
    let mut rest = bytes.strip_prefix(b"{")?;
    loop {
        let key = keyword(&mut rest)?;
        rest = rest.strip_prefix(b" ")?;
        let known = match key {
            b"process" => {
                event.process = form(&mut rest)?.intern(values);
                PROCESS
            }
            b"type" => {
                event.kind = Kind::named(keyword(&mut rest)?)?;
                TYPE
            }
            b"f" => {
                event.f = Function::Keyword(name(keyword(&mut rest)?)?);
                F
            }
            b"value" => {
                event.value = form(&mut rest)?.intern(values);
                1 << 3
            }
            b"key" => {
                event.key = form(&mut rest)?.intern(values);
                1 << 4
            }
            b"time" => {
                event.time = Some(number(&mut rest)? as Time);
                1 << 5
            }
            b"index" => {
                number(&mut rest)?;
                1 << 6
            }
            _ => return None,
        };
        if seen & known != 0 {
            return None;
        }
        seen |= known;
        rest = match rest {
            [b',', b' ', more @ ..] | [b' ' | b',', more @ ..] => more,
            [b'}', b'\n', more @ ..] => {
                let is_whole = seen & (PROCESS | TYPE | F) == PROCESS | TYPE | F;
                return is_whole.then_some((event, bytes.len() - more.len()));
            }
            _ => return None,
        };
    }
}

/// The keys that an event must have.
const PROCESS: u8 = 1;
const TYPE: u8 = 1 << 1;
const F: u8 = 1 << 2;

/// The event of a line of a log, behind the name of the logger.
pub(super) fn logged<'l>(mut rest: &'l [u8], line: u64, values: &mut Values) -> Option<Event<'l>> {
    let process = number(&mut rest)?;
    blanks(&mut rest)?;
    let kind = Kind::named(keyword(&mut rest)?)?;
    blanks(&mut rest)?;
    let f = Function::Keyword(name(keyword(&mut rest)?)?);
    blanks(&mut rest)?;
    let form = form(&mut rest)?;
    if !rest.is_empty() {
        return None;
    }
    let process = values.intern_int(process);
    Some(Event { process, kind, f, value: form.intern(values), ..Event::at(line) })
}

/// Blanks and tabs, at least one.
fn blanks(rest: &mut &[u8]) -> Option<()> {
    let length = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    *rest = &rest[length..];
    (length > 0).then_some(())
}

/// A form that is that plain.
enum Form<'l> {
    Nil,
    Bool(bool),
    Int(i64),
    Pair(i64, i64),
    Text(&'l str),
    Keyword(&'l str),
}

impl Form<'_> {
    fn intern(&self, values: &mut Values) -> ValueId {
        match *self {
            Form::Nil => ValueId::NIL,
            Form::Bool(truth) => ValueId::from(truth),
            Form::Int(number) => values.intern_int(number),
            Form::Pair(first, second) => {
                let (first, second) = (values.intern_int(first), values.intern_int(second));
                values.intern_pair(first, second)
            }
            Form::Text(text) => values.intern_text(text),
            Form::Keyword(name) => values.intern(&Value::Name(name.into())),
        }
    }
}

/// Whether a form ends before these bytes.
fn ends(rest: &[u8]) -> bool {
    matches!(rest.first(), None | Some(b' ' | b',' | b'}' | b']' | b'\t'))
}

fn form<'l>(rest: &mut &'l [u8]) -> Option<Form<'l>> {
    let (text, form): (&[u8], Form<'_>) = match rest.first()? {
        b'"' => return Some(Form::Text(text(rest)?)),
        b':' => return Some(Form::Keyword(name(keyword(rest)?)?)),
        b'[' => {
            *rest = &rest[1..];
            let first = number(rest)?;
            *rest = rest.strip_prefix(b" ")?;
            let second = number(rest)?;
            *rest = rest.strip_prefix(b"]")?;
            return Some(Form::Pair(first, second));
        }
        b'n' => (b"nil", Form::Nil),
        b't' => (b"true", Form::Bool(true)),
        b'f' => (b"false", Form::Bool(false)),
        _ => return Some(Form::Int(number(rest)?)),
    };
    *rest = rest.strip_prefix(text)?;
    ends(rest).then_some(form)
}

/// A number of at most 18 digits that is not negative. With a zero in front it would be octal.
fn number(rest: &mut &[u8]) -> Option<i64> {
    let length = rest.iter().take(19).take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, more) = rest.split_at(length);
    if length == 0 || length > 18 || length > 1 && digits[0] == b'0' || !ends(more) {
        return None;
    }
    *rest = more;
    Some(digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
}

/// A keyword of letters, digits and a few signs, without its colon.
fn keyword<'l>(rest: &mut &'l [u8]) -> Option<&'l [u8]> {
    let name = rest.strip_prefix(b":")?;
    let is_plain = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'?');
    let (name, more) = name.split_at(name.iter().take_while(is_plain).count());
    *rest = more;
    (!name.is_empty() && ends(more)).then_some(name)
}

fn name(keyword: &[u8]) -> Option<&str> {
    std::str::from_utf8(keyword).ok()
}

/// A text of ASCII characters without escapes, on one line.
fn text<'l>(rest: &mut &'l [u8]) -> Option<&'l str> {
    let text = rest.strip_prefix(b"\"")?;
    let (text, more) = text.split_at(memchr2(b'"', b'\\', text)?);
    *rest = more.strip_prefix(b"\"")?;
    let is_plain = text.iter().fold(true, |plain, byte| plain & (0x20..0x7f).contains(byte));
    if !is_plain {
        return None;
    }
    std::str::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, OpId, ReadOptions, read_from};

    const EVENTS: [&str; 9] = [
        "{:process 0, :type :invoke, :f :write, :value 3, :time 12, :index 0}\n",
        "{:process 0, :type :ok, :f :write, :value 3, :time 15, :index 1}\n",
        "{:process 1, :type :invoke, :f :cas, :value [1 2]}\n",
        "{:process 1 :type :fail :f :cas :value [1 2]}\n",
        "{:type :invoke, :process 2, :f :append, :key \"a b\", :value \"x 1 y\"}\n",
        "{:type :ok, :process 2, :f :append, :key \"a b\", :value \"x 1 y\"}\n",
        "{:process 3, :type :invoke, :f :read, :value nil}\n",
        "{:process 3, :type :info, :f :read, :value :timed-out}\n",
        "{:process :nemesis, :type :info, :f :kill, :value true}\n",
    ];

    /// What a log says; `None` if it is wrong.
    fn said(text: &str, format: Format) -> Option<String> {
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        let history = read_from(text.as_bytes(), "log", options).ok()?;
        let ops = (0..history.len()).map(OpId::from).map(|op| history.operation(op).to_string());
        let ops: Vec<String> = ops.collect();
        Some(format!("{ops:?} {:?} {}", history.annotations(), history.values().interned()))
    }

    /// The same log with a form that is discarded in each map: the plain reader leaves such a map to
    /// the other one.
    fn fully(text: &str) -> String {
        text.replace('{', "{#_0 ")
    }

    #[test]
    fn what_is_taken_here_is_what_all_of_edn_says() {
        let alphabet = b"}[]\",:-+.0123456789N\\/#_ \t\ntfn";
        let mut seed = 5u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let mut values = Values::default();
        assert!(EVENTS.iter().all(|line| event(line.as_bytes(), 1, &mut values).is_some()));
        let mut right = 0;
        for _ in 0..30_000 {
            let mut text = EVENTS.concat().into_bytes();
            for _ in 0..=random(2) {
                let (place, other) = (random(text.len()), alphabet[random(alphabet.len())]);
                match random(3) {
                    0 => text[place] = other,
                    1 => text.insert(place, other),
                    _ => _ = text.remove(place),
                }
            }
            let text = String::from_utf8(text).expect("ASCII");
            let here = said(&text, Format::Edn);
            assert_eq!(here, said(&fully(&text), Format::Edn), "{text}");
            right += usize::from(here.is_some());
        }
        assert!(right > 5_000, "{right}");
    }

    #[test]
    fn a_line_of_a_log_is_read_as_one_with_a_comment_that_is_left_to_the_other_reader() {
        let lines = [
            "0\t:invoke\t:read\tnil",
            "12 :invoke  :cas\t[3 4]",
            "0\t:ok\t:read\t77",
            "12 :fail :cas :timed-out",
            "3 :invoke :write \"a b\"",
        ];
        let mut values = Values::default();
        assert!(lines.iter().all(|line| logged(line.as_bytes(), 1, &mut values).is_some()));
        for odd in ["0 :ok :read 1 :late", "x :ok :read 1", "0 :ok :read 01", "0 :ok :read"] {
            assert!(logged(odd.as_bytes(), 1, &mut values).is_none(), "{odd}");
        }
        let log = |end| lines.map(|line| format!("INFO  jepsen.util - {line}{end}\n")).concat();
        let here = said(&log(""), Format::JepsenLog);
        assert!(here.is_some());
        assert_eq!(here, said(&log(" ; "), Format::JepsenLog));
    }
}
