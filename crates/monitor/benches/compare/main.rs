//! The command beside other checkers, and beside itself of yesterday.
//!
//! ```sh
//! cargo build --release -p seriatim
//! cargo bench -p seriatim-monitor --bench compare                          # a table, in Markdown
//! cargo bench -p seriatim-monitor --bench compare -- --page                # … and into the book
//! cargo bench -p seriatim-monitor --bench compare -- --page --short        # … without the longest rows
//! cargo bench -p seriatim-monitor --bench compare -- piece 0 9 > a         # rows 0 to 8 of `rows.tsv`
//! cargo bench -p seriatim-monitor --bench compare -- --page --of a b c     # pieces, into the book
//! PORCUPINE_CLI=… cargo bench -p seriatim-monitor --bench compare          # with a peer beside it
//! cargo bench -p seriatim-monitor --bench compare -- stack                 # the rows whose names say so
//! cargo bench -p seriatim-monitor --bench compare -- instructions          # fails if a row costs 5 % more
//! cargo bench -p seriatim-monitor --bench compare -- instructions --bless  # writes down what rows cost now
//! ```
//!
//! `SERIATIM_CLI` names the command to measure (else `target/release/seriatim`). Every row is
//! generated from its seed. The runs of all programs take turns; medians count. How a peer is asked
//! is told in `docs/performance.md`.

mod instructions;
mod library;
mod page;
mod peers;
mod rows;
mod run;

use peers::{Lengths, Wanted};
use std::path::PathBuf;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let command = command();
    if !command.exists() {
        println!("SKIPPED: there is no {} (cargo build --release)", command.display());
        return;
    }
    match arguments[..] {
        ["instructions"] => instructions::compare(&command),
        ["instructions", "--bless"] => instructions::bless(&command),
        ["--page"] => page::write(&peers::table(&command, &Wanted::all(Lengths::All))),
        ["--page", "--short"] => page::write(&peers::table(&command, &Wanted::all(Lengths::Short))),
        ["--page", "--of", ref pieces @ ..] => {
            let read = |piece: &&str| std::fs::read_to_string(piece).expect("a piece");
            let pieces: Vec<String> = pieces.iter().map(read).collect();
            page::write(&peers::joined(&pieces));
        }
        ["piece", from, to] => {
            let place = |text: &str| text.parse().expect("the place of a row");
            let places = place(from)..place(to);
            peers::piece(&command, &Wanted { places, ..Wanted::all(Lengths::All) });
        }
        ["alone", spec, runs, files] => match library::check_alone(spec, runs, files) {
            Some(seconds) => println!("{seconds}"),
            None => std::process::exit(2),
        },
        ["--short"] => _ = peers::table(&command, &Wanted::all(Lengths::Short)),
        [name] => _ = peers::table(&command, &Wanted { name, ..Wanted::all(Lengths::All) }),
        _ => _ = peers::table(&command, &Wanted::all(Lengths::All)),
    }
}

/// The command to measure.
fn command() -> PathBuf {
    let usual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/release/seriatim");
    std::env::var_os("SERIATIM_CLI").map_or_else(|| PathBuf::from(usual), PathBuf::from)
}
