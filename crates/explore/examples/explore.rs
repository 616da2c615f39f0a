//! Explores a `.seri` file:
//! `cargo run --release -p seriatim-explore --example explore FILE key=value …`.

use seriatim_explore::{Guarantee, MemoryModel, Mode, Options, Reductions, Verdict};
use seriatim_explore::{headline, run, run_points};
use std::collections::BTreeMap;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("a file");
    let source = std::fs::read_to_string(&path).expect("a readable file");
    let mut options = Options::default();
    let mut consts = BTreeMap::new();
    for arg in args {
        let (key, value) = arg.split_once('=').expect("key=value");
        let number = value.parse::<u32>().unwrap_or(0);
        match key {
            "threads" => options.threads = number,
            "jobs" => options.jobs = number as usize,
            "values" => options.values = number,
            "keys" => options.keys = number,
            "nodes" => options.nodes = Some(number),
            "capacity" => options.capacity = Some(number),
            "memory" => options.memory = MemoryModel::named(value),
            "operations" => options.operations = Some(number),
            "lag" => options.lag = Some(number),
            "client" => options.client = Some(value.to_string()),
            "reductions" => options.reductions = Reductions::numbered(number),
            "time" => options.limits.time = Some(std::time::Duration::from_secs(number.into())),
            "compat" => (options.mode, options.reductions) = (Mode::Compat, Reductions::COMPAT),
            "progress" => {
                let guarantee = Guarantee::named(value).expect("a guarantee of progress");
                options.mode = Mode::Progress(guarantee);
            }
            "points" => options.mode = Mode::Points,
            _ => drop(consts.insert(key.to_string(), number as i32)),
        }
    }
    let program = match seriatim_lang::check_with(&source, &consts) {
        Ok(program) => program,
        Err(error) => return eprintln!("{}", error.render(&source, &path)),
    };
    let outcome = match options.mode {
        Mode::Points => run_points(&program, &options),
        _ => run(&program, &options),
    };
    match outcome {
        Err(error) => eprintln!("{}", error.render(&source, &path)),
        Ok(outcome) => {
            match &outcome.verdict {
                Verdict::Violation(c) => println!("{}\n{}\n", c.run(), headline(c)),
                other => println!("{other:?} for {}", outcome.bounds),
            }
            println!("{:?}", outcome.statistics);
        }
    }
}
