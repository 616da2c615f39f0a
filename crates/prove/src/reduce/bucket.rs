//! Takes one bucket of a hash table for the whole of it.
//!
//! *Decided*: whether all shared variables are arrays that methods access at one index only,
//! `hash(k, N)` of the key of their call, and whether all buckets begin alike and apart from each
//! other. Then each array becomes one variable, that of bucket 0, and the index is left out.
//!
//! *Why it is sound*: an operation gets its first reference from its own bucket, and has it from
//! there, or made it; what it writes is in its own bucket, or in a node of the same kind. So
//! nothing of one bucket is ever reached from another one, and `P` is as many copies of `Q` as
//! there are buckets, which have nothing in common; each is called with the keys of its bucket. All
//! copies begin as bucket 0 does. If `P` fails, one of the copies does. A specification of which
//! every operation concerns its own key only is a product of one object per key, so also of one per
//! bucket; linearizability is local (Herlihy and Wing, TOPLAS 1990), so `P` is linearizable if `Q`
//! is.
//!
//! *What would make it unsound*: a specification in which keys have to do with each other (the
//! caller says that this is none); an index that is not the same during the whole operation, or not
//! the hash of its key ([`Indices`]); a node that two buckets share at the start ([`begin_alike`]);
//! variables beside the table ([`Table::of`] gives every slot a bucket); nodes that are freed, and
//! made again for another bucket; registers that outlive an operation.

use super::{method, nothing};
use seriatim_lang::flow::{definitions, expressions, successors, uses};
use seriatim_lang::machine::{Bounds, Granularity, Machine, State};
use seriatim_lang::steps::{BinOp, Ex, NULL, Op, Pc, Place, Reg, Root, Slot, Steps};
use seriatim_lang::types::Scalar;
use std::collections::{BTreeMap, BTreeSet};

/// Takes one bucket for the table; says whether there is one.
pub fn single(steps: &mut Steps) -> bool {
    let table = Table::of(steps);
    table.iter().for_each(|table| table.make(steps));
    table.is_some()
}

/// The registers of methods that hold the key of the call, and its hash.
struct Indices {
    /// For each position, whether a method comes there; what is elsewhere in methods says nothing.
    reached: Vec<bool>,
    size: i32,
    keys: BTreeSet<(usize, Reg)>,
    hashes: BTreeSet<(usize, Reg)>,
}

impl Indices {
    fn of(steps: &Steps) -> Option<Indices> {
        let is_key = |at: usize, reg: Reg| {
            let slot = steps.register(Pc(at as u32), reg);
            slot.is_some_and(|slot| slot.kind.scalar == Scalar::Key)
        };
        let size = steps.code.iter().enumerate().find_map(|(at, instr)| match &instr.op {
            Op::Set { value, .. } => {
                let mut found = value.iter().filter_map(hashed);
                found.find(|(key, _)| is_key(at, *key)).map(|(_, size)| size)
            }
            _ => None,
        })?;
        let (reached, keys, hashes) = (reached(steps), BTreeSet::new(), BTreeSet::new());
        let mut found = Indices { reached, size, keys, hashes };
        for (of, code) in steps.methods.iter().enumerate() {
            let params = code.params.iter().zip(code.first_param.0..);
            let mut keys = params.filter(|(kind, _)| kind.scalar == Scalar::Key);
            let (Some((_, key)), None) = (keys.next(), keys.next()) else { return None };
            found.keys.insert((of, Reg(key)));
        }
        // A register is what it is only if nothing else is ever put into it.
        if found.keys.iter().any(|(of, reg)| found.writes(steps, *of, *reg).next().is_some()) {
            return None;
        }
        loop {
            let before = (found.keys.len(), found.hashes.len());
            for (of, code) in steps.methods.iter().enumerate() {
                let first = steps.persistent.len() as u32;
                for reg in (first..first + code.regs.len() as u32).map(Reg) {
                    found.add(steps, of, reg);
                }
            }
            if (found.keys.len(), found.hashes.len()) == before {
                return Some(found);
            }
        }
    }

    /// What a method puts into a register.
    fn writes<'s>(&self, steps: &'s Steps, of: usize, reg: Reg) -> impl Iterator<Item = &'s Op> {
        let code = steps.methods[of].entry.0 as usize..steps.methods[of].end.0 as usize;
        let reached = code.filter(|at| self.reached[*at]).map(|at| &steps.code[at].op);
        reached.filter(move |op| definitions(op).any(|d| Reg(d) == reg))
    }

    /// Adds a register if all that is put into it is a copy of the key, or its hash.
    fn add(&mut self, steps: &Steps, of: usize, reg: Reg) {
        let values: Option<Vec<&Ex>> = self
            .writes(steps, of, reg)
            .map(|op| match op {
                Op::Set { dst, value } => value.get((reg.0 - dst.0) as usize),
                _ => None,
            })
            .collect();
        let Some(values) = values.filter(|values| !values.is_empty()) else { return };
        let is_key = |ex: &Ex| matches!(ex, Ex::Reg(r) if self.keys.contains(&(of, *r)));
        if values.iter().all(|ex| is_key(ex)) {
            self.keys.insert((of, reg));
        } else if values.iter().all(|ex| self.is_hash(of, ex)) {
            self.hashes.insert((of, reg));
        }
    }

    /// Whether an expression is the hash of the key.
    fn is_hash(&self, of: usize, ex: &Ex) -> bool {
        match (ex, hashed(ex)) {
            (_, Some((key, size))) => size == self.size && self.keys.contains(&(of, key)),
            (Ex::Reg(reg), None) => self.hashes.contains(&(of, *reg)),
            _ => false,
        }
    }
}

/// For each position, whether a method comes there.
fn reached(steps: &Steps) -> Vec<bool> {
    let mut reached = vec![false; steps.code.len()];
    let mut todo: Vec<Pc> = steps.methods.iter().map(|m| m.entry).collect();
    while let Some(pc) = todo.pop() {
        if !std::mem::replace(&mut reached[pc.0 as usize], true) {
            todo.extend(successors(&steps.code[pc.0 as usize].op, pc));
        }
    }
    reached
}

/// The register of which an expression is the remainder, and by what.
fn hashed(ex: &Ex) -> Option<(Reg, i32)> {
    let Ex::Bin(BinOp::Rem, key, size) = ex else { return None };
    match (&**key, &**size) {
        (Ex::Reg(key), Ex::Const(size)) if *size > 0 => Some((*key, *size)),
        _ => None,
    }
}

/// A hash table: the bucket of every shared slot.
struct Table {
    bucket: Vec<u32>,
    indices: Indices,
}

impl Table {
    fn of(steps: &Steps) -> Option<Table> {
        let indices = Indices::of(steps)?;
        if steps.frees || steps.object_registers > 0 || !steps.links.is_empty() {
            return None;
        }
        let mut bucket: BTreeMap<u32, u32> = BTreeMap::new();
        for (at, instr) in steps.code.iter().enumerate() {
            let shared = instr.op.place().filter(|place| place.root == Root::Shared);
            let (Some(place), Some(of)) = (shared, method(steps, at)) else { continue };
            if !indices.reached[at] {
                continue;
            }
            let [dim] = &place.dims[..] else { return None };
            let fits = place.width <= dim.stride && indices.size as u32 <= dim.len;
            if !fits || !indices.is_hash(of, &dim.index) {
                return None;
            }
            for number in 0..dim.len {
                let first = place.offset + number * dim.stride;
                for slot in first..first + place.width {
                    (*bucket.entry(slot).or_insert(number) == number).then_some(())?;
                }
            }
        }
        let bucket: Vec<u32> = bucket.into_iter().enumerate().map_while(in_order).collect();
        let table = Table { bucket, indices };
        let whole = table.bucket.len() == steps.shared.len()
            && table.is_only_an_index(steps)
            && table.begins_by_stores(steps)
            && begin_alike(steps, &table.bucket);
        whole.then_some(table)
    }

    /// What holds the hash is used as the index only, and the hash is asked for nowhere else.
    fn is_only_an_index(&self, steps: &Steps) -> bool {
        steps.code.iter().enumerate().all(|(at, instr)| {
            let Some(of) = method(steps, at) else {
                let mut other = true;
                expressions(&instr.op, &mut |ex| other &= hashed(ex).is_none());
                return other;
            };
            if self.sets_hashes(of, at, &instr.op) || !self.indices.reached[at] {
                return true;
            }
            let mut rest = instr.op.clone();
            if let Some(place) = rest.place_mut().filter(|place| place.root == Root::Shared) {
                place.dims.clear();
            }
            let mut other = true;
            uses(&rest, &mut |reg| other &= !self.indices.hashes.contains(&(of, reg)));
            other
        })
    }

    /// Whether an instruction does nothing but to put the hash into registers.
    fn sets_hashes(&self, of: usize, at: usize, op: &Op) -> bool {
        let Op::Set { dst, value } = op else { return false };
        let index = |reg: u32| self.indices.hashes.contains(&(of, Reg(reg)));
        self.indices.reached[at] && (dst.0..).zip(value).all(|(reg, _)| index(reg))
    }

    /// Whether the initialisation only stores to variables, and the part that remains is in one
    /// piece.
    fn begins_by_stores(&self, steps: &Steps) -> bool {
        let begin = steps.code.iter().enumerate().filter(|(at, _)| method(steps, *at).is_none());
        begin.into_iter().all(|(_, instr)| match instr.op.place() {
            Some(place) if place.root == Root::Shared => {
                let kept = self.kept(place);
                let apart = kept.windows(2).any(|two| two[0] + 1 != two[1]);
                matches!(instr.op, Op::Store { .. }) && place.dims.is_empty() && !apart
            }
            _ => true,
        })
    }

    /// The slots of a place without index that belong to the bucket that remains.
    fn kept(&self, place: &Place) -> Vec<u32> {
        place.slots().filter(|slot| self.bucket[*slot as usize] == 0).collect()
    }

    fn make(&self, steps: &mut Steps) {
        let moved = |slot: u32| {
            let before = self.bucket[..slot as usize].iter();
            before.filter(|bucket| **bucket == 0).count() as u32
        };
        for at in 0..steps.code.len() {
            let (pc, of) = (Pc(at as u32), method(steps, at));
            let instr = &mut steps.code[at];
            if of.is_some_and(|of| self.sets_hashes(of, at, &instr.op)) {
                (instr.op, instr.fused) = (nothing(pc), false);
            }
            let shared = instr.op.place_mut().filter(|place| place.root == Root::Shared);
            let Some(place) = shared else { continue };
            if of.is_some() {
                place.dims.clear();
                place.offset = moved(place.offset);
                continue;
            }
            let (whole, kept) = (place.offset, self.kept(place));
            let Some(first) = kept.first() else {
                (instr.op, instr.fused) = (nothing(pc), false);
                continue;
            };
            (place.offset, place.width) = (moved(*first), kept.len() as u32);
            if let Op::Store { value, .. } = &mut instr.op {
                let begin = (first - whole) as usize;
                *value = value[begin..begin + kept.len()].to_vec();
            }
        }
        let mut bucket = self.bucket.iter();
        steps.shared.retain(|_| bucket.next() == Some(&0));
    }
}

/// The bucket of a slot, as long as the slots are numbered without a gap.
fn in_order((number, (slot, bucket)): (usize, (u32, u32))) -> Option<u32> {
    (number as u32 == slot).then_some(bucket)
}

/// Whether all buckets begin with the same, and no two of them with the same node.
fn begin_alike(steps: &Steps, bucket: &[u32]) -> bool {
    let bounds = Bounds { values: 2, keys: 3, nodes: None, capacity: None };
    let mut machine = Machine::new(steps.clone(), bounds, Granularity::Fine);
    let Ok(state) = machine.initial() else { return false };
    let slots = |number: u32| -> Vec<usize> {
        (0..bucket.len()).filter(|slot| bucket[*slot] == number).collect()
    };
    let mut pairing = Pairing { steps, state, stride: machine.node_stride(), of: BTreeMap::new() };
    let last = bucket.iter().copied().max().unwrap_or(0);
    let begin = slots(0);
    (0..=last).all(|number| {
        let own = slots(number);
        let kinds = |all: &[usize]| all.iter().map(|s| steps.shared[*s].kind).collect::<Vec<_>>();
        let pairs = begin.iter().zip(&own).map(|(a, b)| (*a, *b));
        kinds(&own) == kinds(&begin)
            && pairs.into_iter().all(|(a, b)| {
                let words = (pairing.state.words[a], pairing.state.words[b]);
                pairing.same(&steps.shared[a], words, number)
            })
    })
}

/// Which node of the first bucket each node of a bucket corresponds to.
struct Pairing<'s> {
    steps: &'s Steps,
    state: State,
    stride: usize,
    of: BTreeMap<i32, (u32, i32)>,
}

impl Pairing<'_> {
    /// Whether a word of the first bucket and one of another bucket begin alike.
    fn same(&mut self, slot: &Slot, (first, word): (i32, i32), bucket: u32) -> bool {
        let mut todo = vec![(slot.kind, first, word)];
        while let Some((kind, a, b)) = todo.pop() {
            if !matches!(kind.scalar, Scalar::Ref(_)) || a == NULL || b == NULL {
                if a != b {
                    return false;
                }
                continue;
            }
            match self.of.insert(b, (bucket, a)) {
                Some(before) if before != (bucket, a) => return false,
                Some(_) => continue,
                None => {}
            }
            let node = |n: i32| &self.state.heap[n as usize * self.stride..];
            let (a, b) = (node(a), node(b));
            if a[0] != b[0] {
                return false;
            }
            let layout = &self.steps.structs[a[0] as usize].slots;
            let fields = layout.iter().zip(a[1..].iter().zip(&b[1..]));
            todo.extend(fields.map(|(slot, (a, b))| (slot.kind, *a, *b)));
        }
        true
    }
}
