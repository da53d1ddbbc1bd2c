//! Each element with all before it.

use super::call::{Args, Body, Element};
use super::lines::each_line;
use forerun_base::{DType, Result, Team};
use forerun_ops::Scan;

pub(super) fn body(routine: Scan) -> Body {
    match routine {
        Scan::CumSum => |args, team| match args.dtype(0) {
            DType::Bool => unreachable!("inference refuses it"),
            DType::I32 => scan::<i32>(args, team, i32::wrapping_add),
            DType::I64 => scan::<i64>(args, team, i64::wrapping_add),
            DType::F32 => scan::<f32>(args, team, |a, b| a + b),
            DType::F64 => scan::<f64>(args, team, |a, b| a + b),
        },
        Scan::CumProd => |args, team| match args.dtype(0) {
            DType::Bool => unreachable!("inference refuses it"),
            DType::I32 => scan::<i32>(args, team, i32::wrapping_mul),
            DType::I64 => scan::<i64>(args, team, i64::wrapping_mul),
            DType::F32 => scan::<f32>(args, team, |a, b| a * b),
            DType::F64 => scan::<f64>(args, team, |a, b| a * b),
        },
    }
}

fn scan<T: Element>(args: &Args<'_>, team: &dyn Team, fold: fn(T, T) -> T) -> Result<()> {
    each_line::<T, T>(args, team, &|from, to| {
        let mut so_far = from[0];
        to[0] = so_far;
        for (to, from) in to[1..].iter_mut().zip(&from[1..]) {
            so_far = fold(so_far, *from);
            *to = so_far;
        }
    });
    Ok(())
}
