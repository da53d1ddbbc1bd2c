//! A memo of recipes whose attributes are a list of integers: routines and concatenations.
//!
//! Inferring such an op and finding its meta, signature and recipe takes three locks and several allocations. A thread
//! that submits the same op again with inputs of the same metas finds the recipe here instead. As in the memo of
//! [`crate::runtime::window::Owner`], the window holds the recipes that entries refer to.

use crate::runtime::recipe::Recipe;
use forerun_base::{DType, Device, WordHash};
use forerun_ops::Op;
use smallvec::SmallVec;
use std::hash::{BuildHasher, Hash};

/// Entries of the memo.
const ENTRIES: usize = 256;

/// The key of the memo.
#[derive(PartialEq, Hash)]
pub(crate) struct ListKey {
    op: Op,
    /// Where an op without inputs runs.
    device: Device,
    /// Determines the dtype of a float-only op on integers.
    default_float: DType,
    metas: SmallVec<[u64; 4]>,
    attributes: SmallVec<[i64; 6]>,
}

impl ListKey {
    pub(crate) fn new(op: Op, device: Device, metas: impl Iterator<Item = u64>, attributes: &[i64]) -> ListKey {
        let attributes = SmallVec::from_slice(attributes);
        ListKey { op, device, default_float: DType::default_float(), metas: metas.collect(), attributes }
    }

    fn place(&self) -> usize {
        WordHash::default().hash_one(self) as usize % ENTRIES
    }
}

/// The memo: direct-mapped, allocated at its first use.
#[derive(Default)]
pub(crate) struct ListMemo(Vec<Option<(ListKey, &'static Recipe)>>);

impl ListMemo {
    /// Looks up a recipe.
    #[inline]
    pub(crate) fn find(&self, key: &ListKey) -> Option<&'static Recipe> {
        match self.0.get(key.place()) {
            Some(Some((known, recipe))) if known == key => Some(recipe),
            _ => None,
        }
    }

    /// Adds a recipe, which the window holds while this memo refers to it.
    #[cold]
    pub(crate) fn remember(&mut self, key: ListKey, recipe: &'static Recipe) {
        if self.0.is_empty() {
            self.0.resize_with(ENTRIES, || None);
        }
        let place = key.place();
        self.0[place] = Some((key, recipe));
    }

    /// The recipes that entries refer to.
    pub(crate) fn recipes(&self) -> impl Iterator<Item = &'static Recipe> {
        self.0.iter().flatten().map(|(_, recipe)| *recipe)
    }
}
