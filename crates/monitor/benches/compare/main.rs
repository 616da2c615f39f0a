//! The command beside other checkers, and beside itself of yesterday.
//!
//! ```sh
//! cargo build --release -p seriatim
//! cargo bench -p seriatim-monitor --bench compare                          # a table, in Markdown
//! cargo bench -p seriatim-monitor --bench compare -- --page                # … and into the book
//! cargo bench -p seriatim-monitor --bench compare -- --page --short        # … without the longest rows
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

use peers::Lengths;
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
        ["--page"] => page::write(&peers::table(&command, "", Lengths::All)),
        ["--page", "--short"] => page::write(&peers::table(&command, "", Lengths::Short)),
        ["alone", spec, runs, files] => match library::check_alone(spec, runs, files) {
            Some(seconds) => println!("{seconds}"),
            None => std::process::exit(2),
        },
        ["--short"] => _ = peers::table(&command, "", Lengths::Short),
        [wanted] => _ = peers::table(&command, wanted, Lengths::All),
        _ => _ = peers::table(&command, "", Lengths::All),
    }
}

/// The command to measure.
fn command() -> PathBuf {
    let usual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/release/seriatim");
    std::env::var_os("SERIATIM_CLI").map_or_else(|| PathBuf::from(usual), PathBuf::from)
}
