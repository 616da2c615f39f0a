//! How each configuration was reached: a tree of steps.
//!
//! Many configurations share the beginning of the way to them, so each keeps its last steps and the
//! number of the configuration that it came from.

use super::space::Step;

/// A configuration's place in the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OriginId(u32);

impl OriginId {
    /// Where the search starts.
    pub const ROOT: OriginId = OriginId(0);
}

/// The ways to the configurations met so far.
pub struct Origins {
    origins: Vec<Origin>,
    steps: Vec<Step>,
}

struct Origin {
    parent: OriginId,
    /// The end of its steps in `steps`; they start where those of the origin before it end.
    end: u32,
}

impl Default for Origins {
    fn default() -> Self {
        Origins { origins: vec![Origin { parent: OriginId::ROOT, end: 0 }], steps: Vec::new() }
    }
}

impl Origins {
    /// Notes the steps that lead from one configuration to another.
    pub fn add(&mut self, parent: OriginId, steps: &[Step]) -> OriginId {
        self.steps.extend_from_slice(steps);
        self.origins.push(Origin { parent, end: self.steps.len() as u32 });
        OriginId(self.origins.len() as u32 - 1)
    }

    /// The steps from the start to a configuration.
    pub fn path(&self, mut origin: OriginId) -> Vec<Step> {
        let mut way = Vec::new();
        while origin != OriginId::ROOT {
            way.push(origin);
            origin = self.origins[origin.0 as usize].parent;
        }
        let mut path = Vec::new();
        for origin in way.into_iter().rev() {
            let start = self.origins[origin.0 as usize - 1].end as usize;
            let end = self.origins[origin.0 as usize].end as usize;
            path.extend_from_slice(&self.steps[start..end]);
        }
        path
    }

    /// Forgets all ways.
    pub fn clear(&mut self) {
        self.origins.truncate(1);
        self.steps.clear();
    }

    /// An estimate of the memory in use, in bytes.
    pub fn bytes(&self) -> usize {
        self.origins.len() * size_of::<Origin>() + self.steps.len() * size_of::<Step>()
    }
}
