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
//! *Maps* are sets whose keys have a value each: the content is the value of the first node that
//! counts and has the tracked key, if there is one. All that is said of a value is said of its
//! colour, and each statement is drawn from the colouring in which one value has a colour of its
//! own. A step that leaves w as the value must belong to an operation called with w: under the
//! colouring of w the change shows, unless there is none. So two changes by one operation both
//! leave its argument v, and show under the colouring of v. A result r that is *the old value* is
//! right by the colouring of r, where the change shows, or a moment is known at which the value had
//! the colour of r and so was r. An operation that would set v, and changed nothing, saw a moment at
//! which the value had the colour of v, and by the colouring of v was v: it set it then, and its
//! result is that of setting v where v is. Under every colouring every check is made.
//!
//! It would be unsound to skip the check on any step, to let an operation change the content twice,
//! or to take a content that is no function of the shared state.

use crate::cell;
use crate::counter;
use crate::list_spec::{Entry, KeyCase, OnKey, Told};
use crate::model::{Kind, Model, Role, Tracking, is_finite};
use crate::outcome::Obstacle;
use crate::value::{Attr, Class, TRACKED, Val, Values, attrs, only};
use crate::view::{Busy, Ghost, Segment, View};
use seriatim_lang::types::Scalar;

/// The most words of a content that is numbers.
pub const WORDS: usize = 4;
/// So many ways are tried to find the words of such a content among the shared variables.
const GUESSES: usize = 24;

/// Which nodes make up the content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Abstraction {
    /// The shared variable from which they are reached.
    pub root: usize,
    /// Of a content that is numbers, the variables of the second word and those behind it.
    pub others: [Option<u8>; WORDS - 1],
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
    /// The colour of the first item, or of the value of the tracked key, as a bit, where that is
    /// known and a method tells it.
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
        if role.asks_value() {
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
        let roots: Vec<usize> = (0..model.steps.shared.len()).filter(is_root).collect();
        let words = model.number.as_ref().map_or(1, |spec| spec.initial.len());
        if words > 1 {
            return several(model, &roots, words);
        }
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
                    found.push(Abstraction { begin, counted, ..Abstraction::at(&[root]) });
                }
            }
        }
        found
    }

    /// The content in these variables.
    fn at(roots: &[usize]) -> Abstraction {
        let mut others = [None; WORDS - 1];
        for (other, root) in others.iter_mut().zip(&roots[1..]) {
            *other = Some(*root as u8);
        }
        let (begin, counted) = (Begin::AtRoot, Counted::Reachable);
        Abstraction { root: roots[0], others, begin, counted, paths: Paths::Untold }
    }

    /// The variables of all words of the content.
    pub fn roots(&self) -> impl Iterator<Item = usize> + '_ {
        std::iter::once(self.root).chain(self.others.iter().flatten().map(|root| *root as usize))
    }

    /// The names of these variables.
    pub fn names(&self, model: &Model) -> Vec<String> {
        self.roots().map(|root| model.steps.shared[root].name.clone()).collect()
    }

    /// The same content, with effects that tell more.
    pub fn with_paths(self) -> Abstraction {
        Abstraction { paths: Paths::Told, ..self }
    }

    /// In words.
    pub fn text(&self, model: &Model) -> String {
        let root = &model.steps.shared[self.root].name;
        if model.kind == Kind::Number {
            let several = if self.others[0].is_some() { "s" } else { "" };
            return format!("the value{several} of `{}`", self.names(model).join("`, `"));
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

/// The first contents of several variables that begin right, in the order of the variables.
fn several(model: &Model, roots: &[usize], words: usize) -> Vec<Abstraction> {
    let mut all: Vec<Vec<usize>> = vec![vec![]];
    for _ in 0..words {
        let longer = |some: &Vec<usize>| {
            let new = roots.iter().filter(|root| !some.contains(root));
            let longer = new.map(|root| [&some[..], &[*root]].concat());
            longer.filter(|some| counter::may_begin(model, some)).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).take(GUESSES).collect();
    }
    all.iter().map(|roots| Abstraction::at(roots)).collect()
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
    /// The operation took effect on a map and must return this.
    Answered(Val),
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
        Ok(self.entry(view)?.is_some())
    }

    /// The first node that counts and has the tracked key.
    pub fn entry(&self, view: &View) -> Result<Option<usize>, Obstacle> {
        let counts = |attr: Attr| {
            attr.class() == Class::Tracked && (self.counted == Counted::Reachable || !attr.marked())
        };
        let (mut visited, mut found) = (0u64, None);
        let mut at = view.globals[self.root];
        while let Some(n) = at.node().filter(|n| visited >> n & 1 == 0) {
            visited |= 1 << n;
            let node = &view.nodes[n];
            if attrs(node.segment.attrs & TRACKED).any(counts) {
                return Err(Obstacle::UnknownNodeExposed);
            }
            found = found.or(counts(node.attr).then_some(n));
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
            let entry = self.entry(view)?;
            let first = entry.map_or(0, |n| model.told_colour(view.nodes[n].values));
            return Ok(Moment { yes: entry.is_some(), no: entry.is_none(), first });
        }
        let items = self.sequence(view)?;
        let first = match items.first() {
            Some(Item::Node(first)) => model.told_colour(view.nodes[*first].values),
            _ => 0,
        };
        Ok(Moment { yes: items.is_empty(), no: !items.is_empty(), first })
    }

    /// The first item, or the node with the tracked key, if the operation depends on its value.
    pub fn told_item(&self, model: &Model, view: &View) -> Result<Option<usize>, Obstacle> {
        let asks = |busy: &&Busy| model.roles[busy.method as usize].asks_value();
        let Some(busy) = view.busy.as_ref().filter(asks) else { return Ok(None) };
        if model.tracking == Tracking::Key {
            return if self.is_observed(model, busy) { self.entry(view) } else { Ok(None) };
        }
        match self.sequence(view)?.first() {
            Some(Item::Node(first)) => Ok(Some(*first)),
            _ => Ok(None),
        }
    }

    /// The node with the tracked key, if its value is not known and some method depends on it.
    pub fn untold_entry(&self, model: &Model, view: &View) -> Option<usize> {
        let asked = model.tracking == Tracking::Key && model.asks_values();
        let entry = if asked { self.entry(view).ok()? } else { None };
        entry.filter(|node| view.nodes[*node].values.count_ones() > 1)
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
            Tracking::Key => self.change_of_key(role, busy, before, after)?,
            _ => self.change_of_sequence(model.kind, role, before, after)?,
        };
        match change {
            Change::None => Ok(change),
            _ if busy.ghost.done => Err(Obstacle::IllegalChange),
            _ => Ok(change),
        }
    }

    /// The values before and after the step are known, where there are any.
    fn change_of_key(
        &self,
        role: Role,
        busy: &Busy,
        before: &View,
        after: &View,
    ) -> Result<Change, Obstacle> {
        let value = |view: &View| Ok(self.entry(view)?.map(|node| view.nodes[node].values));
        let (was, is) = (value(before)?, value(after)?);
        if was == is {
            return Ok(Change::None);
        }
        let mine = busy.args[0] == Val::Key(Class::Tracked);
        let (Role::OnKey(does), true) = (role, mine) else { return Err(Obstacle::IllegalChange) };
        let (left, told) = does.change(was.is_some()).ok_or(Obstacle::IllegalChange)?;
        let is_left = match left {
            Entry::Nothing => is.is_none(),
            Entry::New => is == Some(only(busy.args[1]).unwrap_or_default()),
            Entry::Old => false,
        };
        if !is_left {
            return Err(Obstacle::IllegalChange);
        }
        if does.result_of_change().is_some() {
            return Ok(Change::Effect);
        }
        let value = |values: Option<Values>| match values {
            Some(values @ 1..=2) => Ok(Val::Colour(values.trailing_zeros() as u8)),
            _ => Err(Obstacle::IllegalChange),
        };
        Ok(Change::Answered(match told {
            Told::Old => value(was)?,
            Told::New => value(is)?,
            Told::Bool(result) => Val::Int(i32::from(result)),
            Told::Null | Told::Nothing => Val::Null,
        }))
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
            busy.args[0] != Val::Key(Class::Tracked) || is_right_for_key(does, busy, result)
        }
        _ => false,
    }
}

/// Whether an operation on the tracked key may return this.
fn is_right_for_key(does: OnKey, busy: &Busy, result: &[Val]) -> bool {
    let Ghost { saw_yes, saw_no, done, got, firsts } = busy.ghost;
    let value = match result {
        [Val::Colour(colour)] => Some(*colour),
        _ => None,
    };
    let given = busy.args[1];
    let is_told = |told: Told| match (told, result) {
        (Told::Nothing, []) | (Told::Null, [Val::Null]) => true,
        (Told::Bool(told), [Val::Int(result)]) => told == (*result != 0),
        (Told::New, [Val::Colour(_)]) => result == [given],
        _ => false,
    };
    if done {
        return match does.result_of_change() {
            Some(told) => is_told(told),
            None => answer(result).is_some() && answer(result) == got,
        };
    }
    let was = |colour: u8| firsts >> colour & 1 == 1;
    let absent = match does.absent {
        KeyCase::Ends { after: Entry::Nothing, result } => saw_no && is_told(result),
        _ => false,
    };
    let present = match (does.present, given) {
        (KeyCase::Ends { after: Entry::Old, result: Told::Old }, _) => value.is_some_and(was),
        (KeyCase::Ends { after: Entry::Old, result }, _) => saw_yes && is_told(result),
        // It left what there was, because that was its argument.
        (KeyCase::Ends { after: Entry::New, result }, Val::Colour(given)) => {
            was(given)
                && match result {
                    Told::Old => value == Some(given),
                    told => is_told(told),
                }
        }
        _ => false,
    };
    absent || present
}

/// A result as history bits remember it.
pub fn answer(result: &[Val]) -> Option<u8> {
    match result {
        [Val::Colour(colour)] => Some(*colour),
        [Val::Null] => Some(2),
        [Val::Int(result)] => Some(3 + u8::from(*result != 0)),
        _ => None,
    }
}
