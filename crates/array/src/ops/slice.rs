//! Creates arrays from numbers in the program's own memory, after checking them. A loop that supplies numbers faster
//! than they are used blocks here.

use crate::array::Array;
use crate::array::wait::Wait;
use crate::ops::from_host;
use crate::runtime::host_queue::make_host_room;
use forerun_base::{BFloat16, Complex, DType, Error, ErrorKind, Float16, Layout, Loc, Result, Scalar, Shape};

/// A Rust type that corresponds to a dtype.
pub trait HostElement: sealed::Plain {
    /// The dtype with the same representation.
    const DTYPE: DType;

    /// The number with the value of an element that it can represent.
    fn from_scalar(element: Scalar) -> Self;
}

mod sealed {
    /// Marks types whose representation kernels can read; sealed.
    pub trait Plain: Copy + Send + Sync + 'static {}
}

macro_rules! elements {
    ($($type:ty => $dtype:ident |$element:ident| $made:expr;)*) => {$(
        impl sealed::Plain for $type {}
        impl HostElement for $type {
            const DTYPE: DType = DType::$dtype;

            fn from_scalar($element: Scalar) -> $type {
                $made
            }
        }
    )*};
}

fn integer(element: Scalar) -> i128 {
    element.as_integer().unwrap_or(element.as_f64() as i128)
}

elements! {
    bool => Bool |e| e.as_f64() != 0.0;
    i8 => I8 |e| integer(e) as i8;
    i16 => I16 |e| integer(e) as i16;
    i32 => I32 |e| integer(e) as i32;
    i64 => I64 |e| integer(e) as i64;
    u8 => U8 |e| integer(e) as u8;
    u16 => U16 |e| integer(e) as u16;
    u32 => U32 |e| integer(e) as u32;
    u64 => U64 |e| integer(e) as u64;
    Float16 => F16 |e| Float16::from_f64(e.as_f64());
    BFloat16 => BF16 |e| BFloat16::from_f64(e.as_f64());
    f32 => F32 |e| e.as_f64() as f32;
    f64 => F64 |e| e.as_f64();
    Complex<f32> => C64 |e| Complex { re: e.as_f64() as f32, im: e.imaginary() as f32 };
    Complex<f64> => C128 |e| Complex { re: e.as_f64(), im: e.imaginary() };
}

// As wide as a pointer.
#[cfg(target_pointer_width = "64")]
elements! {
    isize => I64 |e| integer(e) as isize;
    usize => U64 |e| integer(e) as usize;
}

/// Creates an array from numbers in row-major order, copied before this returns.
pub fn from_slice<T: HostElement>(numbers: &[T], shape: &[usize], loc: Loc) -> Result<Array> {
    let shape = Shape::new(shape).map_err(|e| e.in_op("array"))?;
    if numbers.len() != shape.size() {
        let text = format!("{} numbers do not fill an array of shape {shape}", numbers.len());
        return Err(Error::new(ErrorKind::Value, text).in_op("array"));
    }
    make_host_room(size_of_val(numbers), &Wait::at(loc, "from_host"))?;
    // SAFETY: dense elements of this dtype, as many as the shape has.
    unsafe { from_host(numbers.as_ptr() as *const u8, T::DTYPE, Layout::dense(shape), loc) }
}

/// Creates an array from the bytes of elements in row-major order, copied before this returns.
pub fn from_bytes(bytes: &[u8], dtype: DType, shape: &[usize], loc: Loc) -> Result<Array> {
    let fail = |text: String| Err(Error::new(ErrorKind::Value, text).in_op("array"));
    let shape = Shape::new(shape).map_err(|e| e.in_op("array"))?;
    if Some(bytes.len()) != shape.size().checked_mul(dtype.size()) {
        return fail(format!("{} bytes do not fill an array of shape {shape} and dtype {dtype}", bytes.len()));
    }
    if dtype == DType::Bool && bytes.iter().any(|b| *b > 1) {
        return fail("bool elements must be 0 or 1".to_owned());
    }
    make_host_room(bytes.len(), &Wait::at(loc, "from_host"))?;
    // SAFETY: there are as many bytes as the dense elements take; the copy does not depend on their alignment.
    unsafe { from_host(bytes.as_ptr(), dtype, Layout::dense(shape), loc) }
}
