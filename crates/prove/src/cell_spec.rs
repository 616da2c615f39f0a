//! Which methods of a specification are operations on one cell: reads, writes, conditional swaps,
//! and settings of a control variable. Built-in and own specifications are treated alike: a method
//! is what it does.
//!
//! Decided: whether a method equals one of the templates of [`CellRole`], on every state and all
//! arguments. A specification can only copy and compare values, so its behaviour depends on which
//! of the content and the arguments are equal or null; content and two arguments need three values
//! besides null to be equal and different in all ways. The specification is run on all of these,
//! and on all values of the control variable: equal there means equal everywhere. A template
//! accepted without this comparison would make proofs unsound.

use crate::value::{OTHER_VALUE, Val};
use crate::view::ARGS;
use seriatim_lang::Program;
use seriatim_lang::machine::Bounds;
use seriatim_lang::program::FunctionInfo;
use seriatim_lang::spec::{Datum, Spec, SpecState};
use seriatim_lang::types::Type;

/// When a swap may take place, apart from the comparison of the content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum When {
    /// Always.
    Always,
    /// While the control variable has this value.
    Control(i32),
    /// While the control variable has the value of this argument.
    Argument(u8),
}

/// What a swap returns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    /// The content before it.
    Content,
    /// Whether it took place.
    Success,
}

/// A conditional swap.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Swap {
    /// The argument with which the content is compared.
    pub old: u8,
    /// The argument that becomes the content.
    pub next: u8,
    /// The further condition.
    pub when: When,
    /// What it returns.
    pub answer: Answer,
}

/// What a method does to a cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CellRole {
    /// Returns the content.
    Read,
    /// Replaces the content by its argument.
    Write,
    /// Sets the control variable to its argument.
    SetControl,
    /// Replaces the content under a condition.
    Swap(Swap),
}

/// An outcome: the content after it, the control variable after it, the result.
pub type After = (Val, i32, Option<Val>);

/// Whether two values are equal; two of the values that are not tracked may be or not.
fn equal(a: Val, b: Val) -> [bool; 2] {
    match a == b {
        true if a == OTHER_VALUE => [true, false],
        same => [same; 2],
    }
}

impl CellRole {
    /// What it may do to a cell with this content and control variable; all outcomes, if equality
    /// is not known.
    pub fn outcomes(self, args: &[Val; ARGS], content: Val, control: i32) -> Vec<After> {
        let truth = |t: bool| Val::Int(i32::from(t));
        match self {
            CellRole::Read => vec![(content, control, Some(content))],
            CellRole::Write => vec![(args[0], control, None)],
            CellRole::SetControl => match args[0] {
                Val::Int(to) => vec![(content, to, None)],
                _ => vec![],
            },
            CellRole::Swap(swap) => {
                let fits = match swap.when {
                    When::Always => true,
                    When::Control(wanted) => control == wanted,
                    When::Argument(i) => Val::Int(control) == args[i as usize],
                };
                let outcome = |equal: bool| {
                    let succeeds = equal && fits;
                    let to = if succeeds { args[swap.next as usize] } else { content };
                    let answer = match swap.answer {
                        Answer::Content => content,
                        Answer::Success => truth(succeeds),
                    };
                    (to, control, Some(answer))
                };
                equal(content, args[swap.old as usize]).map(outcome).to_vec()
            }
        }
    }
}

/// A specification of a cell.
#[derive(Clone, Debug)]
pub struct CellSpec {
    /// What the methods of the object do, in the order of the program.
    pub roles: Vec<CellRole>,
    /// The content at the start.
    pub content: Val,
    /// The control variable at the start, if there is one.
    pub control: Option<i32>,
}

/// A specification in the form of a cell: which of its variables is the content, which the control
/// variable.
struct Shape {
    spec: Spec,
    content: usize,
    control: Option<usize>,
    controls: Vec<i32>,
}

impl CellSpec {
    /// The specification of a program as that of a cell, or why it is none.
    pub fn of(program: &Program) -> Result<CellSpec, String> {
        let info = program.spec.clone().ok_or("it names no specification")?;
        let shape =
            Shape::of(Spec::new(info, Bounds { values: 3, keys: 1, nodes: None, capacity: None }))?;
        let initial = shape.spec.initial().map_err(|_| "its specification fails")?;
        if initial[shape.content] != Datum::Null {
            return Err("its specification does not begin with an empty cell".to_string());
        }
        let roles =
            program.methods.iter().map(|m| shape.role(&m.name)).collect::<Result<_, _>>()?;
        let control = shape.control.map(|c| number(&initial[c]).unwrap_or(0));
        Ok(CellSpec { roles, content: Val::Null, control })
    }
}

fn number(datum: &Datum) -> Option<i32> {
    match datum {
        Datum::Bool(b) => Some(i32::from(*b)),
        Datum::Variant(v) => Some(*v as i32),
        Datum::Int(_) => datum.small(),
        _ => None,
    }
}

fn value(datum: &Datum) -> Option<Val> {
    match datum {
        Datum::Null => Some(Val::Null),
        Datum::Value(v) => Some(Val::Colour(*v as u8 + 1)),
        _ => None,
    }
}

impl Shape {
    fn of(spec: Spec) -> Result<Shape, String> {
        let vars = &spec.info().vars;
        let is_content = |t: &Type| *t.required() == Type::Value;
        let found: Vec<usize> = (0..vars.len()).filter(|v| is_content(&vars[*v].ty)).collect();
        let rest: Vec<usize> = (0..vars.len()).filter(|v| !is_content(&vars[*v].ty)).collect();
        let ([content], true) = (found.as_slice(), rest.len() <= 1) else {
            return Err("its specification is not that of one cell".to_string());
        };
        let control = rest.first().copied();
        let controls = match control.map(|c| &vars[c].ty) {
            None => vec![0],
            Some(Type::Bool) => vec![0, 1],
            Some(Type::Enum(id)) => {
                let variants = spec.info().facts.enums[id.0 as usize].variants.len();
                (0..variants as i32).collect()
            }
            Some(_) => return Err("its specification is not that of one cell".to_string()),
        };
        match controls.len() <= 32 {
            true => Ok(Shape { content: *content, control, controls, spec }),
            false => Err("its control variable has too many values".to_string()),
        }
    }

    fn role(&self, name: &str) -> Result<CellRole, String> {
        let unknown = || format!("the method `{name}` has no known meaning");
        let number = self.spec.method(name).ok_or_else(unknown)?;
        let info = &self.spec.info().methods[number];
        let found = self.candidates(info).into_iter().find(|role| self.is(number, *role));
        found.ok_or_else(unknown)
    }

    fn is_control(&self, ty: &Type) -> bool {
        self.control.is_some_and(|c| self.spec.info().vars[c].ty == *ty)
    }

    fn candidates(&self, info: &FunctionInfo) -> Vec<CellRole> {
        let values = |i: &usize| *info.params[*i].ty.required() == Type::Value;
        let all = 0..info.params.len();
        let data: Vec<usize> = all.clone().filter(values).collect();
        let controls: Vec<usize> = all.filter(|i| self.is_control(&info.params[*i].ty)).collect();
        if data.len() + controls.len() != info.params.len() || info.params.len() > ARGS {
            return vec![];
        }
        match (data.as_slice(), controls.as_slice()) {
            ([], []) => vec![CellRole::Read],
            ([_], []) => vec![CellRole::Write],
            ([], [_]) => vec![CellRole::SetControl],
            ([a, b], []) => {
                let controls = self.controls.iter().map(|c| When::Control(*c));
                swaps(*a, *b, std::iter::once(When::Always).chain(controls))
            }
            ([a, b], [c]) => swaps(*a, *b, std::iter::once(When::Argument(*c as u8))),
            _ => vec![],
        }
    }

    /// Whether the method is this, on all states and arguments that matter.
    fn is(&self, method: usize, role: CellRole) -> bool {
        let info = &self.spec.info().methods[method];
        let data = [Datum::Null, Datum::Value(0), Datum::Value(1), Datum::Value(2)];
        let mut calls: Vec<Vec<Datum>> = vec![vec![]];
        for param in &info.params {
            let options: Vec<Datum> = match &param.ty {
                Type::Opt(_) => data.to_vec(),
                Type::Value => data[1..].to_vec(),
                ty => self.controls.iter().map(|c| self.control_datum(ty, *c)).collect(),
            };
            let longer = |c: &Vec<Datum>| {
                options.iter().map(|o| [c.as_slice(), std::slice::from_ref(o)].concat()).collect()
            };
            calls = calls.iter().flat_map(|c| -> Vec<Vec<Datum>> { longer(c) }).collect();
        }
        let ty = self.control.map(|c| self.spec.info().vars[c].ty.clone());
        data.iter().all(|content| {
            self.controls.iter().all(|control| {
                let mut state: SpecState = vec![Datum::Null; self.spec.info().vars.len()];
                state[self.content] = content.clone();
                if let (Some(c), Some(ty)) = (self.control, &ty) {
                    state[c] = self.control_datum(ty, *control);
                }
                calls.iter().all(|args| self.agrees(method, role, &state, args))
            })
        })
    }

    fn control_datum(&self, ty: &Type, control: i32) -> Datum {
        match ty {
            Type::Bool => Datum::Bool(control != 0),
            _ => Datum::Variant(control as u32),
        }
    }

    fn agrees(&self, method: usize, role: CellRole, state: &SpecState, args: &[Datum]) -> bool {
        let Ok(outcomes) = self.spec.outcomes(state, method, args) else { return false };
        let [(after, result)] = outcomes.as_slice() else { return false };
        let control = |s: &SpecState| self.control.map_or(Some(0), |c| number(&s[c]));
        let mut given = [Val::Dead; ARGS];
        for (to, arg) in given.iter_mut().zip(args) {
            match value(arg).or(number(arg).map(Val::Int)) {
                Some(val) => *to = val,
                None => return false,
            }
        }
        let result = match result {
            Datum::Tuple(parts) if parts.is_empty() => None,
            other => value(other).or(number(other).map(Val::Int)),
        };
        let (Some(content), Some(before)) = (value(&state[self.content]), control(state)) else {
            return false;
        };
        let (Some(to), Some(now)) = (value(&after[self.content]), control(after)) else {
            return false;
        };
        // Values are numbered from 1 on here: equality is exact, and all outcomes are the same.
        role.outcomes(&given, content, before).iter().all(|o| *o == (to, now, result))
    }
}

fn swaps(a: usize, b: usize, conditions: impl Iterator<Item = When>) -> Vec<CellRole> {
    let mut found = Vec::new();
    for when in conditions {
        for (old, next) in [(a as u8, b as u8), (b as u8, a as u8)] {
            for answer in [Answer::Content, Answer::Success] {
                found.push(CellRole::Swap(Swap { old, next, when, answer }));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_lang::check;

    fn roles(source: &str) -> Result<Vec<CellRole>, String> {
        CellSpec::of(&check(source).expect("right")).map(|s| s.roles)
    }

    fn algorithm(name: &str) -> String {
        let path = format!("{}/../../algorithms/{name}.seri", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).expect("readable")
    }

    #[test]
    fn methods_are_known_by_what_they_do() {
        let swap =
            |old, next, when| CellRole::Swap(Swap { old, next, when, answer: Answer::Content });
        assert_eq!(
            roles(&algorithm("ccas")),
            Ok(vec![CellRole::SetControl, swap(0, 1, When::Control(1)), CellRole::Read])
        );
        assert_eq!(
            roles(&algorithm("rdcss")),
            Ok(vec![CellRole::SetControl, swap(1, 2, When::Argument(0)), CellRole::Read])
        );
    }

    #[test]
    fn a_method_that_differs_in_one_case_is_not_taken_for_it() {
        let rdcss = algorithm("rdcss");
        for (from, to) in [
            ("data = n2 }\n    return before", "data = o2 }\n    return before"),
            ("return before", "return data"),
            ("before == o2 &&", "before != o2 &&"),
            ("control == o1 {", "(control == o1 || o2 == n2 || before == null) {"),
            ("write_control(m: Mode) { control = m }", "write_control(m: Mode) { control = On }"),
        ] {
            let changed = rdcss.replacen(from, to, 1);
            assert_ne!(changed, rdcss, "{from}");
            assert!(roles(&changed).is_err(), "{to}");
        }
    }
}
