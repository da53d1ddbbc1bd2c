//! Elements by size. Equal ones keep their order; NaN comes last, whichever way.

use super::call::{Args, Body, Element, with_type};
use super::lines::each_line;
use forerun_base::{Result, Team};
use forerun_ops::Order;
use std::cmp::Ordering;

pub(super) fn body(routine: Order) -> Body {
    match routine {
        Order::Sort => |args, team| with_type!(args.dtype(0), sort(args, team)),
        Order::Argsort => |args, team| with_type!(args.dtype(0), argsort(args, team)),
    }
}

/// Which of two comes first.
fn order<T: Element>(descending: bool) -> impl Fn(&T, &T) -> Ordering + Copy {
    let nan = |x: &T| x.partial_cmp(x).is_none();
    move |a, b| match a.partial_cmp(b) {
        Some(order) if descending => order.reverse(),
        Some(order) => order,
        None => nan(a).cmp(&nan(b)),
    }
}

fn sort<T: Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let order = order::<T>(args.word(1) != 0);
    each_line::<T, T>(args, team, &|from, to| {
        to.copy_from_slice(from);
        to.sort_by(order);
    });
    Ok(())
}

fn argsort<T: Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let order = order::<T>(args.word(1) != 0);
    each_line::<T, i64>(args, team, &|from, to| {
        to.iter_mut().enumerate().for_each(|(i, place)| *place = i as i64);
        to.sort_by(|a, b| order(&from[*a as usize], &from[*b as usize]));
    });
    Ok(())
}
