//! Elements written at once: one element of a value at rest is written by the user's thread, and no record is submitted.
//!
//! A value is at rest when it is ready, one cell alone points at it, all that was submitted to make or read it is done, and
//! nobody else holds its bytes ([`Node::is_at_rest`]): what donation asks of a closed value, asked of an open one. Then
//! only the cell shows the difference between the value before and after, and the cell is locked meanwhile if others
//! could look. Whatever is not so is submitted like any other op, and so is everything that somebody wants to see
//! submitted. Nothing here waits or fails.

use crate::array::{Arg, Array};
use crate::attention;
use crate::graph;
use crate::node::INLINE;
use crate::recipe::Recipe;
use crate::runtime::runtime;
use crate::trace;
use forerun_base::Solo;
use forerun_engine::Status;
use forerun_plan::Io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Room for an element.
type Element = [u64; INLINE / 8];

/// Whether the array is one element that may be written at once, if its value is at rest: of the host, and nobody wants to see
/// what the thread submits.
#[inline]
pub(crate) fn may_write(x: &Array) -> bool {
    is_element(x)
        && attention::bits(attention::OBSERVED) == 0
        && !graph::is_on()
        && !trace::is_on()
        // Off where tests want every record to be planned.
        && runtime().tiny_limit_here() > 0
}

/// Writes such an element: what `value` holds, or the bits. False if that has to be submitted.
#[inline(never)]
pub(crate) fn write(x: &Array, value: Option<&Array>, bits: u64) -> bool {
    let element = match value {
        None => Some([bits.to_le(), 0, 0, 0]),
        Some(value) if value.dtype() == x.dtype() => load(value),
        Some(_) => None,
    };
    element.is_some_and(|element| store(x, &element))
}

/// Writes `x op= values`, as the recipe says, for such an element. False if that has to be submitted.
#[inline(never)]
pub(crate) fn compute(recipe: &Recipe, x: &Array, values: &[Arg<'_>], words: [u64; 2]) -> bool {
    let operands = values.iter().filter_map(|value| match value {
        Arg::Array(array) => Some(*array),
        Arg::Scalar(_) => None,
    });
    let mut elements = [Element::default(); 3];
    for (to, array) in elements.iter_mut().zip(std::iter::once(x).chain(operands)) {
        match load(array) {
            Some(element) => *to = element,
            None => return false,
        }
    }
    let single = recipe.single();
    let mut addresses = [std::ptr::null::<u8>(); 3];
    for (to, from) in addresses.iter_mut().zip(&single.inputs) {
        *to = elements[*from as usize].as_ptr().cast();
    }
    let mut scalars = [0u64; 2];
    for (to, from) in scalars.iter_mut().zip(&single.scalars) {
        *to = words[*from as usize];
    }
    let mut made = Element::default();
    let io = Io {
        inputs: &addresses[..single.inputs.len()],
        outputs: &[made.as_mut_ptr().cast()],
        scalars: &scalars[..single.scalars.len()],
    };
    // SAFETY: all operands and the result have one element, and there is room for it.
    let ran = catch_unwind(AssertUnwindSafe(|| unsafe { single.host().check_and_run(io, &Solo) }));
    // What does not work out is submitted, and told as of any other record.
    matches!(ran, Ok(Ok(()))) && store(x, &made)
}

#[inline]
fn is_element(x: &Array) -> bool {
    x.size() == 1 && x.device().is_host()
}

/// The only element of an array, if it is there.
fn load(x: &Array) -> Option<Element> {
    if !is_element(x) {
        return None;
    }
    let size = x.dtype().size();
    x.cell().with_current(|value| {
        (value.status() == Status::Ready).then(|| {
            let mut element = Element::default();
            // SAFETY: the value is ready and kept open; the view's element lies inside it and fits.
            unsafe {
                let from = value.data().add(x.offset() as usize * size);
                std::ptr::copy_nonoverlapping(from, element.as_mut_ptr().cast::<u8>(), size);
            }
            element
        })
    })
}

/// Writes the only element of an array, if its value is at rest.
fn store(x: &Array, element: &Element) -> bool {
    let size = x.dtype().size();
    x.cell().with_current(|value| {
        if !value.is_at_rest() {
            return false;
        }
        // SAFETY: the view's element lies inside the value, which nobody else can look at: it is at rest, and whoever has
        // another handle on the cell waits for its lock.
        unsafe {
            let to = value.data().add(x.offset() as usize * size);
            std::ptr::copy_nonoverlapping(element.as_ptr().cast::<u8>(), to, size);
        }
        true
    })
}
