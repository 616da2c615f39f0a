//! One question about a history of transactions: which isolation levels does it satisfy? The command
//! and the page ask it here, so that both give the same answer and the same report.

mod json;

use seriatim_history::{InputError, ReadOptions, harmless_json};
use seriatim_transactions::{
    Answer, Checker, Confirmation, Defect, Glyphs, KeyAnswer, Level, NilReads, Options, Standing,
    Transactions, Unknown, check_keys, draw, keys_of, limit_in_words, of_history, page, read_bytes,
    standing_word,
};
use std::time::Duration;

/// What is asked about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    levels: Vec<Level>,
    /// Whether every key is linearizable by itself.
    keys: bool,
    /// Whether everything was asked for, so that what cannot be asked is left out.
    all: bool,
}

/// The levels of some names, with commas between them.
///
/// ```
/// assert!(seriatim::levels::asked("serializable, causal").is_ok());
/// assert!(seriatim::levels::asked("serialisable").is_err());
/// ```
pub fn asked(names: &str) -> Result<Asked, String> {
    let mut asked = Asked { levels: Vec::new(), keys: false, all: false };
    for name in names.split(',').map(str::trim) {
        match name {
            "all" => asked = Asked { levels: Level::ALL.to_vec(), keys: true, all: true },
            PER_KEY | "per-key" => asked.keys = true,
            name => {
                let level = name.parse();
                let unknown = |error| format!("{error}; `{PER_KEY}` and `all` can be asked, too");
                asked.levels.push(level.map_err(unknown)?);
            }
        }
    }
    Ok(asked)
}

/// The specifications whose histories are transactions.
const SPECS: [&str; 6] = ["transactions", "multi-register", "registers", "register", "map", "kv"];

/// Refuses a specification whose histories are no transactions.
///
/// # Errors
/// In the words of the command.
pub fn fits(spec: Option<&str>) -> Result<(), String> {
    match spec {
        Some(spec) if !SPECS.contains(&spec) => Err(format!(
            "--level is asked of transactions, registers and maps; expected --spec transactions, register or map, or \
             none, found --spec {spec}"
        )),
        _ => Ok(()),
    }
}

/// The histories of transactions that a log has: one, or with Jepsen's independent keys one for each
/// key. The operations of a register or a map are transactions, too.
///
/// # Errors
/// If it is no history of transactions; with the line.
pub fn histories(
    log: Vec<u8>,
    source: &str,
    spec: Option<&str>,
    independent: bool,
) -> Result<Vec<Transactions>, InputError> {
    let options = ReadOptions { independent, ..ReadOptions::default() };
    let of_operations = matches!(spec, Some("register" | "map" | "kv"));
    if !independent && !of_operations {
        return Ok(vec![read_bytes(source, log)?]);
    }
    let history = seriatim_history::read_bytes(log, source, options)?;
    match independent {
        true => keys_of(&history),
        false => Ok(vec![of_history(&history, source, NilReads::SawNothing)?]),
    }
}

/// The name of the question whether every key is linearizable by itself.
pub const PER_KEY: &str = "linearizable-per-key";

/// What was found out about a history.
pub struct Answers<'h> {
    /// The history.
    pub history: &'h Transactions,
    /// What became of each level that was asked.
    pub levels: Vec<Answer>,
    /// What became of each key, if that was asked.
    pub keys: Vec<KeyAnswer>,
    asks_all: bool,
}

impl<'h> Answers<'h> {
    /// Asks about a history.
    ///
    /// # Errors
    /// If two engines contradict each other: that is a defect of ours, and no verdict.
    pub fn of(
        history: &'h Transactions,
        asked: &Asked,
        time: Option<Duration>,
    ) -> Result<Self, Defect> {
        let mut options = Options::default();
        options.time = time;
        let mut checker = Checker::new(history, &options);
        let mut levels = Vec::new();
        for &level in &asked.levels {
            levels.push(checker.check(level)?);
        }
        let keys = match asked.keys {
            true => check_keys(history, &options)?,
            false => Vec::new(),
        };
        let answers = Answers { history, levels, keys, asks_all: asked.all };
        answers.compare()?;
        Ok(answers)
    }

    /// What is strictly serializable is linearizable key by key.
    fn compare(&self) -> Result<(), Defect> {
        let is_strict = self.levels.iter().any(|answer| {
            let holds = matches!(answer.standing, Standing::Satisfied(_));
            answer.level == Level::StrictSerializable && holds
        });
        match is_strict && !self.failing().is_empty() {
            true => Err(Defect("strictly serializable, but a key is not linearizable".to_owned())),
            false => Ok(()),
        }
    }

    /// The report as one line of JSON.
    pub fn json(&self) -> String {
        format!("{}\n", harmless_json(&json::report(self).to_string()))
    }

    /// The answers in one line.
    pub fn line(&self) -> String {
        format!("{}: {}\n", self.history.source(), self.in_a_line())
    }

    /// The report as text.
    pub fn text(&self, glyphs: Glyphs) -> String {
        report(self, glyphs)
    }

    /// The report as a page.
    pub fn html(&self) -> String {
        page(self.history, &self.levels, &self.keys)
    }

    /// What the command exits with: 0 if all that was asked holds, 1 if something does not, 3 if
    /// something is unknown.
    pub fn exit_code(&self) -> u8 {
        let levels = self.levels.iter().map(|answer| &answer.standing);
        let all: Vec<&Standing> =
            levels.chain(self.keys.iter().map(|answer| &answer.standing)).collect();
        let is_open = |standing: &&Standing| match standing {
            // Among all levels, those that cannot be asked of a history without times are left out.
            Standing::Unknown(Unknown::NoTimes) => !self.asks_all,
            Standing::Unknown(_) => true,
            Standing::Satisfied(_) | Standing::Violated(_) => false,
        };
        if all.iter().any(|standing| matches!(standing, Standing::Violated(_))) {
            1
        } else if all.iter().any(is_open) {
            3
        } else {
            0
        }
    }

    /// What to know before believing the verdicts.
    fn warnings(&self) -> Vec<&'static str> {
        let is_empty = self.history.is_empty();
        Vec::from_iter(is_empty.then_some("the history is empty: nothing was checked"))
    }

    /// The keys that are not linearizable.
    fn failing(&self) -> Vec<&KeyAnswer> {
        let fails = |answer: &&KeyAnswer| matches!(answer.standing, Standing::Violated(_));
        self.keys.iter().filter(fails).collect()
    }

    /// What became of the keys, and what there is to say of it.
    pub fn of_keys(&self) -> Option<(&'static str, String)> {
        let unknown = self.keys.iter().find_map(|answer| match &answer.standing {
            Standing::Unknown(_) => Some(remarks(&answer.standing)),
            _ => None,
        });
        let failing = self.failing();
        if self.keys.is_empty() {
            return None;
        }
        if failing.is_empty() {
            return Some(unknown.map_or(("satisfied", String::new()), |why| ("unknown", why)));
        }
        let names = failing.iter().take(8).map(|answer| self.history.shown_key(answer.key));
        let mut names: Vec<String> = names.collect();
        if failing.len() > names.len() {
            names.push("…".to_owned());
        }
        let (count, all) = (failing.len(), self.keys.len());
        Some(("violated", format!("keys {} ({count} of {all})", names.join(", "))))
    }

    fn in_a_line(&self) -> String {
        let one = |name: &str, verdict: &str, remarks: String| match remarks.is_empty() {
            true => format!("{name} {verdict}"),
            false => format!("{name} {verdict} ({remarks})"),
        };
        let levels = self.levels.iter().map(|answer| {
            one(answer.level.name(), standing_word(&answer.standing), remarks(&answer.standing))
        });
        let keys = self.of_keys().map(|(verdict, remarks)| one(PER_KEY, verdict, remarks));
        levels.chain(keys).collect::<Vec<_>>().join("; ")
    }
}

/// What there is to say of an answer in a few words.
pub fn remarks(standing: &Standing) -> String {
    match standing {
        Standing::Satisfied(_) => String::new(),
        Standing::Violated(violation) => {
            let doubt = match violation.confirmation {
                Confirmation::Searched => "",
                Confirmation::Missing => "; not confirmed by a second engine",
            };
            let (count, anomaly) = (violation.part.ids.len(), &violation.explanation.anomaly);
            let noun = if count == 1 { "transaction" } else { "transactions" };
            let needed = match violation.part.needed {
                None => String::new(),
                Some(needed) if needed.at_least >= count => {
                    format!(" (no fewer of the {} around them)", needed.among)
                }
                Some(needed) => {
                    format!(" (at least {} of the {} around them)", needed.at_least, needed.among)
                }
            };
            format!("{anomaly}, {count} {noun}{needed}{doubt}")
        }
        Standing::Unknown(Unknown::Limit) => limit_in_words().to_owned(),
        Standing::Unknown(Unknown::NoTimes) => "no times are recorded".to_owned(),
        Standing::Unknown(Unknown::Ambiguous(reads)) => {
            let reads = if *reads == 1 { "a read".into() } else { format!("{reads} reads") };
            format!("ambiguous: {reads} of values that were written more than once")
        }
        Standing::Unknown(Unknown::Counters) => {
            "counters were read: below prefix and snapshot isolation they are not decided"
                .to_owned()
        }
    }
}

/// The answers for people.
fn report(found: &Answers<'_>, glyphs: Glyphs) -> String {
    let Answers { history, levels: answers, .. } = found;
    let mut text = format!("{}: {}\n", history.source(), history.size_text());
    for warning in found.warnings() {
        text += &format!("  warning: {warning}\n");
    }
    text.push('\n');
    let of_keys = found.of_keys();
    let names = answers.iter().map(|answer| answer.level.name().len());
    let width = names.chain(of_keys.iter().map(|_| PER_KEY.len())).max().unwrap_or(0);
    let mut row = |name: &str, verdict: &str, remarks: &str| {
        text.push_str(format!("  {name:width$}  {verdict:9}  {remarks}").trim_end());
        text.push('\n');
    };
    for answer in answers {
        row(answer.level.name(), standing_word(&answer.standing), &remarks(&answer.standing));
    }
    if let Some((verdict, remarks)) = &of_keys {
        row(PER_KEY, verdict, remarks);
    }
    if answers.len() > 1 {
        text.push_str(&extremes(answers));
    }
    let weakest = answers.iter().rev().find_map(|answer| match &answer.standing {
        Standing::Violated(violation) => Some((answer.level, violation)),
        _ => None,
    });
    if let Some((level, violation)) = weakest {
        text.push_str(&format!("\nWhy {level} is violated:\n\n{}", draw(violation, glyphs)));
    }
    if let Some(first) = found.failing().first()
        && let Standing::Violated(violation) = &first.standing
    {
        let key = history.shown_key(first.key);
        let drawing = draw(violation, glyphs);
        text.push_str(&format!("\nWhy key {key} is not linearizable:\n\n{drawing}"));
    }
    text
}

/// The strongest levels that hold and the weakest that do not.
fn extremes(answers: &[Answer]) -> String {
    let with = |is_wanted: fn(&Standing) -> bool| -> Vec<Level> {
        let wanted = answers.iter().filter(|answer| is_wanted(&answer.standing));
        wanted.map(|answer| answer.level).collect()
    };
    let holding = with(|standing| matches!(standing, Standing::Satisfied(_)));
    let failing = with(|standing| matches!(standing, Standing::Violated(_)));
    let is_implied =
        |level: &Level, by: &[Level]| by.iter().any(|other| other.implies().contains(level));
    let strongest: Vec<&str> =
        holding.iter().filter(|level| !is_implied(level, &holding)).map(|l| l.name()).collect();
    let implies_one = |level: &Level| failing.iter().any(|other| level.implies().contains(other));
    let weakest: Vec<&str> =
        failing.iter().filter(|level| !implies_one(level)).map(|l| l.name()).collect();
    let list = |names: &[&str]| match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let (strongest, weakest) = (list(&strongest), list(&weakest));
    format!("\n  strongest that hold: {strongest}\n  weakest that fail:   {weakest}\n")
}
