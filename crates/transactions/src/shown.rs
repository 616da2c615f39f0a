//! Names and operations as reports show them: of what is longer than a screen, the middle gives way
//! to its length. A report may name a value for every level and in every step of a proof; so it is as
//! long as what it is about, and no longer.

use crate::{KeyId, Op, SessionId, Transactions};
use seriatim_report::{SCREEN, middle};

impl Transactions {
    /// An operation as [`Transactions::op_text`] has it.
    pub fn shown_op(&self, op: &Op) -> String {
        middle(&self.op_text(op), SCREEN).into_owned()
    }

    /// A key's name.
    pub fn shown_key(&self, key: KeyId) -> String {
        middle(&self.key_name(key).to_string(), SCREEN).into_owned()
    }

    /// A session's name.
    pub fn shown_session(&self, session: SessionId) -> String {
        middle(&self.session_name(session).to_string(), SCREEN).into_owned()
    }
}
