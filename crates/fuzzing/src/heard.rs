//! A log that is heard operation by operation has the operations of the one that is read whole.

use seriatim_history::{
    Call, Forgets, History, Interval, Listener, LiveCall, LiveOperation, LiveReturn, OpId, Outcome,
    Tells, Time, Value, ValueId, Values,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::rc::Rc;

/// Listens to a log that was read as this history.
pub fn is_heard_too(tells: &dyn Tells, log: &[u8], history: &History) {
    let heard = Rc::new(RefCell::new(Heard { processes: names(history), ..Heard::default() }));
    let ear = Box::new(Ear(Rc::clone(&heard)));
    let reader = Box::new(std::io::Cursor::new(log.to_vec()));
    let header = tells.listen(reader, "fuzzed", ear).expect("what is read whole can be heard");
    assert_eq!(header.spec.as_deref(), history.spec());
    assert_eq!(header.remarks, history.remarks());
    let heard = Rc::into_inner(heard).expect("the reader is gone").into_inner();
    // Where processes touch, moments are numbered anew once all of them are known.
    let time = |stamp| if heard.events > 0 { stamp } else { history.display_time(stamp) };
    let values = history.values();
    let read = history.operations().map(|op| {
        let call = Call { object: op.object(), key: op.key(), arg: op.arg(), ..call() };
        let caller = history.process_name(op.process());
        let interval = Interval { call: time(op.call()), ret: op.ret().map(time) };
        let said = (op.method(), call, op.outcome(), op.result());
        told(names(history).then_some(caller), op.line(), said, interval, values)
    });
    let mut read: Vec<String> = read.collect();
    read.sort();
    assert_eq!(heard.told(), read, "what is heard is not what is read");
}

fn names(history: &History) -> bool {
    history.names_processes() && !history.invents_processes()
}

fn call() -> Call {
    Call::new(seriatim_history::MethodId::from(0))
}

/// An operation in a line.
fn told(
    caller: Option<&Value>,
    line: u64,
    (method, call, outcome, result): (&str, Call, Outcome, ValueId),
    interval: Interval,
    values: &Values,
) -> String {
    let value = |id: ValueId| id.is_present().then(|| values.get(id).to_string());
    let (object, key, arg) = (value(call.object), value(call.key), value(call.arg));
    let (ret, result) = match outcome {
        Outcome::Pending => (None, None),
        _ => (interval.ret, value(result)),
    };
    let caller = caller.map(Value::to_string);
    format!(
        "{line}: {caller:?} {method:?} {object:?} {key:?} {arg:?} -> {outcome:?} {result:?} {}-{ret:?}",
        interval.call
    )
}

/// What was heard so far.
#[derive(Default)]
struct Heard {
    processes: bool,
    events: Time,
    /// Who called what is open, on which line and when; and the call as if it never ended.
    open: BTreeMap<OpId, (Value, u64, Time, String)>,
    told: Vec<String>,
}

impl Heard {
    fn tick(&mut self) -> Time {
        self.events += 1;
        self.events - 1
    }

    fn told(mut self) -> Vec<String> {
        self.told.extend(self.open.into_values().map(|(.., text)| text));
        self.told.sort();
        self.told
    }
}

struct Ear(Rc<RefCell<Heard>>);

impl Listener for Ear {
    fn call(&mut self, told_call: LiveCall<'_>) -> ControlFlow<()> {
        let heard = &mut *self.0.borrow_mut();
        let LiveCall { op, line, caller, method, call, values, .. } = told_call;
        let interval = Interval { call: heard.tick(), ret: None };
        let said = (method, call, Outcome::Pending, ValueId::ABSENT);
        let text = told(heard.processes.then_some(caller), line, said, interval, values);
        heard.open.insert(op, (caller.clone(), line, interval.call, text));
        ControlFlow::Continue(())
    }

    fn ret(&mut self, told_return: LiveReturn<'_>) -> ControlFlow<()> {
        let heard = &mut *self.0.borrow_mut();
        let LiveReturn { op, method, call, ret, values, .. } = told_return;
        let now = heard.tick();
        let (caller, line, start, _) = heard.open.remove(&op).expect("it was called");
        let interval = Interval { call: start, ret: Some(now) };
        let said = (method, call, ret.outcome, ret.result);
        let text = told(heard.processes.then_some(&caller), line, said, interval, values);
        heard.told.push(text);
        ControlFlow::Continue(())
    }

    fn operation(&mut self, told_whole: LiveOperation<'_>) -> Option<ControlFlow<()>> {
        let heard = &mut *self.0.borrow_mut();
        let LiveOperation { line, caller, method, call, interval, ret, values } = told_whole;
        let outcome = if interval.ret.is_none() { Outcome::Pending } else { ret.outcome };
        let said = (method, call, outcome, ret.result);
        let caller = caller.filter(|_| heard.processes);
        heard.told.push(told(caller, line, said, interval, values));
        Some(ControlFlow::Continue(()))
    }

    fn forgets(&self) -> Forgets {
        Forgets::ValuesAndOperations
    }
}
