//! The chooser: whatever the specification and however odd the history, asking the fast monitors
//! first gives the same answer as the general search alone, and the same complaint about bad input.

use seriatim_history::{Format, History, read_str, write};
use seriatim_monitor::{DecidedBy, Monitors, Options, check};
use seriatim_spec::generate::{Generator, Profile, Repetition};
use seriatim_spec::{ChosenReader, Failures, Reader, SpecChoice, Verdict, catalogue, validate};
use seriatim_testing::Random;

/// A generated history as text, one event per line.
fn generated(spec: &str, random: &mut Random) -> Option<Vec<String>> {
    let choice = SpecChoice::parse(spec).expect("a name of the catalogue");
    let profile = Profile {
        operations: 4 + random.index(9) as u64,
        threads: 3,
        overlap: 0.7,
        pending: [0.0, 0.0, 0.15][random.index(3)],
        keys: 2,
        values: [Repetition::Distinct, Repetition::Among(3)][random.index(2)],
        seed: random.0,
        ..Profile::default()
    };
    let history = Generator::new(&choice, profile).ok()?.history().ok()?.history;
    let mut text = Vec::new();
    write(&history, Format::JsonEvents, &mut text).expect("every history can be written so");
    let text = String::from_utf8(text).expect("JSON is text");
    Some(text.lines().map(str::to_owned).collect())
}

/// Exchanges results between returns, or replaces one by something odd.
fn mutated(mut lines: Vec<String>, random: &mut Random) -> String {
    let result_of = |line: &str| {
        let start = line.find("\"result\":")? + 9;
        let end =
            start + line[start..].find([',', '}']).filter(|_| !line[start..].starts_with('['))?;
        Some((start, end))
    };
    let silent = |line: &&mut String| line.contains("\"return\"") && !line.contains("\"result\"");
    if random.index(8) == 0
        && let Some(line) = lines.iter_mut().find(silent)
    {
        let odd = ["null", "true", "false", "7", "\"ok\"", "\"x\""][random.index(6)];
        *line = line.replace("\"return\"", &format!("\"return\",\"result\":{odd}"));
    }
    for _ in 0..random.index(3) {
        let returns: Vec<usize> =
            (0..lines.len()).filter(|&line| result_of(&lines[line]).is_some()).collect();
        if returns.is_empty() {
            break;
        }
        let (a, b) = (returns[random.index(returns.len())], returns[random.index(returns.len())]);
        let (Some(x), Some(y)) = (result_of(&lines[a]), result_of(&lines[b])) else { break };
        let odd = ["null", "true", "false", "0", "1", "7", "\"x\""];
        let new = match random.index(3) {
            0 => odd[random.index(odd.len())].to_owned(),
            _ => lines[b][y.0..y.1].to_owned(),
        };
        lines[a].replace_range(x.0..x.1, &new);
    }
    lines.join("\n")
}

/// What a check comes to: a verdict in a word, or the complaint.
fn answer(history: &mut History, reader: &ChosenReader, monitors: Monitors) -> (String, bool) {
    let options = Options { monitors, threads: 1, ..Options::default() };
    match check(history, reader, &options) {
        Err(error) => (error.to_string(), false),
        Ok(checked) => {
            let is_fast =
                checked.parts.iter().any(|part| matches!(part.decided_by, DecidedBy::Monitor(_)));
            if let Verdict::Linearizable(witness) = &checked.verdict {
                let reading = reader.read(history).expect("it was read before");
                let valid = validate(history, &reading, witness);
                let mut text = Vec::new();
                write(history, Format::JsonEvents, &mut text).expect("it was read so");
                let text = String::from_utf8_lossy(&text);
                assert!(valid.is_ok(), "{valid:?} for\n{text}");
            }
            if let Verdict::Violation(core) = &checked.verdict {
                let mut part = history.restricted(&core.operations, core.horizon);
                if core.context.is_none() {
                    let options = Options { monitors: Monitors::Skip, ..Options::default() };
                    let again = check(&mut part, reader, &options).expect("it was read before");
                    assert_eq!(again.verdict.word(), "violation", "an unfair core");
                }
            }
            (checked.verdict.word().to_owned(), is_fast)
        }
    }
}

#[test]
fn monitors_and_search_agree_on_every_object_and_odd_results() {
    let mut random = Random(0xA11CE);
    let rounds = if seriatim_testing::long() { 100_000 } else { 400 };
    for entry in catalogue() {
        let (mut fast, mut violations, mut refused) = (0, 0, 0);
        for _ in 0..rounds {
            let Some(lines) = generated(entry.name, &mut random) else { continue };
            let text = mutated(lines, &mut random);
            let mut history = read_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            for failures in [Failures::Drop, Failures::Observe] {
                let choice = SpecChoice::parse(entry.name).expect("a name of the catalogue");
                let reader = ChosenReader { choice, failures };
                let (with, is_fast) = answer(&mut history, &reader, Monitors::Use);
                let (without, _) = answer(&mut history, &reader, Monitors::Skip);
                // A monitor may meet a violation before it comes to the line that makes no sense.
                let is_refused = without != "violation" && without != "linearizable";
                let agree = with == without || is_refused && with == "violation";
                assert!(
                    agree,
                    "{} {failures:?}: {with}, search: {without}, of\n{text}",
                    entry.name
                );
                fast += usize::from(is_fast);
                violations += usize::from(with == "violation");
                refused += usize::from(is_refused);
            }
        }
        println!("{}: {fast} fast, {violations} violations, {refused} refused", entry.name);
    }
}
