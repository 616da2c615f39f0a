//! Calls: built-in operations, helper functions, and methods in clients.

use super::{Checked, Checker, Part};
use crate::front::ast::*;
use crate::front::diagnostic::Diagnostic;
use crate::front::program::*;
use crate::front::range::Range;
use crate::front::types::Type;
use crate::steps::Ordering;

impl Checker<'_> {
    pub(super) fn call(&mut self, expr: &Expr, name: &Name, args: &[Expr]) -> Checked<Type> {
        if self.part == Part::Client {
            return self.method_call(expr, name, args);
        }
        if let Some(index) = self.functions.iter().position(|f| f.name == name.text) {
            let info = self.functions[index].clone();
            self.set_meaning(expr.id, Meaning::Function(index as u32));
            return self.arguments(&info, args, name);
        }
        let Some(builtin) = Builtin::named(&name.text) else {
            return Err(self.unknown_name(&name.text, name.span));
        };
        if builtin.is_for_specs() != (self.part == Part::Spec) {
            let place = if builtin.is_for_specs() { "specifications" } else { "algorithms" };
            let message = format!("`{}` belongs to {place}", name.text);
            return Err(Diagnostic::new(name.span, message));
        }
        self.set_meaning(expr.id, Meaning::Builtin(builtin));
        self.builtin(builtin, name, args)
    }

    fn method_call(&mut self, expr: &Expr, name: &Name, args: &[Expr]) -> Checked<Type> {
        let Some(index) = self.methods.iter().position(|m| m.name == name.text) else {
            let known: Vec<_> = self.methods.iter().map(|m| m.name.as_str()).collect();
            return Err(Diagnostic::new(name.span, format!("unknown method `{}`", name.text))
                .hint(format!("the methods are: {}", known.join(", "))));
        };
        let info = self.methods[index].clone();
        self.set_meaning(expr.id, Meaning::Method(index as u32));
        self.arguments(&info, args, name)
    }

    fn arguments(&mut self, info: &FunctionInfo, args: &[Expr], name: &Name) -> Checked<Type> {
        self.count(name, args, info.params.len())?;
        for (arg, param) in args.iter().zip(&info.params) {
            self.expect(arg, &param.ty)?;
        }
        Ok(info.result.clone())
    }

    fn count(&self, name: &Name, args: &[Expr], wanted: usize) -> Checked<()> {
        if args.len() == wanted {
            return Ok(());
        }
        let message = format!("`{}` takes {wanted} arguments, not {}", name.text, args.len());
        Err(Diagnostic::new(name.span, message))
    }

    fn builtin(&mut self, builtin: Builtin, name: &Name, args: &[Expr]) -> Checked<Type> {
        let args = self.without_orderings(builtin, name, args)?;
        match builtin {
            Builtin::Cas => {
                let ty = self.atomic_place(name, &args[0])?;
                let old = self.expr(&args[1], Some(&ty))?;
                if old.join(&ty).is_none() {
                    return Err(self.mismatch(args[1].span, &old, &ty));
                }
                self.expect(&args[2], &ty)?;
                Ok(Type::Bool)
            }
            Builtin::Swap => {
                let ty = self.atomic_place(name, &args[0])?;
                self.expect(&args[1], &ty)?;
                Ok(ty)
            }
            Builtin::FetchAdd => {
                let ty = self.atomic_place(name, &args[0])?;
                let plain = self.plain_int();
                let amount = self.expr(&args[1], Some(&plain))?;
                // Null is no number here either: nothing is checked when it is added.
                for (arg, ty) in args.iter().zip([&ty, &amount]) {
                    if !matches!(ty, Type::Int(_)) {
                        return Err(self.mismatch(arg.span, ty, &plain));
                    }
                }
                Ok(ty)
            }
            Builtin::Load => self.atomic_place(name, &args[0]),
            Builtin::Store => {
                let ty = self.atomic_place(name, &args[0])?;
                self.expect(&args[1], &ty)?;
                Ok(Type::Unit)
            }
            Builtin::Fence => Ok(Type::Unit),
            Builtin::LoadLinked => self.linked(name, &args[0]),
            Builtin::StoreConditional => {
                let ty = self.linked(name, &args[0])?;
                self.expect(&args[1], &ty)?;
                Ok(Type::Bool)
            }
            Builtin::Lock | Builtin::Unlock => self.lock(&args[0]),
            Builtin::Free | Builtin::Recycle => {
                let ty = self.expr(&args[0], None)?;
                match ty.required() {
                    Type::Ref(_) => Ok(Type::Unit),
                    _ => Err(Diagnostic::new(args[0].span, "only a node can be given back")),
                }
            }
            Builtin::Hash => self.hash(&args[0], &args[1]),
            Builtin::Len | Builtin::Min | Builtin::Max | Builtin::Remove => {
                self.collection(builtin, args)
            }
        }
    }

    /// The arguments of a built-in call before its orderings, which are as many and as strong as
    /// they may be.
    fn without_orderings<'a>(
        &self,
        builtin: Builtin,
        name: &Name,
        args: &'a [Expr],
    ) -> Checked<&'a [Expr]> {
        let (first, orderings) = (builtin.arguments(), builtin.orderings());
        let (least, most) = (first + orderings.start(), first + orderings.end());
        if most == first || args.len() < first || args.len() > most {
            self.count(name, args, if args.len() > most { most } else { first })?;
        }
        let (args, words) = args.split_at(first);
        if args.len() + words.len() < least {
            let message = format!("`{}` needs an ordering", name.text);
            return Err(Diagnostic::new(name.span, message)
                .hint(format!("the last argument is one of: {}", allowed(builtin, false))));
        }
        for (at, word) in words.iter().enumerate() {
            self.ordering_word(builtin, at == 1, word)?;
        }
        Ok(args)
    }

    fn ordering_word(&self, builtin: Builtin, failure: bool, word: &Expr) -> Checked<()> {
        let found = match &word.kind {
            ExprKind::Name(name) => Ordering::named(name),
            _ => None,
        };
        let hint = format!("here stands one of: {}", allowed(builtin, failure));
        match found {
            None => Err(Diagnostic::new(word.span, "expected an ordering").hint(hint)),
            Some(ordering) if !allows(builtin, failure, ordering) => {
                let what = match (builtin, failure) {
                    (Builtin::Load, _) => "a load",
                    (Builtin::Store, _) => "a store",
                    (Builtin::Fence, _) => "a fence",
                    _ => "a `cas` that fails",
                };
                let message = format!("{what} cannot be `{}`", ordering.text());
                Err(Diagnostic::new(word.span, message).hint(hint))
            }
            Some(_) => Ok(()),
        }
    }

    /// The type of a shared place that is not plain.
    fn atomic_place(&mut self, name: &Name, place: &Expr) -> Checked<Type> {
        let ty = self.shared_place(place)?;
        match self.is_plain(place) {
            true => {
                let message = format!("`{}` works on atomics, and this is plain", name.text);
                Err(Diagnostic::new(place.span, message)
                    .hint("read and write it by its name, or declare it without `plain`"))
            }
            false => Ok(ty),
        }
    }

    /// Whether a place lies in a variable or a field that is plain.
    fn is_plain(&self, place: &Expr) -> bool {
        match &place.kind {
            ExprKind::Name(name) => self.shared.iter().any(|v| v.plain && v.name == *name),
            ExprKind::Part(of, _) | ExprKind::Index(of, _) => self.is_plain(of),
            ExprKind::Field(of, field) => match self.facts.type_of(of).required() {
                Type::Ref(id) => {
                    let fields = &self.facts.structure(*id).fields;
                    fields.iter().any(|f| f.plain && f.name == field.text)
                }
                _ => false,
            },
            _ => false,
        }
    }

    fn linked(&mut self, name: &Name, place: &Expr) -> Checked<Type> {
        let ty = self.atomic_place(name, place)?;
        match &place.kind {
            ExprKind::Name(_) => Ok(ty),
            _ => Err(Diagnostic::new(place.span, "ll and sc work on a shared variable")
                .hint("name a `var`, not a part or a field")),
        }
    }

    fn lock(&mut self, place: &Expr) -> Checked<Type> {
        let ty = self.expr(place, None)?;
        match ty.required() {
            Type::Lock if self.is_shared_place(place) => Ok(Type::Unit),
            Type::Ref(id) => {
                let info = self.facts.structure(*id);
                match info.fields.iter().filter(|f| f.ty == Type::Lock).count() {
                    1 => Ok(Type::Unit),
                    n => {
                        let message = format!("`{}` has {n} locks", info.name);
                        Err(Diagnostic::new(place.span, message).hint(
                            "give the struct a field of type `lock`, or name the one you mean",
                        ))
                    }
                }
            }
            _ => Err(self.mismatch(place.span, &ty, &Type::Lock)),
        }
    }

    /// `hash(key, size)`: a number below the size.
    fn hash(&mut self, key: &Expr, size: &Expr) -> Checked<Type> {
        self.expect(key, &Type::Key)?;
        self.expr(size, None)?;
        match self.constant(size)? {
            least @ 1.. => Ok(Type::Int(Range::stated(0, least - 1))),
            _ => {
                Err(Diagnostic::new(size.span, "there must be at least one number to choose from")
                    .hint("`hash(k, n)` is one of 0, …, n - 1"))
            }
        }
    }

    fn collection(&mut self, builtin: Builtin, args: &[Expr]) -> Checked<Type> {
        let ty = self.expr(&args[0], None)?;
        let element = match &ty {
            Type::Seq(e) | Type::Set(e) => (**e).clone(),
            Type::Map(key, _) => (**key).clone(),
            _ => return Err(self.mismatch(args[0].span, &ty, &Type::Seq(Box::new(Type::Never)))),
        };
        match builtin {
            Builtin::Len => Ok(self.plain_int()),
            Builtin::Remove => {
                self.expect(&args[1], &element)?;
                Ok(ty)
            }
            _ if matches!(element, Type::Int(..) | Type::Key) => Ok(element),
            _ => Err(Diagnostic::new(args[0].span, "these elements have no order")),
        }
    }
}

/// Whether an access may have this ordering.
fn allows(builtin: Builtin, failure: bool, ordering: Ordering) -> bool {
    match (builtin, failure) {
        (Builtin::Load, _) | (_, true) => ordering.of_read() == ordering,
        (Builtin::Store, _) => !matches!(ordering, Ordering::Acquire | Ordering::AcqRel),
        (Builtin::Fence, _) => ordering != Ordering::Relaxed,
        _ => true,
    }
}

/// The orderings that an access may have, as words.
fn allowed(builtin: Builtin, failure: bool) -> String {
    let all = Ordering::ALL.into_iter().filter(|o| allows(builtin, failure, *o));
    all.map(Ordering::text).collect::<Vec<_>>().join(", ")
}
