//! The content of the object, read off a heap graph, and what a step and a result may do with it.
//!
//! *Sequences.* The content is the list of nodes from the root, perhaps behind a dummy. A step
//! leaves it as it is, or puts one node with the operation's argument to its end (stack: to its
//! front), or takes its first node away; each only in an operation that may, and once. A result is
//! the value taken; `empty` needs a moment since the call at which the list was empty, and so does
//! whoever says that it is, or that it is not. A value that is told and not taken needs a moment at
//! which the first node held it: colours are arbitrary, so take the one under which this value has
//! a colour of its own; a first node that surely had this colour held this value. *Sets.* The
//! content is whether the tracked key is in the list, marked nodes counted or not. Only an
//! operation on that key that may change it may, in its direction and once; a result that tells of
//! no change needs a moment since the call at which it was correct. Operations on other keys must
//! leave it alone; their own results are checked where their key is the tracked one.

use crate::execute::{Execution, Objection};
use crate::heap_graph::{End, HeapGraph, Item, Time};
use crate::object::{Object, Role, Spec};
use crate::scalar::{Class, Mark, Scalar, Values};
use crate::state::Operation;

/// How the list stands for the content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Content {
    /// The shared variable from which the list hangs.
    pub root: usize,
    /// Whether the first node is a dummy.
    pub behind_dummy: bool,
    /// Whether marked nodes count.
    pub counts_marked: bool,
}

impl Content {
    /// The nodes and segments that make up the content.
    fn items(&self, spec: Spec, graph: &HeapGraph, time: Time) -> Result<Vec<Item>, Objection> {
        let shared = match time {
            Time::Before => &graph.shared_before,
            Time::Now => &graph.shared,
        };
        let (mut items, end) = graph.walk(shared[self.root], time);
        match end {
            End::Null => {}
            // Whether a key can be reached is clear in a list with a cycle, too; a sequence of
            // values it has not.
            End::Cycle if spec == Spec::Set => {}
            End::Cycle => return Err("the list may have a cycle".to_owned()),
            End::Outside => return Err("the list leads out of the graph".to_owned()),
        }
        if self.behind_dummy && !items.is_empty() {
            items.remove(0);
        }
        Ok(items)
    }

    /// Whether the tracked key is in the list.
    fn is_member(&self, graph: &HeapGraph, time: Time) -> Result<bool, Objection> {
        let mut found = false;
        for item in self.items(Spec::Set, graph, time)? {
            match item {
                Item::Node(id) => {
                    let node = graph.node(id);
                    let face = match time {
                        Time::Before => node.before.unwrap_or(node.now),
                        Time::Now => node.now,
                    };
                    let counts = self.counts_marked || !face.mark.is_set();
                    found |= node.class == Class::Tracked && counts;
                }
                Item::Segment(id) => {
                    let mut attributes = graph.segment(id).attributes.iter();
                    let counts = |m: Mark| self.counts_marked || !m.is_set();
                    if attributes.any(|a| a.class == Class::Tracked && counts(a.mark)) {
                        return Err("a segment that may hold the tracked key".to_owned());
                    }
                }
            }
        }
        Ok(found)
    }

    /// Whether nothing is in the object, as at the start.
    pub fn is_empty(&self, object: &Object, graph: &HeapGraph) -> Result<bool, Objection> {
        match object.spec {
            Spec::Set => Ok(!self.is_member(graph, Time::Now)?),
            Spec::Stack | Spec::Queue => Ok(self.items(object.spec, graph, Time::Now)?.is_empty()),
            Spec::Cell => match &object.cell {
                Some(cell) => cell.starts_right(&graph.shared),
                None => Ok(false),
            },
            Spec::Number => {
                let initial = object.number_spec.as_ref().map(|r| r.initial);
                Ok(initial == Some(graph.shared[self.root]))
            }
        }
    }
}

impl Execution<'_> {
    /// Compares the content before the step with the content now, and notes what the operation did.
    pub fn account(
        &mut self,
        content: &Content,
        operation: &mut Operation,
    ) -> Result<(), Objection> {
        let role = self.object.roles[operation.method as usize];
        match self.object.spec {
            Spec::Set => {
                let was = content.is_member(&self.state.graph, Time::Before)?;
                let is = content.is_member(&self.state.graph, Time::Now)?;
                if was == is {
                    return Ok(());
                }
                let may = matches!(role, Role::OnKey(does) if does.changes(was));
                if !may || operation.argument() != Scalar::Key(Class::Tracked) {
                    return Err("the step changes the content as its operation must not".to_owned());
                }
            }
            Spec::Stack | Spec::Queue => {
                let was = content.items(self.object.spec, &self.state.graph, Time::Before)?;
                let is = content.items(self.object.spec, &self.state.graph, Time::Now)?;
                if was == is {
                    return Ok(());
                }
                match role {
                    Role::Put => self.puts(&was, &is, operation.argument())?,
                    Role::Take { .. } => operation.ghost.got = Some(self.takes(&was, &is)?),
                    _ => return Err("the step changes what its operation only looks at".to_owned()),
                }
            }
            Spec::Cell | Spec::Number => return Err("there is no list".to_owned()),
        }
        if std::mem::replace(&mut operation.ghost.done, true) {
            return Err("the operation changes the content a second time".to_owned());
        }
        Ok(())
    }

    fn puts(&self, was: &[Item], is: &[Item], argument: Scalar) -> Result<(), Objection> {
        let (new, rest) = match (self.object.spec, is) {
            (Spec::Stack, [new, rest @ ..]) | (Spec::Queue, [rest @ .., new]) => (new, rest),
            _ => return Err("the step empties the content".to_owned()),
        };
        let value = match new {
            Item::Node(id) if rest == was => Some(self.state.graph.node(*id).values),
            _ => None,
        };
        match value == Values::only(argument) && value.is_some() {
            true => Ok(()),
            false => Err("the step does not add just its argument at the right end".to_owned()),
        }
    }

    fn takes(&mut self, was: &[Item], is: &[Item]) -> Result<Scalar, Objection> {
        match was {
            [Item::Node(first), rest @ ..] if rest == is => match self.value_of(*first)? {
                scalar @ Scalar::Value(_) => Ok(scalar),
                _ => Err("the node taken holds no value".to_owned()),
            },
            _ => Err("the step does not take just the first value".to_owned()),
        }
    }

    /// Notes what the operation sees at this moment.
    pub fn observe(
        &mut self,
        content: &Content,
        operation: &mut Operation,
    ) -> Result<(), Objection> {
        match self.object.spec {
            Spec::Set => match content.is_member(&self.state.graph, Time::Now)? {
                true => operation.ghost.saw_yes = true,
                false => operation.ghost.saw_no = true,
            },
            Spec::Stack | Spec::Queue => {
                let first = self.first(content)?;
                let ghost = &mut operation.ghost;
                ghost.saw_yes |= first.is_none();
                ghost.saw_no |= first.is_some();
                if let Some(Item::Node(id)) = first {
                    // Of a node that may hold several values, nothing is certain.
                    let values = self.state.graph.node(id).values;
                    ghost.firsts |= if values.0.count_ones() == 1 { values.0 & 0b11 } else { 0 };
                }
            }
            Spec::Cell | Spec::Number => return Err("there is no list".to_owned()),
        }
        Ok(())
    }

    /// Tells the values apart that the first node of the sequence may hold, if the operation is one
    /// that returns it.
    pub fn tell_first(
        &mut self,
        content: &Content,
        operation: &Operation,
    ) -> Result<(), Objection> {
        if let Role::Peek { .. } = self.object.roles[operation.method as usize]
            && let Some(Item::Node(id)) = self.first(content)?
        {
            self.value_of(id)?;
        }
        Ok(())
    }

    /// What the sequence begins with now, if anything; decides that where the heap graph leaves it
    /// open.
    fn first(&mut self, content: &Content) -> Result<Option<Item>, Objection> {
        loop {
            let items = content.items(self.object.spec, &self.state.graph, Time::Now)?;
            match items.first() {
                Some(Item::Segment(id)) if self.state.graph.segment(*id).optional => {
                    self.state.graph.decide(*id, self.choices);
                }
                first => return Ok(first.copied()),
            }
        }
    }

    /// Checks the result of an operation.
    pub fn conclude(&self, operation: &Operation, result: &[Scalar]) -> Result<(), Objection> {
        let ghost = &operation.ghost;
        let role = self.object.roles[operation.method as usize];
        let is_set = self.object.spec == Spec::Set;
        if is_set && operation.argument() != Scalar::Key(Class::Tracked) {
            return Ok(());
        }
        let right = match (role, result) {
            (Role::Put, []) => ghost.done,
            (Role::Take { waits }, [Scalar::Null]) => !waits && !ghost.done && ghost.saw_yes,
            (Role::Take { .. }, [scalar @ Scalar::Value(_)]) => {
                ghost.done && ghost.got == Some(*scalar)
            }
            (Role::Peek { waits }, [Scalar::Null]) => !waits && ghost.saw_yes,
            (Role::Peek { .. }, [Scalar::Value(colour)]) => ghost.firsts >> colour & 1 == 1,
            (Role::IsEmpty { says }, [Scalar::Int(result)]) => match says == (*result != 0) {
                true => ghost.saw_yes,
                false => ghost.saw_no,
            },
            (Role::OnKey(does), result) => {
                let result = match result {
                    [] => None,
                    [Scalar::Int(result)] => Some(*result != 0),
                    _ => return Err("a result of another type".to_owned()),
                };
                match ghost.done {
                    true => does.returns_after_change(result),
                    false => [(true, ghost.saw_yes), (false, ghost.saw_no)]
                        .into_iter()
                        .any(|(member, saw)| saw && does.returns_unchanged(member, result)),
                }
            }
            _ => false,
        };
        match right {
            true => Ok(()),
            false => Err("the result was perhaps right at no moment since the call".to_owned()),
        }
    }
}
