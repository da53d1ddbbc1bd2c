//! Arrays: the user's handle. A cell, and a layout over what it points at; views share the cell.

use crate::node::Node;
use crate::submit::Input;
use crate::window::Window;
use forerun_base::{DType, Device, Layout, Scalar, Shape};
use forerun_plan::Meta;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// An array: its elements may still be on their way. Cloning gives another handle on the same elements.
///
/// A handle may go to another thread, but is used by one at a time; to share, clone.
pub struct Array {
    cell: NonNull<Node>,
    meta: &'static Meta,
    /// Elements before the first one of this view.
    offset: u64,
    view: bool,
    /// Broadcast, or a view of what was: elements share their place, so none can be written.
    read_only: bool,
    not_sync: PhantomData<std::cell::Cell<()>>,
}

// SAFETY: everything a handle reaches follows the nodes' protocol, which allows any thread; the handle itself is moved.
unsafe impl Send for Array {}

impl Array {
    /// The first handle of a cell, already counted.
    pub(crate) fn own(node: &Node) -> Array {
        Array {
            cell: NonNull::from(node),
            meta: node.meta(),
            offset: 0,
            view: false,
            read_only: false,
            not_sync: PhantomData,
        }
    }

    /// Another handle on the same cell, under another layout.
    pub(crate) fn view_as(&self, meta: &'static Meta, offset: u64) -> Array {
        self.cell().add_handle();
        let whole = offset == 0 && std::ptr::eq(meta, self.cell().meta());
        let read_only = self.read_only || meta.layout.overlaps_itself();
        Array { cell: self.cell, meta, offset, view: !whole, read_only, not_sync: PhantomData }
    }

    pub(crate) fn cell(&self) -> &Node {
        // SAFETY: nodes are never freed, and the handle keeps the cell.
        unsafe { self.cell.as_ref() }
    }

    pub(crate) fn meta(&self) -> &'static Meta {
        self.meta
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn is_view(&self) -> bool {
        self.view
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    pub(crate) fn input(&self) -> Input<'_> {
        Input::Array(self)
    }

    /// The extents.
    pub fn shape(&self) -> Shape {
        self.meta.shape()
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.meta.dtype
    }

    /// Shape and strides.
    pub fn layout(&self) -> Layout {
        self.meta.layout
    }

    /// Number of elements.
    pub fn size(&self) -> usize {
        self.meta.size
    }

    /// Number of dimensions.
    pub fn ndim(&self) -> usize {
        self.meta.shape().rank()
    }

    /// Where the elements live.
    pub fn device(&self) -> Device {
        Device::default()
    }

    /// Whether both are handles on the same cell: writing to one may show in the other.
    pub fn shares_cell(&self, other: &Array) -> bool {
        self.cell == other.cell
    }
}

impl Clone for Array {
    fn clone(&self) -> Array {
        self.cell().add_handle();
        Array { ..*self }
    }
}

impl Drop for Array {
    #[inline]
    fn drop(&mut self) {
        let cell = self.cell();
        if cell.drop_handle() {
            let value = cell.current();
            value.close(true);
            if !std::ptr::eq(value, cell) {
                Window::retire(value);
            }
            Window::retire(cell);
        }
    }
}

/// An argument of a pointwise op: an array, or a number in the program.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    /// An array.
    Array(&'a Array),
    /// A number without a width.
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
