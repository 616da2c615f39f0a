//! Visits every expression and statement of a block, or rewrites every expression.

use crate::front::ast::*;

/// Calls `visit` on each expression of the block, outer ones first.
pub fn expressions(block: &Block, visit: &mut dyn FnMut(&Expr)) {
    statements(block, &mut |statement| {
        for lin in &statement.lin {
            lin.cond.iter().chain(&lin.help).for_each(|e| expression(e, visit));
        }
        own_expressions(statement, &mut |e| expression(e, visit));
    });
}

/// Calls `visit` on each expression that a statement itself evaluates: not those of the blocks in
/// it, nor of its linearization points.
pub fn own_expressions(statement: &Stmt, visit: &mut dyn FnMut(&Expr)) {
    match &statement.kind {
        StmtKind::Assign(targets, value) => {
            targets.iter().flatten().for_each(&mut *visit);
            visit(value);
        }
        StmtKind::Let(_, _, e)
        | StmtKind::Expr(e)
        | StmtKind::If(e, _, _)
        | StmtKind::While(_, e, _)
        | StmtKind::For(_, e, _)
        | StmtKind::Repeat(e, _)
        | StmtKind::Return(Some(e))
        | StmtKind::Assume(e)
        | StmtKind::Assert(e) => visit(e),
        StmtKind::Loop(..)
        | StmtKind::Break(_)
        | StmtKind::Continue(_)
        | StmtKind::Return(None)
        | StmtKind::Atomic(_)
        | StmtKind::Choose(_) => {}
    }
}

/// Calls `visit` on each statement of the block, outer ones first.
pub fn statements(block: &Block, visit: &mut dyn FnMut(&Stmt)) {
    for statement in block {
        visit(statement);
        match &statement.kind {
            StmtKind::If(_, a, b) => {
                statements(a, visit);
                statements(b, visit);
            }
            StmtKind::While(_, _, b)
            | StmtKind::Loop(_, b)
            | StmtKind::For(_, _, b)
            | StmtKind::Repeat(_, b)
            | StmtKind::Atomic(b) => statements(b, visit),
            StmtKind::Choose(branches) => branches.iter().for_each(|b| statements(b, visit)),
            _ => {}
        }
    }
}

/// Calls `visit` on the expression and on each of its parts, outer ones first.
pub fn expression(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    visit(expr);
    children(expr, &mut |part| expression(part, visit));
}

/// Calls `visit` on the parts of an expression, and not on theirs.
pub fn children(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    match &expr.kind {
        ExprKind::Field(a, _) | ExprKind::Part(a, _) | ExprKind::Unary(_, a) => {
            visit(a);
        }
        ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) | ExprKind::Fill(a, b) => {
            visit(a);
            visit(b);
        }
        ExprKind::Slice(a, low, high) => {
            visit(a);
            low.iter().chain(high).for_each(|e| visit(e));
        }
        ExprKind::If(a, b, c) => [a, b, c].into_iter().for_each(|e| visit(e)),
        ExprKind::Call(_, parts)
        | ExprKind::Tuple(parts)
        | ExprKind::List(parts)
        | ExprKind::Set(parts) => parts.iter().for_each(&mut *visit),
        ExprKind::New(_, fields) => fields.iter().for_each(|(_, e)| visit(e)),
        ExprKind::Int(_)
        | ExprKind::Text(_)
        | ExprKind::Bool(_)
        | ExprKind::Null
        | ExprKind::MinusInf
        | ExprKind::PlusInf
        | ExprKind::SelfTid
        | ExprKind::Any
        | ExprKind::Name(_) => {}
    }
}

/// Calls `change` on each expression of the block, inner ones first.
pub fn rewrite(block: &mut Block, change: &mut dyn FnMut(&mut Expr)) {
    for statement in block {
        for lin in &mut statement.lin {
            let parts = lin.cond.iter_mut().chain(&mut lin.help);
            parts.for_each(|e| rewrite_expression(e, change));
        }
        match &mut statement.kind {
            StmtKind::Assign(targets, value) => {
                targets.iter_mut().flatten().for_each(|e| rewrite_expression(e, change));
                rewrite_expression(value, change);
            }
            StmtKind::If(e, a, b) => {
                rewrite_expression(e, change);
                rewrite(a, change);
                rewrite(b, change);
            }
            StmtKind::While(_, e, b) | StmtKind::For(_, e, b) | StmtKind::Repeat(e, b) => {
                rewrite_expression(e, change);
                rewrite(b, change);
            }
            StmtKind::Let(_, _, e)
            | StmtKind::Expr(e)
            | StmtKind::Return(Some(e))
            | StmtKind::Assume(e)
            | StmtKind::Assert(e) => rewrite_expression(e, change),
            StmtKind::Loop(_, b) | StmtKind::Atomic(b) => rewrite(b, change),
            StmtKind::Choose(branches) => branches.iter_mut().for_each(|b| rewrite(b, change)),
            StmtKind::Break(_) | StmtKind::Continue(_) | StmtKind::Return(None) => {}
        }
    }
}

/// Calls `change` on each part of the expression and then on the expression, inner ones first.
pub fn rewrite_expression(expr: &mut Expr, change: &mut dyn FnMut(&mut Expr)) {
    match &mut expr.kind {
        ExprKind::Field(a, _) | ExprKind::Part(a, _) | ExprKind::Unary(_, a) => {
            rewrite_expression(a, change);
        }
        ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) | ExprKind::Fill(a, b) => {
            rewrite_expression(a, change);
            rewrite_expression(b, change);
        }
        ExprKind::Slice(a, low, high) => {
            rewrite_expression(a, change);
            low.iter_mut().chain(high).for_each(|e| rewrite_expression(e, change));
        }
        ExprKind::If(a, b, c) => {
            [a, b, c].into_iter().for_each(|e| rewrite_expression(e, change));
        }
        ExprKind::Call(_, parts)
        | ExprKind::Tuple(parts)
        | ExprKind::List(parts)
        | ExprKind::Set(parts) => parts.iter_mut().for_each(|e| rewrite_expression(e, change)),
        ExprKind::New(_, fields) => {
            fields.iter_mut().for_each(|(_, e)| rewrite_expression(e, change));
        }
        ExprKind::Int(_)
        | ExprKind::Text(_)
        | ExprKind::Bool(_)
        | ExprKind::Null
        | ExprKind::MinusInf
        | ExprKind::PlusInf
        | ExprKind::SelfTid
        | ExprKind::Any
        | ExprKind::Name(_) => {}
    }
    change(expr);
}
