//! The user's array handle: a cell, and a layout over its value. Views share the cell.

use crate::array::attachments;
use crate::runtime::node::Node;
use crate::runtime::submit::SubmitInput;
use crate::runtime::window::{Window, window};
use forerun_base::{DType, Device, Layout, Scalar, Shape};
use forerun_plan::Meta;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

/// An array whose elements may not be computed yet.
///
/// A clone is another handle to the same elements: `x += 1` and `x.assign(...)` write them for every handle and view, as in
/// NumPy. [`Array::copy`] has elements of its own. There is no `PartialEq`: see [`Array::equal`] and
/// [`Array::array_equal`].
///
/// A handle may move to another thread, but only one thread uses it at a time: clone it, or put it into a
/// [`SharedArray`](crate::SharedArray), to share the array.
pub struct Array {
    cell: NonNull<Node>,
    /// Counted for views; the meta of a whole array belongs to its cell.
    meta: NonNull<Meta>,
    /// Elements before the first one of this view.
    offset: u64,
    view: bool,
    /// Whether it is broadcast, or a view of a broadcast array: elements share memory, so none can be written.
    read_only: bool,
    /// Whether values read through this handle are constants: no gradient flows back.
    detached: bool,
    not_sync: PhantomData<std::cell::Cell<()>>,
}

// SAFETY: everything that a handle reaches follows the nodes' protocol, which allows any thread; the handle itself is
// moved.
unsafe impl Send for Array {}

impl Array {
    /// The first handle of a cell, already counted.
    #[inline]
    pub(crate) fn own(node: &Node) -> Array {
        Array {
            cell: NonNull::from(node),
            meta: NonNull::from(node.meta()),
            offset: 0,
            view: false,
            read_only: false,
            detached: false,
            not_sync: PhantomData,
        }
    }

    /// Another handle to the same cell, with another layout.
    pub(crate) fn view_as(&self, meta: &Meta, offset: u64) -> Array {
        self.cell().add_handle();
        let view = offset != 0 || !std::ptr::eq(meta, self.cell().meta());
        let read_only = self.read_only || meta.layout.overlaps_itself();
        let (cell, detached, meta) = (self.cell, self.detached, NonNull::from(meta));
        Array { cell, meta, offset, view, read_only, detached, not_sync: PhantomData }.counted()
    }

    /// Counts the meta of a new view.
    #[inline]
    fn counted(self) -> Array {
        if self.view {
            // SAFETY: metas live in an `Arc`, and the lender of this one still holds it.
            unsafe { Arc::increment_strong_count(self.meta.as_ptr()) };
        }
        self
    }

    /// A handle to the cell's whole value, whatever view of it this is.
    pub fn base(&self) -> Array {
        self.view_as(self.cell().meta(), 0)
    }

    /// The same for a handle through which gradients flow.
    pub(crate) fn plain_base(&self) -> Array {
        let mut base = self.base();
        base.detached = false;
        base
    }

    /// The meta of the cell's whole value.
    pub fn base_meta(&self) -> &Meta {
        self.cell().meta()
    }

    /// A snapshot of the current elements: later writes to either array do not affect the other. Nothing is copied
    /// until one of them is written.
    pub fn freeze(&self) -> Array {
        self.cell().with_current(|value| self.on_value(value))
    }

    /// The same view of a value, under a cell of its own. The caller keeps the value open meanwhile.
    pub(crate) fn on_value(&self, value: &Node) -> Array {
        // SAFETY: the calling thread owns this window.
        let node = unsafe { window().take_node() };
        node.open_on(value, self.cell().meta());
        Array { cell: NonNull::from(node), detached: false, ..*self }.counted()
    }

    /// Another handle to the same elements, through which no gradient flows back.
    pub fn detach(&self) -> Array {
        self.cell().add_handle();
        Array { detached: true, ..*self }.counted()
    }

    /// Whether values read through this handle are constants.
    pub fn is_detached(&self) -> bool {
        self.detached
    }

    pub(crate) fn cell(&self) -> &Node {
        // SAFETY: nodes are never freed, and the handle keeps the cell.
        unsafe { self.cell.as_ref() }
    }

    /// An id of the cell, unique while a handle to it lives.
    pub fn cell_id(&self) -> usize {
        self.cell.as_ptr() as usize
    }

    /// Interned dtype and layout.
    #[inline]
    pub fn meta(&self) -> &Meta {
        // SAFETY: a view counts its meta; that of a whole array belongs to its cell, which this handle keeps alive.
        unsafe { self.meta.as_ref() }
    }

    /// Elements of the cell before the first one of this view.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn is_view(&self) -> bool {
        self.view
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    pub(crate) fn input(&self) -> SubmitInput<'_> {
        SubmitInput::Array(self)
    }

    /// The extents, where they lie: a shape is large to copy.
    #[inline]
    pub(crate) fn extents(&self) -> &Shape {
        &self.meta().layout.shape
    }

    /// The extents.
    pub fn shape(&self) -> Shape {
        self.meta().shape()
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.meta().dtype
    }

    /// Shape and strides.
    pub fn layout(&self) -> Layout {
        self.meta().layout
    }

    /// Number of elements.
    pub fn size(&self) -> usize {
        self.meta().size
    }

    /// Number of dimensions.
    pub fn ndim(&self) -> usize {
        self.meta().shape().rank()
    }

    /// The device of the elements.
    pub fn device(&self) -> Device {
        self.meta().device
    }

    /// Whether both are handles to the same cell, so that a write to one may affect the other.
    pub fn shares_cell(&self, other: &Array) -> bool {
        self.cell == other.cell
    }
}

impl Clone for Array {
    fn clone(&self) -> Array {
        self.cell().add_handle();
        Array { ..*self }.counted()
    }
}

impl Drop for Array {
    #[inline]
    fn drop(&mut self) {
        if self.view {
            // SAFETY: counted when the view was created. The tables hold a count too, so nothing is freed here.
            unsafe { Arc::decrement_strong_count(self.meta.as_ptr()) };
        }
        let cell = self.cell();
        if !cell.drop_handle() {
            return;
        }
        // While the cell is still alive, because the slot's next life may have an attachment of its own.
        if cell.is_attached() {
            attachments::remove(cell);
        }
        let value = cell.current();
        let ended = if std::ptr::eq(value, cell) {
            cell.end_cell()
        } else {
            if value.let_go() {
                Window::retire(value);
            }
            cell.end_moved_cell()
        };
        if ended.retire {
            Window::retire(cell);
        }
    }
}

/// An argument of a pointwise op: an array or a scalar.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    /// An array.
    Array(&'a Array),
    /// A number without a dtype.
    Scalar(Scalar),
}

impl<'a> From<&'a Array> for Arg<'a> {
    fn from(array: &'a Array) -> Self {
        Arg::Array(array)
    }
}

impl<T: Into<Scalar>> From<T> for Arg<'_> {
    fn from(value: T) -> Self {
        Arg::Scalar(value.into())
    }
}
