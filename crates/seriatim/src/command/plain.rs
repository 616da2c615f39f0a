//! Plain command lines of `check`, read without the library for command lines.
//!
//! Half of what a short check costs is that the library builds a description of every option of
//! `check`, asks it about each word, and forgets it. Most lines have only files and a few options,
//! plainly written; those are read here. A line with any other word, or with a mistake, is left to
//! the library: nothing is ever said from here. **What would make it wrong** is a line that is read
//! otherwise here than there, or an option whose default is another one; a test asks both.

use super::amounts::{duration, threads};
use super::check;
use super::limits::Limits;
use super::{Arguments, Command};
use std::ffi::OsString;

/// Reads a command line, whose first word is the name of the program, if it is plain.
pub fn read(words: &[OsString]) -> Option<Arguments> {
    let [_, command, words @ ..] = words else { return None };
    let mut words = words.iter().map(|word| word.to_str().filter(|word| !word.is_empty()));
    let (mut check, mut limits) = (check::Arguments::default(), Limits::default());
    let question = &mut check.question;
    while let Some(word) = words.next() {
        let (option, glued) = match word?.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option, Some(value)),
            _ => (word?, None),
        };
        let mut value = || match glued {
            Some(value) => (!value.is_empty()).then_some(value),
            None => words.next()?.filter(|value| !value.starts_with('-')),
        };
        match option {
            "--spec" => once(&mut question.against.spec, value()?.to_owned())?,
            "--threads" => once(&mut question.threads, threads(value()?).ok()?)?,
            "--time" => once(&mut limits.time, duration(value()?).ok()?)?,
            _ if glued.is_some() => return None,
            "--all" => switch(&mut question.all)?,
            "--json" => switch(&mut check.json)?,
            "-q" | "--quiet" => switch(&mut check.quiet)?,
            option if option.starts_with('-') => return None,
            file => question.input.files.push(file.to_owned()),
        }
    }
    let is_plain =
        command == "check" && !question.input.files.is_empty() && !(check.json && check.quiet);
    is_plain.then(|| Arguments { command: Command::Check(check.into()), limits })
}

/// Gives an option its value, if it has none yet.
fn once<T>(option: &mut Option<T>, value: T) -> Option<()> {
    option.replace(value).is_none().then_some(())
}

/// Turns an option on, if it is not yet.
fn switch(option: &mut bool) -> Option<()> {
    (!std::mem::replace(option, true)).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    /// What both make of a line: whether it is plain, and whether they agree if it is.
    fn is_plain(line: &[&str]) -> bool {
        let words: Vec<OsString> = ["seriatim"].iter().chain(line).map(OsString::from).collect();
        let Some(plain) = read(&words) else { return false };
        let whole = Arguments::try_parse_from(&words);
        let whole = whole.unwrap_or_else(|error| panic!("{line:?}: {error}"));
        assert_eq!(shown(&plain), shown(&whole), "{line:?}");
        true
    }

    fn shown(arguments: &Arguments) -> String {
        match &arguments.command {
            Command::Check(check) => format!("{:?} {:?}", **check, arguments.limits),
            _ => panic!("another command"),
        }
    }

    #[test]
    fn usual_lines_are_plain() {
        for line in [
            "check a.jsonl",
            "check -q a.jsonl b.edn",
            "check --spec queue a.jsonl",
            "check --spec=cas-register(init=0) --threads 2 --time=1m runs/*.log --json",
            "check --all --quiet --spec spec.seri#name a=b.jsonl",
        ] {
            assert!(is_plain(&line.split(' ').collect::<Vec<_>>()), "{line}");
        }
    }

    #[test]
    fn a_plain_line_is_read_as_the_library_reads_it() {
        const WORDS: [&str; 36] = [
            "a.jsonl",
            "check",
            "help",
            "2",
            "-1",
            "0",
            "5s",
            "=",
            "a=b",
            "",
            "-",
            "--",
            "-q",
            "-qq",
            "--quiet",
            "--quiet=true",
            "--qui",
            "--json",
            "--json=",
            "--all",
            "--spec",
            "--spec=",
            "--spec=queue",
            "--spec==",
            "--threads",
            "--threads=3",
            "--threads=x",
            "--time",
            "--time=1h",
            "--memory",
            "--memory=1G",
            "--html",
            "--level=all",
            "--help",
            "-h",
            "-V",
        ];
        let mut plain = 0;
        let mut line = Vec::new();
        // All lines of up to three words behind the command.
        for number in 0..WORDS.len().pow(3) {
            line.clear();
            line.push("check");
            let digits = [number, number / WORDS.len(), number / WORDS.len().pow(2)];
            line.extend(digits.map(|digit| WORDS[digit % WORDS.len()]));
            for length in 1..=line.len() {
                // Shorter ones once.
                let is_new = digits.iter().skip(length - 1).all(|digit| digit % WORDS.len() == 0);
                plain += usize::from((length == line.len() || is_new) && is_plain(&line[..length]));
            }
        }
        assert!(plain > 1000, "{plain}");
        for line in [&["verify", "a.seri"][..], &["--time", "5s", "check", "a"], &["check"], &[]] {
            assert!(!is_plain(line), "{line:?}");
        }
    }
}
