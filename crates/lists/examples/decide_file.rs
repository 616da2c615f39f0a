//! Decides compositions of a file and prints one line for each: verdicts, states, steps, time.
//!
//! `cargo run --release -p seriatim-lists --example decide_file -- [--marked] [--runs] FILE 'add ||
//! remove' …`

use seriatim_lists::{Input, Options, Verdict, decide, parse_composition};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let (flags, words): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let marked = flags.iter().any(|flag| flag == "--marked");
    let input = if marked { Input::Marked } else { Input::Unmarked };
    let Some((file, compositions)) = words.split_first() else {
        return Err("usage: decide_file [--marked] [--runs] FILE 'add || remove' …".into());
    };
    let source = std::fs::read_to_string(file)?;
    let program = seriatim_lang::check(&source).map_err(|error| error.render(&source, file))?;
    for text in compositions {
        let composition = parse_composition(text)?;
        let options = Options { input, ..Options::default() };
        let start = std::time::Instant::now();
        let outcome = decide(&program, &composition, &options)
            .map_err(|refusal| refusal.diagnostic().render(&source, file))?;
        let list = outcome.list.as_ref().map_or("-", |list| list.word());
        let (elements, states, steps) =
            (outcome.elements.word(), outcome.states, outcome.transitions);
        let time = start.elapsed().as_millis();
        println!("{text:34} {elements:8} {list:8} {states:>9} {steps:>9} {time:>6} ms");
        if flags.iter().any(|flag| flag == "--runs")
            && let Verdict::Fails(found) = &outcome.elements
        {
            println!("{}\n{}", found.run(&program), found.how(&program));
        }
    }
    Ok(())
}
