//! Records: one submitted op each, 64 bytes, without a closure. Only a record of an op with more than three array inputs
//! allocates: it owns the list of them.
//!
//! A view is a record without a result, directly before the record that reads through it; the reader's operand says how
//! many records back it is. So a cut never separates the two, and a view never needs a value.

use crate::runtime::node::Node;
use crate::runtime::recipe::Recipe;

/// One submitted op.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Record {
    /// The op, metas and attributes, without the values.
    pub(crate) recipe: &'static Recipe,
    /// The node of the result; null for a view.
    pub(crate) out: *const Node,
    /// The array inputs; an op with more than three (a concatenation, for instance) has a list in the first word.
    pub(crate) inputs: [InputWord; 3],
    /// Scalars in the computation dtype, offsets, random keys.
    pub(crate) immediates: [u64; 2],
    /// The generation of the result.
    pub(crate) generation: u32,
    /// The user's source line.
    pub(crate) loc: u32,
}

const _: () = assert!(size_of::<Record>() == 64);

// SAFETY: a record names nodes that stay valid until it is done, and threads that run it follow the nodes' protocol.
unsafe impl Send for Record {}
// SAFETY: as above; a record never changes after it is published.
unsafe impl Sync for Record {}

impl Record {
    pub(crate) fn is_view(&self) -> bool {
        self.out.is_null()
    }
}

/// An operand of a record: a node, a view some records back, or a list. Nodes are aligned to cache lines, so the low
/// bits are free for tags.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct InputWord(usize);

const VIEW: usize = 1;
const FOREIGN: usize = 2;

/// A decoded operand.
pub(crate) enum InputRef {
    /// A value, and whether another window owns it.
    Node(*const Node, bool),
    /// A view, this many records back.
    View(u64),
}

impl InputWord {
    pub(crate) const NONE: InputWord = InputWord(0);

    pub(crate) fn node(node: *const Node, foreign: bool) -> InputWord {
        InputWord(node as usize | if foreign { FOREIGN } else { 0 })
    }

    pub(crate) fn view(back: u64) -> InputWord {
        InputWord((back as usize) << 2 | VIEW)
    }

    /// A list of operands; the thread that runs the record takes it.
    pub(crate) fn list(words: Vec<InputWord>) -> InputWord {
        InputWord(Box::into_raw(Box::new(words)) as usize)
    }

    /// Takes ownership of the list.
    ///
    /// # Safety
    /// The word came from [`InputWord::list`] and is taken once.
    pub(crate) unsafe fn take_list(self) -> Vec<InputWord> {
        // SAFETY: the caller guarantees that the word is a list and is taken once.
        *unsafe { Box::from_raw(self.0 as *mut Vec<InputWord>) }
    }

    /// Borrows the list.
    ///
    /// # Safety
    /// The word came from [`InputWord::list`] and was not taken yet.
    pub(crate) unsafe fn peek_list<'a>(self) -> &'a [InputWord] {
        // SAFETY: the caller guarantees that the word is a list that was not taken.
        unsafe { &*(self.0 as *const Vec<InputWord>) }
    }

    pub(crate) fn decode(self) -> InputRef {
        if self.0 & VIEW != 0 {
            InputRef::View((self.0 >> 2) as u64)
        } else {
            InputRef::Node((self.0 & !(VIEW | FOREIGN)) as *const Node, self.0 & FOREIGN != 0)
        }
    }
}
