//! Pointwise ops.

use crate::array::{Arg, Array};
use crate::ops::create::element;
use crate::ops::transpose;
use crate::runtime::devices::common_device;
use crate::runtime::node::Node;
use crate::runtime::recipe::Recipe;
use crate::runtime::submit::{SubmitInput, submit, submit_node};
use crate::runtime::window::{Made, MemoKey, window};
use forerun_base::{DType, Error, ErrorKind, Kind, Loc, Result, Scalar};
use forerun_ops::infer::{self, ArgType};
use forerun_ops::{Class, Op, Point};
use forerun_plan::{Attrs, Meta, Signature};
use smallvec::SmallVec;

/// Infers a pointwise op; `target` fixes the dtype of the result.
fn infer(point: Point, args: &[Arg<'_>], target: Option<DType>) -> Result<Made> {
    let types: Vec<ArgType> = args
        .iter()
        .map(|a| match a {
            Arg::Array(x) => ArgType::Array(x.dtype(), x.shape()),
            Arg::Scalar(s) => ArgType::Scalar(s.kind()),
        })
        .collect();
    let types = infer::pointwise(point, &types, target)?;
    let metas: Vec<&Meta> = args
        .iter()
        .filter_map(|a| match a {
            Arg::Array(x) => Some(x.meta()),
            Arg::Scalar(_) => None,
        })
        .collect();
    let scalars = args.iter().enumerate().fold(0u8, |m, (i, a)| m | (matches!(a, Arg::Scalar(_)) as u8) << i);
    let attrs = Attrs::Point { compute: types.compute, scalars, arity: args.len() as u8 };
    let device = common_device(point.row().name, &metas)?;
    let out = Meta::dense(target.unwrap_or(types.result), types.shape, device);
    Ok((Recipe::of(Signature::of(Op::Point(point), &metas, attrs, &out)), types.compute))
}

/// The scalars of the arguments as bits, in the dtype computed in.
#[inline(always)]
fn immediates(point: Point, args: &[Arg<'_>], compute: DType) -> Result<[u64; 2]> {
    // Two variables instead of an array, so that they stay in registers.
    let (mut first, mut second) = (0, 0);
    let mut next = 0;
    for (i, arg) in args.iter().enumerate() {
        if let Arg::Scalar(s) = arg {
            if next == 2 {
                let text = "at most two arguments may be numbers";
                return Err(Error::new(ErrorKind::Type, text).in_op(point.row().name));
            }
            let condition = i == 0 && point.row().class == Class::Select;
            let dtype = if condition { DType::Bool } else { compute };
            let bits = s.to_bits_checked(dtype).map_err(|e| e.in_op(point.row().name))?;
            if next == 0 {
                first = bits;
            } else {
                second = bits;
            }
            if let (Point::Power, Scalar::Int(..0), 1, Kind::Int) = (point, *s, i, dtype.kind()) {
                let text = "integers to negative integer powers are not allowed";
                return Err(Error::new(ErrorKind::Value, text).in_op(point.row().name));
            }
            next += 1;
        }
    }
    Ok([first, second])
}

/// A pointwise op of the catalogue.
///
/// This must be inlined, so that the handle is built in the caller's frame. `submit_plain` returns the node in a
/// register. A returned handle would go through memory, and loading it right after its fields are stored stalls the
/// processor.
#[inline(always)]
pub fn pointwise(point: Point, args: &[Arg<'_>], loc: Loc) -> Result<Array> {
    let submitted = if let Ok(args) = <&[Arg<'_>; 2]>::try_from(args) {
        submit_plain(point, args, loc)
    } else if let Ok(args) = <&[Arg<'_>; 1]>::try_from(args) {
        submit_plain(point, args, loc)
    } else if let Ok(args) = <&[Arg<'_>; 3]>::try_from(args) {
        submit_plain(point, args, loc)
    } else {
        Ok(None)
    };
    match submitted? {
        Some(node) => Ok(Array::own(node)),
        None => special(point, args, loc),
    }
}

/// The axis order in which the elements of all array arguments are contiguous, if they are all transposed alike.
#[cold]
fn element_order(point: Point, x: &Array, args: &[Arg<'_>]) -> Option<SmallVec<[isize; 4]>> {
    let layout = &x.meta().layout;
    // A copy is row-major, whatever its source.
    if point == Point::Copy || layout.shape.rank() < 2 || layout.shape.size() < 2 {
        return None;
    }
    if !args
        .iter()
        .all(|arg| matches!(arg, Arg::Array(other) if other.meta().layout == *layout) || matches!(arg, Arg::Scalar(_)))
    {
        return None;
    }
    let mut order: SmallVec<[usize; 4]> = (0..layout.shape.rank()).collect();
    order.sort_by_key(|axis| std::cmp::Reverse(layout.strides()[*axis]));
    layout.permute(&order).is_dense().then(|| order.iter().map(|axis| *axis as isize).collect())
}

/// Runs an op on operands that are all transposed alike in memory order and transposes the result likewise. As in
/// NumPy, the result keeps the layout of its operands, and no element moves.
#[cold]
fn in_element_order(point: Point, args: &[Arg<'_>], order: &[isize], loc: Loc) -> Result<Array> {
    let plain = |arg: &Arg<'_>| match arg {
        Arg::Array(x) => transpose(x, Some(order)).map(Some),
        Arg::Scalar(_) => Ok(None),
    };
    let arrays: SmallVec<[Option<Array>; 3]> = args.iter().map(plain).collect::<Result<_>>()?;
    let plain: SmallVec<[Arg<'_>; 3]> =
        args.iter().zip(&arrays).map(|(arg, array)| array.as_ref().map_or(*arg, Arg::Array)).collect();
    let made = pointwise(point, &plain, loc)?;
    let mut back: SmallVec<[isize; 4]> = SmallVec::from_elem(0, order.len());
    order.iter().enumerate().for_each(|(at, axis)| back[*axis as usize] = at as isize);
    transpose(&made, Some(&back))
}

/// The one-operand op that a power with a constant base or exponent is equivalent to: it takes one or two instructions
/// where a power takes a hundred. Chosen here, so that the tape, fused programs and devices see the simpler op too. As
/// in NumPy, the power by 1/2 is the square root, for minus infinity too.
#[inline]
pub(crate) fn simpler<'a>(point: Point, base: Arg<'a>, exponent: Arg<'a>) -> Option<(Point, &'a Array)> {
    if is_power(point) { simpler_power(base, exponent) } else { None }
}

/// The array whose third power this is. It is computed by two products, which are exact wherever the result is an
/// integer of the format.
#[inline]
pub(crate) fn cubed<'a>(point: Point, base: Arg<'a>, exponent: Arg<'a>) -> Option<&'a Array> {
    if !is_power(point) {
        return None;
    }
    match (base, exponent) {
        // The square of a half float would be rounded once more.
        (Arg::Array(x), Arg::Scalar(Scalar::Int(3) | Scalar::Float(3.0))) => {
            matches!(x.dtype(), DType::F32 | DType::F64).then_some(x)
        }
        _ => None,
    }
}

fn simpler_power<'a>(base: Arg<'a>, exponent: Arg<'a>) -> Option<(Point, &'a Array)> {
    let number = |s: Scalar| match s {
        Scalar::Int(_) | Scalar::Float(_) => Some(s.as_f64()),
        _ => None,
    };
    match (base, exponent) {
        (Arg::Array(x), Arg::Scalar(s)) => {
            let inexact = matches!(x.dtype().kind(), Kind::Float | Kind::Complex);
            let point = match (number(s)?, s) {
                (2.0, Scalar::Int(_)) if x.dtype().kind() == Kind::Int => Point::Square,
                (2.0, _) if inexact => Point::Square,
                (0.5, _) if inexact => Point::Sqrt,
                (-1.0, _) if inexact => Point::Reciprocal,
                _ => return None,
            };
            Some((point, x))
        }
        (Arg::Scalar(s), Arg::Array(y)) if number(s) == Some(2.0) && y.dtype().kind() == Kind::Float => {
            Some((Point::Exp2, y))
        }
        _ => None,
    }
}

/// Submits a pointwise op; `None` if it needs more than a record, or another op takes its place.
#[inline(never)]
fn submit_plain<const N: usize>(point: Point, args: &[Arg<'_>; N], loc: Loc) -> Result<Option<&'static Node>> {
    let first = args.iter().find_map(|arg| match arg {
        Arg::Array(x) => Some(*x),
        Arg::Scalar(_) => None,
    });
    match first {
        Some(x) if x.meta().dense && !is_power(point) => submit_as_given(point, args, x, loc),
        _ => Ok(None),
    }
}

/// Submits a pointwise op on its arguments with their present layouts; `None` if its numbers need more than a record.
#[inline(always)]
fn submit_as_given<const N: usize>(
    point: Point,
    args: &[Arg<'_>; N],
    first: &Array,
    loc: Loc,
) -> Result<Option<&'static Node>> {
    let mut key: MemoKey = (Op::Point(point).code() | default_width(), [0; 3]);
    let mut inputs = [SubmitInput::Array(first); N];
    let mut count = 0;
    for (word, arg) in key.1.iter_mut().zip(args) {
        *word = match arg {
            Arg::Array(array) => {
                inputs[count] = SubmitInput::Array(array);
                count += 1;
                array.meta().id
            }
            Arg::Scalar(s) => Meta::SCALARS + s.kind() as u64,
        };
    }
    let window = window();
    // SAFETY: the calling thread owns this window, and `infer` does not access it.
    let owner = unsafe { window.owner() };
    let (recipe, compute) = owner.recipe(key, || infer(point, args, None))?;
    let mut words = [0; 2];
    if count < N {
        if is_beyond(point, args, compute) || is_wide(args, compute) {
            return Ok(None);
        }
        words = immediates(point, args, compute)?;
    }
    Ok(Some(submit_node(window, recipe, &inputs[..count], words, loc)))
}

#[inline]
fn is_power(point: Point) -> bool {
    matches!(point, Point::Power | Point::FloatPower)
}

/// Whether it compares integers with a number that their dtype cannot represent.
#[inline]
fn is_beyond(point: Point, args: &[Arg<'_>], compute: DType) -> bool {
    compute.kind() == Kind::Int
        && point.row().class == Class::Compare
        && args.iter().any(|a| matches!(a, Arg::Scalar(s) if s.overflows(compute)))
}

/// Whether it has a number that does not fit into a record.
#[inline]
fn is_wide(args: &[Arg<'_>], compute: DType) -> bool {
    compute == DType::C128 && args.iter().any(|a| matches!(a, Arg::Scalar(s) if !s.fits_word(compute)))
}

/// The cases that [`submit_plain`] does not handle.
#[cold]
#[inline(never)]
fn special(point: Point, args: &[Arg<'_>], loc: Loc) -> Result<Array> {
    let wrong = |text: &str| Err(Error::new(ErrorKind::Type, text).in_op(point.row().name));
    let Some(first) = args.iter().find_map(|arg| if let Arg::Array(x) = arg { Some(*x) } else { None }) else {
        return wrong("at least one argument must be an array");
    };
    if let &[base, exponent] = args {
        if let Some((point, x)) = simpler(point, base, exponent) {
            return pointwise(point, &[Arg::Array(x)], loc);
        }
        if let Some(x) = cubed(point, base, exponent) {
            let square = pointwise(Point::Square, &[Arg::Array(x)], loc)?;
            return pointwise(Point::Multiply, &[Arg::Array(x), Arg::Array(&square)], loc);
        }
    }
    if !first.meta().dense
        && let Some(order) = element_order(point, first, args)
    {
        return in_element_order(point, args, &order, loc);
    }
    let submitted = match *args {
        [x] => submit_as_given(point, &[x], first, loc),
        [x, y] => submit_as_given(point, &[x, y], first, loc),
        [x, y, z] => submit_as_given(point, &[x, y, z], first, loc),
        _ => return wrong("too many arguments"),
    };
    if let Some(node) = submitted? {
        return Ok(Array::own(node));
    }
    let (_, compute) = infer(point, args, None)?;
    if is_beyond(point, args, compute) {
        compare_beyond(point, args, compute, loc)
    } else {
        with_elements(args, compute, loc, |args| pointwise(point, args, loc))
    }
}

/// A comparison with a number outside the range of the arrays' dtype, which compares like an infinity.
fn compare_beyond(point: Point, args: &[Arg<'_>], compute: DType, loc: Loc) -> Result<Array> {
    let floats: Result<Vec<Option<Array>>> = args
        .iter()
        .map(|a| match a {
            Arg::Array(x) => cast(x, DType::default_float(), loc).map(Some),
            Arg::Scalar(_) => Ok(None),
        })
        .collect();
    let floats = floats?;
    let args: Vec<Arg<'_>> = args
        .iter()
        .zip(&floats)
        .map(|(a, float)| match (a, float) {
            (Arg::Scalar(s), _) if s.overflows(compute) => {
                Arg::Scalar(Scalar::Float(f64::INFINITY.copysign(s.as_f64())))
            }
            (_, Some(float)) => Arg::Array(float),
            (a, None) => *a,
        })
        .collect();
    pointwise(point, &args, loc)
}

/// The recipe and scalars of a pointwise op, for callers that submit it themselves.
pub(crate) fn plain_recipe(point: Point, args: &[Arg<'_>]) -> Result<(&'static Recipe, [u64; 2])> {
    let (recipe, compute) = infer(point, args, None)?;
    Ok((window().keep(recipe), immediates(point, args, compute)?))
}

/// Calls an op with numbers that do not fit into a record converted to arrays.
#[cold]
pub(crate) fn with_elements<T>(
    args: &[Arg<'_>],
    compute: DType,
    loc: Loc,
    call: impl FnOnce(&[Arg<'_>]) -> Result<T>,
) -> Result<T> {
    let made: Result<Vec<Option<Array>>> = args
        .iter()
        .map(|a| match a {
            Arg::Scalar(s) if !s.fits_word(compute) => element(*s, compute, loc).map(Some),
            Arg::Scalar(_) | Arg::Array(_) => Ok(None),
        })
        .collect();
    let made = made?;
    let args: Vec<Arg<'_>> = args.iter().zip(&made).map(|(a, made)| made.as_ref().map_or(*a, Arg::Array)).collect();
    call(&args)
}

/// The recipe and scalars of an in-place op, with the result in the dtype of the first argument.
pub(crate) fn in_place_recipe(point: Point, x: &Array, values: &[Arg<'_>]) -> Result<(&'static Recipe, [u64; 2])> {
    if values.len() > 2 {
        return Err(Error::new(ErrorKind::Type, "too many arguments").in_op(point.row().name));
    }
    let mut args = [Arg::Array(x); 3];
    let mut key = (Op::Point(point).code() | IN_PLACE | default_width(), [x.meta().id, 0, 0]);
    for (i, value) in values.iter().enumerate() {
        args[1 + i] = *value;
        key.1[1 + i] = match value {
            Arg::Array(v) => v.meta().id,
            Arg::Scalar(s) => Meta::SCALARS + s.kind() as u64,
        };
    }
    let args = &args[..1 + values.len()];
    // SAFETY: the calling thread owns this window, and inference does not access it.
    let owner = unsafe { window().owner() };
    let (recipe, compute) = owner.recipe(key, || infer_in_place(point, x, args))?;
    Ok((recipe, immediates(point, args, compute)?))
}

/// Marks an in-place op in the memo's key.
const IN_PLACE: u16 = 0x8000;

/// Set in the memo's key while the default float is float64, which determines the dtype of a float-only op on integers.
#[inline]
fn default_width() -> u16 {
    ((DType::default_float() == DType::F64) as u16) << 14
}

fn infer_in_place(point: Point, x: &Array, args: &[Arg<'_>]) -> Result<Made> {
    let (plain, compute) = infer(point, args, None)?;
    let result = &plain.signature.out;
    if result.shape() != x.shape() {
        return Err(Error::new(
            ErrorKind::Value,
            format!("output of shape {} does not match the broadcast shape {}", x.shape(), result.shape()),
        )
        .in_op(point.row().name));
    }
    if result.dtype.kind() > x.dtype().kind() {
        return Err(Error::new(
            ErrorKind::Type,
            format!("cannot write a result of {} into an array of {} in place", result.dtype, x.dtype()),
        )
        .in_op(point.row().name));
    }
    let out = Meta::dense(x.dtype(), x.shape(), x.device());
    let signature = &plain.signature;
    let inputs: Vec<&Meta> = signature.inputs.iter().map(|meta| &**meta).collect();
    Ok((Recipe::of(Signature::of(signature.op, &inputs, signature.attrs.clone(), &out)), compute))
}

/// Converts the elements to another dtype; a copy even if it is the same.
pub fn cast(x: &Array, dtype: DType, loc: Loc) -> Result<Array> {
    if dtype == x.dtype() {
        return copy(x, loc);
    }
    let key = (Op::Point(Point::Cast).code(), [x.meta().id, dtype as u64, 0]);
    // SAFETY: the calling thread owns this window, and `infer` does not access it.
    let owner = unsafe { window().owner() };
    let (recipe, _) = owner.recipe(key, || infer(Point::Cast, &[Arg::Array(x)], Some(dtype)))?;
    Ok(submit(recipe, &[SubmitInput::Array(x)], [0; 2], loc))
}

/// A copy.
pub fn copy(x: &Array, loc: Loc) -> Result<Array> {
    pointwise(Point::Copy, &[Arg::Array(x)], loc)
}

/// Limits the elements to the range from `low` to `high`.
pub fn clip(x: &Array, low: Option<Arg<'_>>, high: Option<Arg<'_>>, loc: Loc) -> Result<Array> {
    let raised = match low {
        Some(low) => pointwise(Point::Maximum, &[Arg::Array(x), low], loc)?,
        None if high.is_none() => return copy(x, loc),
        None => x.clone(),
    };
    match high {
        Some(high) => pointwise(Point::Minimum, &[Arg::Array(&raised), high], loc),
        None => Ok(raised),
    }
}
