//! Checks an object that is not built in: a specification in your own types, and the report of a
//! violation.

use seriatim::{InputError, Next, Recording, Spec};

/// A bank account. Withdrawing more than there is fails and changes nothing.
#[derive(Debug)]
struct Account;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Do {
    Deposit(u32),
    Withdraw(u32),
}

impl Spec for Account {
    type State = u32;
    type Op = Do;
    /// Whether it was done.
    type Ret = bool;

    fn initial(&self) -> u32 {
        0
    }

    fn step(&self, balance: &u32, op: &Do, done: Option<&bool>) -> Next<u32> {
        let next = match op {
            Do::Deposit(amount) => Some(balance + amount),
            Do::Withdraw(amount) => balance.checked_sub(*amount),
        };
        // An operation that never returned (`None`) may have had any result.
        Next::when(done.is_none_or(|done| *done == next.is_some()), || next.unwrap_or(*balance))
    }
}

fn main() -> Result<(), InputError> {
    let mut recording = Recording::new(Account);
    recording.call(0, Do::Deposit(10))?;
    recording.ret(0, true)?;
    // Two clients at once both get the ten.
    recording.call(1, Do::Withdraw(10))?;
    recording.call(2, Do::Withdraw(10))?;
    recording.ret(1, true)?;
    recording.ret(2, true)?;

    let recorded = recording.finish()?;
    match seriatim::check(recorded.history(), &recorded) {
        Ok(answer) => print!("{answer}"),
        Err(error) => println!("{error}"),
    }
    Ok(())
}
