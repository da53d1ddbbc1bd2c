//! Groups of equal adjacent elements.

use crate::routine::call::{Args, Body, Element, HostKernel, order_scratch, with_type};
use crate::routine::keys::Ordered;
use forerun_base::{Error, ErrorKind, Result, Team};
use forerun_ops::Unique;
use forerun_ops::unique::Equality;
use forerun_plan::RoutineCall;

impl HostKernel for Unique {
    fn body(&self) -> Body {
        match self {
            Unique::Groups => |args, _| with_type!(args.dtype(0), groups(args)),
            Unique::Starts => |args, _| starts(args),
            Unique::RowOrder => |args, team| with_type!(args.dtype(0), row_order(args, team)),
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        order_scratch(call, call.inputs[0].1[0], threads)
    }
}

/// The rows of input 0; for a vector, rows of one element.
fn rows<'a, T: Element>(args: &'a Args<'_>) -> (&'a [T], usize) {
    let shape = args.call.inputs[0].1;
    (args.input::<T>(0), shape[1..].iter().product())
}

fn groups<T: Ordered>(args: &Args<'_>) -> Result<()> {
    let equal_nan = args.attributes::<Equality>().equal_nan;
    let ((elements, width), to) = (rows::<T>(args), args.output::<i64>());
    let nan = |x: &T| x.partial_cmp(x).is_none();
    let equal = |a: &T, b: &T| a == b || equal_nan && nan(a) && nan(b);
    let mut group = 0;
    for (i, to) in to.iter_mut().enumerate() {
        if i > 0 && !(0..width).all(|k| equal(&elements[(i - 1) * width + k], &elements[i * width + k])) {
            group += 1;
        }
        *to = group;
    }
    Ok(())
}

/// A group starts where the number increases; the number before the first group is -1.
fn starts(args: &Args<'_>) -> Result<()> {
    let (groups, to) = (args.input::<i64>(0), args.output::<i64>());
    let mut before = -1;
    let mut found = 0;
    for (i, group) in groups.iter().enumerate() {
        let group = *group;
        if group != before {
            // Writes stay within the requested number of groups, and must fill it exactly.
            match to.get_mut(found) {
                Some(to) if group == found as i64 => *to = i as i64,
                _ => return Err(wrong(to.len())),
            }
            (before, found) = (group, found + 1);
        }
    }
    if found == to.len() { Ok(()) } else { Err(wrong(to.len())) }
}

fn wrong(count: usize) -> Error {
    Error::new(ErrorKind::Value, format!("the group numbers do not describe {count} consecutive groups"))
}

fn row_order<T: Ordered>(args: &Args<'_>, _: &dyn Team) -> Result<()> {
    let ((elements, width), to) = (rows::<T>(args), args.output::<i64>());
    let row = |i: i64| elements[i as usize * width..][..width].iter().map(|x| x.joined(false));
    to.iter_mut().enumerate().for_each(|(i, place)| *place = i as i64);
    to.sort_by(|a, b| row(*a).cmp(row(*b)));
    Ok(())
}
