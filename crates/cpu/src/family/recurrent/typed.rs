//! Typed slices of the arrays of a scan. Half floats are widened to float32 and rounded at the end.

use super::kernel::lengths;
use super::{backward, forward};
use crate::product::Vector;
use crate::routine::call::{Args, Element};
use crate::simd::Set;
use forerun_base::{BFloat16, DType, Float16, Result, Team};
use forerun_ops::recurrent::RecurrentExtents;

pub(super) fn run<S: Set>(
    set: S,
    args: &Args<'_>,
    e: &RecurrentExtents,
    team: &dyn Team,
    is_forward: bool,
) -> Result<()> {
    match args.dtype(0) {
        DType::F32 => same::<S, S::F32>(set, args, e, team, is_forward),
        DType::F64 => same::<S, S::F64>(set, args, e, team, is_forward),
        DType::F16 => widened::<S, Float16>(set, args, e, team, is_forward, Float16::to_f32, Float16::from_f32),
        DType::BF16 => widened::<S, BFloat16>(set, args, e, team, is_forward, BFloat16::to_f32, BFloat16::from_f32),
        dtype => unreachable!("inference refuses {dtype}"),
    }
}

/// The indices of the float inputs of a scan; an unused input has no elements.
fn floats(is_forward: bool) -> &'static [usize] {
    if is_forward { &[0, 1, 2, 3, 4, 5] } else { &[0, 1, 2, 3, 5, 6, 7] }
}

fn scan<S: Set, V: Vector>(
    set: S,
    args: &Args<'_>,
    e: &RecurrentExtents,
    inputs: &[&[V::Elem]],
    out: &mut [V::Elem],
    team: &dyn Team,
    is_forward: bool,
) -> Result<()> {
    if is_forward {
        let &[gates, h0, c0, weight, bias, projection] = inputs else { unreachable!("a scan has six floats") };
        let lengths = lengths(args, 6, e)?;
        forward::scan::<S, V>(set, e, &forward::Inputs { gates, h0, c0, weight, bias, projection, lengths }, out, team);
    } else {
        let &[packed, c0, weight, projection, dh, dc, dgates] = inputs else {
            unreachable!("a scan back has seven floats")
        };
        let lengths = lengths(args, 4, e)?;
        let inputs = backward::Inputs { packed, c0, weight, projection, lengths, dh, dc, dgates };
        backward::scan::<S, V>(set, e, &inputs, out, team);
    }
    Ok(())
}

fn same<S: Set, V: Vector<Elem: Element>>(
    set: S,
    args: &Args<'_>,
    e: &RecurrentExtents,
    team: &dyn Team,
    is_forward: bool,
) -> Result<()> {
    let used = |i: usize| if args.call.inputs[i].1.size() == 0 { &[][..] } else { args.input::<V::Elem>(i) };
    let inputs: Vec<&[V::Elem]> = floats(is_forward).iter().map(|i| used(*i)).collect();
    scan::<S, V>(set, args, e, &inputs, args.output::<V::Elem>(), team, is_forward)
}

fn widened<S: Set, H: Element>(
    set: S,
    args: &Args<'_>,
    e: &RecurrentExtents,
    team: &dyn Team,
    is_forward: bool,
    widen: fn(H) -> f32,
    round: fn(f32) -> H,
) -> Result<()> {
    let used = |i: usize| if args.call.inputs[i].1.size() == 0 { &[][..] } else { args.input::<H>(i) };
    let wide: Vec<Vec<f32>> = floats(is_forward).iter().map(|i| used(*i).iter().map(|x| widen(*x)).collect()).collect();
    let inputs: Vec<&[f32]> = wide.iter().map(|x| &x[..]).collect();
    let to = args.output::<H>();
    let mut made = vec![0.0; to.len()];
    scan::<S, S::F32>(set, args, e, &inputs, &mut made, team, is_forward)?;
    to.iter_mut().zip(made).for_each(|(to, x)| *to = round(x));
    Ok(())
}
