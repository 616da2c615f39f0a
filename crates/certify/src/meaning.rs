//! The meaning of the methods of a cell, found by running the specification, and the lemma that one
//! tracked value is enough.
//!
//! A cell has one value and at most one control variable (a boolean or an enum). A specification
//! can only copy and compare values, so what a method does is known from its outcomes on null and
//! four values: content and two arguments are equal and different in all ways, and a fourth value
//! is there for what a program wrongly makes of them.
//!
//! The checker sees values through one arbitrary value x: null, x (`Value(1)`), or another one
//! (`Value(0)`); two others may be equal or not. A method has the *outcomes* of all cases. *Lemma*,
//! checked here on all concrete cases, for the specification at hand (a method for which it fails
//! is refused):
//! 1. all changes that a method makes to the content, with the same arguments, lead to the same
//!    value;
//! 2. a change of the content or of the control variable, with a result, that is accepted with
//!    every x is what the method does;
//! 3. the same for the completion of an installed operation that keeps the control variable, at one
//!    of the values that this has had;
//! 4. for every result of an operation that changes nothing there is an x with which every moment
//!    that is taken to justify it does.
//!
//! A run of the program is covered with every x, so by 2 to 4 every change and every result in it
//! is correct; by 1, two changes by one operation are both seen with the value to which they lead
//! as x, and the second one is rejected. It would be unsound to leave a case of the lemma out.

use crate::scalar::Scalar;
use seriatim_lang::Program;
use seriatim_lang::machine::Bounds;
use seriatim_lang::spec::{Datum, Spec};
use seriatim_lang::types::Type;
use std::collections::{BTreeSet, HashMap};

/// How many values besides null are tried.
const VALUES: i32 = 4;

/// The tracked value.
pub const TRACKED: Scalar = Scalar::Value(1);
/// Some other value.
pub const OTHER: Scalar = Scalar::Value(0);

/// One way in which a method may go.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Outcome {
    /// The content after it.
    pub content: Scalar,
    /// The control variable after it.
    pub control: i32,
    /// Its result, if it has one.
    pub result: Option<Scalar>,
    /// Whether nothing is changed by it.
    pub unchanged: bool,
}

/// What a result without a change shows of the moment at which it was correct.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// The tracked value, true, or nothing: the bit `yes`.
    Yes,
    /// Null or false: the bit `no`.
    No,
    /// Another value: nothing.
    Nothing,
}

/// What a method does.
#[derive(Clone, Debug)]
pub struct Method {
    outcomes: HashMap<(Vec<Scalar>, Scalar, i32), Vec<Outcome>>,
    /// Whether it neither looks at the content nor changes it.
    pub leaves_content: bool,
    /// Whether it never changes the control variable.
    pub keeps_control: bool,
    /// The argument that must be null or tracked for the outcome to be certain, where a result does
    /// not tell values apart.
    decisive: Option<usize>,
}

/// A specification of a cell.
#[derive(Clone, Debug)]
pub struct Meaning {
    /// What the methods of the program do.
    pub methods: Vec<Method>,
    /// The control variable at the start, if there is one.
    pub control: Option<i32>,
    /// How many values the control variable has.
    pub controls: i32,
}

/// A concrete call and what it does.
struct Case {
    arguments: Vec<Datum>,
    content: Datum,
    control: i32,
    to: (Datum, i32),
    result: Datum,
}

/// What is known of a value if `x` is tracked; a boolean or a variant is known. None for no result.
fn seen(datum: &Datum, x: i32) -> Option<Scalar> {
    Some(match datum {
        Datum::Null => Scalar::Null,
        Datum::Value(v) if *v == x => TRACKED,
        Datum::Value(_) => OTHER,
        Datum::Bool(b) => Scalar::Int(i32::from(*b)),
        Datum::Variant(v) => Scalar::Int(*v as i32),
        _ => return None,
    })
}

fn data() -> Vec<Datum> {
    std::iter::once(Datum::Null).chain((0..VALUES).map(Datum::Value)).collect()
}

/// What a result shows.
pub fn sight(result: Option<Scalar>) -> Option<Sight> {
    Some(match result {
        None | Some(TRACKED) | Some(Scalar::Int(1)) => Sight::Yes,
        Some(Scalar::Null) | Some(Scalar::Int(0)) => Sight::No,
        Some(OTHER) => Sight::Nothing,
        _ => return None,
    })
}

/// What the results of outcomes have in common: nothing in particular, if they differ.
pub fn required(outcomes: &[Outcome]) -> Option<Scalar> {
    let first = outcomes.first()?.result;
    first.filter(|_| outcomes.iter().all(|o| o.result == first))
}

impl Method {
    /// All outcomes of a call; none if there is no such call.
    pub fn outcomes(&self, arguments: &[Scalar], content: Scalar, control: i32) -> &[Outcome] {
        let found = self.outcomes.get(&(arguments.to_vec(), content, control));
        found.map_or(&[], |o| o)
    }

    /// The outcomes of a call that lead to this content and control variable.
    pub fn leading(&self, call: (&[Scalar], Scalar, i32), to: (Scalar, i32)) -> Vec<Outcome> {
        let all = self.outcomes(call.0, call.1, call.2).iter();
        all.filter(|o| (o.content, o.control) == to).copied().collect()
    }

    /// The outcomes of an installed call that lead to this content, at one of the values of the
    /// control variable.
    pub fn completing(&self, call: (&[Scalar], Scalar), seen: u32, to: Scalar) -> Vec<Outcome> {
        let controls = (0..32).filter(|c| seen >> c & 1 == 1);
        controls.flat_map(|c| self.leading((call.0, call.1, c), (to, c))).collect()
    }

    /// What the operation would show if it took effect at this moment, if it certainly changed
    /// nothing then.
    pub fn shows(&self, arguments: &[Scalar], content: Scalar, control: i32) -> Option<Sight> {
        let all = self.outcomes(arguments, content, control);
        let first = all.first()?;
        let certain = all.iter().all(|o| o.unchanged && o.result == first.result);
        if certain { sight(first.result) } else { None }
    }

    /// Whether a result needs no moment with these arguments: it is checked with another tracked
    /// value.
    pub fn is_vague(&self, arguments: &[Scalar]) -> bool {
        self.decisive.is_some_and(|i| arguments[i] == OTHER)
    }
}

impl Meaning {
    /// The meaning of the methods of a program, or why it is not that of a cell.
    pub fn of(program: &Program) -> Result<Meaning, String> {
        let info = program.spec.clone().ok_or("it names no specification")?;
        let bounds = Bounds { values: VALUES as u32, keys: 1, nodes: None, capacity: None };
        let runner = Runner::of(Spec::new(info, bounds))?;
        let initial = runner.spec.initial().map_err(|_| "its specification fails")?;
        if initial[runner.content] != Datum::Null {
            return Err("its specification does not begin with an empty cell".to_owned());
        }
        let control = runner.control.map(|c| initial[c].clone());
        let control = control.map(|c| number(&c).ok_or("a control variable that is none"));
        let methods = program.methods.iter().map(|m| runner.method(&m.name));
        Ok(Meaning {
            methods: methods.collect::<Result<_, _>>()?,
            control: control.transpose()?,
            controls: runner.controls.len() as i32,
        })
    }
}

fn number(datum: &Datum) -> Option<i32> {
    match datum {
        Datum::Bool(b) => Some(i32::from(*b)),
        Datum::Variant(v) => Some(*v as i32),
        _ => None,
    }
}

/// Runs a specification on all data that matter.
struct Runner {
    spec: Spec,
    content: usize,
    control: Option<usize>,
    /// The values of the control variable; one, if there is none.
    controls: Vec<Datum>,
}

impl Runner {
    fn of(spec: Spec) -> Result<Runner, String> {
        let vars = &spec.info().vars;
        let is_content = |v: &usize| *vars[*v].ty.required() == Type::Value;
        let contents: Vec<usize> = (0..vars.len()).filter(is_content).collect();
        let rest: Vec<usize> = (0..vars.len()).filter(|v| !contents.contains(v)).collect();
        let (&[content], [] | [_]) = (&contents[..], &rest[..]) else {
            return Err("its specification is not that of one cell".to_owned());
        };
        let control = rest.first().copied();
        let controls = match control.map(|c| &vars[c].ty) {
            None => vec![Datum::Bool(false)],
            Some(Type::Bool) => vec![Datum::Bool(false), Datum::Bool(true)],
            Some(Type::Enum(id)) => {
                let count = spec.info().facts.enums[id.0 as usize].variants.len() as u32;
                (0..count).map(Datum::Variant).collect()
            }
            Some(_) => return Err("its specification is not that of one cell".to_owned()),
        };
        match controls.len() <= 4 {
            true => Ok(Runner { content, control, controls, spec }),
            false => Err("its control variable has more than four values".to_owned()),
        }
    }

    /// What a method does, if the lemma holds for it.
    fn method(&self, name: &str) -> Result<Method, String> {
        let number = self.spec.method(name).ok_or(format!("`{name}` is not specified"))?;
        let cases = self.cases(number).ok_or(format!("`{name}` is not a method of a cell"))?;
        let mut outcomes: HashMap<_, Vec<Outcome>> = HashMap::new();
        for case in &cases {
            for x in 0..VALUES {
                let known = |d: &Datum| seen(d, x).ok_or(format!("`{name}` has strange data"));
                let arguments = case.arguments.iter().map(known).collect::<Result<Vec<_>, _>>()?;
                let call = (arguments, known(&case.content)?, case.control);
                let outcome = Outcome {
                    content: known(&case.to.0)?,
                    control: case.to.1,
                    result: seen(&case.result, x),
                    unchanged: case.to == (case.content.clone(), case.control),
                };
                let all = outcomes.entry(call).or_default();
                if !all.contains(&outcome) {
                    all.push(outcome);
                }
            }
        }
        let mut method = Method {
            outcomes,
            leaves_content: leaves_content(&cases),
            keeps_control: cases.iter().all(|c| c.to.1 == c.control),
            decisive: None,
        };
        method.decisive = decisive(&method, &cases);
        let lemma = Lemma { method: &method, cases: &cases, controls: self.controls.len() as u32 };
        match lemma.holds() {
            true => Ok(method),
            false => Err(format!("one tracked value is not enough for `{name}`")),
        }
    }

    /// All calls; none if one of them has not exactly one outcome, or if the data are not those of
    /// a cell.
    fn cases(&self, method: usize) -> Option<Vec<Case>> {
        let info = &self.spec.info().methods[method];
        let mut calls: Vec<Vec<Datum>> = vec![vec![]];
        let mut values = 0;
        for param in &info.params {
            let options: Vec<Datum> = match &param.ty {
                Type::Opt(of) if **of == Type::Value => data(),
                Type::Value => data()[1..].to_vec(),
                ty if self.control.is_some_and(|c| self.spec.info().vars[c].ty == *ty) => {
                    self.controls.clone()
                }
                _ => return None,
            };
            values += usize::from(*param.ty.required() == Type::Value);
            let longer = |c: &Vec<Datum>, o: &Datum| [&c[..], std::slice::from_ref(o)].concat();
            calls = calls.iter().flat_map(|c| options.iter().map(move |o| longer(c, o))).collect();
        }
        if values > 2 || info.params.len() > 3 {
            return None;
        }
        let mut cases = Vec::new();
        for content in data() {
            for control in &self.controls {
                for arguments in &calls {
                    cases.push(self.case(method, arguments.clone(), (&content, control))?);
                }
            }
        }
        Some(cases)
    }

    fn case(&self, method: usize, arguments: Vec<Datum>, at: (&Datum, &Datum)) -> Option<Case> {
        let mut state = vec![Datum::Null; self.spec.info().vars.len()];
        state[self.content] = at.0.clone();
        if let Some(control) = self.control {
            state[control] = at.1.clone();
        }
        let mut outcomes = self.spec.outcomes(&state, method, &arguments).ok()?;
        let (after, result) = outcomes.pop().filter(|_| outcomes.is_empty())?;
        let is = |d: &Datum| self.control.map_or(Some(0), |_| number(d));
        let now = self.control.map_or(Some(0), |c| number(&after[c]));
        let fits = match &result {
            Datum::Tuple(parts) => parts.is_empty(),
            Datum::Null | Datum::Value(_) | Datum::Bool(_) => true,
            _ => false,
        };
        let to = (after[self.content].clone(), now?);
        let (content, control) = (at.0.clone(), is(at.1)?);
        fits.then_some(Case { arguments, content, control, to, result })
    }
}

fn leaves_content(cases: &[Case]) -> bool {
    let mut first: HashMap<(&[Datum], i32), (i32, &Datum)> = HashMap::new();
    cases.iter().all(|c| {
        let answer = (c.to.1, &c.result);
        c.to.0 == c.content && *first.entry((&c.arguments, c.control)).or_insert(answer) == answer
    })
}

/// The first value among the arguments that makes all outcomes certain if it is null or tracked;
/// only where results do not tell values apart.
fn decisive(method: &Method, cases: &[Case]) -> Option<usize> {
    let is_value = |d: &Datum| matches!(d, Datum::Null | Datum::Value(_));
    if cases.iter().any(|c| is_value(&c.result)) {
        return None;
    }
    let count = cases.first()?.arguments.len();
    let certain = |i: usize| {
        let decided = method.outcomes.iter().filter(|(call, _)| call.0[i] != OTHER);
        decided.into_iter().all(|(_, all)| {
            let first = (all[0].unchanged, all[0].result);
            all.iter().all(|o| (o.unchanged, o.result) == first)
        })
    };
    let values = |i: &usize| cases.iter().all(|c| is_value(&c.arguments[*i]));
    (0..count).filter(values).find(|i| certain(*i))
}

/// The lemma of the header, for one method.
struct Lemma<'m> {
    method: &'m Method,
    cases: &'m [Case],
    controls: u32,
}

/// A claim about a call that was installed and completed later: from which content to which, with
/// which result.
struct Completion<'c> {
    arguments: &'c [Datum],
    base: &'c Datum,
    to: &'c Datum,
    result: &'c Datum,
}

impl Lemma<'_> {
    fn holds(&self) -> bool {
        self.one_target() && self.changes() && self.completions() && self.results()
    }

    /// Part 1.
    fn one_target(&self) -> bool {
        let mut targets: HashMap<&[Datum], &Datum> = HashMap::new();
        let mut changing = self.cases.iter().filter(|c| c.to.0 != c.content);
        changing.all(|c| *targets.entry(&c.arguments).or_insert(&c.to.0) == &c.to.0)
    }

    fn possible_results(&self) -> Vec<Datum> {
        match self.cases[0].result {
            Datum::Tuple(_) => vec![Datum::unit()],
            Datum::Bool(_) => vec![Datum::Bool(false), Datum::Bool(true)],
            _ => data(),
        }
    }

    fn scalars(arguments: &[Datum], x: i32) -> Vec<Scalar> {
        arguments.iter().filter_map(|d| seen(d, x)).collect()
    }

    /// Whether a result may follow what outcomes require, as the check of a return sees it.
    fn may_return(outcomes: &[Outcome], result: &Datum, x: i32) -> bool {
        let required = required(outcomes);
        required.is_none() || required == seen(result, x)
    }

    /// Part 2.
    fn changes(&self) -> bool {
        let results = self.possible_results();
        self.cases.iter().all(|case| {
            let data = data();
            let controls = 0..self.controls as i32;
            let targets = data.iter().flat_map(|to| controls.clone().map(move |c| (to, c)));
            let mut wrong = targets
                .filter(|(to, control)| (*to, *control) != (&case.content, case.control))
                .flat_map(|to| results.iter().map(move |r| (to, r)))
                .filter(|(to, r)| *to != (&case.to.0, case.to.1) || *r != &case.result);
            wrong.all(|((to, control), result)| {
                (0..VALUES).any(|x| !self.accepts_change(case, (to, control), result, x))
            })
        })
    }

    fn accepts_change(&self, case: &Case, to: (&Datum, i32), result: &Datum, x: i32) -> bool {
        let (Some(from), Some(now)) = (seen(&case.content, x), seen(to.0, x)) else { return true };
        if (from, case.control) == (now, to.1) {
            return true;
        }
        let arguments = Self::scalars(&case.arguments, x);
        let leading = self.method.leading((&arguments, from, case.control), (now, to.1));
        !leading.is_empty() && Self::may_return(&leading, result, x)
    }

    /// Part 3.
    fn completions(&self) -> bool {
        if !self.method.keeps_control {
            return true;
        }
        let results = self.possible_results();
        let mut right: HashMap<(&[Datum], &Datum), Vec<&Case>> = HashMap::new();
        for case in self.cases {
            right.entry((&case.arguments, &case.content)).or_default().push(case);
        }
        right.iter().all(|((arguments, base), right)| {
            (1..1u32 << self.controls).all(|moments| {
                let data = data();
                let mut claims = data.iter().flat_map(|to| results.iter().map(move |r| (to, r)));
                claims.all(|(to, result)| {
                    let fits = |case: &&Case| {
                        let moment = moments >> case.control & 1 == 1;
                        moment && (&case.to.0, &case.result) == (to, result)
                    };
                    let claim = Completion { arguments, base, to, result };
                    right.iter().any(fits)
                        || (0..VALUES).any(|x| !self.accepts_completion(&claim, moments, x))
                })
            })
        })
    }

    fn accepts_completion(&self, claim: &Completion<'_>, moments: u32, x: i32) -> bool {
        let (Some(base), Some(to)) = (seen(claim.base, x), seen(claim.to, x)) else { return true };
        let arguments = Self::scalars(claim.arguments, x);
        let all = self.method.completing((&arguments, base), moments, to);
        !all.is_empty() && Self::may_return(&all, claim.result, x)
    }

    /// Part 4.
    fn results(&self) -> bool {
        let results = self.possible_results();
        let arguments: BTreeSet<&[Datum]> = self.cases.iter().map(|c| &c.arguments[..]).collect();
        let mut claims = arguments.iter().flat_map(|a| results.iter().map(move |r| (*a, r)));
        claims.all(|(arguments, result)| {
            (0..VALUES).any(|x| {
                let scalars = Self::scalars(arguments, x);
                let told = sight(seen(result, x));
                let exact = !matches!(told, None | Some(Sight::Nothing));
                let moments = self.cases.iter().filter(|c| c.arguments == arguments);
                let mut shown = moments.filter(|c| {
                    let content = seen(&c.content, x).unwrap_or(Scalar::Unknown);
                    self.method.shows(&scalars, content, c.control) == told
                });
                let right =
                    |c: &Case| c.to == (c.content.clone(), c.control) && c.result == *result;
                exact && !self.method.is_vague(&scalars) && shown.all(right)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(source: &str) -> Result<Meaning, String> {
        Meaning::of(&seriatim_lang::check(source).expect("a program"))
    }

    fn with_spec(methods: &str, program: &str) -> String {
        format!(
            "object o : mine\nspec mine {{ var c: value? = null\n{methods} }}\n\
             var cell: value? = null\n{program}"
        )
    }

    #[test]
    fn reads_writes_and_swaps_are_methods_of_a_cell() {
        let spec = "method read() -> value? { return c }
            method write(v: value) { c = v }
            method swap(old: value?, next: value?) -> bool {
              if c == old { c = next return true } return false
            }";
        let program = "method read() -> value? { let v = cell return v }
            method write(v: value) { cell = v }
            method swap(old: value?, next: value?) -> bool {
              if cas(cell, old, next) { return true } return false
            }";
        let found = meaning(&with_spec(spec, program)).expect("a cell");
        let [read, write, swap] = &found.methods[..] else { panic!() };
        assert_eq!(read.shows(&[], TRACKED, 0), Some(Sight::Yes));
        assert_eq!(read.shows(&[], OTHER, 0), Some(Sight::Nothing));
        assert_eq!(write.shows(&[OTHER], OTHER, 0), None, "they may differ");
        assert!(write.is_vague(&[OTHER]) && !write.is_vague(&[TRACKED]));
        assert!(swap.is_vague(&[OTHER, TRACKED]) && !swap.is_vague(&[TRACKED, OTHER]));
        assert_eq!(swap.leading((&[OTHER, TRACKED], OTHER, 0), (TRACKED, 0)).len(), 1);
        assert!(swap.leading((&[TRACKED, OTHER], OTHER, 0), (TRACKED, 0)).is_empty());
    }

    /// A method whose changes lead to different values could make two of them that no tracked value
    /// shows both.
    #[test]
    fn a_method_with_two_targets_is_refused() {
        let spec = "method m(a: value?, b: value?) { if c == a { c = b } else { c = a } }";
        let source = with_spec(spec, "method m(a: value?, b: value?) { }");
        let why = meaning(&source).expect_err("two targets");
        assert!(why.contains("one tracked value is not enough"), "{why}");
    }

    #[test]
    fn what_is_no_method_of_a_cell_is_refused() {
        let wrong = [
            "method m(a: value?) { choose { c = a or c = null } }",
            "method m(a: value?, b: value?, d: value?) { if a == b { c = d } }",
            "method m(a: int) { }",
        ];
        for spec in wrong {
            let head = spec.split(" {").next().expect("a head");
            let source = with_spec(spec, &format!("{head} {{ }}"));
            assert!(meaning(&source).is_err(), "{spec}");
        }
    }
}
