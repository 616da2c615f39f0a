//! Decides compositions of a file: `decide_file FILE 'add || remove' …`.

use seriatim_lists::{Input, Options, decide, parse_composition};

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let input = if args.first().is_some_and(|a| a == "--marked") {
        args.remove(0);
        Input::Marked
    } else {
        Input::Unmarked
    };
    let source = std::fs::read_to_string(&args[0]).expect("the file can be read");
    let program = seriatim_lang::check(&source).expect("the file is right");
    for text in &args[1..] {
        let composition = parse_composition(text).expect("a composition");
        let start = std::time::Instant::now();
        match decide(&program, &composition, &Options { input, ..Options::default() }) {
            Ok(o) => {
                let list = o.list.as_ref().map_or("-", |l| l.word());
                println!(
                    "{text:28} {:8} {list:8} {:>9} {:>9} {:>3} {:>6} ms",
                    o.elements.word(),
                    o.states,
                    o.transitions,
                    o.cases,
                    start.elapsed().as_millis()
                );
                if std::env::var_os("SHOW_RUN").is_some() {
                    println!("{}", seriatim_lists::render(&program, &o));
                }
            }
            Err(refusal) => println!("{text}: {}", refusal.diagnostic().render(&source, &args[0])),
        }
    }
}
