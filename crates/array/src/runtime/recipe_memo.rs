//! A memo of recipes whose attributes are a list of integers: routines and concatenations.
//!
//! Inferring such an op and finding its meta, signature and recipe takes three locks and several allocations. A thread that
//! submits the same op again with inputs of the same metas finds the recipe here instead. As in the memo of
//! [`crate::runtime::window::Owner`], the window holds the recipes that entries name.

use crate::runtime::recipe::Recipe;
use forerun_base::{DType, Device, WordHash};
use forerun_ops::Op;
use smallvec::SmallVec;
use std::hash::{BuildHasher, Hash};

/// Entries of the memo.
const ENTRIES: usize = 256;

/// What a recipe is looked up by.
#[derive(PartialEq, Hash)]
pub(crate) struct ListKey {
    op: Op,
    /// Where an op without inputs runs.
    device: Device,
    /// What integers become in a float-only op depends on it.
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

/// The memo: direct-mapped, made when it is first used.
#[derive(Default)]
pub(crate) struct ListMemo(Vec<Option<(ListKey, &'static Recipe)>>);

impl ListMemo {
    /// The recipe of a key.
    #[inline]
    pub(crate) fn find(&self, key: &ListKey) -> Option<&'static Recipe> {
        match self.0.get(key.place()) {
            Some(Some((known, recipe))) if known == key => Some(recipe),
            _ => None,
        }
    }

    /// Remembers a recipe, which the window holds for as long as this memo names it.
    #[cold]
    pub(crate) fn remember(&mut self, key: ListKey, recipe: &'static Recipe) {
        if self.0.is_empty() {
            self.0.resize_with(ENTRIES, || None);
        }
        let place = key.place();
        self.0[place] = Some((key, recipe));
    }

    /// The recipes that entries name.
    pub(crate) fn recipes(&self) -> impl Iterator<Item = &'static Recipe> {
        self.0.iter().flatten().map(|(_, recipe)| *recipe)
    }
}
