//! Random programs of the class: algorithms of the library with one or two small changes (a
//! statement dropped, two swapped, a condition negated, a comparison weakened, a boolean flipped,
//! another register taken), compared with the concrete engines on all short lists. A mutant may be
//! right, wrong or outside of the class; the engines must agree.

use crate::agreement::{Question, Tally, class_members, compare, is_long, program};
use crate::cases::Input;
use crate::composition::all_compositions;
use crate::random::Random;
use seriatim_lang::Program;
use seriatim_lang::ast::{BinaryOp, Block, Expr, ExprKind, Stmt, StmtKind};
use seriatim_lang::span::Span;

/// A change of the text.
#[derive(Clone, Debug)]
struct Edit {
    span: Span,
    text: String,
}

struct Edits<'p> {
    source: &'p str,
    found: Vec<Edit>,
}

/// All small changes of a program's methods and functions.
fn edits(program: &Program) -> Vec<Edit> {
    let mut edits = Edits { source: &program.source, found: vec![] };
    for function in program.file.methods.iter().chain(&program.file.functions) {
        edits.block(&function.body);
    }
    edits.found
}

impl Edits<'_> {
    fn replace(&mut self, span: Span, text: String) {
        self.found.push(Edit { span, text });
    }

    fn block(&mut self, block: &Block) {
        for pair in block.windows(2) {
            let (first, second) = (pair[0].span, pair[1].span);
            let swapped = format!("{}\n{}", second.text(self.source), first.text(self.source));
            self.replace(Span { start: first.start, end: second.end }, swapped);
        }
        block.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Stmt) {
        if !matches!(statement.kind, StmtKind::Let(..)) {
            self.replace(statement.span, "assert true".to_string());
        }
        match &statement.kind {
            StmtKind::Let(_, _, value) | StmtKind::Expr(value) => self.expression(value),
            StmtKind::Assign(places, value) => {
                places.iter().flatten().for_each(|place| self.expression(place));
                self.expression(value);
            }
            StmtKind::If(condition, yes, no) => {
                self.condition(condition);
                self.block(yes);
                self.block(no);
            }
            StmtKind::While(_, condition, body) => {
                self.condition(condition);
                self.block(body);
            }
            StmtKind::Loop(_, body) | StmtKind::Atomic(body) => self.block(body),
            StmtKind::Return(Some(value)) => self.expression(value),
            StmtKind::Choose(blocks) => blocks.iter().for_each(|block| self.block(block)),
            _ => {}
        }
    }

    fn condition(&mut self, condition: &Expr) {
        self.replace(condition.span, format!("!({})", condition.span.text(self.source)));
        self.expression(condition);
    }

    fn expression(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Bool(value) => self.replace(expr.span, (!value).to_string()),
            ExprKind::Name(name) => {
                let other = match name.as_str() {
                    "p" => "c",
                    "c" => "p",
                    "s" => "c",
                    _ => return,
                };
                self.replace(expr.span, other.to_string());
            }
            ExprKind::Binary(op, a, b) => {
                for other in weaker(*op) {
                    let (a, b) = (a.span.text(self.source), b.span.text(self.source));
                    self.replace(expr.span, format!("{a} {other} {b}"));
                }
                self.expression(a);
                self.expression(b);
            }
            ExprKind::Call(_, values) | ExprKind::Tuple(values) => {
                values.iter().for_each(|value| self.expression(value));
            }
            ExprKind::Field(inner, _) | ExprKind::Part(inner, _) | ExprKind::Unary(_, inner) => {
                self.expression(inner);
            }
            ExprKind::New(_, fields) => fields.iter().for_each(|(_, value)| self.expression(value)),
            _ => {}
        }
    }
}

fn weaker(op: BinaryOp) -> &'static [&'static str] {
    match op {
        BinaryOp::Lt => &["<=", "!="],
        BinaryOp::Le => &["<"],
        BinaryOp::Gt => &[">="],
        BinaryOp::Ge => &[">", "=="],
        BinaryOp::Eq => &["!=", ">="],
        BinaryOp::Ne => &["==", "<"],
        BinaryOp::And => &["||"],
        BinaryOp::Or => &["&&"],
        _ => &[],
    }
}

/// A random mutant, if it can be checked.
fn mutant(original: &Program, random: &mut Random) -> Option<Program> {
    let mut source = original.source.to_string();
    for _ in 0..1 + random.below(4) / 3 {
        let program = seriatim_lang::check(&source).ok()?;
        let all = edits(&program);
        let edit = &all[random.below(all.len())];
        source.replace_range(edit.span.start as usize..edit.span.end as usize, &edit.text);
    }
    seriatim_lang::check(&source).ok()
}

#[test]
fn mutants_get_the_verdict_that_concrete_engines_give() {
    let (wanted, nodes) = if is_long() { (3000, 3) } else { (30, 2) };
    let mut random = Random(0x1234_5678_9abc_def1);
    let names: Vec<String> =
        class_members().into_iter().filter(|name| !name.starts_with("broken/")).collect();
    let mut total = Tally::default();
    let mut compared = 0;
    while compared < wanted {
        let original = program(&names[random.below(names.len())]);
        let Some(mutant) = mutant(&original, &mut random) else { continue };
        let pairs = all_compositions(&mutant, 2);
        let composition = &pairs[random.below(pairs.len())];
        let question = Question { program: &mutant, composition, input: Input::Unmarked, nodes };
        match compare(&question) {
            Ok(tally) => total.add(tally),
            Err(why) => panic!("{why}\n{}", mutant.source),
        }
        compared += 1;
    }
    if is_long() {
        eprintln!("{compared} mutants: {total:?}");
    }
    assert!(total.failing > 0 && total.failing < total.lists, "{total:?}");
}
