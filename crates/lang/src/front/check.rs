//! Syntax tree to checked program: resolves names, infers and checks types, finds missing returns,
//! matches the object's methods against its specification. Stops at the first error of a
//! declaration.

mod calls;
mod declarations;
mod expressions;
mod statements;

use crate::front::ast::*;
use crate::front::diagnostic::Diagnostic;
use crate::front::parse::parse;
use crate::front::program::*;
use crate::front::range::Range;
use crate::front::records::unfold;
use crate::front::span::Span;
use crate::front::types::{Fit, Type};
use crate::front::walk;
use crate::spec::paths;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

type Checked<T> = Result<T, Diagnostic>;

/// The specifications that every file may use by name.
pub const PRELUDE: &str = include_str!("prelude.seri");

/// Which part of a file is being checked: each allows its own constructs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// Methods and helper functions of the object.
    Algorithm,
    /// A specification.
    Spec,
    /// A client.
    Client,
    /// The initial value of a variable.
    Init,
}

/// Parses and checks a file.
pub fn check(source: &str) -> Result<Program, Diagnostic> {
    check_with(source, &BTreeMap::new())
}

/// Parses and checks a file whose constants are overridden by name.
pub fn check_with(source: &str, consts: &BTreeMap<String, i32>) -> Result<Program, Diagnostic> {
    let mut file = parse(source)?;
    unfold(&mut file)?;
    let known: Vec<&str> = file.consts.iter().map(|c| c.name.text.as_str()).collect();
    if let Some(unknown) = consts.keys().find(|name| !known.contains(&name.as_str())) {
        let error = Diagnostic::new(Span::default(), format!("there is no constant `{unknown}`"));
        return Err(match known.is_empty() {
            true => error,
            false => error.hint(format!("the constants are: {}", known.join(", "))),
        });
    }
    let mut program = Checker::new(&file, consts).program(source, file.clone())?;
    program.specs.iter().zip(&program.file.specs).try_for_each(|(s, decl)| versions(s, decl))?;
    attach_spec(&mut program)?;
    Ok(program)
}

/// What is declared to be a version is one: that is read off the methods.
fn versions(spec: &SpecInfo, decl: &SpecDecl) -> Checked<()> {
    let mut declared = decl.vars.iter().zip(0..).filter(|(var, _)| var.version.is_some());
    let Some((var, number)) = declared.next() else { return Ok(()) };
    let name = &var.name.text;
    if let Some((second, _)) = declared.next() {
        return Err(Diagnostic::new(second.name.span, "a specification has one version")
            .hint(format!("`{name}` is declared to be it")));
    }
    if !matches!(spec.vars[number as usize].ty, Type::Int(_)) {
        return Err(Diagnostic::new(var.name.span, "a version is a number"));
    }
    if let Some((method, fault)) = paths::uncounted(spec, VarId(number)) {
        let at = decl.methods[method].name.span;
        return Err(Diagnostic::new(at, format!("`{name}` is not a version: {fault}"))
            .hint(format!("write `{name} = {name} + 1` once on each way that changes anything")));
    }
    Ok(())
}

/// The built-in specification of this name, with the parameters that it has if nobody says more.
pub fn builtin_spec(name: &str) -> Option<SpecInfo> {
    builtin_with(name, &[])
}

/// The built-in specification of this name with its first parameters; `None` if it has fewer.
fn builtin_with(name: &str, arguments: &[Expr]) -> Option<SpecInfo> {
    let mut file = parse(PRELUDE).ok()?;
    let spec = file.specs.iter_mut().find(|spec| spec.name.text == name)?;
    if arguments.len() > spec.params.len() {
        return None;
    }
    let given = spec.params.iter_mut().zip(arguments);
    given.for_each(|((_, value), argument)| *value = Some(argument.clone()));
    let program = Checker::new(&file, &BTreeMap::new()).program(PRELUDE, file.clone()).ok()?;
    program.specs.into_iter().find(|spec| spec.name == name)
}

/// The names of the built-in specifications.
pub fn builtin_specs() -> Vec<String> {
    parse(PRELUDE)
        .map(|f| f.specs.iter().map(|s| s.name.text.clone()).collect())
        .unwrap_or_default()
}

fn attach_spec(program: &mut Program) -> Checked<()> {
    let Some(object) = &program.file.object else { return Ok(()) };
    let Some(name) = &object.spec else { return Ok(()) };
    let local = program.specs.iter().find(|s| s.name == name.text).cloned();
    if local.iter().flat_map(|spec| &spec.vars).any(|var| var.version == Some(Rise::Sparse)) {
        return Err(Diagnostic::new(name.span, "a version that is sparse is for logs")
            .hint("an algorithm has no other clients that could raise it: write `version var`"));
    }
    let number = |(argument, value): (&Expr, &i32)| Expr {
        kind: ExprKind::Int(i64::from(*value)),
        ..argument.clone()
    };
    let given: Vec<Expr> = object.arguments.iter().zip(&program.arguments).map(number).collect();
    let found = local.or_else(|| builtin_with(&name.text, &given));
    if let (None, Some(last), Some(_)) = (&found, given.last(), builtin_spec(&name.text)) {
        let message = format!("`{}` has fewer parameters", name.text);
        return Err(Diagnostic::new(last.span, message));
    }
    let Some(spec) = found else {
        let known = builtin_specs().join(", ");
        return Err(Diagnostic::new(name.span, format!("unknown specification `{}`", name.text))
            .hint(format!(
                "write `spec {} {{ … }}` in this file, or use one of: {known}",
                name.text
            )));
    };
    if let Some(decl) = program.file.specs.iter().find(|s| s.name.text == name.text) {
        for_algorithms(decl)?;
    }
    for (method, declared) in program.methods.iter().zip(&program.file.methods) {
        match_method(program, &spec, method, declared.name.span)?;
    }
    program.spec = Some(spec);
    Ok(())
}

/// What a specification of an algorithm does without: the engines for algorithms know small numbers
/// and opaque values.
fn for_algorithms(decl: &SpecDecl) -> Checked<()> {
    if let Some(record) = decl.records.first() {
        return Err(Diagnostic::new(record.name.span, "a record is for logs")
            .hint("the specification of an algorithm uses tuples"));
    }
    let mut wrong = None;
    let initial = decl.vars.iter().filter_map(|var| var.init.as_ref());
    let bodies = decl.methods.iter().chain(&decl.functions).map(|function| &function.body);
    let mut look = |expr: &Expr| {
        let is_wrong = match &expr.kind {
            ExprKind::Text(_) => true,
            ExprKind::Int(number) => i32::try_from(*number).is_err(),
            _ => false,
        };
        if is_wrong {
            wrong.get_or_insert(expr.span);
        }
    };
    initial.for_each(|init| walk::expression(init, &mut look));
    bodies.for_each(|body| walk::expressions(body, &mut look));
    match wrong {
        Some(span) => Err(Diagnostic::new(span, "texts and numbers from 2^31 on are for logs")
            .hint("an algorithm has values, which it moves and compares, and small numbers")),
        None => Ok(()),
    }
}

fn match_method(
    program: &Program,
    spec: &SpecInfo,
    method: &FunctionInfo,
    at: Span,
) -> Checked<()> {
    let Some(wanted) = spec.methods.iter().find(|m| m.name == method.name) else {
        let known: Vec<_> = spec.methods.iter().map(|m| m.name.as_str()).collect();
        return Err(Diagnostic::new(
            at,
            format!("`{}` has no method `{}`", spec.name, method.name),
        )
        .hint(format!("the specification's methods are: {}", known.join(", "))));
    };
    let signature = |f: &FunctionInfo, facts: &Facts| {
        let params: Vec<_> = f.params.iter().map(|p| facts.show(&p.ty)).collect();
        let result = match &f.result {
            Type::Unit => String::new(),
            ty => format!(" -> {}", facts.show(ty)),
        };
        format!("{}({}){result}", f.name, params.join(", "))
    };
    let same = wanted.params.len() == method.params.len()
        && wanted.params.iter().zip(&method.params).all(|(a, b)| b.ty.fits(&a.ty) < Fit::Never)
        && wanted.result.join(&method.result).is_some();
    if same {
        return Ok(());
    }
    let here = signature(method, &program.facts);
    let there = signature(wanted, &spec.facts);
    Err(Diagnostic::new(at, format!("`{here}` does not match the specification"))
        .label(format!("`{}` has `{there}`", spec.name))
        .hint("give the method the parameters and the result of the specification"))
}

struct Checker<'f> {
    file: &'f File,
    facts: Facts,
    shared: Vec<VarInfo>,
    thread_vars: Vec<VarInfo>,
    functions: Vec<FunctionInfo>,
    methods: Vec<FunctionInfo>,
    scopes: Vec<HashMap<String, LocalId>>,
    part: Part,
    /// Result type of the function under check.
    result: Type,
    /// Names that the function under check assigns to.
    assigned: HashSet<String>,
    /// Labels of the enclosing loops.
    loops: Vec<Option<String>>,
    overrides: BTreeMap<String, i32>,
}

impl<'f> Checker<'f> {
    fn new(file: &'f File, overrides: &BTreeMap<String, i32>) -> Self {
        let count = file.expr_count as usize;
        let facts =
            Facts { types: vec![None; count], meanings: vec![None; count], ..Facts::default() };
        Checker {
            file,
            facts,
            shared: vec![],
            thread_vars: vec![],
            functions: vec![],
            methods: vec![],
            scopes: vec![HashMap::new()],
            part: Part::Init,
            result: Type::Unit,
            assigned: HashSet::new(),
            loops: vec![],
            overrides: overrides.clone(),
        }
    }

    fn program(mut self, source: &str, file: File) -> Checked<Program> {
        self.declare_names()?;
        self.declare_vars()?;
        self.part = Part::Algorithm;
        self.functions = self.signatures(&self.file.functions)?;
        self.methods = self.signatures(&self.file.methods)?;
        self.reject_recursion(&self.file.functions)?;
        self.assigned = statements::assigned_names(&self.file.init);
        self.block(&self.file.init)?;
        for (info, f) in self.functions.clone().iter().zip(&self.file.functions) {
            self.function(info, f)?;
        }
        for (info, f) in self.methods.clone().iter().zip(&self.file.methods) {
            self.method_types(f)?;
            self.function(info, f)?;
        }
        let clients = self.clients()?;
        let given = self.file.object.iter().flat_map(|object| &object.arguments);
        let arguments = given.map(|argument| self.constant(argument)).collect::<Checked<_>>()?;
        let object = (self.shared.clone(), self.thread_vars.clone());
        let (functions, methods) = (self.functions.clone(), self.methods.clone());
        let mut specs = Vec::new();
        for spec in &self.file.specs {
            specs.push(self.spec(spec)?);
        }
        let facts = Arc::new(self.facts);
        specs.iter_mut().for_each(|s| s.facts = facts.clone());
        Ok(Program {
            name: file.object.as_ref().map(|o| o.name.text.clone()).unwrap_or_default(),
            source: source.into(),
            file,
            facts,
            shared: object.0,
            thread_vars: object.1,
            methods,
            functions,
            spec: None,
            arguments,
            specs,
            clients,
        })
    }

    fn set_type(&mut self, id: ExprId, ty: Type) -> Type {
        self.facts.types[id.0 as usize] = Some(ty.clone());
        ty
    }

    fn set_meaning(&mut self, id: ExprId, meaning: Meaning) {
        self.facts.meanings[id.0 as usize] = Some(meaning);
    }

    fn local(&mut self, name: &Name, id: ExprId, ty: Type) -> LocalId {
        let local = LocalId(self.facts.locals.len() as u32);
        self.facts.locals.push((name.text.clone(), ty.clone()));
        self.set_type(id, ty);
        self.set_meaning(id, Meaning::Local(local));
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.text.clone(), local);
        }
        local
    }

    fn plain_int(&self) -> Type {
        Type::Int(if self.part == Part::Spec { Range::wide() } else { Range::plain() })
    }

    fn mismatch(&self, span: Span, found: &Type, wanted: &Type) -> Diagnostic {
        let (found, wanted) = (self.facts.show(found), self.facts.show(wanted));
        Diagnostic::new(span, format!("expected `{wanted}`, found `{found}`"))
            .label(format!("this is `{found}`"))
    }

    /// Checks that `expr` can stand where `wanted` is needed.
    fn expect(&mut self, expr: &Expr, wanted: &Type) -> Checked<()> {
        let found = self.expr(expr, Some(wanted))?;
        if found.fits(wanted) == Fit::Never {
            return Err(self.mismatch(expr.span, &found, wanted));
        }
        Ok(())
    }

    /// The value of a constant expression.
    fn constant(&self, expr: &Expr) -> Checked<i32> {
        let fail = || {
            Diagnostic::new(expr.span, "this must be a constant")
                .hint("use numbers, `const` names and + - * / %")
        };
        let value = match &expr.kind {
            ExprKind::Int(n) => i32::try_from(*n).map_err(|_| fail())?,
            ExprKind::Name(name) => *self.facts.consts.get(name).ok_or_else(fail)?,
            ExprKind::Unary(UnaryOp::Neg, inner) => {
                self.constant(inner)?.checked_neg().ok_or_else(fail)?
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.constant(a)?, self.constant(b)?);
                let result = match op {
                    BinaryOp::Add => a.checked_add(b),
                    BinaryOp::Sub => a.checked_sub(b),
                    BinaryOp::Mul => a.checked_mul(b),
                    BinaryOp::Div => a.checked_div_euclid(b),
                    BinaryOp::Rem => a.checked_rem_euclid(b),
                    _ => None,
                };
                result.ok_or_else(fail)?
            }
            _ => return Err(fail()),
        };
        if Range::wide().contains(value) { Ok(value) } else { Err(fail()) }
    }

    fn unknown_name(&self, name: &str, span: Span) -> Diagnostic {
        let mut known: Vec<&str> =
            self.scopes.iter().flat_map(|s| s.keys()).map(|s| &**s).collect();
        known.extend(self.shared.iter().chain(&self.thread_vars).map(|v| v.name.as_str()));
        known.extend(self.functions.iter().map(|f| f.name.as_str()));
        known.extend(self.facts.consts.keys().map(|s| &**s));
        known.extend(self.facts.enums.iter().flat_map(|e| &e.variants).map(|s| &**s));
        let near = known.into_iter().filter(|k| {
            distance(k, name) <= name.len().div_ceil(2).min(2) && distance(k, name) < name.len()
        });
        let error = Diagnostic::new(span, format!("unknown name `{name}`"));
        match near.min_by_key(|k| (distance(k, name), *k)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.label("nothing of this name is in scope here"),
        }
    }
}

/// How many letters two words differ in (edit distance).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}
