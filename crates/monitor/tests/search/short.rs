//! Recordings that are decided without a history: the same answers as from one.

use seriatim_history::{History, OpId};
use seriatim_monitor::{Detail, Options, Recording};
use seriatim_spec::{Alphabet, ClassId, Interpretation, Next, Spec, Verdict};
use std::sync::Arc;

/// The object of a history as somebody's own specification: its state is what was done to it.
struct Followed(Arc<dyn Alphabet>);

impl Spec for Followed {
    type State = Vec<ClassId>;
    type Op = ClassId;
    type Ret = ();

    fn initial(&self) -> Vec<ClassId> {
        Vec::new()
    }

    fn step(&self, done: &Vec<ClassId>, op: &ClassId, _: Option<&()>) -> Next<Vec<ClassId>> {
        let all = || done.iter().copied().chain([*op]);
        let mut walk = self.0.walk();
        let is_possible = all().all(|class| walk.step(class).is_ok());
        Next::when(is_possible, || match self.0.is_read_only(*op) {
            true => done.clone(),
            false => all().collect(),
        })
    }

    fn is_read_only(&self, op: &ClassId, _: Option<&()>) -> bool {
        self.0.is_read_only(*op)
    }
}

/// Whether a history is linearizable, as a recording of its operations: a *yes* has to come from
/// the short way.
pub fn is_linearizable(history: &History, reading: &Interpretation) -> bool {
    let mut events: Vec<(u64, OpId, bool)> = Vec::new();
    for op in reading.operations() {
        events.push((history.call(op), op, true));
        events.extend(history.ret(op).map(|time| (time, op, false)));
    }
    events.sort_unstable();
    let mut recording = Recording::new(Followed(reading.alphabet.clone()));
    for (_, op, is_call) in events {
        let (process, class) = (i64::from(op.0), reading.class(op).expect("it happened"));
        match is_call {
            true => recording.call(process, class).expect("a process calls once"),
            false => recording.ret(process, ()).expect("what was called returns"),
        }
    }
    let options = Options { threads: 1, detail: Detail::Plain, ..Options::default() };
    let checked = recording.check(&options).expect("a recording reads as a history");
    match checked.verdict {
        Verdict::Linearizable(order) => {
            let completed = reading.operations().filter(|&op| history.ret(op).is_some()).count();
            assert!(order.order.len() >= completed);
            assert_eq!(checked.configurations, 0, "the general search was not needed");
            true
        }
        Verdict::Violation(_) => false,
        Verdict::Unknown(unknown) => panic!("{unknown:?}"),
    }
}
