//! Einstein summation: a sum of products over labelled axes, as a sequence of pairwise products. Each is a matrix product of
//! transposed views, or an elementwise product; the next pair is the one whose product saves the most.

use crate::methods::pairs::functions;
use crate::{Arg, Array, ops};
use forerun_base::{Error, ErrorKind, Loc, Result};
use forerun_ops::{Point, ReduceKind};
use std::collections::{BTreeMap, BTreeSet};

functions! {
    /// Sums products over labelled axes, as in `"ij,jk->ik"`. Labels that are missing from the result are summed over; without
    /// `->` the result has the labels that occur once, in alphabetical order.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// let a = Array::from([[1, 2], [3, 4]]);
    /// assert_eq!(einsum("ij,kj->ik", &[&a, &a]).to_string(), "[[ 5 11]\n [11 25]]");
    /// assert_eq!(einsum("ii", &[&a]).to_string(), "5");
    /// ```
    einsum, try_einsum(labels: &str, arrays: &[&Array]) -> Array |loc| {
        evaluate(labels, arrays, loc).map_err(|error| error.in_op("einsum"))
    }
}

/// An array whose axes have distinct labels.
struct Labelled {
    array: Array,
    labels: Vec<char>,
}

fn refused<T>(text: String) -> Result<T> {
    Err(Error::new(ErrorKind::Value, text))
}

/// Evaluates the sum of products.
pub(crate) fn evaluate(text: &str, arrays: &[&Array], loc: Loc) -> Result<Array> {
    let text: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let (inputs, result) = text.split_once("->").map_or((&*text, None), |(inputs, result)| (inputs, Some(result)));
    let terms: Vec<Vec<char>> = inputs.split(',').map(|term| term.chars().collect()).collect();
    if terms.len() != arrays.len() {
        return refused(format!("{} terms in {text:?} for {} arrays", terms.len(), arrays.len()));
    }
    if let Some(other) = text.replace("->", "").chars().find(|letter| *letter != ',' && !letter.is_alphabetic()) {
        return refused(format!("{other:?} in {text:?} is no label"));
    }
    let result: Vec<char> = match result {
        Some(result) => result.chars().collect(),
        None => {
            let all: String = terms.iter().flatten().collect();
            terms
                .iter()
                .flatten()
                .collect::<BTreeSet<_>>()
                .into_iter()
                .copied()
                .filter(|l| all.matches(*l).count() == 1)
                .collect()
        }
    };
    for (at, label) in result.iter().enumerate() {
        if result[..at].contains(label) || !terms.iter().any(|term| term.contains(label)) {
            return refused(format!("label {label:?} of the result is not in it once and in a term"));
        }
    }
    let mut extents: BTreeMap<char, usize> = BTreeMap::new();
    for (term, x) in terms.iter().zip(arrays) {
        if term.len() != x.ndim() {
            return refused(format!("{} labels for an array of {} dimensions", term.len(), x.ndim()));
        }
        for (label, extent) in term.iter().zip(x.shape().iter()) {
            let known = *extents.entry(*label).or_insert(*extent);
            if known != *extent {
                return refused(format!("label {label:?} has extents {known} and {extent}"));
            }
        }
    }
    let mut parts: Vec<Labelled> =
        terms.iter().zip(arrays).map(|(term, x)| on_diagonals(x, term)).collect::<Result<_>>()?;
    while parts.len() > 1 {
        let pairs = (0..parts.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let (a, b) = pairs.min_by_key(|pair| cost(&parts, *pair, &result, &extents)).expect("there are two");
        let (b, a) = (parts.remove(b), parts.remove(a));
        let needed: BTreeSet<char> = result.iter().chain(parts.iter().flat_map(|part| &part.labels)).copied().collect();
        parts.push(product(a, b, &needed, &extents, loc)?);
    }
    let last = summed(parts.pop().expect("there is a term"), &result.iter().copied().collect(), loc)?;
    let order: Vec<isize> = result.iter().map(|label| place(&last.labels, *label)).collect();
    ops::transpose(&last.array, Some(&order))
}

fn place(labels: &[char], label: char) -> isize {
    labels.iter().position(|other| *other == label).map_or(-1, |at| at as isize)
}

/// A view in which each label occurs once.
fn on_diagonals(x: &Array, labels: &[char]) -> Result<Labelled> {
    let (mut array, mut labels) = (x.clone(), labels.to_vec());
    while let Some(second) = (0..labels.len()).find(|at| labels[..*at].contains(&labels[*at])) {
        let label = labels[second];
        let first = place(&labels, label);
        array = ops::diagonal(&array, 0, first, second as isize)?;
        labels.remove(second);
        labels.remove(first as usize);
        labels.push(label);
    }
    Ok(Labelled { array, labels })
}

/// Rates a pair: how much larger its product is than the two, then how much work it is.
fn cost(parts: &[Labelled], pair: (usize, usize), result: &[char], extents: &BTreeMap<char, usize>) -> (i128, i128) {
    let (a, b) = (&parts[pair.0].labels, &parts[pair.1].labels);
    let others = parts.iter().enumerate().filter(|(at, _)| *at != pair.0 && *at != pair.1);
    let needed: BTreeSet<char> =
        others.flat_map(|(_, part)| part.labels.iter().copied()).chain(result.iter().copied()).collect();
    let union: BTreeSet<char> = a.iter().chain(b).copied().collect();
    let size = |labels: &mut dyn Iterator<Item = &char>| labels.map(|l| extents[l] as i128).product::<i128>();
    let kept = size(&mut union.intersection(&needed));
    (kept - size(&mut a.iter()) - size(&mut b.iter()), size(&mut union.iter()))
}

/// Sums over labels that are no longer needed.
fn summed(part: Labelled, needed: &BTreeSet<char>, loc: Loc) -> Result<Labelled> {
    let gone: Vec<isize> =
        (0..part.labels.len()).filter(|at| !needed.contains(&part.labels[*at])).map(|at| at as isize).collect();
    if gone.is_empty() {
        return Ok(part);
    }
    let sum = ops::reduce(ReduceKind::Sum, &part.array, Some(&gone), false, loc)?;
    // Sums of small integers are wider, but a product of arrays keeps its dtype.
    let array = if sum.dtype() == part.array.dtype() { sum } else { ops::cast(&sum, part.array.dtype(), loc)? };
    Ok(Labelled { array, labels: part.labels.into_iter().filter(|label| needed.contains(label)).collect() })
}

/// Multiplies two operands and sums over the labels that only they have and that are no longer needed.
fn product(
    a: Labelled,
    b: Labelled,
    needed: &BTreeSet<char>,
    extents: &BTreeMap<char, usize>,
    loc: Loc,
) -> Result<Labelled> {
    let with = |other: &[char]| needed.iter().chain(other).copied().collect::<BTreeSet<char>>();
    let (for_a, for_b) = (with(&b.labels), with(&a.labels));
    let (a, b) = (summed(a, &for_a, loc)?, summed(b, &for_b, loc)?);
    let pick = |from: &[char], f: &dyn Fn(char) -> bool| from.iter().copied().filter(|l| f(*l)).collect::<Vec<char>>();
    let both = pick(&a.labels, &|l| b.labels.contains(&l) && needed.contains(&l));
    let gone = pick(&a.labels, &|l| b.labels.contains(&l) && !needed.contains(&l));
    let left = pick(&a.labels, &|l| !b.labels.contains(&l));
    let right = pick(&b.labels, &|l| !a.labels.contains(&l));
    let labels = [&both[..], &left, &right].concat();
    let shape = |groups: &[&[char]]| groups.concat().iter().map(|l| extents[l] as isize).collect::<Vec<isize>>();
    let fold = |group: &[char]| group.iter().map(|l| extents[l] as isize).product::<isize>();
    let laid = |part: &Labelled, groups: &[&[char]], dims: &[isize]| {
        let order: Vec<isize> = groups.concat().iter().map(|label| place(&part.labels, *label)).collect();
        ops::reshape(&ops::transpose(&part.array, Some(&order))?, dims, loc)
    };
    if gone.is_empty() {
        let ones = |count: usize| vec![1; count];
        let x = laid(&a, &[&both, &left], &[shape(&[&both, &left]), ones(right.len())].concat())?;
        let y = laid(&b, &[&both, &right], &[shape(&[&both]), ones(left.len()), shape(&[&right])].concat())?;
        let array = ops::pointwise(Point::Multiply, &[Arg::Array(&x), Arg::Array(&y)], loc)?;
        return Ok(Labelled { array, labels });
    }
    let (batch, rows, columns, inner) = (fold(&both), fold(&left), fold(&right), fold(&gone));
    let x = laid(&a, &[&both, &left, &gone], &[batch, rows, inner])?;
    let y = laid(&b, &[&both, &gone, &right], &[batch, inner, columns])?;
    let array = if both.is_empty() {
        let single = |x: &Array| ops::squeeze(x, Some(&[0]));
        ops::matmul(&single(&x)?, &single(&y)?, loc)?
    } else {
        ops::matmul(&x, &y, loc)?
    };
    Ok(Labelled { array: ops::reshape(&array, &shape(&[&labels]), loc)?, labels })
}
