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
//!
//! *Maps.* The content is the value of the first node with the tracked key that counts. A step
//! changes it where that value has another colour afterwards. Let contents w and u before and after
//! a step be different. Under the colouring in which u alone is blue, or w if nothing is left, the
//! step is seen to change the content; so an operation on this key did it, which was called with u,
//! or which may remove. Both of two such steps of one operation are seen under the colouring of its
//! argument. What it returns is fixed by the change; where it is the value w, take the colouring of
//! w. An operation that is not seen to change anything under the colouring of its argument v changed
//! nothing. What it returns is then right where nothing was held, or some value if any will do, or
//! the value that it returns, or v itself, which it puts there again; that there was such a moment
//! is asked under the colourings of the result and of v.
//!
//! It would be unsound to compare nothing but whether something is held, to take two colours for
//! certain of which one is possible, or to fix a result by a value that the step left.

use crate::execute::{Execution, Objection};
use crate::heap_graph::{End, HeapGraph, Item, Time};
use crate::list_spec::{Given, Held, OnKey};
use crate::number_spec::MOST;
use crate::object::{Field, Object, Role, Spec};
use crate::scalar::{Class, Mark, NodeId, Scalar, Values};
use crate::state::Operation;

/// How the list stands for the content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Content {
    /// The shared variable from which the list hangs.
    pub root: usize,
    /// Of a content that is numbers: the variables of the second one and those behind it.
    pub more: [Option<usize>; MOST - 1],
    /// Whether the first node is a dummy.
    pub behind_dummy: bool,
    /// Whether marked nodes count.
    pub counts_marked: bool,
}

impl Content {
    /// The variables that hold the content, where it is numbers.
    pub fn variables(&self) -> impl Iterator<Item = usize> {
        [Some(self.root)].into_iter().chain(self.more).flatten()
    }

    /// The content, where it is numbers.
    pub fn scalars(&self, shared: &[Scalar]) -> Vec<Scalar> {
        self.variables().map(|variable| shared[variable].plain()).collect()
    }

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

    /// The first node in the list that counts and has the tracked key.
    fn entry(&self, graph: &HeapGraph, time: Time) -> Result<Option<NodeId>, Objection> {
        let mut found = None;
        for item in self.items(Spec::Set, graph, time)? {
            match item {
                Item::Node(id) => {
                    let node = graph.node(id);
                    let face = match time {
                        Time::Before => node.before.unwrap_or(node.now),
                        Time::Now => node.now,
                    };
                    let counts = self.counts_marked || !face.mark.is_set();
                    if node.class == Class::Tracked && counts {
                        found = found.or(Some(id));
                    }
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
            Spec::Set => Ok(self.entry(graph, Time::Now)?.is_none()),
            Spec::Stack | Spec::Queue => Ok(self.items(object.spec, graph, Time::Now)?.is_empty()),
            Spec::Cell => match &object.cell {
                Some(cell) => cell.starts_right(&graph.shared),
                None => Ok(false),
            },
            Spec::Number => {
                let initial = object.number_spec.as_ref().map(|r| &r.initial);
                Ok(initial == Some(&self.scalars(&graph.shared)))
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
                let was = content.entry(&self.state.graph, Time::Before)?;
                let is = content.entry(&self.state.graph, Time::Now)?;
                let written = |id| self.state.graph.node(id).overwritten.is_some();
                if was == is && !is.is_some_and(written) {
                    return Ok(());
                }
                let (was, is) = (self.held(was, Time::Before)?, self.held(is, Time::Now)?);
                if was == is {
                    return Ok(());
                }
                operation.ghost.got = changed(role, operation, was, is)
                    .ok_or("the step changes the content as its operation must not")?;
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

    /// What is held under the tracked key, given the node: for a set, which has no values, null.
    fn held(&mut self, node: Option<NodeId>, time: Time) -> Result<Option<Scalar>, Objection> {
        match (node, time) {
            (Some(_), _) if !self.object.has(Field::Value) => Ok(Some(Scalar::Null)),
            (Some(id), Time::Before) => self.value_before(id).map(Some),
            (Some(id), Time::Now) => self.value_of(id).map(Some),
            (None, _) => Ok(None),
        }
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
            Spec::Set => match content.entry(&self.state.graph, Time::Now)? {
                Some(id) => {
                    operation.ghost.saw_yes = true;
                    operation.ghost.firsts |= certain(self.state.graph.node(id).values);
                }
                None => operation.ghost.saw_no = true,
            },
            Spec::Stack | Spec::Queue => {
                let first = self.first(content)?;
                let ghost = &mut operation.ghost;
                ghost.saw_yes |= first.is_none();
                ghost.saw_no |= first.is_some();
                if let Some(Item::Node(id)) = first {
                    ghost.firsts |= certain(self.state.graph.node(id).values);
                }
            }
            Spec::Cell | Spec::Number => return Err("there is no list".to_owned()),
        }
        Ok(())
    }

    /// Tells the values apart that the first node of the sequence, or the one with the tracked key,
    /// may hold, if the operation is one that needs it.
    pub fn tell_first(
        &mut self,
        content: &Content,
        operation: &Operation,
    ) -> Result<(), Objection> {
        let told = match self.object.roles[operation.method as usize] {
            Role::Peek { .. } => self.first(content)?,
            Role::OnKey(does) if does.needs_value() => {
                content.entry(&self.state.graph, Time::Now)?.map(Item::Node)
            }
            _ => None,
        };
        if let Some(Item::Node(id)) = told {
            self.value_of(id)?;
        }
        Ok(())
    }

    /// Tells the values apart that the node with the tracked key may hold, if methods of a map need
    /// it: others may have put it there.
    pub fn tell_entry(&mut self, content: &Content) -> Result<(), Objection> {
        let needed = |role: &Role| matches!(role, Role::OnKey(does) if does.needs_value());
        if self.object.roles.iter().any(needed)
            && let Some(id) = content.entry(&self.state.graph, Time::Now)?
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
            (Role::OnKey(does), result) => is_right(does, operation, result),
            _ => false,
        };
        match right {
            true => Ok(()),
            false => Err("the result was perhaps right at no moment since the call".to_owned()),
        }
    }
}

/// The colour of values, as a bit, if they have one only. Of a node that may hold several values,
/// nothing is certain.
fn certain(values: Values) -> u8 {
    if values.0.count_ones() == 1 { values.0 & 0b11 } else { 0 }
}

/// What an operation must return that has changed what is held under the tracked key, unless that
/// follows from the call; none if it must not change it in this way.
fn changed(
    role: Role,
    operation: &Operation,
    was: Option<Scalar>,
    is: Option<Scalar>,
) -> Option<Option<Scalar>> {
    let (Role::OnKey(does), [Scalar::Key(Class::Tracked), rest @ ..]) =
        (role, &operation.arguments[..])
    else {
        return None;
    };
    let argument = rest.first().copied();
    let (after, result) = does.change(was.is_some())?;
    let left = match after {
        Held::Nothing => is.is_none(),
        Held::Argument => is == Some(argument.unwrap_or(Scalar::Null)),
        Held::Before => false,
    };
    let answer = match result {
        _ if does.result_of_change().is_some() => None,
        Given::Nothing => None,
        Given::Truth(truth) => Some(Scalar::Int(i32::from(truth))),
        Given::Null => Some(Scalar::Null),
        Given::Before => Some(was.filter(|held| matches!(held, Scalar::Value(_)))?),
        Given::Argument => Some(argument?),
    };
    left.then_some(answer)
}

/// Whether an operation on the tracked key may return this.
fn is_right(does: OnKey, operation: &Operation, result: &[Scalar]) -> bool {
    let ghost = &operation.ghost;
    let argument = operation.arguments.get(1).copied();
    let held = |scalar: Option<Scalar>| match scalar {
        Some(Scalar::Value(colour)) => ghost.firsts >> colour & 1 == 1,
        _ => false,
    };
    // The result where this was held, if that was so at some moment.
    let is = |given: Given, before: Option<Scalar>| match given {
        Given::Nothing => result.is_empty(),
        Given::Truth(truth) => result == [Scalar::Int(i32::from(truth))],
        Given::Null => result == [Scalar::Null],
        Given::Before => before.is_some() && result == before.as_slice(),
        Given::Argument => argument.is_some() && result == argument.as_slice(),
    };
    if ghost.done {
        return match does.result_of_change() {
            Some(given) => is(given, None),
            None => ghost.got.is_some() && result == ghost.got.as_slice(),
        };
    }
    let told = result.first().copied().filter(|told| held(Some(*told)));
    let nothing = ghost.saw_no && does.unchanged(false).is_some_and(|given| is(given, None));
    let some = ghost.saw_yes && does.unchanged(true).is_some_and(|given| is(given, told));
    let again = match does.change(true) {
        Some((Held::Argument, given)) => held(argument) && is(given, argument),
        _ => false,
    };
    nothing || some || again
}
