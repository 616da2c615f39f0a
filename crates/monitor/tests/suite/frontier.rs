//! The frontier is right after every event: about all built-in objects, with values that repeat,
//! operations that never return and operations that fail, against the plainest search over the same
//! events.

use seriatim_history::{
    Builder, Conventions, Event, Format, History, OpId, Outcome, Return, ValueId, read_str, write,
};
use seriatim_monitor::fast::{Declined, Stop};
use seriatim_monitor::frontier::{Exact, frontier};
use seriatim_spec::generate::{Generator, Profile, Repetition, Violation};
use seriatim_spec::live::{MOST_VALUES, Sample, Told};
use seriatim_spec::{
    ChosenReader, Failures, Reader, Refutation, SpecChoice, Split, catalogue, refute,
};
use seriatim_testing::Random;

/// Enough for everything that is drawn here.
const EFFORT: usize = 2_000_000;

fn reader(object: &str, failures: Failures) -> ChosenReader {
    ChosenReader { choice: SpecChoice::parse(object).unwrap(), failures }
}

/// The events of a random history, one a line.
pub fn events(object: &str, seed: u64) -> Vec<String> {
    let operations = 6 + seed % 8;
    let profile = Profile {
        operations,
        threads: 1 + (seed % 4) as u32,
        overlap: [0.3, 0.7, 1.0][(seed / 2 % 3) as usize],
        pending: if object != "mutex" && seed.is_multiple_of(3) { 0.15 } else { 0.0 },
        keys: 1 + seed % 3,
        values: [Repetition::Among(2), Repetition::Distinct][(seed / 3 % 2) as usize],
        violation: match seed % 3 {
            0 => Violation::At(operations / 2),
            _ => Violation::None,
        },
        seed,
        ..Profile::default()
    };
    let choice = SpecChoice::parse(object).unwrap();
    let history = Generator::new(&choice, profile).unwrap().history().unwrap().history;
    let mut text = Vec::new();
    write(&history, Format::JsonEvents, &mut text).unwrap();
    String::from_utf8(text).unwrap().lines().map(str::to_owned).collect()
}

/// Tells lies: two returns change places, or an operation fails, or nobody knows what became of it.
pub fn garble(lines: &mut [String], random: &mut Random) {
    let returns: Vec<usize> =
        (0..lines.len()).filter(|&i| lines[i].contains("\"type\":\"return\"")).collect();
    if returns.len() < 2 {
        return;
    }
    let one = returns[random.below(returns.len() as u64) as usize];
    let other = returns[random.below(returns.len() as u64) as usize];
    match random.below(4) {
        0 => lines[one] = lines[one].replace("\"type\":\"return\"", "\"type\":\"fail\""),
        1 => lines[one] = lines[one].replace("\"type\":\"return\"", "\"type\":\"info\""),
        _ => {
            let result = |line: &str| {
                let start = line.find(",\"result\":").unwrap_or(line.len() - 1);
                (line[..start].to_owned(), line[start..].to_owned())
            };
            let ((a, x), (b, y)) = (result(&lines[one]), result(&lines[other]));
            (lines[one], lines[other]) = (a + &y, b + &x);
        }
    }
}

/// One event of a history, told to a frontier.
fn tell(watch: &mut dyn Exact, history: &History, event: Event) -> Result<(), Stop> {
    let told = |op: OpId, ret: Return| Told {
        method: history.operation(op).method(),
        key: history.key(op),
        arg: history.arg(op),
        outcome: ret.outcome,
        result: ret.result,
        values: history.values(),
    };
    match event {
        Event::Call(op) => watch.call(op, told(op, Return::new(Outcome::Pending, ValueId::ABSENT))),
        Event::Return(op) => {
            watch.ret(op, told(op, Return::new(history.outcome(op), history.result(op))))
        }
    }
}

/// What the frontier says: an error if it declines, else the number of the event at which
/// everything becomes wrong. If nothing does, it has replayed an order.
fn watched(reader: &ChosenReader, text: &str, split: Split) -> Result<Option<usize>, Declined> {
    let mut history = read_str(text).unwrap();
    let conventions = Conventions::default();
    let sample = Sample { history: &mut history, conventions, split, most_values: MOST_VALUES };
    let watch = frontier(reader, sample).unwrap();
    heard(watch, &history)
}

/// The same, knowing nothing of the events to come and forgetting at each what nothing names.
fn watched_forgetfully(
    reader: &ChosenReader,
    text: &str,
    split: Split,
) -> Result<Option<usize>, Declined> {
    let mut nothing = Builder::new("nothing").finish().unwrap();
    let conventions = Conventions::default();
    let sample = Sample { history: &mut nothing, conventions, split, most_values: 0 };
    let watch = frontier(reader, sample).unwrap();
    heard(watch, &read_str(text).unwrap())
}

fn heard(mut watch: Box<dyn Exact>, history: &History) -> Result<Option<usize>, Declined> {
    for (index, event) in history.events().enumerate() {
        match tell(&mut *watch, history, event) {
            Ok(()) => {}
            Err(Stop::Violation(_)) => return Ok(Some(index)),
            Err(Stop::Declined(declined)) => return Err(declined),
        }
    }
    assert_eq!(watch.finish(), Ok(()));
    Ok(None)
}

/// Events whose keys and values are texts instead of numbers.
fn worded(text: &str) -> String {
    let worded_line = |line: &str| {
        let end = line.find(",\"time\":").unwrap_or(line.len());
        let start = [",\"key\":", ",\"arg\":", ",\"result\":"].map(|field| line.find(field));
        let start = start.into_iter().flatten().min().unwrap_or(end).min(end);
        let mut line_with_words = line[..start].to_owned();
        let mut is_number = false;
        for character in line[start..end].chars() {
            if character.is_ascii_digit() != is_number {
                is_number = !is_number;
                line_with_words.push_str(if is_number { "\"a long word and " } else { "\"" });
            }
            line_with_words.push(character);
        }
        line_with_words.push_str(if is_number { "\"" } else { "" });
        line_with_words + &line[end..] + "\n"
    };
    text.lines().map(worded_line).collect()
}

/// The shortest beginning that is wrong, by its last event. Lines that only say that something is
/// pending for ever are no events.
fn wrong_from(reader: &ChosenReader, lines: &[String]) -> Option<usize> {
    let is_event =
        |line: &&String| line.contains("\"type\":\"") && !line.contains("\"type\":\"info\"");
    let wrong = |end: usize| {
        let mut history = read_str(&(lines[..end].join("\n") + "\n")).unwrap();
        match refute(&mut history, reader, EFFORT).unwrap() {
            Refutation::Confirmed => true,
            Refutation::Contradicted => false,
            Refutation::TooLarge => panic!("too large for the oracle: {lines:?}"),
        }
    };
    let end = (1..=lines.len()).find(|&end| is_event(&&lines[end - 1]) && wrong(end))?;
    Some(lines[..end].iter().filter(is_event).count() - 1)
}

#[test]
fn the_frontier_is_right_after_every_event() {
    for entry in catalogue() {
        let object = entry.name;
        let (mut right, mut wrong, mut unheard) = (0, 0, 0);
        for seed in 0..400 {
            let mut random = Random(seed + 1);
            let mut lines = events(object, seed);
            if seed % 2 == 1 {
                garble(&mut lines, &mut random);
            }
            let failures = [Failures::Drop, Failures::Observe][(seed % 5 / 4) as usize];
            let text = lines.join("\n") + "\n";
            // The generator names the object with the parameters that it assumes.
            let named = read_str(&text).ok().and_then(|read| read.spec().map(str::to_owned));
            let reader = reader(named.as_deref().unwrap_or(object), failures);
            if !can_read(&reader, &text) {
                continue;
            }
            for split in [Split::Parts, Split::Whole] {
                match watched(&reader, &text, split) {
                    Ok(found) => {
                        let expected = wrong_from(&reader, &lines);
                        assert_eq!(found, expected, "{object}, seed {seed}, {split:?}\n{text}");
                        *(if found.is_some() { &mut wrong } else { &mut right }) += 1;
                    }
                    Err(Declined::Whole) if split == Split::Parts => {}
                    Err(Declined::Unheard { .. }) => unheard += 1,
                    Err(other) => panic!("{object}, seed {seed}: {other}\n{text}"),
                }
            }
        }
        println!("{object}: {right} right, {wrong} wrong, {unheard} unheard");
        assert!(right > 100 && wrong > 50 && unheard < 50, "{object}: {right}, {wrong}, {unheard}");
    }
}

/// A place among the forgotten values is given to another one: whoever still names the old value
/// would take them for the same.
#[test]
fn what_is_forgotten_is_not_missed() {
    for entry in catalogue() {
        let object = entry.name;
        let mut heard = [0, 0];
        for seed in 0..400 {
            let mut lines = events(object, seed);
            if seed % 2 == 1 {
                garble(&mut lines, &mut Random(seed + 1));
            }
            let numbers = lines.join("\n") + "\n";
            let named = read_str(&numbers).ok().and_then(|read| read.spec().map(str::to_owned));
            let reader = reader(named.as_deref().unwrap_or(object), Failures::Drop);
            for (text, split) in [numbers.clone(), worded(&numbers)]
                .iter()
                .flat_map(|text| [(text, Split::Parts), (text, Split::Whole)])
            {
                if !can_read(&reader, text) {
                    continue;
                }
                let expected = watched(&reader, text, split);
                match (watched_forgetfully(&reader, text, split), expected) {
                    (Ok(found), Ok(expected)) => {
                        assert_eq!(found, expected, "{object}, seed {seed}, {split:?}\n{text}");
                        heard[usize::from(found.is_some())] += 1;
                    }
                    // What is known from the beginning can be heard where it is not afterwards.
                    (Err(Declined::Unheard { .. }), _) | (Err(Declined::Whole), Err(_)) => {}
                    (found, expected) => {
                        panic!("{object}, {seed}: {found:?}, {expected:?}\n{text}")
                    }
                }
            }
        }
        println!("{object}: {heard:?}");
        assert!(heard[0] > 100 && heard[1] > 50, "{object}: {heard:?}");
    }
}

/// Whether a text is a history of a specification.
fn can_read(reader: &ChosenReader, text: &str) -> bool {
    read_str(text).is_ok_and(|mut history| reader.read(&mut history).is_ok())
}

/// Two equal writes commute: the second finds nothing to change, wherever it is.
#[test]
fn what_commutes_with_what_returns_still_has_its_place_before_the_next() {
    let call =
        |process: u32, told: &str| format!("{{\"type\":\"call\",\"process\":{process},{told}}}\n");
    let ret =
        |process: u32, told: &str| format!("{{\"type\":\"return\",\"process\":{process}{told}}}\n");
    let alone = |told: &str, result: &str| call(1, told) + &ret(1, result);
    for (object, keyed, whole) in [
        ("register", "", String::new()),
        ("map", "\"key\":1,", alone("\"op\":\"size\"", ",\"result\":0")),
        ("sorted-map", "\"key\":1,", alone("\"op\":\"size\"", ",\"result\":0")),
        ("cache", "\"key\":1,", alone("\"op\":\"clear\"", "")),
    ] {
        let (read, write) = match object {
            "register" => ("read", "write"),
            _ => ("get", "put"),
        };
        let write = |value: u32| format!("\"op\":\"{write}\",{keyed}\"arg\":{value}");
        let look = format!("\"op\":\"{read}\",{}", keyed.trim_end_matches(','));
        let look = look.trim_end_matches(',');
        let was = |value: &str| match object {
            "sorted-map" => format!(",\"result\":{value}"),
            _ => String::new(),
        };
        let events = [
            whole,
            call(0, &write(1)),
            alone(&write(1), &was("1")),
            alone(&write(2), &was("1")),
            ret(0, &was("null")),
            alone(look, ",\"result\":2"),
        ];
        let reader = reader(object, Failures::default());
        let said = watched(&reader, &events.concat(), Split::Whole);
        assert!(matches!(said, Ok(None)), "{object}: {said:?}");
    }
}
