//! The abstract content of the object, read off a view, and the checks that make a proof.
//!
//! *Theorem* (Herlihy and Wing's forward simulation, with results justified by a moment of the
//! interval). Let the content be a function of the shared state, empty at the start. If every step
//! leaves the content as it is or changes it as the operation of its thread may, at most once per
//! operation; if an operation that changed it returns what the change says; and if one that did not
//! returns what was correct at some moment between its call and its return; then every history is
//! linearizable: changes take effect at their step, the others at that moment. Sets are products of
//! one object per key, and linearizability is local (Herlihy and Wing, TOPLAS 1990), so it is
//! enough to do this for one arbitrary key. A value is represented by its colour: programs only
//! copy values, so a result that differs from the value removed differs in colour under some
//! colouring, and all colourings are covered.
//!
//! It would be unsound to skip the check on any step, to let an operation change the content twice,
//! or to take a content that is no function of the shared state.

use crate::cell;
use crate::counter;
use crate::model::{Kind, Model, Role, Tracking, is_finite};
use crate::outcome::Obstacle;
use crate::value::{ANY_COLOUR, Attr, Class, TRACKED, Val, attrs, only};
use crate::view::{Busy, Ghost, Segment, View};
use seriatim_lang::types::Scalar;

/// Which nodes make up the content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Abstraction {
    /// The shared variable from which they are reached.
    pub root: usize,
    /// Where the content begins.
    pub begin: Begin,
    /// Which nodes count.
    pub counted: Counted,
    /// How much effects tell, where the first proof gets stuck.
    pub paths: Paths,
}

/// Whether effects tell what lies on the path between two nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Paths {
    /// They do not.
    Untold,
    /// They do, where a step takes out several nodes at once.
    Told,
}

/// What can be seen of the content at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Moment {
    /// The tracked key is a member; the sequence is empty.
    pub yes: bool,
    /// It is not.
    pub no: bool,
    /// The colour of the first item, as a bit, where that is known and a method tells it.
    pub first: u8,
}

impl Ghost {
    /// What an operation keeps of a moment. Only who asks for something keeps it: views need not
    /// differ in what nobody uses.
    pub fn see(&mut self, model: &Model, method: u32, moment: Moment) {
        let role = model.roles[method as usize];
        let asks = model.tracking == Tracking::Key || matches!(role, Role::IsEmpty { .. });
        self.saw_yes |= moment.yes;
        self.saw_no |= asks && moment.no;
        if matches!(role, Role::Peek { .. }) {
            self.firsts |= moment.first;
        }
    }
}

/// Where the content begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Begin {
    /// At the node to which the root points.
    AtRoot,
    /// Behind it: it is a dummy.
    BehindDummy,
}

/// Which nodes count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Counted {
    /// All that can be reached.
    Reachable,
    /// Those that can be reached and are not marked.
    ReachableUnmarked,
}

impl Abstraction {
    /// All abstractions that a model may have, the likeliest first.
    pub fn candidates(model: &Model) -> Vec<Abstraction> {
        let is_root = |g: &usize| match model.kind {
            Kind::Cell => model.steps.shared[*g].kind.scalar == Scalar::Value,
            Kind::Number => is_finite(model.steps.shared[*g].kind),
            _ => model.is_reference(*g),
        };
        let roots = (0..model.steps.shared.len()).filter(is_root);
        let begins: &[Begin] = match model.kind {
            Kind::Set | Kind::Cell | Kind::Number => &[Begin::AtRoot],
            Kind::Stack => &[Begin::AtRoot, Begin::BehindDummy],
            Kind::Queue => &[Begin::BehindDummy, Begin::AtRoot],
        };
        let counted: &[Counted] = match (model.kind, model.has_marks()) {
            (Kind::Set, true) => &[Counted::ReachableUnmarked, Counted::Reachable],
            _ => &[Counted::Reachable],
        };
        let mut found = Vec::new();
        for root in roots {
            for begin in begins {
                for counted in counted {
                    let (begin, counted) = (*begin, *counted);
                    found.push(Abstraction { root, begin, counted, paths: Paths::Untold });
                }
            }
        }
        found
    }

    /// The same content, with effects that tell more.
    pub fn with_paths(self) -> Abstraction {
        Abstraction { paths: Paths::Told, ..self }
    }

    /// In words.
    pub fn text(&self, model: &Model) -> String {
        let root = &model.steps.shared[self.root].name;
        if model.kind == Kind::Number {
            return format!("the value of `{root}`");
        }
        if model.kind == Kind::Cell {
            return match model.descriptor().map(|d| &model.steps.shared[d].name) {
                Some(record) => {
                    format!("the value in `{root}`, while there is no record in `{record}`")
                }
                None => format!("the value in `{root}`"),
            };
        }
        let begin = match self.begin {
            Begin::AtRoot => "",
            Begin::BehindDummy => ", behind its first node",
        };
        let counted = match self.counted {
            Counted::Reachable => "all nodes that can be reached",
            Counted::ReachableUnmarked => "all unmarked nodes that can be reached",
        };
        format!("{counted} from `{root}`{begin}")
    }
}

/// A piece of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Item {
    Node(usize),
    /// The segment behind a node.
    Between(usize, Segment),
}

/// What an own step did to the content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Nothing.
    None,
    /// The operation took effect.
    Effect,
    /// The operation took effect and removed the value of this node.
    Removed(usize),
}

impl Abstraction {
    fn sequence(&self, view: &View) -> Result<Vec<Item>, Obstacle> {
        let mut items = Vec::new();
        let mut visited = vec![false; view.nodes.len()];
        let mut at = view.globals[self.root];
        while let Some(n) = at.node() {
            if std::mem::replace(&mut visited[n], true) {
                return Err(Obstacle::Cyclic);
            }
            items.push(Item::Node(n));
            let node = &view.nodes[n];
            if !node.segment.is_empty() {
                items.push(Item::Between(n, node.segment));
            }
            at = node.to;
        }
        if self.begin == Begin::BehindDummy && !items.is_empty() {
            items.remove(0);
        }
        Ok(items)
    }

    /// Whether the tracked key is a member.
    fn has_tracked(&self, view: &View) -> Result<bool, Obstacle> {
        let counts = |attr: Attr| {
            attr.class() == Class::Tracked && (self.counted == Counted::Reachable || !attr.marked())
        };
        let (mut visited, mut found) = (0u64, false);
        let mut at = view.globals[self.root];
        while let Some(n) = at.node().filter(|n| visited >> n & 1 == 0) {
            visited |= 1 << n;
            let node = &view.nodes[n];
            if attrs(node.segment.attrs & TRACKED).any(counts) {
                return Err(Obstacle::UnknownNodeExposed);
            }
            found |= counts(node.attr);
            at = node.to;
        }
        Ok(found)
    }

    /// Records what the operation can see of the content now.
    pub fn observe(&self, model: &Model, view: &mut View) -> Result<(), Obstacle> {
        if let Some(busy) = &mut view.busy
            && busy.ghost.done
        {
            busy.ghost = Ghost { saw_yes: false, saw_no: false, firsts: 0, ..busy.ghost };
            return Ok(());
        }
        match model.kind {
            Kind::Cell => {
                cell::observe(model, self, view);
                return Ok(());
            }
            Kind::Number => {
                counter::observe(model, self, view);
                return Ok(());
            }
            Kind::Stack | Kind::Queue | Kind::Set => {}
        }
        let Some(busy) = &view.busy else { return Ok(()) };
        if !self.is_observed(model, busy) {
            return Ok(());
        }
        let method = busy.method;
        let moment = self.moment(model, view)?;
        view.busy.iter_mut().for_each(|b| b.ghost.see(model, method, moment));
        Ok(())
    }

    /// Whether an operation on a list still depends on what the content is at some moment.
    pub fn is_observed(&self, model: &Model, busy: &Busy) -> bool {
        let concerned = model.tracking != Tracking::Key || busy.args[0] == Val::Key(Class::Tracked);
        concerned && !busy.ghost.done
    }

    /// What can be seen of the content of a list now.
    pub fn moment(&self, model: &Model, view: &View) -> Result<Moment, Obstacle> {
        if model.tracking == Tracking::Key {
            let member = self.has_tracked(view)?;
            return Ok(Moment { yes: member, no: !member, first: 0 });
        }
        let items = self.sequence(view)?;
        let first = match items.first() {
            Some(Item::Node(first)) if model.peeks() => view.nodes[*first].values,
            _ => 0,
        };
        let first = if first.count_ones() == 1 { first & ANY_COLOUR } else { 0 };
        Ok(Moment { yes: items.is_empty(), no: !items.is_empty(), first })
    }

    /// The first item, if the operation is one that tells it.
    pub fn told_item(&self, model: &Model, view: &View) -> Result<Option<usize>, Obstacle> {
        let role = view.busy.as_ref().map(|busy| model.roles[busy.method as usize]);
        let Some(Role::Peek { .. }) = role else { return Ok(None) };
        match self.sequence(view)?.first() {
            Some(Item::Node(first)) => Ok(Some(*first)),
            _ => Ok(None),
        }
    }

    /// Whether the object is as its specification says at the start: empty.
    pub fn is_empty(&self, model: &Model, view: &View) -> Result<bool, Obstacle> {
        match model.tracking {
            Tracking::Key => Ok(!self.has_tracked(view)?),
            Tracking::Colour => Ok(self.sequence(view)?.is_empty()),
            Tracking::Value => Ok(cell::starts_right(model, self, view)),
            Tracking::Number => Ok(counter::starts_right(model, self)),
        }
    }

    /// What a step of the operation did to the content; an error if it was not allowed to.
    pub fn change(&self, model: &Model, before: &View, after: &View) -> Result<Change, Obstacle> {
        let busy = after.busy.as_ref().ok_or(Obstacle::IllegalChange)?;
        let role = model.roles[busy.method as usize];
        let change = match model.tracking {
            Tracking::Key => self.change_of_set(role, busy, before, after)?,
            _ => self.change_of_sequence(model.kind, role, before, after)?,
        };
        match change {
            Change::None => Ok(change),
            _ if busy.ghost.done => Err(Obstacle::IllegalChange),
            _ => Ok(change),
        }
    }

    fn change_of_set(
        &self,
        role: Role,
        busy: &Busy,
        before: &View,
        after: &View,
    ) -> Result<Change, Obstacle> {
        let mine = busy.args[0] == Val::Key(Class::Tracked);
        let was = self.has_tracked(before)?;
        match (was == self.has_tracked(after)?, role) {
            (true, _) => Ok(Change::None),
            (false, Role::OnKey(does)) if mine && does.changes(was) => Ok(Change::Effect),
            _ => Err(Obstacle::IllegalChange),
        }
    }

    fn change_of_sequence(
        &self,
        kind: Kind,
        role: Role,
        before: &View,
        after: &View,
    ) -> Result<Change, Obstacle> {
        let (old, new) = (self.sequence(before)?, self.sequence(after)?);
        if old == new {
            return Ok(Change::None);
        }
        let arg = only(after.argument());
        let added = match (role, kind, new.as_slice()) {
            (Role::Put, Kind::Stack, [first, rest @ ..]) if *rest == old[..] => Some(first),
            (Role::Put, Kind::Queue, [rest @ .., last]) if *rest == old[..] => Some(last),
            _ => None,
        };
        if let Some(Item::Node(node)) = added
            && Some(after.nodes[*node].values) == arg
        {
            return Ok(Change::Effect);
        }
        match (role, old.as_slice()) {
            (Role::Take { .. }, [Item::Node(first), rest @ ..]) if *rest == new[..] => {
                Ok(Change::Removed(*first))
            }
            _ => Err(Obstacle::IllegalChange),
        }
    }
}

/// Whether an operation may return this.
pub fn is_justified(model: &Model, busy: &Busy, result: &[Val]) -> bool {
    if model.kind == Kind::Cell {
        return cell::is_justified(model, busy, result);
    }
    let Ghost { saw_yes, saw_no, done, got, firsts } = busy.ghost;
    match (model.roles[busy.method as usize], result) {
        (Role::Put, []) => done,
        (Role::Take { waits }, [Val::Null]) => !waits && !done && saw_yes,
        (Role::Take { .. }, [Val::Colour(c)]) => done && got == Some(*c),
        (Role::Peek { waits }, [Val::Null]) => !waits && saw_yes,
        (Role::Peek { .. }, [Val::Colour(c)]) => firsts >> c & 1 == 1,
        (Role::IsEmpty { says }, [Val::Int(r)]) => match says == (*r != 0) {
            true => saw_yes,
            false => saw_no,
        },
        (Role::OnKey(does), result) => {
            let result = match result {
                [] => None,
                [Val::Int(r)] => Some(*r != 0),
                _ => return false,
            };
            let is_other = busy.args[0] != Val::Key(Class::Tracked);
            is_other
                || match done {
                    true => does.result_of_change() == Some(result),
                    false => {
                        saw_yes && does.answers(true, result)
                            || saw_no && does.answers(false, result)
                    }
                }
        }
        _ => false,
    }
}
