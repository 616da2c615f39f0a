//! The calls of an execution as rows of a table, one column for each caller.

use crate::engine::Schedule;
use crate::reply::Reply;
use crate::run::{Called, End, Run};
use crate::subject::{Caller, Subject};
use seriatim_report::run::table::table;

/// Stamps of an explorer count its steps; this many bits below tell events of one step apart.
pub(crate) const STEP_SHIFT: u32 = 8;

/// More accesses than this are not read by anybody.
const ACCESSES: usize = 80;
/// What is inside of a call.
const INDENT: &str = "  ";

/// The calls of an execution in columns, one for each thread, in the order of their stamps, with
/// the accesses that they made; and where these are too many but the schedule is known, with the
/// number of steps that a call had taken when another thread came between.
pub(crate) fn columns(run: &Run, subject: &dyn Subject, schedule: &Schedule) -> String {
    let mut callers: Vec<Caller> = (0..run.threads.len()).map(Caller::Thread).collect();
    if !run.main.is_empty() {
        callers.insert(0, Caller::Main);
    }
    let mut events: Vec<(u64, usize, String)> = Vec::new();
    for (caller, called) in run.calls() {
        let column = callers.iter().position(|&known| known == caller).expect("all are listed");
        events.extend(events_of(called, subject).map(|(stamp, text)| (stamp, column, text)));
    }
    let first = callers.len() - run.threads.len();
    if !run.accesses.is_empty() && run.accesses.len() <= ACCESSES {
        let accesses = run.accesses.iter();
        events.extend(
            accesses
                .map(|access| (access.stamp, first + access.thread, format!("{INDENT}{access}"))),
        );
    } else if let Schedule::Shuttle(stretches) = schedule {
        let interruptions = interruptions(run, stretches).into_iter();
        events.extend(interruptions.map(|(stamp, thread, text)| (stamp, first + thread, text)));
    }
    events.sort_by_key(|&(stamp, ..)| stamp);
    join_quiet_calls(&mut events);
    let title = |caller: &Caller| match caller {
        Caller::Main => "main".to_owned(),
        Caller::Thread(number) => format!("thread {number}"),
    };
    let titles: Vec<String> = callers.iter().map(title).collect();
    let cells: Vec<(usize, String)> =
        events.into_iter().map(|(_, column, text)| (column, text)).collect();
    table(&titles, &cells)
}

/// Where a thread was interrupted inside a call: the stamp, the thread, and the number of steps it
/// took.
fn interruptions(run: &Run, stretches: &[(usize, usize)]) -> Vec<(u64, usize, String)> {
    let mut found = Vec::new();
    let mut before = 0;
    for &(task, steps) in stretches {
        let after = before + steps;
        let end = ((after as u64) << STEP_SHIFT) + (1 << STEP_SHIFT) - 1;
        let open = |called: &&Called| {
            let returned = matches!(called.slot.end, End::Returned(ret, _) if ret <= end);
            called.slot.call <= end && !returned
        };
        // Task 0 is the main thread.
        let thread = task.checked_sub(1).filter(|&thread| thread < run.threads.len());
        if let Some(thread) = thread
            && let Some(called) = run.threads[thread].iter().find(open)
        {
            let begun = (called.slot.call >> STEP_SHIFT) as usize;
            let taken = after - before.max(begun).min(after);
            if taken > 0 {
                let plural = if taken == 1 { "" } else { "s" };
                found.push((end, thread, format!("· {taken} step{plural}")));
            }
        }
        before = after;
    }
    found
}

fn events_of(called: &Called, subject: &dyn Subject) -> impl Iterator<Item = (u64, String)> {
    let text = called.step.text(subject);
    let end = match &called.slot.end {
        End::Returned(ret, Reply::Answer(None)) => Some((*ret, text.clone())),
        End::Returned(ret, reply) => {
            let result = format!("{:?}", crate::model::Answered(reply.clone()));
            Some((*ret, format!("{text} -> {result}")))
        }
        End::Panicked(_) => Some((u64::MAX, format!("{text} panicked"))),
        End::Stuck => Some((u64::MAX, format!("{text} waits for ever"))),
        End::Running => Some((u64::MAX, format!("{text} -> ?"))),
    };
    [(called.slot.call, format!("{text} …"))].into_iter().chain(end)
}

/// A call and the next event need one line only if nothing comes between them.
fn join_quiet_calls(events: &mut Vec<(u64, usize, String)>) {
    let mut index = 0;
    while index + 1 < events.len() {
        let next = &events[index + 1];
        let same = events[index].1 == next.1
            && events[index].2.ends_with('…')
            && !next.2.starts_with(INDENT);
        if same {
            let call = events.remove(index).2;
            if let Some(steps) = events[index].2.strip_prefix('·') {
                events[index].2 = format!("{call}{steps}");
            }
        }
        index += 1;
    }
}
