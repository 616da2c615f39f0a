//! Declarations: names, types, variables, signatures, specifications, clients.

use super::{Checked, Checker, Part};
use crate::front::ast::*;
use crate::front::diagnostic::Diagnostic;
use crate::front::program::*;
use crate::front::range::Range;
use crate::front::types::{EnumId, Length, Record, StructId, Type};
use std::collections::HashMap;
use std::sync::Arc;

/// The largest array, and the largest width of a variable.
const MAX_LENGTH: u32 = 4096;
/// The deepest recursion.
const MAX_DEPTH: i32 = 16;

impl Checker<'_> {
    pub(super) fn declare_names(&mut self) -> Checked<()> {
        let file = self.file;
        self.reject_duplicates(file)?;
        for decl in &file.consts {
            let value = match self.overrides.get(&decl.name.text) {
                Some(value) => *value,
                None => self.constant(&decl.value)?,
            };
            self.facts.consts.insert(decl.name.text.clone(), value);
        }
        for decl in &file.enums {
            let variants = decl.variants.iter().map(|v| v.text.clone()).collect();
            self.facts.enums.push(EnumInfo { name: decl.name.text.clone(), variants });
        }
        for decl in &file.structs {
            self.facts.structs.push(StructInfo { name: decl.name.text.clone(), fields: vec![] });
        }
        for (index, decl) in file.structs.iter().enumerate() {
            let mut fields = Vec::new();
            for field in &decl.fields {
                let ty = self.plain_type(&field.ty)?;
                if field.plain && ty == Type::Lock {
                    return Err(plain_lock(&field.name));
                }
                let (name, plain) = (field.name.text.clone(), field.plain);
                fields.push(FieldInfo { name, ty, default: None, plain });
            }
            self.facts.structs[index].fields = fields;
        }
        for (index, decl) in file.structs.iter().enumerate() {
            for (number, field) in decl.fields.iter().enumerate() {
                if let Some(default) = &field.default {
                    let ty = self.facts.structs[index].fields[number].ty.clone();
                    self.expect(default, &ty)?;
                    self.facts.structs[index].fields[number].default = Some(default.clone());
                }
            }
        }
        Ok(())
    }

    fn reject_duplicates(&self, file: &File) -> Checked<()> {
        let mut seen = HashMap::new();
        let names = (file.consts.iter().map(|d| &d.name))
            .chain(file.enums.iter().flat_map(|d| std::iter::once(&d.name).chain(&d.variants)))
            .chain(file.structs.iter().chain(&file.records).map(|d| &d.name))
            .chain(file.vars.iter().map(|d| &d.name))
            .chain(file.functions.iter().map(|d| &d.name));
        let methods = file.methods.iter().map(|d| &d.name);
        for name in names {
            if seen.insert(name.text.as_str(), name.span).is_some() {
                return Err(duplicate(name));
            }
        }
        let mut seen = HashMap::new();
        for name in methods {
            if seen.insert(name.text.as_str(), name.span).is_some() {
                return Err(duplicate(name));
            }
        }
        for name in file.functions.iter().map(|d| &d.name) {
            if Builtin::named(&name.text).is_some_and(|b| !b.is_for_specs() && !b.gives_way()) {
                return Err(Diagnostic::new(name.span, "this is the name of a built-in function")
                    .hint("choose another name"));
            }
        }
        for decl in file.structs.iter().chain(&file.records) {
            let mut seen = HashMap::new();
            for field in &decl.fields {
                if seen.insert(field.name.text.as_str(), ()).is_some() {
                    return Err(duplicate(&field.name));
                }
            }
        }
        Ok(())
    }

    pub(super) fn declare_vars(&mut self) -> Checked<()> {
        for decl in &self.file.vars {
            let ty = self.plain_type(&decl.ty)?;
            let info = self.variable(decl, ty)?;
            match decl.scope {
                VarScope::Shared => self.shared.push(info),
                VarScope::Thread => self.thread_vars.push(info),
            }
        }
        Ok(())
    }

    fn variable(&mut self, decl: &VarDecl, ty: Type) -> Checked<VarInfo> {
        match &decl.init {
            Some(init) => self.expect(init, &ty)?,
            None if defaults(&ty) => {}
            None => {
                let message = format!("`{}` has no initial value", decl.name.text);
                return Err(Diagnostic::new(decl.name.span, message).hint("add `= …`"));
            }
        }
        if decl.plain && ty == Type::Lock {
            return Err(plain_lock(&decl.name));
        }
        let (name, init) = (decl.name.text.clone(), decl.init.clone());
        Ok(VarInfo { name, ty, init, plain: decl.plain, version: decl.version })
    }

    /// A type that an algorithm may use.
    fn plain_type(&self, ty: &TypeExpr) -> Checked<Type> {
        let found = self.type_expr(ty)?;
        if found.is_collection() {
            return Err(Diagnostic::new(ty.span, "only specifications have collections")
                .hint("an algorithm uses nodes and arrays"));
        }
        Ok(found)
    }

    pub(super) fn type_expr(&self, ty: &TypeExpr) -> Checked<Type> {
        let found = match &ty.kind {
            TypeKind::Named(name) => self.named_type(name, ty)?,
            TypeKind::Range(low, high) => {
                let (low, high) = (self.constant(low)?, self.constant(high)?);
                if low > high {
                    return Err(Diagnostic::new(ty.span, "this range is empty"));
                }
                Type::Int(Range::stated(low, high))
            }
            TypeKind::Optional(inner) => {
                let inner_ty = self.type_expr(inner)?;
                if matches!(inner_ty, Type::Tuple(_) | Type::Array(..) | Type::Lock) {
                    return Err(Diagnostic::new(ty.span, "this type cannot be optional")
                        .hint("put the `?` on a part of it"));
                }
                inner_ty.optional()
            }
            TypeKind::Array(element, length) => {
                let element = self.type_expr(element)?;
                Type::Array(Box::new(element), self.length(length)?)
            }
            TypeKind::Tuple(parts) => {
                Type::Tuple(parts.iter().map(|p| self.type_expr(p)).collect::<Checked<_>>()?)
            }
            TypeKind::Generic(name, args) => self.generic_type(name, args, ty)?,
        };
        if found.width(16) > MAX_LENGTH {
            return Err(Diagnostic::new(ty.span, "this type is too large"));
        }
        Ok(found)
    }

    fn named_type(&self, name: &str, at: &TypeExpr) -> Checked<Type> {
        Ok(match name {
            "bool" => Type::Bool,
            "int" => self.plain_int(),
            "value" => Type::Value,
            "key" => Type::Key,
            "tid" => Type::Tid,
            "lock" => Type::Lock,
            _ => {
                let structure = self.facts.structs.iter().position(|s| s.name == name);
                let enumeration = self.facts.enums.iter().position(|e| e.name == name);
                if let Some(record) = self.facts.records.iter().find(|r| r.name == name) {
                    return Ok(Type::Record(record.clone()));
                }
                match (structure, enumeration) {
                    (Some(index), _) => Type::Ref(StructId(index as u32)),
                    (_, Some(index)) => Type::Enum(EnumId(index as u32)),
                    _ if self.file.records.iter().any(|r| r.name.text == name) => {
                        let message = format!("`{name}` is a record, which is no value");
                        return Err(Diagnostic::new(at.span, message).hint(
                            "a record lies in a variable, alone or in an array: its fields are \
                             read and written one by one",
                        ));
                    }
                    _ => {
                        let message = format!("unknown type `{name}`");
                        return Err(Diagnostic::new(at.span, message).hint(
                            "types are bool, int, value, key, tid, lock, structs and enums, T?, \
                             [T; n], (T, U)",
                        ));
                    }
                }
            }
        })
    }

    fn generic_type(&self, name: &str, args: &[TypeExpr], at: &TypeExpr) -> Checked<Type> {
        let args = args.iter().map(|a| self.type_expr(a)).collect::<Checked<Vec<_>>>()?;
        match (name, args.as_slice()) {
            ("seq", [element]) => Ok(Type::Seq(Box::new(element.clone()))),
            ("set", [element]) => Ok(Type::Set(Box::new(element.clone()))),
            ("map", [key, value]) => Ok(Type::Map(Box::new(key.clone()), Box::new(value.clone()))),
            _ => Err(Diagnostic::new(at.span, format!("unknown type `{name}<…>`"))
                .hint("collections are seq<T>, set<T> and map<K, V>")),
        }
    }

    pub(super) fn length(&self, expr: &Expr) -> Checked<Length> {
        if matches!(&expr.kind, ExprKind::Name(n) if n == "tid") {
            return Ok(Length::Threads);
        }
        let length = self.constant(expr)?;
        if !(1..=MAX_LENGTH as i32).contains(&length) {
            let message = format!("an array has 1 to {MAX_LENGTH} elements");
            return Err(Diagnostic::new(expr.span, message));
        }
        Ok(Length::Fixed(length as u32))
    }

    pub(super) fn signatures(&mut self, functions: &[Function]) -> Checked<Vec<FunctionInfo>> {
        let mut found = Vec::new();
        for f in functions {
            let mut params: Vec<ParamInfo> = Vec::new();
            for param in &f.params {
                if params.iter().any(|p| p.name == param.binding.name.text) {
                    return Err(duplicate(&param.binding.name));
                }
                let ty = self.type_expr(&param.ty)?;
                let local = self.local(&param.binding.name, param.binding.id, ty.clone());
                params.push(ParamInfo { name: param.binding.name.text.clone(), local, ty });
            }
            self.scopes.iter_mut().for_each(HashMap::clear);
            let result = match &f.result {
                Some(ty) => self.type_expr(ty)?,
                None => Type::Unit,
            };
            let (name, depth) = (f.name.text.clone(), self.depth(f)?);
            found.push(FunctionInfo { name, params, result, depth, body: f.body.clone() });
        }
        Ok(found)
    }

    /// How often a function may be under way at once.
    fn depth(&self, f: &Function) -> Checked<Option<u32>> {
        let Some(declared) = &f.depth else { return Ok(None) };
        let is_helper = self.file.functions.iter().any(|helper| std::ptr::eq(helper, f));
        if !is_helper {
            let message = "only a helper function of an algorithm calls itself";
            return Err(Diagnostic::new(declared.span, message)
                .hint("`depth` belongs to a `fn` outside of specifications"));
        }
        match self.constant(declared)? {
            depth @ 1..=MAX_DEPTH => Ok(Some(depth as u32)),
            _ => {
                let message = format!("`depth` is a number from 1 to {MAX_DEPTH}");
                Err(Diagnostic::new(declared.span, message)
                    .hint("a function is expanded at every call, so many times in one another"))
            }
        }
    }

    /// What a client may pass and get back: data, not references.
    pub(super) fn method_types(&self, f: &Function) -> Checked<()> {
        for ty in f.params.iter().map(|p| &p.ty).chain(&f.result) {
            let found = self.plain_type(ty)?;
            if has_reference(&found) {
                return Err(Diagnostic::new(ty.span, "a client passes and gets data only")
                    .hint("use bool, int, value, key or an enum"));
            }
        }
        Ok(())
    }

    /// Every circle of calls goes through a function that says how deep.
    pub(super) fn reject_recursion(&self, functions: &[Function]) -> Checked<()> {
        let endless = |f: &&Function| f.depth.is_none();
        let calls: HashMap<&str, Vec<String>> = (functions.iter().filter(endless))
            .map(|f| (f.name.text.as_str(), called(&f.body)))
            .collect();
        for f in functions.iter().filter(endless) {
            let mut seen: Vec<&str> = Vec::new();
            let mut todo: Vec<&str> = calls[f.name.text.as_str()].iter().map(|s| &**s).collect();
            while let Some(name) = todo.pop() {
                if name == f.name.text {
                    return Err(Diagnostic::new(f.name.span, "a helper function calls itself")
                        .hint(
                            "helper functions are expanded in place: write a loop, or say how \
                             deep it goes: `fn f() depth 3 { … }`",
                        ));
                }
                if !seen.contains(&name) {
                    seen.push(name);
                    todo.extend(calls.get(name).into_iter().flatten().map(|s| &**s));
                }
            }
        }
        Ok(())
    }

    /// Checks a specification; its parameters are constants in it.
    pub(super) fn spec(&mut self, decl: &SpecDecl) -> Checked<SpecInfo> {
        let given = self.spec_arguments(decl)?;
        self.facts.consts.extend(given.iter().cloned());
        let checked = self.spec_body(decl);
        given.iter().for_each(|(name, _)| {
            self.facts.consts.remove(name);
        });
        checked
    }

    /// What the parameters of a specification stand for.
    fn spec_arguments(&self, decl: &SpecDecl) -> Checked<Vec<(String, i32)>> {
        let object = self.file.object.as_ref();
        let named = object.filter(|o| o.spec.as_ref().is_some_and(|s| s.text == decl.name.text));
        let given = named.map_or(&[][..], |object| &object.arguments);
        let SpecDecl { name, params, .. } = decl;
        if let Some(more) = given.get(params.len()) {
            let count = match params.len() {
                0 => "no parameters".to_owned(),
                1 => "one parameter".to_owned(),
                count => format!("{count} parameters"),
            };
            let message = format!("`{}` has {count}", name.text);
            return Err(Diagnostic::new(more.span, message));
        }
        let mut found: Vec<(String, i32)> = vec![];
        for (at, (param, default)) in params.iter().enumerate() {
            let known = found.iter().any(|(other, _)| *other == param.text);
            if known || self.facts.consts.contains_key(&param.text) {
                return Err(duplicate(param));
            }
            let Some(value) = given.get(at).or(default.as_ref()) else {
                let message = format!("nothing says what `{}` is", param.text);
                return Err(Diagnostic::new(param.span, message).hint(format!(
                    "write `object … : {}(…)` with a number for each parameter, or `{} = …` here",
                    name.text, param.text
                )));
            };
            found.push((param.text.clone(), self.constant(value)?));
        }
        Ok(found)
    }

    fn spec_body(&mut self, decl: &SpecDecl) -> Checked<SpecInfo> {
        self.part = Part::Spec;
        (self.shared, self.thread_vars) = (vec![], vec![]);
        (self.functions, self.methods) = (vec![], vec![]);
        self.facts.records.clear();
        for record in &decl.records {
            let record = self.record(record)?;
            self.facts.records.push(Arc::new(record));
        }
        for var in &decl.vars {
            let ty = self.type_expr(&var.ty)?;
            let info = self.variable(var, ty)?;
            self.shared.push(info);
        }
        self.functions = self.signatures(&decl.functions)?;
        self.reject_recursion(&decl.functions)?;
        let methods = self.signatures(&decl.methods)?;
        for (info, f) in self.functions.clone().iter().zip(&decl.functions) {
            self.function(info, f)?;
        }
        for (info, f) in methods.iter().zip(&decl.methods) {
            self.function(info, f)?;
        }
        Ok(SpecInfo {
            name: decl.name.text.clone(),
            vars: std::mem::take(&mut self.shared),
            methods,
            functions: std::mem::take(&mut self.functions),
            facts: Arc::new(Facts::default()),
        })
    }

    /// A record of a specification. Its fields may be of the records before it.
    fn record(&mut self, decl: &StructDecl) -> Checked<Record> {
        let mut fields: Vec<(String, Type)> = Vec::new();
        for field in &decl.fields {
            if fields.iter().any(|(name, _)| *name == field.name.text) {
                return Err(duplicate(&field.name));
            }
            if let Some(default) = &field.default {
                return Err(Diagnostic::new(default.span, "a record has no defaults")
                    .hint("`new` gives every field its value"));
            }
            if field.plain {
                return Err(Diagnostic::new(field.name.span, "a record needs no `plain`"));
            }
            fields.push((field.name.text.clone(), self.type_expr(&field.ty)?));
        }
        let is_known = self.file.structs.iter().any(|known| known.name.text == decl.name.text)
            || self.file.enums.iter().any(|known| known.name.text == decl.name.text)
            || self.facts.records.iter().any(|known| known.name == decl.name.text);
        match (is_known, fields.is_empty()) {
            (true, _) => Err(duplicate(&decl.name)),
            (_, true) => Err(Diagnostic::new(decl.name.span, "a record has a field at least")),
            _ => Ok(Record { name: decl.name.text.clone(), fields }),
        }
    }

    pub(super) fn clients(&mut self) -> Checked<Vec<ClientInfo>> {
        self.part = Part::Client;
        let mut found: Vec<ClientInfo> = Vec::new();
        for decl in &self.file.clients {
            let mut roles = Vec::new();
            for role in &decl.roles {
                let count = match &role.count {
                    RoleCount::One => Some(1),
                    RoleCount::Times(n) => Some(self.constant(n)?.clamp(0, 64) as u32),
                    RoleCount::Rest => None,
                };
                self.result = Type::Unit;
                self.assigned = super::statements::assigned_names(&role.body);
                self.block(&role.body)?;
                let name = role.name.text.clone();
                roles.push(RoleInfo { name, count, body: role.body.clone() });
            }
            let name = decl.name.as_ref().map(|n| n.text.clone()).unwrap_or_default();
            if found.iter().any(|c| c.name == name) {
                let span = decl.name.as_ref().map(|n| n.span).unwrap_or_default();
                return Err(Diagnostic::new(span, "two clients have the same name"));
            }
            found.push(ClientInfo { name, roles });
        }
        Ok(found)
    }
}

fn plain_lock(name: &Name) -> Diagnostic {
    Diagnostic::new(name.span, "a lock cannot be plain")
        .hint("taking and releasing it synchronises the threads")
}

fn duplicate(name: &Name) -> Diagnostic {
    Diagnostic::new(name.span, format!("`{}` is declared twice", name.text))
        .hint("rename one of the two")
}

fn defaults(ty: &Type) -> bool {
    match ty {
        Type::Lock => true,
        Type::Array(element, _) => defaults(element),
        _ => false,
    }
}

fn has_reference(ty: &Type) -> bool {
    match ty {
        Type::Ref(_) | Type::Lock => true,
        Type::Opt(t) | Type::Array(t, _) => has_reference(t),
        Type::Tuple(parts) => parts.iter().any(has_reference),
        _ => false,
    }
}

/// The names of the functions that a block calls.
fn called(block: &Block) -> Vec<String> {
    let mut found = Vec::new();
    crate::front::walk::expressions(block, &mut |e| {
        if let ExprKind::Call(name, _) = &e.kind {
            found.push(name.text.clone());
        }
    });
    found
}
