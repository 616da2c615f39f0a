//! What a proof costs, phase by phase: seconds of the processor and of the clock for the proof, for
//! the certificate, and for the check, which begins with leaving out what is not needed.
//!
//! `cargo run --release -p seriatim-certify --example phases -- algorithms/lazy_list.seri …`

use seriatim_prove::{Options, Outcome, prove};
use std::time::Instant;

/// Seconds of the processor that this process has used, from the kernel where it tells.
fn processor() -> f64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/stat") else { return f64::NAN };
    let Some((_, fields)) = text.rsplit_once(')') else { return f64::NAN };
    let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

fn main() {
    println!(
        "{:<28} {:>8} {:>7}  processor/clock s: prove, write, check, sum",
        "", "views", "effects"
    );
    for path in std::env::args().skip(1) {
        let name = path.rsplit('/').next().unwrap_or(&path).trim_end_matches(".seri");
        let source = std::fs::read_to_string(&path).expect("a file that can be read");
        let program = seriatim_lang::check(&source).expect("a program");
        let start = (processor(), Instant::now());
        let mut marks = vec![(0.0, 0.0)];
        let mut mark = || marks.push((processor() - start.0, start.1.elapsed().as_secs_f64()));
        let outcome = prove(&program, &Options::default());
        mark();
        let proof = match outcome {
            Outcome::Proved(proof) => proof,
            Outcome::Unknown(stuck) => {
                println!("{name:<28} is not proved: {}", stuck.obstacle.text());
                continue;
            }
            Outcome::Refused(why) => {
                println!("{name:<28} is refused: {why}");
                continue;
            }
        };
        let text = proof.certificate(&program).expect("a certificate");
        mark();
        let checked = seriatim_certify::trimmed_and_certified(&program, text);
        mark();
        let (accepted, _) = checked.expect("an accepted one");
        print!("{name:<28} {:>8} {:>7} ", accepted.views, accepted.effects);
        for pair in marks.windows(2) {
            print!(" {:.2}/{:.2}", pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        }
        let last = marks[marks.len() - 1];
        println!("  {:.2}/{:.2}", last.0, last.1);
    }
}
