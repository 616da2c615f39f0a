//! Power cuts and failing disks, at every point of a run.

use super::{About, Contents, Known, Line, Medium, Word, Writer};
use crate::ScaleError;
use crate::judge::{Evidence, JudgedPart, Judgement};
use crate::run::Shard;
use crate::split::PartHash;
use seriatim_history::ReadOptions;
use seriatim_monitor::DecidedBy;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Cursor};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// Numbers that look random, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % bound
    }
}

/// What is not yet safe on the disk.
enum Act {
    Write { at: usize, bytes: Vec<u8> },
    Truncate(usize),
}

/// A disk that keeps for certain only what was synced.
#[derive(Default)]
struct Disk {
    safe: Vec<u8>,
    seen: Vec<u8>,
    unsafe_acts: Vec<Act>,
    /// How many operations succeed before one fails.
    left: Option<u64>,
    what_fails: Fault,
}

/// What happens when an operation fails.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Fault {
    /// The power is cut: nothing works any more.
    #[default]
    PowerCut,
    /// Half of it is done, and the next one works again.
    Once,
}

#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Disk>>);

impl Disk {
    /// Counts an operation; an error if it fails.
    fn act(&mut self) -> io::Result<()> {
        match &mut self.left {
            None => Ok(()),
            Some(0) => {
                if self.what_fails == Fault::Once {
                    self.left = None;
                }
                Err(io::Error::other("the disk has failed"))
            }
            Some(left) => {
                *left -= 1;
                Ok(())
            }
        }
    }

    /// The content after a power cut: of what was not synced, everything may have happened.
    fn after_crash(&self, dice: &mut Dice) -> Vec<u8> {
        let mut image = self.safe.clone();
        let mut again = Vec::new();
        for act in &self.unsafe_acts {
            match act {
                Act::Truncate(_) if dice.below(2) == 0 => {}
                Act::Truncate(length) => image.truncate(*length),
                Act::Write { at, bytes } => tear(&mut image, *at, bytes, dice),
            }
            if let (Act::Write { bytes, .. }, 0) = (act, dice.below(6)) {
                again.push(bytes);
            }
        }
        again.into_iter().for_each(|bytes| image.extend_from_slice(bytes));
        image
    }
}

/// Some of the bytes of a write, perhaps none or all; zeros where they are missing before others.
fn tear(image: &mut Vec<u8>, at: usize, bytes: &[u8], dice: &mut Dice) {
    let sector = [1, 16, 64][dice.below(3) as usize];
    let end = match dice.below(4) {
        0 => 0,
        1 => dice.below(bytes.len() as u64 + 1) as usize,
        _ => bytes.len(),
    };
    let drops_sectors = dice.below(4) == 0;
    for (index, piece) in bytes[..end].chunks(sector).enumerate() {
        if drops_sectors && dice.below(3) == 0 {
            continue;
        }
        let start = at + index * sector;
        image.resize(image.len().max(start + piece.len()), 0);
        image[start..start + piece.len()].copy_from_slice(piece);
    }
}

impl Medium for Shared {
    fn reader(&mut self) -> io::Result<Box<dyn BufRead + '_>> {
        let mut disk = self.0.borrow_mut();
        disk.act()?;
        Ok(Box::new(Cursor::new(disk.seen.clone())))
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.0.borrow_mut();
        let done = disk.act();
        let some = if done.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        let at = disk.seen.len();
        disk.seen.extend_from_slice(some);
        // Of a write that the power cut ended, all may have reached the disk.
        disk.unsafe_acts.push(Act::Write { at, bytes: bytes.to_vec() });
        done
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        let mut disk = self.0.borrow_mut();
        disk.act()?;
        disk.seen.truncate(bytes as usize);
        disk.unsafe_acts.push(Act::Truncate(bytes as usize));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut disk = self.0.borrow_mut();
        disk.act()?;
        disk.safe = disk.seen.clone();
        disk.unsafe_acts.clear();
        Ok(())
    }
}

fn about() -> About {
    About {
        input: "0123456789abcdef".to_owned(),
        spec: "map".to_owned(),
        options: "parts=key".to_owned(),
        shard: Shard::ALL,
        files: Vec::new(),
    }
}

/// What is true of the parts. A first run may not find out.
fn truth(parts: u64) -> BTreeMap<PartHash, Word> {
    let word = |part: u64| [Word::Linearizable, Word::Violation, Word::Refused][part as usize % 3];
    (0..parts).map(|part| (PartHash::of(&part.to_le_bytes()), word(part))).collect()
}

fn line(hash: PartHash, word: Word) -> Line {
    let judgement = match word {
        Word::Linearizable => Judgement::Linearizable,
        Word::Unknown => Judgement::Unknown("no time".to_owned()),
        Word::Refused => Judgement::Refused("unreadable".to_owned()),
        Word::Violation => Judgement::Violation(Box::new(Evidence::Sentence {
            sentence: "no order explains it".to_owned(),
            file: 0,
            line: 7,
        })),
    };
    let (operations, first) = (hash.0 % 10, (0, 0, 0));
    let (label, decided_by) = ("key 1".to_owned(), DecidedBy::Monitor("a monitor"));
    let verdict = JudgedPart { hash, label, operations, first, judgement, decided_by };
    Line::of(
        &verdict,
        &[crate::scan::FileInfo::unreadable(Path::new("log"), Arc::new(ReadOptions::default()))],
        "map",
    )
}

/// What a run did before it ended.
#[derive(Default)]
struct Run {
    /// The parts that were on the disk for certain.
    safe: BTreeSet<PartHash>,
    written: BTreeSet<PartHash>,
}

/// One run over all parts that are not decided.
fn run(disk: &Shared, dice: &mut Dice, done: &mut Run) -> Result<(), ScaleError> {
    let truth = truth(7);
    let path = Path::new("verdicts");
    let mut writer = Writer::on(disk.clone(), path, &about())?;
    writer.sync_every(dice.below(600));
    let is_first = writer.before.is_none();
    let decided = writer.before.as_ref().map(Contents::decided).unwrap_or_default();
    // What the last run wrote and a crash has lost is not written.
    done.written = decided.iter().copied().collect();
    if writer.before.as_ref().is_some_and(Contents::is_finished) {
        return Ok(());
    }
    for (&hash, &word) in &truth {
        if decided.contains(&hash) {
            continue;
        }
        let finds_out = !is_first || dice.below(4) > 0;
        writer.append(&line(hash, if finds_out { word } else { Word::Unknown }))?;
        if finds_out {
            done.written.insert(hash);
        }
        if disk.0.borrow().unsafe_acts.is_empty() {
            done.safe.append(&mut done.written.clone());
        }
    }
    writer.finish(&[])?;
    done.safe.append(&mut done.written.clone());
    Ok(())
}

fn words(contents: &Contents) -> BTreeMap<PartHash, Word> {
    let word = |(hash, known): (&PartHash, &Known)| (*hash, known.word);
    contents.parts.iter().map(word).collect()
}

/// Reads what a disk holds; it must be believed, and nothing in it may be wrong or missing.
fn look(disk: &mut Shared, done: &Run, trace: &str) {
    let seen = disk.0.borrow().seen.clone();
    if !seen.starts_with(about().line().as_bytes()) {
        assert!(done.safe.is_empty(), "{trace}");
        return;
    }
    let contents = Contents::read_from(disk, Path::new("verdicts"))
        .unwrap_or_else(|error| panic!("{trace}: {error}\n{}", String::from_utf8_lossy(&seen)));
    let truth = truth(7);
    for (hash, word) in words(&contents) {
        assert!(word == Word::Unknown || word == truth[&hash], "{trace}: a wrong verdict");
    }
    let decided: BTreeSet<PartHash> = contents.decided().into_iter().collect();
    assert!(done.safe.is_subset(&decided), "{trace}: a verdict was lost");
    if contents.is_complete {
        assert_eq!(contents.parts.len(), truth.len(), "{trace}: parts are missing");
    }
}

/// Goes on without faults until everything is decided; gives how many runs that took.
fn finish(disk: &mut Shared, dice: &mut Dice, trace: &str) {
    for _ in 0..2 {
        disk.0.borrow_mut().left = None;
        let mut done = Run::default();
        run(disk, dice, &mut done).unwrap_or_else(|error| panic!("{trace}: {error}"));
        look(disk, &done, trace);
    }
    let contents = Contents::read_from(disk, Path::new("verdicts")).unwrap();
    assert!(contents.is_finished(), "{trace}");
    assert_eq!(words(&contents), truth(7), "{trace}");
}

#[test]
fn a_power_cut_at_any_point_loses_only_a_suffix() {
    let mut crashes = 0;
    for seed in 0..270 {
        for cut in 0.. {
            let mut dice = Dice(seed * 1000 + cut);
            let (mut disk, mut done) = (Shared::default(), Run::default());
            disk.0.borrow_mut().left = Some(cut);
            let mut ended = run(&disk, &mut Dice(seed), &mut done);
            let is_whole = ended.is_ok();
            // The next runs may be cut too.
            for again in 0..2 {
                let image = disk.0.borrow().after_crash(&mut dice);
                let left = Some(dice.below(12));
                disk = Shared(Rc::new(RefCell::new(Disk {
                    safe: image.clone(),
                    seen: image,
                    left: None,
                    ..Disk::default()
                })));
                crashes += 1;
                look(&mut disk, &done, &format!("seed {seed}, cut {cut}, again {again}"));
                disk.0.borrow_mut().left = left;
                ended = run(&disk, &mut dice, &mut done);
            }
            drop(ended);
            let image = disk.0.borrow().after_crash(&mut dice);
            *disk.0.borrow_mut() = Disk { safe: image.clone(), seen: image, ..Disk::default() };
            finish(&mut disk, &mut dice, &format!("seed {seed}, cut {cut}, at the end"));
            crashes += 1;
            if is_whole {
                break;
            }
        }
    }
    assert!(crashes >= 10_000, "only {crashes} crashes");
}

#[test]
fn any_single_failure_of_the_disk_loses_nothing_that_was_written() {
    for seed in 0..20 {
        for fault in 0.. {
            let (mut disk, mut done) = (Shared::default(), Run::default());
            let faulty = Disk { left: Some(fault), what_fails: Fault::Once, ..Disk::default() };
            *disk.0.borrow_mut() = faulty;
            let ended = run(&disk, &mut Dice(seed), &mut done);
            done.safe.append(&mut done.written.clone());
            let trace = format!("seed {seed}, operation {fault} failed");
            disk.0.borrow_mut().left = None;
            look(&mut disk, &done, &trace);
            finish(&mut disk, &mut Dice(seed), &trace);
            match ended {
                Ok(()) => break,
                Err(error) => assert!(error.to_string().contains("has failed"), "{error}"),
            }
        }
    }
}

/// A finished file and its lines.
fn finished() -> (String, Vec<String>) {
    let disk = Shared::default();
    run(&disk, &mut Dice(3), &mut Run::default()).unwrap();
    run(&disk, &mut Dice(4), &mut Run::default()).unwrap();
    let text = String::from_utf8(disk.0.borrow().seen.clone()).unwrap();
    let lines = text.split_inclusive('\n').map(str::to_owned).collect();
    (text, lines)
}

fn read(text: &str) -> Result<Contents, String> {
    let disk = Shared::default();
    disk.0.borrow_mut().seen = text.as_bytes().to_vec();
    let contents = Contents::read_from(&mut disk.clone(), Path::new("verdicts"));
    contents.map_err(|error| error.to_string())
}

#[test]
fn no_edit_of_a_finished_file_changes_a_verdict() {
    let (text, lines) = finished();
    let expected = words(&read(&text).unwrap());
    let believed = |text: &str, what: &str| match read(text) {
        Err(error) => assert!(error.starts_with("verdicts: line "), "{error}"),
        // A file that lost its end is not complete; what it says is still true.
        Ok(contents) => {
            let is_true = |(hash, word): (PartHash, Word)| {
                word == Word::Unknown || expected.get(&hash) == Some(&word)
            };
            assert!(!contents.is_complete || contents.parts.len() == expected.len(), "{what}");
            assert!(words(&contents).into_iter().all(is_true), "{what}");
        }
    };
    let refused = |lines: &[String], what: &str| {
        assert!(read(&lines.concat()).is_err(), "{what} was believed");
    };
    for (index, line) in lines.iter().enumerate() {
        let mut without = lines.clone();
        without.remove(index);
        believed(&without.concat(), "a missing line");
        if index + 1 < lines.len() {
            refused(&without, "a missing line");
        }
        let mut twice = lines.clone();
        twice.insert(index, line.clone());
        believed(&twice.concat(), "a repeated line");
        let mut later = lines.clone();
        later.push(line.clone());
        believed(&later.concat(), "a line repeated at the end");
        if line.contains("\"hash\"") {
            refused(&twice, "a repeated line");
            refused(&later, "a line repeated at the end");
        }
        for (word, other) in
            [("violation", "linearizable"), ("linearizable", "violation"), ("1", "2")]
        {
            let mut edited = lines.clone();
            edited[index] = line.replacen(word, other, 1);
            if edited[index] != *line {
                refused(&edited, "an edited line");
            }
            edited[index] = line.clone();
            edited.push(line.replacen(word, other, 1));
            believed(&edited.concat(), "an edited line at the end");
        }
        for other in index + 1..lines.len() {
            let mut exchanged = lines.clone();
            exchanged.swap(index, other);
            believed(&exchanged.concat(), "exchanged lines");
        }
    }
    for cut in 0..text.len() {
        believed(&text[..cut], "a cut file");
    }
    for place in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[place] ^= 1;
        if let Ok(text) = String::from_utf8(bytes) {
            believed(&text, "a changed byte");
        }
    }
}

#[test]
fn a_line_of_a_file_about_something_else_is_refused() {
    let (_, mut lines) = finished();
    let other = About { options: "parts=object".to_owned(), ..about() };
    lines[0] = other.line();
    let error = read(&lines.concat()).unwrap_err();
    assert!(error.starts_with("verdicts: line 2: the line is not as it was written"), "{error}");
}

#[test]
fn two_writers_and_a_reader_beside_a_writer_are_refused() {
    let path = std::env::temp_dir().join(format!("seriatim-locked-{}", std::process::id()));
    let writer = Writer::open(&path, &about()).unwrap();
    let error = Writer::open(&path, &about()).err().unwrap().to_string();
    assert!(error.ends_with("another process writes or reads it"), "{error}");
    let error = Contents::read(&path).unwrap_err().to_string();
    assert!(error.ends_with("a process still writes it"), "{error}");
    drop(writer);
    assert!(Contents::read(&path).is_ok() && Writer::open(&path, &about()).is_ok());
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn somebody_elses_file_is_not_overwritten() {
    for content in ["notes", "a\nb\n", "{\"seriatim\":1}\n", "{\"seriatim-verdicts\":1}\n"] {
        let disk = Shared::default();
        disk.0.borrow_mut().seen = content.as_bytes().to_vec();
        assert!(Writer::on(disk.clone(), Path::new("verdicts"), &about()).is_err(), "{content}");
        assert_eq!(disk.0.borrow().seen, content.as_bytes());
    }
}
