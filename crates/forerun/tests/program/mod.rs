//! Random programs made from the catalogue.

use forerun::frontend::Class;
use forerun::ops::Activation;
use forerun::{Arg, Array, Beyond, DType, Index, Loc, Point, ReduceKind, Scalar, ops};

/// A small random number generator, the same on every machine.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.roll(items.len())]
    }
}

pub(crate) const AT: Loc = Loc::UNKNOWN;

/// The elements as bits; all NaNs are treated as equal.
pub(crate) fn bits(x: &Array) -> (DType, Vec<Vec<u8>>) {
    let snapshot = x.snapshot().unwrap();
    let nan = |e: Scalar| e.as_f64().is_nan() || e.imaginary().is_nan();
    let bits = snapshot.elements().map(|e| if nan(e) { vec![1] } else { e.to_bytes(x.dtype()) });
    (x.dtype(), bits.collect())
}

/// One step: a new array, or a write to an existing one.
pub(crate) fn step(
    dice: &mut Dice,
    x: &Array,
    y: &Array,
    rows: usize,
    columns: usize,
) -> forerun::Result<Option<Array>> {
    let number = |dice: &mut Dice| match dice.roll(4) {
        3 => Scalar::Complex(dice.roll(9) as f64 / 4.0, dice.roll(5) as f64 - 2.0),
        0 => Scalar::Int(dice.roll(7) as i64 - 3),
        1 => Scalar::Float(dice.roll(100) as f64 / 17.0 - 3.0),
        _ => Scalar::Bool(dice.roll(2) == 1),
    };
    let second = |dice: &mut Dice| if dice.roll(3) == 0 { None } else { Some(()) };
    Ok(Some(match dice.roll(23) {
        0..=8 => {
            let point = *dice.pick(Point::ALL);
            let row = point.row();
            if row.class == Class::Cast {
                return ops::cast(x, *dice.pick(&DType::ALL), AT).map(Some);
            }
            let scalar = number(dice);
            let other = if second(dice).is_some() { Arg::Array(y) } else { Arg::Scalar(scalar) };
            let args = match row.arity {
                1 => vec![Arg::Array(x)],
                2 if dice.roll(4) == 0 => vec![other, Arg::Array(x)],
                2 => vec![Arg::Array(x), other],
                _ => vec![Arg::Array(x), other, Arg::Array(x)],
            };
            ops::pointwise(point, &args, AT)?
        }
        9 | 10 => {
            let kinds = [ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min, ReduceKind::ArgMax, ReduceKind::Prod];
            let kind = *dice.pick(&kinds);
            let axes = [None, Some(&[0isize][..]), Some(&[-1][..])];
            ops::reduce(kind, x, *dice.pick(&axes), dice.roll(2) == 0, AT)?
        }
        11 => ops::mean(x, Some(&[0]), true, AT)?,
        12 => ops::transpose(x, None)?,
        13 => {
            let step = if dice.roll(2) == 0 { -1 } else { 2 };
            ops::index(x, &[Index::Slice { start: None, stop: None, step }])?
        }
        14 => ops::matmul(x, &ops::transpose(y, None)?, AT)?,
        15 => ops::concatenate(&[x, y], 0, AT)?,
        16 => ops::broadcast_to(x, &[rows, columns])?,
        17 => {
            let value = number(dice);
            let value = if second(dice).is_some() { Arg::Array(y) } else { Arg::Scalar(value) };
            ops::in_place(*dice.pick(&[Point::Add, Point::Multiply, Point::Maximum]), x, value, AT)?;
            return Ok(None);
        }
        18 => {
            let part = ops::index(x, &[Index::Slice { start: Some(1), stop: None, step: 1 }])?;
            let rest = ops::index(x, &[Index::Slice { start: None, stop: Some(-1), step: 1 }])?;
            ops::assign(&part, Arg::Array(&rest), AT)?;
            return Ok(None);
        }
        19 => {
            let y = ops::cast(y, *dice.pick(&[DType::I32, DType::I64]), AT)?;
            let y = if y.ndim() > 1 { ops::index(&y, &[Index::At(0)])? } else { y };
            ops::take(x, &y, -1, *dice.pick(&[Beyond::Clip, Beyond::Wrap]), AT)?
        }
        20 => {
            let named = ops::cast(&ops::index(y, &[Index::At(0)])?, DType::I64, AT)?;
            let updates = ops::take(x, &named, 0, Beyond::Wrap, AT)?;
            ops::scatter_add(x, &named, &updates, 0, Beyond::Wrap, AT)?
        }
        21 => match dice.roll(5) {
            0 => ops::softmax(x, -1, AT)?,
            1 => ops::log_softmax(x, 0, AT)?,
            2 => ops::std(x, Some(&[-1]), 1.0, true, AT)?,
            3 => ops::dropout(x, 0.4, &[], true, AT)?,
            _ => ops::activation(*dice.pick(&[Activation::Gelu, Activation::Elu(0.3), Activation::Softrelu]), x, AT)?,
        },
        _ => {
            let value = number(dice);
            ops::assign(&ops::index(x, &[Index::At(-1)])?, Arg::Scalar(value), AT)?;
            return Ok(None);
        }
    }))
}
