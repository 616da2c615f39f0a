//! Records: fields that lie in a variable itself, not in a node that it refers to.
//!
//! `record Slot { turn: int, plain item: value? }` with `var ring: [Slot; 4]` is one array for each
//! field, and `ring[i].turn` an element of the first: one access. Here a file is rewritten so; what
//! comes after knows no records. A record is not a value: it is read and written field by field.

use crate::front::ast::*;
use crate::front::diagnostic::Diagnostic;
use crate::front::walk;

/// Replaces the variables of a file that hold records by one for each of their fields.
pub fn unfold(file: &mut File) -> Result<(), Diagnostic> {
    if file.records.is_empty() {
        return Ok(());
    }
    let mut holders: Vec<Holder> = vec![];
    let mut vars = vec![];
    for decl in std::mem::take(&mut file.vars) {
        match record_of(&file.records, &decl.ty) {
            None => vars.push(decl),
            Some((record, depth)) => {
                let record = file.records[record].clone();
                for field in &record.fields {
                    vars.push(unfolded(&decl, &record, field, depth, &mut file.expr_count)?);
                }
                let fields = record.fields.iter().map(|f| f.name.text.clone()).collect();
                holders.push(Holder { name: decl.name.text, depth, fields });
            }
        }
    }
    file.vars = vars;
    let mut error = None;
    let mut visit = |expr: &mut Expr| {
        if error.is_none() {
            error = rewritten(&holders, expr).err();
        }
    };
    let functions = file.methods.iter_mut().chain(&mut file.functions);
    let mut blocks: Vec<&mut Block> = functions.map(|f| &mut f.body).collect();
    blocks.push(&mut file.init);
    blocks.iter_mut().for_each(|block| walk::rewrite(block, &mut visit));
    let values = file.vars.iter_mut().filter_map(|var| var.init.as_mut());
    values.for_each(|value| walk::rewrite_expression(value, &mut visit));
    error.or_else(|| hidden(file, &holders)).map_or(Ok(()), Err)
}

/// A variable that holds records, in so many arrays within one another.
struct Holder {
    name: String,
    depth: usize,
    fields: Vec<String>,
}

impl Holder {
    /// The variable that holds a field of all of them.
    fn of(&self, field: &str) -> String {
        variable(&self.name, self.depth, field)
    }
}

fn variable(name: &str, depth: usize, field: &str) -> String {
    format!("{name}{}.{field}", "[]".repeat(depth))
}

/// The record that a type holds, by its place in the list, and in how many arrays it does.
fn record_of(records: &[StructDecl], ty: &TypeExpr) -> Option<(usize, usize)> {
    match &ty.kind {
        TypeKind::Named(name) => {
            records.iter().position(|record| record.name.text == *name).map(|found| (found, 0))
        }
        TypeKind::Array(element, _) => {
            record_of(records, element).map(|(record, depth)| (record, depth + 1))
        }
        _ => None,
    }
}

/// The variable for one field.
fn unfolded(
    decl: &VarDecl,
    record: &StructDecl,
    field: &FieldDecl,
    depth: usize,
    count: &mut u32,
) -> Result<VarDecl, Diagnostic> {
    let is_lock = matches!(&field.ty.kind, TypeKind::Named(name) if name == "lock");
    let init = match &decl.init {
        Some(init) if !is_lock => Some(projected(init, record, field, count)?),
        _ => None,
    };
    let text = variable(&decl.name.text, depth, &field.name.text);
    let mut ty = within(&decl.ty, &field.ty);
    renumber_type(&mut ty, count);
    Ok(VarDecl {
        name: Name { text, span: decl.name.span },
        ty,
        init,
        scope: decl.scope,
        plain: decl.plain || field.plain,
        version: None,
    })
}

/// The type of a field in the arrays that hold its record.
fn within(holder: &TypeExpr, field: &TypeExpr) -> TypeExpr {
    match &holder.kind {
        TypeKind::Array(element, length) => {
            let element = Box::new(within(element, field));
            TypeExpr { kind: TypeKind::Array(element, length.clone()), span: holder.span }
        }
        _ => field.clone(),
    }
}

/// The value of one field in the value of records.
fn projected(
    value: &Expr,
    record: &StructDecl,
    field: &FieldDecl,
    count: &mut u32,
) -> Result<Expr, Diagnostic> {
    let mut part = |value: &Expr| projected(value, record, field, count);
    let kind = match &value.kind {
        ExprKind::Fill(element, length) => ExprKind::Fill(Box::new(part(element)?), length.clone()),
        ExprKind::List(elements) => {
            ExprKind::List(elements.iter().map(part).collect::<Result<_, _>>()?)
        }
        ExprKind::New(name, given) if name.text == record.name.text => {
            let known = |name: &Name| record.fields.iter().any(|f| f.name.text == name.text);
            if let Some((strange, _)) = given.iter().find(|(name, _)| !known(name)) {
                let message = format!("`{}` has no field `{}`", record.name.text, strange.text);
                return Err(Diagnostic::new(strange.span, message));
            }
            let own = given.iter().find(|(name, _)| name.text == field.name.text);
            let own = own.map(|(_, value)| value).or(field.default.as_ref());
            let Some(own) = own else {
                let name = &field.name.text;
                let message = format!("the field `{name}` has no value");
                return Err(Diagnostic::new(value.span, message)
                    .hint(format!("add `{name}: …`, or give the field a default")));
            };
            own.kind.clone()
        }
        _ => {
            let name = &record.name.text;
            let message = format!("a record `{name}` begins as `new {name} {{ … }}`");
            return Err(Diagnostic::new(value.span, message)
                .hint(format!("or as `[new {name} {{ … }}; n]`, if there are several")));
        }
    };
    let mut found = Expr { kind, span: value.span, id: value.id };
    renumber(&mut found, count);
    Ok(found)
}

/// Gives an expression that stands twice numbers of its own.
fn renumber(expr: &mut Expr, count: &mut u32) {
    walk::rewrite_expression(expr, &mut |expr| {
        expr.id = ExprId(*count);
        *count += 1;
    });
}

fn renumber_type(ty: &mut TypeExpr, count: &mut u32) {
    match &mut ty.kind {
        TypeKind::Array(element, length) => {
            renumber_type(element, count);
            renumber(length, count);
        }
        TypeKind::Range(low, high) => {
            renumber(low, count);
            renumber(high, count);
        }
        TypeKind::Optional(inner) => renumber_type(inner, count),
        TypeKind::Tuple(parts) | TypeKind::Generic(_, parts) => {
            parts.iter_mut().for_each(|part| renumber_type(part, count));
        }
        TypeKind::Named(_) => {}
    }
}

/// Rewrites `ring[i].turn`; whatever else is said of a variable that holds records is an error.
fn rewritten(holders: &[Holder], expr: &mut Expr) -> Result<(), Diagnostic> {
    if let ExprKind::Field(of, field) = &mut expr.kind
        && let Some(holder) = holders.iter().find(|holder| is_one(of, holder, holder.depth))
    {
        if !holder.fields.contains(&field.text) {
            let message = format!("`{}` has no field `{}`", holder.name, field.text);
            let known = holder.fields.join(", ");
            return Err(
                Diagnostic::new(field.span, message).hint(format!("its fields are: {known}"))
            );
        }
        rename(of, &holder.of(&field.text));
        let (kind, id) = (of.kind.clone(), of.id);
        (expr.kind, expr.id) = (kind, id);
    }
    Ok(())
}

/// Whether an expression is one of the records that a variable holds.
fn is_one(expr: &Expr, holder: &Holder, depth: usize) -> bool {
    match &expr.kind {
        ExprKind::Name(name) => depth == 0 && *name == holder.name,
        ExprKind::Index(of, _) => depth > 0 && is_one(of, holder, depth - 1),
        _ => false,
    }
}

fn rename(expr: &mut Expr, to: &str) {
    match &mut expr.kind {
        ExprKind::Index(of, _) => rename(of, to),
        kind => *kind = ExprKind::Name(to.to_owned()),
    }
}

/// A record that is used as a value, or a name that hides a variable of records.
fn hidden(file: &File, holders: &[Holder]) -> Option<Diagnostic> {
    let holds = |name: &str| holders.iter().find(|holder| holder.name == name);
    let mut found = None;
    let functions = file.methods.iter().chain(&file.functions);
    let blocks = functions.clone().map(|f| &f.body).chain([&file.init]);
    for block in blocks {
        walk::expressions(block, &mut |expr| {
            if let ExprKind::Name(name) = &expr.kind
                && let Some(Holder { name, depth, fields }) = holds(name)
            {
                let message = format!("`{name}` holds records, which are no values");
                let (at, field) = ("[i]".repeat(*depth), &fields[0]);
                found.get_or_insert(
                    Diagnostic::new(expr.span, message)
                        .hint(format!("name a field: `{name}{at}.{field}`")),
                );
            }
        });
        walk::statements(block, &mut |statement| {
            let bound: Vec<&Binding> = match &statement.kind {
                StmtKind::Let(Pattern::Bind(one), ..) | StmtKind::For(one, ..) => vec![one],
                StmtKind::Let(Pattern::Tuple(all), ..) => all.iter().flatten().collect(),
                _ => vec![],
            };
            bound.iter().for_each(|one| taken(&one.name, &holds, &mut found));
        });
    }
    for param in functions.flat_map(|f| &f.params) {
        taken(&param.binding.name, &holds, &mut found);
    }
    found
}

fn taken<'h>(
    name: &Name,
    holds: &dyn Fn(&str) -> Option<&'h Holder>,
    found: &mut Option<Diagnostic>,
) {
    if holds(&name.text).is_some() {
        let message = "this is the name of a variable that holds records";
        found.get_or_insert(Diagnostic::new(name.span, message).hint("choose another name"));
    }
}
