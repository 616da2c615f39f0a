//! Measures in a process of its own: what it costs from its start to its end is what a user pays.

use seriatim_history::{
    Forgets, Listener, LiveCall, LiveReturn, ReadOptions, ValueId, listen, open, read,
};
use seriatim_monitor::fast::{Called, Online, Returned};
use seriatim_monitor::{DecidedBy, Options, check, watch};
use seriatim_spec::{ChosenReader, Failures, SpecChoice};
use seriatim_testing::{cpu_seconds, peak_memory};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

/// What one run cost.
#[derive(Clone, Debug)]
pub struct Cost {
    /// CPU seconds of the whole process.
    pub whole: f64,
    /// CPU seconds of the check alone.
    pub check: f64,
    /// The peak of the resident memory, in MB.
    pub peak: f64,
    /// The verdict, and who gave it.
    pub word: String,
}

/// Reads and checks a file, as `seriatim check` does, and prints the cost.
pub fn check_file(path: &str) {
    let mut history = read(path).unwrap_or_else(|error| panic!("{error}"));
    let choice = SpecChoice::guess(&history).unwrap_or_else(|error| panic!("{error}"));
    let reader = ChosenReader { choice, failures: Failures::Drop };
    let before = cpu_seconds();
    let checked = check(&mut history, &reader, &Options::default());
    let after = cpu_seconds();
    let checked = checked.unwrap_or_else(|error| panic!("{error}"));
    let by = match &checked.parts[0].decided_by {
        DecidedBy::Monitor(_) => "",
        _ => " (search)",
    };
    println!(
        "{} {} {} {}{by}",
        cpu_seconds(),
        after - before,
        peak_memory() / 1e6,
        checked.verdict.word()
    );
}

/// Watches standard input, as `seriatim watch` does, and prints the cost.
pub fn watch_input(spec: &str) {
    let choice = SpecChoice::parse(spec).unwrap_or_else(|error| panic!("{error}"));
    let monitor = watch(&choice).unwrap_or_else(|reason| panic!("{reason}"));
    let input = open("-").unwrap_or_else(|error| panic!("{error}"));
    let ear = Box::new(Ear(monitor));
    listen(input, "-", ReadOptions::default(), ear).unwrap_or_else(|error| panic!("{error}"));
    println!("{} 0 {} linearizable", cpu_seconds(), peak_memory() / 1e6);
}

struct Ear(Box<dyn Online>);

impl Listener for Ear {
    fn call(&mut self, call: LiveCall<'_>) -> ControlFlow<()> {
        let LiveCall { op, method, call, values, .. } = call;
        let called = Called { op, method, key: call.key, arg: call.arg, values };
        self.0.call(called).unwrap_or_else(|stop| panic!("{stop:?}"));
        ControlFlow::Continue(())
    }

    fn ret(&mut self, ret: LiveReturn<'_>) -> ControlFlow<()> {
        let LiveReturn { op, ret, values, .. } = ret;
        let returned = Returned { op, outcome: ret.outcome, result: ret.result, values };
        self.0.ret(returned).unwrap_or_else(|stop| panic!("{stop:?}"));
        ControlFlow::Continue(())
    }

    fn forgets(&self) -> Forgets {
        Forgets::Values
    }

    fn rename(&mut self, new_id: &mut dyn FnMut(ValueId) -> ValueId) {
        self.0.rename(new_id);
    }
}

/// One run over a file.
pub fn run(path: &Path) -> Cost {
    let mut command = myself();
    command.arg("check-file").arg(path);
    cost(&command.output().unwrap_or_else(|error| panic!("{error}")).stdout)
}

/// The medians of some runs, each column for itself.
pub fn median(costs: Vec<Cost>) -> Cost {
    let middle = |of: fn(&Cost) -> f64| {
        let mut numbers: Vec<f64> = costs.iter().map(of).collect();
        numbers.sort_by(f64::total_cmp);
        numbers[numbers.len() / 2]
    };
    Cost {
        whole: middle(|cost| cost.whole),
        check: middle(|cost| cost.check),
        peak: middle(|cost| cost.peak),
        word: costs[0].word.clone(),
    }
}

/// This program, to be run again.
pub fn myself() -> Command {
    Command::new(std::env::current_exe().unwrap_or_else(|error| panic!("{error}")))
}

/// The cost that a run printed.
pub fn cost(output: &[u8]) -> Cost {
    let text = String::from_utf8_lossy(output);
    let mut words = text.trim().splitn(4, ' ');
    let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN);
    let (whole, check, peak) = (number(), number(), number());
    Cost { whole, check, peak, word: words.next().unwrap_or("").to_owned() }
}
