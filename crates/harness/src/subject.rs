//! The object under test with its types erased: what the engines that run it see.
//!
//! The engines (real threads, Shuttle, Loom) do the same thing with every object: make one, attach
//! each thread to it, let the threads take their steps, look at what came back. They need not know
//! its type, so that there is one copy of each engine and not one for each test.

use crate::generator::{Draw, Generator};
use crate::mishap::{Guarded, Mishap, Mishaps, attempt};
use crate::quiet;
use crate::reply::{IntoReply, Reply};
use crate::run::{End, Slot};
use crate::scenario::{KindId, Step};
use crate::tracked::Ledger;
use crate::{Clock, run};
use seriatim_history::{Time, Value};
use std::sync::Arc;

/// Where the stamps of an execution come from, and whether it is over.
pub(crate) trait Stamps {
    /// The stamp of a call.
    fn call(&self) -> Time;
    /// The stamp of a return.
    fn ret(&self) -> Time;
    /// Whether a panic is the end of the execution and none of the object's.
    fn is_over(&self) -> bool {
        false
    }
}

impl Stamps for Clock {
    fn call(&self) -> Time {
        Clock::call(self)
    }

    fn ret(&self) -> Time {
        Clock::ret(self)
    }
}

/// Who calls an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Caller {
    /// One of the threads that run in parallel, counted from 0.
    Thread(usize),
    /// The main thread, before the others start or after they are done.
    Main,
}

/// What a declared operation is called and how it may be used.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    /// What scenarios call it.
    pub name: Arc<str>,
    /// What the specification calls it.
    pub method: Arc<str>,
    /// How often it is drawn, compared with the others.
    pub weight: u32,
    pub callers: Callers,
    /// How often a scenario may have it.
    pub at_most: usize,
    pub blocking: Blocking,
    /// Whether its arguments are numbers that occur once in a scenario.
    pub distinct: bool,
}

/// Who may call an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Callers {
    Anyone,
    /// One of the threads, and nobody else.
    Thread(usize),
    /// One of the threads, and the main thread while the others do not run.
    ThreadOrMain(usize),
}

impl Callers {
    pub fn admits(self, caller: Caller) -> bool {
        match (self, caller) {
            (Callers::Anyone, _) | (Callers::ThreadOrMain(_), Caller::Main) => true,
            (Callers::Thread(_), Caller::Main) => false,
            (Callers::Thread(only) | Callers::ThreadOrMain(only), Caller::Thread(thread)) => {
                only == thread
            }
        }
    }

    /// The thread that it is bound to.
    pub fn thread(self) -> Option<usize> {
        match self {
            Callers::Anyone => None,
            Callers::Thread(thread) | Callers::ThreadOrMain(thread) => Some(thread),
        }
    }
}

/// What it means when a call never returns.
#[derive(Clone, Debug)]
pub(crate) enum Blocking {
    /// The object is broken.
    Never,
    /// It may wait for ever; the call is pending.
    Pending,
    /// It may wait for ever as long as this call would get this reply.
    While(Arc<str>, Reply),
}

/// An object and its operations.
pub(crate) trait Subject: Send + Sync {
    fn kinds(&self) -> &[Kind];
    fn draw(&self, kind: KindId, draw: &mut Draw) -> Option<Value>;
    /// Whether an operation can take an argument.
    fn accepts(&self, kind: KindId, arg: Option<&Value>) -> bool;
    /// A new object, if it can be made.
    fn fresh(&self) -> Result<Box<dyn Instance>, Mishap>;
    /// The account of its tracked values.
    fn ledger(&self) -> &'static Ledger;

    fn kind(&self, kind: KindId) -> &Kind {
        &self.kinds()[kind.index()]
    }

    /// Whether operations are bound to threads, whose numbers must then stay.
    fn binds_threads(&self) -> bool {
        self.kinds().iter().any(|kind| kind.callers.thread().is_some())
    }
}

/// One object.
pub(crate) trait Instance: Send + Sync {
    /// A thread's view of it, if it can be made.
    fn attach(&self, caller: Caller) -> Result<Box<dyn Attached>, Mishap>;
    /// Where its mishaps are written down.
    fn mishaps(&self) -> Mishaps;
    /// The checks at the end.
    fn inspect(&self) -> Result<(), String>;
}

/// One thread's view of an object.
pub(crate) trait Attached {
    fn run(&mut self, step: &Step, stamps: &dyn Stamps) -> Slot;
}

type DrawOne = Box<dyn Fn(&mut Draw) -> Option<Value> + Send + Sync>;
type Accepts = Box<dyn Fn(Option<&Value>) -> bool + Send + Sync>;
type RunOne<H> = Box<dyn Fn(&mut H, Option<&Value>, &dyn Stamps) -> Slot + Send + Sync>;

/// An operation as the user declared it.
pub(crate) struct Declared<H> {
    pub kind: Kind,
    draw: DrawOne,
    accepts: Accepts,
    run: RunOne<H>,
}

impl<H: 'static> Declared<H> {
    pub fn new<G: Generator, R: IntoReply>(
        name: &str,
        generator: G,
        ledger: &'static Ledger,
        operation: impl Fn(&mut H, G::Item) -> R + Send + Sync + 'static,
    ) -> Self {
        let generator = Arc::new(generator);
        let (drawing, building) = (generator.clone(), generator.clone());
        Declared {
            kind: Kind {
                name: name.into(),
                method: name.into(),
                weight: 1,
                callers: Callers::Anyone,
                at_most: usize::MAX,
                blocking: Blocking::Never,
                distinct: generator.is_distinct(),
            },
            draw: Box::new(move |draw| drawing.draw(draw)),
            accepts: Box::new(move |arg| ledger.watch(|| building.build(arg).is_some())),
            run: Box::new(move |handle, arg, stamps| {
                let item = ledger.watch(|| generator.build(arg));
                let item = item.expect("a scenario holds arguments that fit");
                stamped(stamps, || operation(handle, item))
            }),
        }
    }
}

/// Calls an operation between two stamps.
fn stamped<R: IntoReply>(stamps: &dyn Stamps, operation: impl FnOnce() -> R) -> Slot {
    let call = stamps.call();
    // What the user's type makes of a result may panic too, and is none of the time of the call.
    let returned = quiet::catch(|| {
        let result = operation();
        let ret = stamps.ret();
        (ret, result.reply())
    });
    match returned {
        Ok((_, Reply::Unknown | Reply::Waits)) => Slot { call, end: End::Running },
        Ok((ret, reply)) => Slot { call, end: End::Returned(ret, reply) },
        Err(panic) if stamps.is_over() => panic.resume(),
        Err(panic) => Slot { call, end: End::Panicked(panic.message()) },
    }
}

/// A final check of an object.
pub(crate) type Inspection<T> = Box<dyn Fn(&T) -> Result<(), String> + Send + Sync>;

/// Makes a thread's handle of an object.
pub(crate) type MakeHandle<T, H> = Box<dyn Fn(&Arc<T>, Caller) -> H + Send + Sync>;

/// The object as the user declared it: a type `T`, shared, and a handle `H` for each thread.
pub(crate) struct Declaration<T, H> {
    pub make: Box<dyn Fn() -> T + Send + Sync>,
    pub handle: MakeHandle<T, H>,
    pub operations: Vec<Declared<H>>,
    pub inspections: Vec<Inspection<T>>,
    pub ledger: &'static Ledger,
}

/// A declaration that can be run.
pub(crate) struct Erased<T, H> {
    declaration: Arc<Declaration<T, H>>,
    kinds: Vec<Kind>,
}

impl<T, H> Erased<T, H> {
    pub fn new(declaration: Declaration<T, H>) -> Self {
        let kinds = declaration.operations.iter().map(|declared| declared.kind.clone()).collect();
        Erased { declaration: Arc::new(declaration), kinds }
    }
}

impl<T: Send + Sync + 'static, H: 'static> Subject for Erased<T, H> {
    fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    fn draw(&self, kind: KindId, draw: &mut Draw) -> Option<Value> {
        (self.declaration.operations[kind.index()].draw)(draw)
    }

    fn accepts(&self, kind: KindId, arg: Option<&Value>) -> bool {
        (self.declaration.operations[kind.index()].accepts)(arg)
    }

    fn fresh(&self) -> Result<Box<dyn Instance>, Mishap> {
        let object = attempt("making the object", || Arc::new((self.declaration.make)()))?;
        let mishaps = Mishaps::default();
        let object = Guarded::new(object, "dropping the object", &mishaps);
        Ok(Box::new(Fresh { object, mishaps, declaration: self.declaration.clone() }))
    }

    fn ledger(&self) -> &'static Ledger {
        self.declaration.ledger
    }
}

struct Fresh<T, H> {
    object: Guarded<Arc<T>>,
    mishaps: Mishaps,
    declaration: Arc<Declaration<T, H>>,
}

impl<T: Send + Sync + 'static, H: 'static> Instance for Fresh<T, H> {
    fn attach(&self, caller: Caller) -> Result<Box<dyn Attached>, Mishap> {
        let make = || (self.declaration.handle)(&self.object, caller);
        let handle = attempt("making a thread's handle", make)?;
        let handle = Guarded::new(handle, "dropping a thread's handle", &self.mishaps);
        Ok(Box::new(Holder { handle, declaration: self.declaration.clone() }))
    }

    fn mishaps(&self) -> Mishaps {
        self.mishaps.clone()
    }

    fn inspect(&self) -> Result<(), String> {
        let inspect = || self.declaration.inspections.iter().try_for_each(|i| i(&self.object));
        quiet::catch(inspect).unwrap_or_else(|panic| Err(panic.message()))
    }
}

struct Holder<T, H> {
    handle: Guarded<H>,
    declaration: Arc<Declaration<T, H>>,
}

impl<T, H> Attached for Holder<T, H> {
    fn run(&mut self, step: &Step, stamps: &dyn Stamps) -> run::Slot {
        let declared = &self.declaration.operations[step.kind.index()];
        (declared.run)(&mut self.handle, step.arg.as_ref(), stamps)
    }
}

/// Handles that live until all threads of an execution are done. Explorers run all of them on one
/// thread of the system, so that this is one list an exploration.
#[cfg(any(feature = "shuttle", feature = "loom"))]
pub(crate) mod kept {
    use super::Attached;
    use std::cell::RefCell;

    thread_local! {
        static KEPT: RefCell<Vec<Box<dyn Attached>>> = const { RefCell::new(Vec::new()) };
    }

    /// Keeps the handle of a thread that is done.
    pub fn keep(handle: Box<dyn Attached>) {
        KEPT.with(|kept| kept.borrow_mut().push(handle));
    }

    /// Drops them all.
    pub fn let_go() {
        let handles = KEPT.take();
        drop(handles);
    }
}
