//! What the text of a specification says about its methods: which change nothing, which act on one
//! key, which number is a version. Engines believe what a [`Spec`](seriatim_spec::Spec) says of
//! itself; here it is proved, by reading, and what cannot be read is not claimed.
//!
//! - *Keys*: if every method touches the entries of one of its parameters and nothing else
//!   ([`access`](seriatim_lang::spec::access)), the object is one object for each key.
//! - *Versions*: a number that counts the changes ([`paths`](seriatim_lang::spec::paths)) satisfies
//!   the conditions of [`Versions`](seriatim_spec::Versions): V1 to V4, since each way through a
//!   method that changes anything counts it up once; P, since the methods touch it and the entries
//!   of their arguments; A, since what is not counted stands [aside](seriatim_lang::spec::aside).

use seriatim_lang::ast::Rise;
use seriatim_lang::program::{SpecInfo, VarId};
use seriatim_lang::spec::Datum;
use seriatim_lang::spec::access::{Access, Entry, access};
use seriatim_lang::spec::aside::{Asides, Role};
use seriatim_lang::spec::gather::{Gather, gather};
use seriatim_lang::spec::opaque::{is_compared, is_opaque, literals};
use seriatim_lang::spec::paths::{Ending, Told, endings, seen, told, version};
use seriatim_spec::Version;

/// What a specification's text says about its methods, each by its number.
pub struct Nature {
    accesses: Vec<Access>,
    /// The ways for each method to end, where they can be followed.
    endings: Vec<Option<Vec<Ending>>>,
    /// Whether each method never changes anything.
    reads: Vec<bool>,
    /// The variable that counts the changes.
    pub version: Option<VarId>,
    /// What changes and is not counted, and what the methods have to do with it.
    pub asides: Asides,
    /// Whether it may also rise by itself.
    pub is_sparse: bool,
    /// The numbers that the text names, if the version is only copied and compared.
    pub literals: Option<Vec<i64>>,
    /// The highest number that the text names, if the version is not calculated with.
    pub highest: Option<i64>,
    /// What the methods list that list entries.
    gathers: Vec<Option<Gather>>,
    /// Whether every method acts on the entry of one argument, and there is nothing else.
    is_keyed: bool,
}

impl Nature {
    /// Reads a specification.
    pub fn of(spec: &SpecInfo) -> Nature {
        let (version, endings, asides) = match version(spec) {
            Some((number, all, asides)) => {
                (Some(number), all.into_iter().map(Some).collect(), asides)
            }
            None => {
                let all = spec.methods.iter().map(|method| endings(spec, method, None));
                let roles = vec![Role::Apart; spec.methods.len()];
                (None, all.collect::<Vec<_>>(), Asides { vars: Vec::new(), roles })
            }
        };
        let set_aside: Vec<VarId> = version.iter().chain(&asides.vars).copied().collect();
        let never_changes = |ways: &Option<Vec<Ending>>| {
            ways.as_ref().is_some_and(|ways| ways.iter().all(|way| !way.is_change))
        };
        let reads = endings.iter().map(never_changes).collect();
        let accesses: Vec<Access> =
            spec.methods.iter().map(|method| access(spec, method, &set_aside)).collect();
        let gathers = spec.methods.iter().map(|method| gather(spec, method, version)).collect();
        let is_single = |access: &Access| matches!(access, Access::Entries(e) if matches!(e[..], [Entry::Of(_)]));
        let is_keyed = version.is_none() && accesses.iter().all(is_single);
        let is_sparse = spec.vars.iter().any(|var| var.version == Some(Rise::Sparse));
        let opaque = version.filter(|&number| is_opaque(spec, number));
        let compared = version.filter(|&number| is_compared(spec, number));
        let highest = compared.map(|_| literals(spec).into_iter().max().unwrap_or(0));
        let literals = opaque.map(|_| literals(spec));
        Nature {
            accesses,
            endings,
            reads,
            version,
            asides,
            is_sparse,
            literals,
            highest,
            gathers,
            is_keyed,
        }
    }

    /// Whether a method with this result, or with any, changes nothing.
    pub fn leaves_unchanged(&self, method: usize, result: Option<&Datum>) -> bool {
        if self.reads[method] || result.is_none() {
            return self.reads[method];
        }
        let Some(endings) = &self.endings[method] else { return false };
        let fits = |ending: &&Ending| result.is_none_or(|result| ending.fits(result));
        endings.iter().filter(fits).all(|ending| !ending.is_change)
    }

    /// The parameter that is the key of a method, if the object is one for each key.
    pub fn key(&self, method: usize) -> Option<usize> {
        match &self.accesses[method] {
            Access::Entries(entries) if self.is_keyed => match entries[..] {
                [Entry::Of(parameter)] => Some(parameter),
                _ => None,
            },
            _ => None,
        }
    }

    /// The keys whose entries a call names and touches; `None`: perhaps all.
    pub fn entries<'a>(&self, method: usize, args: &'a [Datum]) -> Option<Vec<&'a Datum>> {
        match &self.accesses[method] {
            Access::Entries(entries) => Some(entries.iter().flat_map(|e| e.keys(args)).collect()),
            Access::Everything => Some(vec![self.gathers[method]?.only(args)?]),
        }
    }

    /// The ranges of keys whose entries a call touches besides: of those keys that any call names.
    pub fn ranges<'a>(&self, method: usize, args: &'a [Datum]) -> Vec<(&'a Datum, &'a Datum)> {
        match &self.accesses[method] {
            Access::Entries(entries) => entries.iter().flat_map(|e| e.ranges(args)).collect(),
            Access::Everything => Vec::new(),
        }
    }

    /// Whether a method does nothing but list entries.
    pub fn lists(&self, method: usize) -> Option<Gather> {
        self.gathers[method]
    }

    /// What a result tells of the version.
    pub fn told(&self, method: usize, result: &Datum) -> Option<Version> {
        let number = |number: i64| u64::try_from(number).ok();
        self.version?;
        if self.asides.roles[method] == Role::Changes {
            let seen = seen(self.endings[method].as_ref()?, result)?;
            return number(seen).map(Version::Read);
        }
        match told(self.endings[method].as_ref()?, result)? {
            Told::Update(version) => number(version).map(Version::Update),
            Told::Read(version) => number(version).map(Version::Read),
        }
    }
}
