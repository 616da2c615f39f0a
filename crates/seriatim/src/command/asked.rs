//! The command line, without the options of the commands that nobody asked for.
//!
//! Most of what a short check costs is its start, and most of what the command line costs are the
//! hundreds of options of the other commands. So while a command line is read whose first word is a
//! command, the other commands have names and nothing else. What is read and what is said of
//! mistakes stays the same: it depends on the names of all commands, and on the options of one.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Parser};
use std::cell::RefCell;
use std::ffi::OsString;
use std::ops::Deref;

thread_local! {
    /// The one command that has its options; all have them if there is none.
    static ONLY: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Reads a command line, whose first word is the name of the program.
pub fn parse<T: Parser>(words: Vec<OsString>) -> T {
    // Before the command, or instead of it: an option, or the command that explains the others.
    let first = words.get(1).and_then(|word| word.to_str());
    let only = first.filter(|word| !word.starts_with('-') && *word != "help").map(str::to_owned);
    ONLY.set(only);
    let parsed = T::parse_from(words);
    ONLY.set(None);
    parsed
}

/// The arguments of a command, in a place of their own.
pub struct Asked<T>(Box<T>);

impl<T> From<T> for Asked<T> {
    fn from(arguments: T) -> Self {
        Asked(Box::new(arguments))
    }
}

impl<T> Deref for Asked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Args> Args for Asked<T> {
    fn augment_args(command: Command) -> Command {
        let name = command.get_name();
        let is_asked = ONLY.with_borrow(|only| only.as_deref().is_none_or(|only| only == name));
        if is_asked { T::augment_args(command) } else { command }
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

impl<T: FromArgMatches> FromArgMatches for Asked<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Asked::from)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(Asked::from)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Arguments;
    use clap::CommandFactory;

    /// What becomes of a command line: what was read, or what is said instead.
    fn outcome(words: &[&str], only: Option<&str>) -> String {
        ONLY.set(only.map(str::to_owned));
        let command = Arguments::command();
        ONLY.set(None);
        match command.try_get_matches_from(words) {
            Ok(matches) => format!("{matches:?}"),
            Err(error) => format!("exit {}\n{}", error.exit_code(), error.render()),
        }
    }

    #[test]
    fn a_command_line_is_read_alike_without_the_options_of_other_commands() {
        let tree = Arguments::command();
        let names: Vec<&str> = tree.get_subcommands().map(|command| command.get_name()).collect();
        assert!(names.contains(&"check") && names.contains(&"verify"), "{names:?}");
        let tails: [&[&str]; 9] = [
            &[],
            &["--help"],
            &["-h"],
            &["-q", "--threads", "2", "--time", "5s", "a.jsonl"],
            &["--memory", "1G", "queue", "-n", "7"],
            &["--spec"],
            &["--no-such-option"],
            &["--threds", "2"],
            &["check"],
        ];
        for name in names.into_iter().chain(["chekc", "no-such-command", "--time"]) {
            for tail in tails {
                let words = [&["seriatim", name], tail].concat();
                assert_eq!(outcome(&words, Some(name)), outcome(&words, None), "{words:?}");
            }
        }
    }
}
