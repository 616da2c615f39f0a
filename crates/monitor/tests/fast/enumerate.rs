//! All histories of a size: every shape of overlap with every choice of operations.

use crate::oracle::Op;

/// Calls `visit` with every history of `count` operations out of an alphabet. Operations of the
/// alphabet with `ret: None` are pending; the times of the alphabet mean nothing.
pub fn every_history(alphabet: &[Op], count: usize, visit: &mut impl FnMut(&[Op])) {
    let mut chosen = Vec::new();
    choose(alphabet, count, &mut chosen, visit);
}

fn choose(alphabet: &[Op], count: usize, chosen: &mut Vec<Op>, visit: &mut impl FnMut(&[Op])) {
    if chosen.len() == count {
        let mut ops = chosen.clone();
        arrange(&mut ops, 0, 0, &mut Vec::new(), visit);
        return;
    }
    for op in alphabet {
        chosen.push(op.clone());
        choose(alphabet, count, chosen, visit);
        chosen.pop();
    }
}

/// Every order of events in which the operations are called in their order.
fn arrange(
    ops: &mut Vec<Op>,
    called: usize,
    time: u64,
    open: &mut Vec<usize>,
    visit: &mut impl FnMut(&[Op]),
) {
    if called == ops.len() && open.is_empty() {
        visit(ops);
        return;
    }
    if called < ops.len() {
        ops[called].call = time;
        if ops[called].ret.is_some() {
            open.push(called);
        }
        arrange(ops, called + 1, time + 1, open, visit);
        open.retain(|&op| op != called);
    }
    for index in 0..open.len() {
        let op = open.swap_remove(index);
        ops[op].ret = Some(time);
        arrange(ops, called, time + 1, open, visit);
        open.push(op);
        let last = open.len() - 1;
        open.swap(index, last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_shapes_as_there_are_perfect_matchings() {
        let op = Op { method: "peek", arg: None, result: None, call: 0, ret: Some(0) };
        for (count, shapes) in [(1, 1), (2, 3), (3, 15), (4, 105)] {
            let mut seen = 0;
            every_history(std::slice::from_ref(&op), count, &mut |_| seen += 1);
            assert_eq!(seen, shapes);
        }
    }
}
