//! Several logs as one: what clients recorded, each in a file of its own.
//!
//! Only the times say what came before what in different files, so each has to hold whole operations
//! with times that count the same. What one file calls a process is the process of that name in all.

use crate::{
    Builder, Call, Conventions, Echo, History, InputError, Interval, Nil, OpId, Return, Timescale,
    ValueId,
};

impl History {
    /// The histories of several logs as one.
    ///
    /// ```
    /// use seriatim_history::{History, read_str};
    ///
    /// let ann = read_str("{\"process\":\"ann\",\"op\":\"put\",\"arg\":7,\"call\":1,\"return\":3}")?;
    /// let bob = read_str("{\"process\":\"bob\",\"op\":\"get\",\"result\":7,\"call\":2,\"return\":4}")?;
    /// let both = History::joined("both", &[bob, ann])?;
    /// let seen: Vec<String> = both.operations().map(|op| op.to_string()).collect();
    /// assert_eq!(seen, ["put(7)", "get() -> 7"]);
    /// # Ok::<(), seriatim_history::InputError>(())
    /// ```
    ///
    /// # Errors
    /// If one of them is a log of events, or they differ in what they name or count.
    pub fn joined(name: &str, logs: &[History]) -> Result<History, InputError> {
        let mut builder = Builder::new(name);
        let mut first: Option<(&History, Heading)> = None;
        for log in logs.iter().filter(|log| !log.is_empty()) {
            if log.is_event_log {
                let expected = "operations with their times: nobody knows the order of events in different files";
                return Err(InputError::syntax(log.source(), 0, expected, "a log of events"));
            }
            let heading = Heading::of(log);
            match &first {
                None => {
                    heading.give(&mut builder);
                    first = Some((log, heading));
                }
                Some((other, expected)) if *expected != heading => {
                    let expected = format!("the same header as in {}", other.source());
                    return Err(InputError::syntax(log.source(), 1, &expected, "another one"));
                }
                Some(_) => {}
            }
            log.append_to(&mut builder)?;
        }
        builder.misses_logs(logs.iter().map(History::missing_logs).sum());
        builder.finish()
    }

    fn append_to(&self, builder: &mut Builder) -> Result<(), InputError> {
        for op in (0..self.len()).map(OpId::from) {
            let mut named = |id: ValueId| match id {
                ValueId::ABSENT => ValueId::ABSENT,
                id => builder.values().intern(&self.values().get(id)),
            };
            let (object, key, arg) =
                (named(self.object(op)), named(self.key(op)), named(self.arg(op)));
            let result = named(self.result(op));
            let method = builder.method(self.method_name(self.method(op)));
            let call = Call { object, key, arg, ..Call::new(method) };
            let process = match self.invents_processes() {
                true => None,
                false => Some(builder.process(self.process_name(self.process(op)))),
            };
            let interval = Interval { call: self.call(op), ret: self.ret(op) };
            let ret = Return::new(self.outcome(op), result);
            let joined = builder.operation(self.line(op), process, call, interval, ret)?;
            if let Some(note) = self.note(op) {
                builder.note(joined, note.clone());
            }
        }
        self.annotations.iter().for_each(|annotation| builder.annotate(annotation.clone()));
        self.remarks.iter().for_each(|remark| builder.remark(remark.clone()));
        Ok(())
    }
}

/// What has to be the same in all files of a log.
#[derive(PartialEq, Eq)]
struct Heading {
    spec: Option<String>,
    nil: Nil,
    echo: Echo,
    timescale: Timescale,
    names_processes: bool,
}

impl Heading {
    fn of(log: &History) -> Self {
        Heading {
            spec: log.spec().map(str::to_owned),
            nil: log.nil(),
            echo: log.echo(),
            timescale: log.timescale(),
            names_processes: !log.invents_processes(),
        }
    }

    fn give(&self, builder: &mut Builder) {
        builder.follow(Conventions { nil: self.nil, echo: self.echo });
        builder.measure_in(self.timescale);
        if let Some(spec) = &self.spec {
            builder.name_spec(spec);
        }
    }
}
