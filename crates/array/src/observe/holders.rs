//! Holders: which lines of the program hold how many bytes.
//!
//! Every buffer that is not small is charged to the account of the op and loc that made it, and credited when it is
//! freed. Accounts live as long as the process, as locs do, so releasing bytes takes no lock. Finding an account takes
//! the lock only if a direct-mapped table of recently used accounts does not contain it. Direct element writes allocate
//! no buffer and leave the charge where it is. The sums are exact when nothing runs; otherwise they may be off by a
//! buffer.

use crate::observe::origin::Origin;
use forerun_base::Mutex;
use forerun_base::{Loc, WordHash};
use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, Ordering::Relaxed};

/// Smaller buffers are not charged: finding the account would cost more than the op.
pub(crate) const LEAST: usize = 4096;

/// Live bytes of the arrays made by one op at one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The user's line.
    pub loc: Loc,
    /// The op.
    pub op: &'static str,
    /// Live bytes.
    pub bytes: usize,
    /// Number of arrays they belong to.
    pub arrays: usize,
}

/// The account of an op at a line.
pub(crate) struct Account {
    op: &'static str,
    loc: Loc,
    bytes: AtomicUsize,
    arrays: AtomicUsize,
}

impl Account {
    #[inline]
    pub(crate) fn is_of(&self, op: &'static str, loc: Loc) -> bool {
        // Names are static, so the same op nearly always has the same address.
        self.loc == loc && (std::ptr::eq(self.op, op) || self.op == op)
    }

    pub(crate) fn origin(&self) -> Origin {
        Origin { op: self.op, loc: self.loc }
    }

    pub(crate) fn take(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Relaxed);
        self.arrays.fetch_add(1, Relaxed);
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Relaxed);
        self.arrays.fetch_sub(1, Relaxed);
    }
}

/// Entries of the table of recently used accounts.
const RECENT: usize = 256;

/// All accounts.
pub(crate) struct Holders {
    all: Mutex<HashMap<(&'static str, Loc), &'static Account, WordHash>>,
    /// Recently used accounts, by a hash of op and line; null if empty.
    recent: [AtomicPtr<Account>; RECENT],
}

impl Default for Holders {
    fn default() -> Holders {
        Holders { all: Mutex::default(), recent: [const { AtomicPtr::new(std::ptr::null_mut()) }; RECENT] }
    }
}

impl Holders {
    /// The account of an op at a line.
    #[inline]
    pub(crate) fn account(&self, op: &'static str, loc: Loc) -> &'static Account {
        let mixed = (op.as_ptr() as u64 ^ (loc.id() as u64) << 24).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = &self.recent[(mixed >> 56) as usize % RECENT];
        // SAFETY: the table contains only leaked accounts, which were initialised before they were published.
        match unsafe { place.load(Ordering::Acquire).as_ref() } {
            Some(account) if account.is_of(op, loc) => account,
            _ => self.find(op, loc, place),
        }
    }

    #[cold]
    fn find(&self, op: &'static str, loc: Loc, place: &AtomicPtr<Account>) -> &'static Account {
        let open = || Account { op, loc, bytes: AtomicUsize::new(0), arrays: AtomicUsize::new(0) };
        let account: &'static Account = self.all.lock().entry((op, loc)).or_insert_with(|| Box::leak(Box::new(open())));
        place.store(std::ptr::from_ref(account).cast_mut(), Ordering::Release);
        account
    }

    /// Takes the lock before a fork.
    pub(crate) fn lock_for_fork(&'static self) -> Box<dyn Any> {
        Box::new(self.all.lock())
    }

    /// Accounts with live bytes, the largest first.
    pub(crate) fn all(&self) -> Vec<Holder> {
        let mut all: Vec<Holder> = Vec::new();
        for account in self.all.lock().values() {
            let (bytes, arrays) = (account.bytes.load(Relaxed), account.arrays.load(Relaxed));
            // The two are read one after the other: an array may have been added or freed in between.
            if bytes > 0 && arrays > 0 {
                all.push(Holder { loc: account.loc, op: account.op, bytes, arrays });
            }
        }
        all.sort_unstable_by_key(|holder| (std::cmp::Reverse(holder.bytes), holder.loc.id(), holder.op));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_holder_comes_first_and_empty_ones_are_omitted() {
        let holders = Holders::default();
        let (here, there) = (Loc::from_id(1), Loc::from_id(2));
        holders.account("add", here).take(10);
        holders.account("add", there).take(30);
        holders.account("add", there).take(40);
        let gone = holders.account("dot", there);
        gone.take(99);
        gone.give_back(99);
        let expected = [
            Holder { loc: there, op: "add", bytes: 70, arrays: 2 },
            Holder { loc: here, op: "add", bytes: 10, arrays: 1 },
        ];
        assert_eq!(holders.all(), expected);
    }
}
