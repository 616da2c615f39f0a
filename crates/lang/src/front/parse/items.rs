//! Declarations: objects, structs, variables, methods, specifications, clients, expectations,
//! types.

use super::{Parsed, Parser};
use crate::front::ast::*;
use crate::front::diagnostic::Diagnostic;
use crate::front::lexer::TokenKind;

/// What an `expect` line may say: that all claims hold, that some claim fails, or which one does.
const VERDICTS: [&str; 8] = [
    "holds",
    "fails",
    "not_linearizable",
    "faults",
    "out_of_range",
    "deadlocks",
    "unknown",
    "refused",
];

/// Whether an option names a memory model.
fn is_memory(value: &OptionValue) -> bool {
    matches!(value, OptionValue::Word(name) if ["sc", "tso", "rc20"].contains(&&**name))
}

/// Whether an option says what clients synchronise.
fn is_synchronised(value: &OptionValue) -> bool {
    let known = ["nothing", "everything", "anything"];
    matches!(value, OptionValue::Word(what) if known.contains(&&**what))
}

/// The progress guarantees that an option may name.
const GUARANTEES: [&str; 4] = ["lock_free", "obstruction_free", "livelock_free", "starvation_free"];

/// Whether an option names a progress guarantee.
fn is_guarantee(value: &OptionValue) -> bool {
    matches!(value, OptionValue::Word(name) if GUARANTEES.contains(&&**name))
}

impl Parser<'_> {
    pub(super) fn file(&mut self) -> Parsed<File> {
        let mut file = File::default();
        while self.peek().kind != TokenKind::End {
            self.item(&mut file)?;
            self.eat(";");
        }
        file.expr_count = self.next_id;
        Ok(file)
    }

    fn item(&mut self, file: &mut File) -> Parsed<()> {
        let token = self.peek();
        match token.text {
            "object" => {
                let object = self.object()?;
                if file.object.replace(object).is_some() {
                    return Err(Diagnostic::new(token.span, "a file describes one object")
                        .hint("put the second object into a file of its own"));
                }
            }
            "const" => file.consts.push(self.constant()?),
            "enum" => file.enums.push(self.enumeration()?),
            "struct" => file.structs.push(self.structure("struct")?),
            "record" => file.records.push(self.structure("record")?),
            "var" | "thread" | "plain" => file.vars.push(self.variable()?),
            "init" => {
                self.bump();
                file.init.extend(self.block()?);
            }
            "method" => file.methods.push(self.function("method")?),
            "fn" => file.functions.push(self.function("fn")?),
            "spec" => file.specs.push(self.spec()?),
            "client" => file.clients.push(self.client()?),
            "expect" => file.expects.push(self.expectation()?),
            _ => {
                return Err(self.unexpected("a declaration").hint(
                    "a declaration begins with `object`, `const`, `enum`, `struct`, `record`, `var`, \
                     `plain var`, `thread var`, `init`, `method`, `fn`, `spec`, `client` or `expect`",
                ));
            }
        }
        Ok(())
    }

    fn object(&mut self) -> Parsed<ObjectDecl> {
        self.expect("object")?;
        let name = self.name("the name of the object")?;
        let spec =
            if self.eat(":") { Some(self.name("the name of a specification")?) } else { None };
        let is_given = spec.is_some() && self.eat("(");
        let arguments = if is_given { self.list(")", |p| p.expr())? } else { vec![] };
        Ok(ObjectDecl { name, spec, arguments })
    }

    fn constant(&mut self) -> Parsed<ConstDecl> {
        self.expect("const")?;
        let name = self.name("the name of the constant")?;
        self.expect("=")?;
        Ok(ConstDecl { name, value: self.expr()? })
    }

    fn enumeration(&mut self) -> Parsed<EnumDecl> {
        self.expect("enum")?;
        let name = self.name("the name of the enum")?;
        self.expect("{")?;
        let variants = self.list("}", |p| p.name("a variant"))?;
        Ok(EnumDecl { name, variants })
    }

    fn structure(&mut self, keyword: &str) -> Parsed<StructDecl> {
        self.expect(keyword)?;
        let name = self.name("a name")?;
        self.expect("{")?;
        let fields = self.list("}", |p| {
            let plain = p.is("plain") && p.peek_after(1).kind == TokenKind::Word && p.eat("plain");
            let name = p.name("a field")?;
            p.expect(":")?;
            let ty = p.type_expr()?;
            let default = if p.eat("=") { Some(p.expr()?) } else { None };
            Ok(FieldDecl { name, ty, default, plain })
        })?;
        Ok(StructDecl { name, fields })
    }

    fn variable(&mut self) -> Parsed<VarDecl> {
        let first = self.peek().span;
        let plain = self.eat("plain");
        let scope = if self.eat("thread") { VarScope::Thread } else { VarScope::Shared };
        if plain && scope == VarScope::Thread {
            return Err(Diagnostic::new(first, "a thread variable needs no `plain`")
                .hint("only its own thread accesses it"));
        }
        self.expect("var")?;
        let name = self.name("the name of the variable")?;
        self.expect(":")?;
        let ty = self.type_expr()?;
        let init = if self.eat("=") { Some(self.expr()?) } else { None };
        Ok(VarDecl { name, ty, init, scope, plain, version: None })
    }

    /// `version var` or `sparse version var` of a specification.
    fn version(&mut self) -> Parsed<VarDecl> {
        let rise = if self.eat("sparse") { Rise::Sparse } else { Rise::ByOne };
        self.expect("version")?;
        if !self.is("var") {
            return Err(self.unexpected("`var`"));
        }
        Ok(VarDecl { version: Some(rise), ..self.variable()? })
    }

    fn function(&mut self, keyword: &str) -> Parsed<Function> {
        self.expect(keyword)?;
        let name = self.name("a name")?;
        self.expect("(")?;
        let params = self.list(")", |p| {
            let name = p.name("a parameter")?;
            p.expect(":")?;
            let ty = p.type_expr()?;
            let binding = Binding { name, id: p.fresh() };
            Ok(Param { binding, ty })
        })?;
        let result = if self.eat("->") { Some(self.type_expr()?) } else { None };
        let depth = if self.eat("depth") { Some(self.expr()?) } else { None };
        let body = self.block()?;
        Ok(Function { name, params, result, depth, body })
    }

    fn spec(&mut self) -> Parsed<SpecDecl> {
        self.expect("spec")?;
        let name = self.name("the name of the specification")?;
        let param = |p: &mut Self| {
            let name = p.name("a parameter")?;
            let default = if p.eat("=") { Some(p.expr()?) } else { None };
            Ok((name, default))
        };
        let params = if self.eat("(") { self.list(")", param)? } else { vec![] };
        self.expect("{")?;
        let (records, vars, methods, functions) = (vec![], vec![], vec![], vec![]);
        let mut spec = SpecDecl { name, params, records, vars, methods, functions };
        while !self.eat("}") {
            match self.peek().text {
                "record" => spec.records.push(self.structure("record")?),
                // What a record of a specification was called first; such files still mean the same.
                "struct" => spec.records.push(self.structure("struct")?),
                "var" => spec.vars.push(self.variable()?),
                "version" | "sparse" => spec.vars.push(self.version()?),
                "method" => spec.methods.push(self.function("method")?),
                "fn" => spec.functions.push(self.function("fn")?),
                _ => {
                    let wanted = "`var`, `version var`, `record`, `method`, `fn` or `}`";
                    return Err(self.unexpected(wanted));
                }
            }
            self.eat(";");
        }
        Ok(spec)
    }

    fn client(&mut self) -> Parsed<ClientDecl> {
        self.expect("client")?;
        let name = if self.is("{") { None } else { Some(self.name("a name or `{`")?) };
        self.expect("{")?;
        let mut roles = Vec::new();
        while !self.eat("}") {
            self.expect("thread")?;
            let name = self.name("the name of the role")?;
            let count = self.role_count()?;
            let body = self.block()?;
            roles.push(Role { name, count, body });
        }
        Ok(ClientDecl { name, roles })
    }

    fn role_count(&mut self) -> Parsed<RoleCount> {
        if !self.eat("*") {
            return Ok(RoleCount::One);
        }
        if self.eat("rest") {
            return Ok(RoleCount::Rest);
        }
        let token = self.peek();
        let kind = match token.kind {
            TokenKind::Int => ExprKind::Int(self.small_number()?),
            _ => ExprKind::Name(self.name("a number of threads or `rest`")?.text),
        };
        Ok(RoleCount::Times(self.make(kind, token.span)))
    }

    pub(super) fn number(&mut self) -> Parsed<i64> {
        let token = self.peek();
        if token.kind != TokenKind::Int {
            return Err(self.unexpected("a number"));
        }
        self.at += 1;
        token.text.parse::<i64>().map_err(|_| {
            Diagnostic::new(token.span, "this number is too large").label("must be below 2^63")
        })
    }

    /// A number that every engine can represent.
    pub(super) fn small_number(&mut self) -> Parsed<i64> {
        let span = self.peek().span;
        let number = self.number()?;
        match i32::try_from(number) {
            Ok(_) => Ok(number),
            Err(_) => {
                Err(Diagnostic::new(span, "this number is too large").label("must be below 2^31"))
            }
        }
    }

    fn expectation(&mut self) -> Parsed<Expect> {
        let start = self.expect("expect")?;
        let engine = self.name("the name of an engine")?;
        let mut options = Vec::new();
        if self.eat("(") {
            options = self.list(")", |p| {
                let token = p.bump();
                if token.kind != TokenKind::Word {
                    let message = format!("expected an option, found `{}`", token.text);
                    return Err(Diagnostic::new(token.span, message));
                }
                let key = Name { text: token.text.to_string(), span: token.span };
                p.expect(":")?;
                let value = match p.peek().kind {
                    TokenKind::Int => OptionValue::Number(p.small_number()?),
                    _ => OptionValue::Word(p.name("a number or a word")?.text),
                };
                if key.text == "memory" && !is_memory(&value) {
                    let message = "there is no such memory model";
                    return Err(Diagnostic::new(p.previous_span(), message)
                        .hint("write `sc`, `tso` or `rc20`"));
                }
                if key.text == "synchronise" && !is_synchronised(&value) {
                    let message = "clients synchronise nothing, everything or anything";
                    return Err(Diagnostic::new(p.previous_span(), message)
                        .hint("write `nothing`, `everything` or `anything`"));
                }
                if key.text == "progress" && !is_guarantee(&value) {
                    let message = "there is no such progress guarantee";
                    return Err(Diagnostic::new(p.previous_span(), message).hint(
                        "write `lock_free`, `obstruction_free`, `livelock_free` or `starvation_free`",
                    ));
                }
                Ok((key, value))
            })?;
        }
        let verdict = self.name("a verdict: `holds`, `fails`, `unknown` or `refused`")?;
        if !VERDICTS.contains(&verdict.text.as_str()) {
            let message = format!("`{}` is not a verdict", verdict.text);
            return Err(Diagnostic::new(verdict.span, message).hint(
                "write `holds`, `fails`, `unknown` or `refused`; or how it fails: \
                 `not_linearizable`, `faults`, `out_of_range` or `deadlocks`",
            ));
        }
        let span = start.to(verdict.span);
        Ok(Expect { engine, options, verdict, span })
    }

    pub(super) fn type_expr(&mut self) -> Parsed<TypeExpr> {
        self.nested(|p| {
            let plain = p.plain_type()?;
            p.perhaps_optional(plain)
        })
    }

    /// A type with the question marks behind it, each of which nests it one level deeper.
    fn perhaps_optional(&mut self, ty: TypeExpr) -> Parsed<TypeExpr> {
        if !self.eat("?") {
            return Ok(ty);
        }
        let span = ty.span.to(self.previous_span());
        let optional = TypeExpr { kind: TypeKind::Optional(Box::new(ty)), span };
        self.nested(|p| p.perhaps_optional(optional))
    }

    fn plain_type(&mut self) -> Parsed<TypeExpr> {
        let start = self.peek().span;
        let kind = if self.eat("(") {
            TypeKind::Tuple(self.list(")", |p| p.type_expr())?)
        } else if self.eat("[") {
            let element = self.type_expr()?;
            self.expect(";")?;
            let length = self.expr()?;
            self.expect("]")?;
            TypeKind::Array(Box::new(element), Box::new(length))
        } else {
            self.named_type()?
        };
        Ok(TypeExpr { kind, span: start.to(self.previous_span()) })
    }

    fn named_type(&mut self) -> Parsed<TypeKind> {
        let name = self.name("a type")?;
        if self.is("<") {
            self.bump();
            return Ok(TypeKind::Generic(name.text, self.list(">", |p| p.type_expr())?));
        }
        let bounded = name.text == "int"
            && self.peek().breaks == 0
            && (self.peek().kind == TokenKind::Int
                || self.is("-")
                || (self.peek().kind == TokenKind::Word && self.peek_after(1).text == ".."));
        if !bounded {
            return Ok(TypeKind::Named(name.text));
        }
        let low = self.sum()?;
        self.expect("..")?;
        let high = self.sum()?;
        Ok(TypeKind::Range(Box::new(low), Box::new(high)))
    }
}
