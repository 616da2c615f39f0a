//! Sets as registers: each element of a set becomes a register that holds `true` or nothing.
//!
//! Elements do not notice each other, and a read of the set reads all of them, so every level says of
//! the registers what it says of the set. Two things would make that unsound: an order among the reads
//! of one look at the set, which levels that tell earlier reads of a transaction from later ones would
//! notice (those that found nothing come first: what is missing says nothing of what comes after it);
//! and two elements that share a register (they are found by set and value, never by a name).
//!
//! A set holds an element once. A read that lists one twice reads its register with a value that
//! nobody writes, so that no level explains it.

use crate::builder::Builder;
use crate::transaction::{KeyId, Op};
use hashbrown::HashMap;
use seriatim_history::{InputError, Value, ValueId};

/// The registers of all elements that are added to sets or read in them.
#[derive(Default)]
struct Elements {
    of_set: HashMap<KeyId, Vec<(ValueId, KeyId)>>,
    register: HashMap<(KeyId, ValueId), KeyId>,
}

impl Builder {
    /// Makes a register of every element of a set.
    ///
    /// # Errors
    /// If something else than an addition or a read of all elements is done with a set.
    pub(crate) fn split_sets(&mut self) -> Result<(), InputError> {
        if self.sets.is_empty() {
            return Ok(());
        }
        let elements = self.elements();
        let is_in = self.values.intern(&Value::Bool(true));
        let mut list = std::mem::take(&mut self.list);
        for txn in &mut list {
            let mut ops = Vec::with_capacity(txn.ops.len());
            for op in std::mem::take(&mut txn.ops) {
                if !self.sets.contains(&op.key()) {
                    ops.push(op);
                    continue;
                }
                match &op {
                    Op::Append(set, added) => {
                        ops.push(Op::Write(elements.register[&(*set, *added)], is_in));
                    }
                    Op::ReadList(set, items) => ops.extend(self.looks(&elements, *set, items)),
                    Op::Read(set, ValueId::NIL) => ops.extend(self.looks(&elements, *set, &[])),
                    _ => return Err(self.not_of_a_set(op.key(), txn.line)),
                }
            }
            txn.ops = ops;
        }
        self.list = list;
        Ok(())
    }

    fn elements(&mut self) -> Elements {
        let mut elements = Elements::default();
        for op in self.list.iter().flat_map(|txn| &txn.ops) {
            let set = op.key();
            if !self.sets.contains(&set) {
                continue;
            }
            let values: &[ValueId] = match op {
                Op::Append(_, value) => std::slice::from_ref(value),
                Op::ReadList(_, items) => items,
                _ => &[],
            };
            for &value in values {
                elements.register.entry((set, value)).or_insert_with(|| {
                    let shown =
                        format!("{}∋{}", self.keys.names[set.index()], self.values.get(value));
                    let register = KeyId(self.keys.fresh(Value::Name(shown.into())));
                    elements.of_set.entry(set).or_default().push((value, register));
                    register
                });
            }
        }
        elements
    }

    /// The reads of all registers of a set that listed these elements.
    fn looks(&mut self, elements: &Elements, set: KeyId, items: &[ValueId]) -> Vec<Op> {
        let mut times: HashMap<ValueId, i64> = HashMap::new();
        for &item in items {
            *times.entry(item).or_default() += 1;
        }
        let (mut missing, mut there) = (Vec::new(), Vec::new());
        for &(element, register) in elements.of_set.get(&set).map_or(&[][..], Vec::as_slice) {
            match times.get(&element) {
                None => missing.push(Op::Read(register, self.initial)),
                Some(1) => there.push(Op::Read(register, self.values.intern(&Value::Bool(true)))),
                Some(times) => {
                    let listed = Value::Name(format!("listed-{times}-times").into());
                    there.push(Op::Read(register, self.values.intern(&listed)));
                }
            }
        }
        missing.append(&mut there);
        missing
    }

    fn not_of_a_set(&self, set: KeyId, line: u64) -> InputError {
        let found = format!("something else of key {}", self.keys.names[set.index()]);
        let expected = "an addition or a read of all elements, since the key is a set";
        InputError::syntax(&self.source, line, expected, &found)
    }
}
