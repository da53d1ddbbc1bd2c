//! Windows of images as columns of a matrix, and columns added up to images. Each op is the adjoint of the other.

use crate::gradient::Needs;
use crate::routine::{Attributes, Family, Flows, Given, GradientBuilder, List, attributes, family, invalid, mistyped};
use crate::samples::{Look, Sample, call, x};
use forerun_base::DType::{BF16, F16, F32, F64, I32};
use forerun_base::{Result, Shape};

family! {
    /// Windows of images in one to three dimensions as columns: images of shape (batch, channels, *axes*), columns of shape (batch,
    /// channels * elements of the kernel, windows).
    Columns {
        Gather {
            name: "im2col",
            inputs: [x],
            attributes: Patches,
            fallible: false,
            doc: "windows of images as columns; elements beyond the images are zeros",
        }
        Add {
            name: "col2im",
            inputs: [columns],
            attributes: Patches,
            fallible: false,
            doc: "columns added up to images of these extents: each element where im2col reads it",
        }
    }
}

attributes! {
    /// Where the windows lie; every list has one number per spatial axis.
    Patches {
        /// Extents of a window.
        kernel: List<i64>,
        /// Steps between windows.
        stride: List<i64>,
        /// Zeros before and after each axis.
        padding: List<i64>,
        /// Steps between the elements of a window.
        dilation: List<i64>,
        /// Spatial extents of the result of `col2im`; else empty.
        extents: List<i64>,
    }
}

/// The windows of a call, along three spatial axes; those that are missing come first with extent 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchGeometry {
    /// Images, and channels of each.
    pub planes: usize,
    /// Extents of the images.
    pub input: [usize; 3],
    /// Extents of a window.
    pub kernel: [usize; 3],
    /// Windows along each axis.
    pub output: [usize; 3],
    /// Steps between windows.
    pub stride: [usize; 3],
    /// Zeros before and after each axis.
    pub padding: [usize; 3],
    /// Steps between the elements of a window.
    pub dilation: [usize; 3],
}

/// The windows along each axis of images of these extents.
fn windows(planes: usize, extents: &[usize], how: &Patches) -> Result<PatchGeometry> {
    let rank = extents.len();
    let three = [1; 3];
    let mut made = PatchGeometry {
        planes,
        input: three,
        kernel: three,
        output: three,
        stride: three,
        padding: [0; 3],
        dilation: three,
    };
    for (name, list, least, to) in [
        ("kernel", &how.kernel, 1, &mut made.kernel),
        ("stride", &how.stride, 1, &mut made.stride),
        ("padding", &how.padding, 0, &mut made.padding),
        ("dilation", &how.dilation, 1, &mut made.dilation),
    ] {
        if list.len() != rank || list.iter().any(|number| *number < least || *number > i64::from(i32::MAX)) {
            return invalid(format!("{name} must be {rank} numbers of at least {least}, got {list:?}"));
        }
        list.iter().enumerate().for_each(|(axis, number)| to[3 - rank + axis] = *number as usize);
    }
    for (axis, extent) in extents.iter().enumerate() {
        let at = 3 - rank + axis;
        let (reach, padded) = (made.dilation[at] * (made.kernel[at] - 1) + 1, extent + 2 * made.padding[at]);
        if reach > padded {
            return invalid(format!(
                "a window of extent {reach} does not fit axis {axis} of extents {extents:?} with padding {}",
                made.padding[at]
            ));
        }
        made.input[at] = *extent;
        made.output[at] = (padded - reach) / made.stride[at] + 1;
    }
    let product = |extents: &[usize]| extents.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent));
    if product(&made.kernel).and_then(|taps| taps.checked_mul(product(&made.output)?)).is_none() {
        return invalid(format!("windows of extents {:?} at {:?} places are too many", made.kernel, made.output));
    }
    Ok(made)
}

impl Columns {
    /// The windows of a call.
    pub fn geometry(self, given: &Given, how: &Patches) -> Result<PatchGeometry> {
        let shape = &given.1;
        if self == Columns::Gather {
            if !(3..=5).contains(&shape.rank()) {
                return invalid(format!("needs data of 3 to 5 dimensions, got {shape}"));
            }
            return windows(shape[0] * shape[1], &shape[2..], how);
        }
        let [batch, rows, count] = shape[..] else {
            return invalid(format!("needs columns of 3 dimensions, got {shape}"));
        };
        if !(1..=3).contains(&how.extents.len()) || how.extents.iter().any(|extent| *extent < 0) {
            return invalid(format!(
                "extents must be one to three numbers that are not negative, got {:?}",
                how.extents
            ));
        }
        let extents: Vec<usize> = how.extents.iter().map(|extent| *extent as usize).collect();
        let mut made = windows(0, &extents, how)?;
        let (taps, found) = (made.kernel.iter().product::<usize>(), made.output.iter().product::<usize>());
        if !rows.is_multiple_of(taps) || count != found {
            return invalid(format!(
                "columns of shape {shape} do not fit windows of {taps} elements at {found} places"
            ));
        }
        made.planes = batch * (rows / taps);
        Ok(made)
    }
}

impl Family for Columns {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let (dtype, shape) = given[0];
        if !matches!(dtype, F16 | BF16 | F32 | F64) {
            return mistyped(format!("not defined for {dtype}"));
        }
        let how = Patches::read(attributes)?;
        let geometry = self.geometry(&given[0], &how)?;
        let taps: usize = geometry.kernel.iter().product();
        let dims = match self {
            Columns::Gather => vec![shape[0], shape[1].saturating_mul(taps), geometry.output.iter().product()],
            Columns::Add => {
                let spatial = how.extents.iter().map(|extent| *extent as usize);
                [shape[0], shape[1] / taps].into_iter().chain(spatial).collect()
            }
        };
        Ok((dtype, Shape::new(&dims)?.checked()?))
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        given[0].1.size().max(out.1.size())
    }

    fn needs(self, _: usize) -> Option<Needs> {
        Some(Needs::NOTHING)
    }

    fn gradient<B: GradientBuilder>(self, b: &B, attributes: &[i64]) -> Flows<B> {
        let how = Patches::read(attributes)?;
        let flow = match self {
            Columns::Gather => {
                let extents = b.given(0).1[2..].iter().map(|extent| *extent as i64).collect();
                b.routine(Columns::Add, &[b.grad()], Patches { extents, ..how })?
            }
            Columns::Add => b.routine(Columns::Gather, &[b.grad()], Patches { extents: List::new(), ..how })?,
        };
        Ok(vec![Some(flow)])
    }

    fn samples() -> Vec<Sample> {
        let mut all = Vec::new();
        let named = |op: &'static str, lists: [&[i64]; 5]| {
            let names = ["kernel", "stride", "padding", "dilation", "extents"];
            names.into_iter().zip(lists).fold(call(op), |sample, (name, list)| sample.with(name, list.to_vec()))
        };
        let floats = [F16, BF16, F32, F64];
        all.push(named("im2col", [&[3], &[2], &[1], &[1], &[]]).on([x([2, 3, 7])]).of(floats));
        all.push(named("col2im", [&[3], &[2], &[1], &[1], &[7]]).on([x([2, 9, 4])]).of(floats));
        let planar: [&[i64]; 5] = [&[3, 2], &[1, 2], &[1, 0], &[1, 2], &[]];
        all.push(named("im2col", planar).on([x([2, 3, 4, 5])]).of(floats));
        all.push(named("im2col", planar).on([x([2, 3, 4, 5]).look(Look::Transposed)]).of([F32]));
        all.push(named("im2col", planar).on([x([1, 2, 4, 5])]).of([F32, F64]));
        let back: [&[i64]; 5] = [&[3, 2], &[1, 2], &[1, 0], &[1, 2], &[4, 5]];
        all.push(named("col2im", back).on([x([2, 18, 8])]).of([F32, F64]));
        all.push(named("col2im", back).on([x([1, 6, 8])]).of([F32, F64]));
        let solid: [&[i64]; 5] = [&[2, 2, 2], &[1, 1, 1], &[1, 0, 1], &[1, 1, 1], &[]];
        all.push(named("im2col", solid).on([x([1, 2, 2, 3, 2])]).of([F32, F64]));
        let solid: [&[i64]; 5] = [&[2, 2, 2], &[1, 1, 1], &[1, 0, 1], &[1, 1, 1], &[2, 3, 2]];
        all.push(named("col2im", solid).on([x([1, 16, 18])]).of([F32, F64]));
        all.push(named("im2col", [&[2], &[1], &[0], &[1], &[]]).on([x([0, 3, 7])]).of([F32]));
        let text = "im2col: a window of extent 5 does not fit axis 0 of extents [4, 5] with padding 0";
        let wide: [&[i64]; 5] = [&[5, 2], &[1, 1], &[0, 0], &[1, 1], &[]];
        all.push(named("im2col", wide).on([x([2, 3, 4, 5])]).of([F32]).fails(text));
        let text = "im2col: stride must be 2 numbers of at least 1, got [1]";
        let short: [&[i64]; 5] = [&[2, 2], &[1], &[0, 0], &[1, 1], &[]];
        all.push(named("im2col", short).on([x([2, 3, 4, 5])]).of([F32]).fails(text));
        let text = "im2col: needs data of 3 to 5 dimensions, got (4, 5)";
        all.push(named("im2col", planar).on([x([4, 5])]).of([F32]).fails(text));
        let text = "im2col: not defined for int32";
        all.push(named("im2col", planar).on([x([2, 3, 4, 5])]).of([I32]).fails(text));
        let text = "col2im: columns of shape (2, 18, 7) do not fit windows of 6 elements at 8 places";
        all.push(named("col2im", back).on([x([2, 18, 7])]).of([F32]).fails(text));
        all
    }
}
