//! Decisions about boxes that depend on one another: suppression of overlapping boxes, and matchings. None has a gradient.

use crate::gradient::Needs;
use crate::routine::{Attributes, Family, Given, attributes, family, invalid, mistyped};
use crate::samples::{Sample, Values, call, x};
use forerun_base::DType::{BF16, F16, F32, F64, I32, I64};
use forerun_base::{Result, Shape};

family! {
    /// Decisions about boxes. The results are indices.
    Boxes {
        Suppress {
            name: "suppress_boxes",
            inputs: [scores, boxes, classes],
            attributes: Suppression,
            fallible: false,
            doc: "boxes by descending score: n, or -1 - n if a better box of its class overlaps box n; then the number of boxes",
        }
        Match {
            name: "bipartite_match",
            inputs: [scores],
            attributes: Matching,
            fallible: false,
            doc: "the column that each row is matched with, then the row of each column, best scores first; -1 without a match",
        }
        Assign {
            name: "assign_anchors",
            inputs: [overlaps, classes, background],
            attributes: Assignment,
            fallible: false,
            doc: "the label that each anchor is assigned to; -1 for an anchor without an object, -2 for one that is ignored",
        }
    }
}

attributes! {
    /// The attributes of `suppress_boxes`.
    Suppression {
        /// The intersection over union above which the box with the smaller score is suppressed.
        overlap: f64,
        /// Boxes whose score is not above this one are left out.
        valid: f64,
        /// How many boxes with the best scores are considered; all if negative.
        top: i64,
        /// Whether a box is suppressed at the overlap itself, too.
        inclusive: bool,
        /// Whether suppressed boxes are left out.
        compact: bool,
    }
    /// The attributes of `bipartite_match`.
    Matching {
        /// The score that a match must exceed; in ascending order, that it must stay below.
        threshold: f64,
        /// Whether small scores are better.
        ascending: bool,
        /// The largest number of matches; any if not positive.
        top: i64,
    }
    /// The attributes of `assign_anchors`.
    Assignment {
        /// The overlap above which an anchor is assigned to the label that it overlaps most.
        overlap: f64,
        /// Anchors without an object for each one with an object; all if not positive.
        ratio: f64,
        /// The overlap below which an anchor may be one without an object.
        negative: f64,
        /// The least number of anchors without an object.
        fewest: i64,
    }
}

impl Family for Boxes {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let (dtype, shape) = given[0];
        if !matches!(dtype, F16 | BF16 | F32 | F64) {
            return mistyped(format!("not defined for {dtype}"));
        }
        if let Some((other, named)) = given.iter().find(|(other, _)| *other != dtype) {
            return mistyped(format!("dtypes differ: {dtype} {shape} and {other} {named}"));
        }
        let numbers = match self {
            Boxes::Suppress => {
                let how = Suppression::read(attributes)?;
                [how.overlap, how.valid]
            }
            Boxes::Match => [Matching::read(attributes)?.threshold; 2],
            Boxes::Assign => {
                let how = Assignment::read(attributes)?;
                [how.overlap, how.ratio + how.negative]
            }
        };
        if numbers.iter().any(|number| number.is_nan()) {
            return invalid("a threshold is not a number");
        }
        let dims = match (self, &shape[..]) {
            (Boxes::Suppress, [batch, count]) => {
                if given[1].1[..] != [*batch, *count, 4] || given[2].1 != shape {
                    let (boxes, classes) = (given[1].1, given[2].1);
                    return invalid(format!("boxes {boxes} and classes {classes} do not fit scores {shape}"));
                }
                vec![*batch, *count]
            }
            (Boxes::Match, [batch, rows, columns]) => vec![*batch, rows + columns],
            (Boxes::Assign, [batch, anchors, labels]) => {
                if given[1].1[..] != [*batch, *labels] || given[2].1[..] != [*batch, *anchors] {
                    let (classes, background) = (given[1].1, given[2].1);
                    return invalid(format!(
                        "classes {classes} and background {background} do not fit overlaps {shape}"
                    ));
                }
                vec![*batch, *anchors]
            }
            (Boxes::Suppress, _) => return invalid(format!("needs scores of 2 dimensions, got {shape}")),
            (Boxes::Match, _) => return invalid(format!("needs scores of 3 dimensions, got {shape}")),
            (Boxes::Assign, _) => return invalid(format!("needs overlaps of 3 dimensions, got {shape}")),
        };
        Ok((I64, Shape::new(&dims)?.checked()?))
    }

    fn cost(self, given: &[Given], _: &Given, attributes: &[i64]) -> usize {
        let shape = &given[0].1;
        match self {
            Boxes::Suppress => {
                let top = Suppression::read(attributes).map_or(-1, |how| how.top);
                let pairs = usize::try_from(top).map_or(shape[1], |top| top.min(shape[1]));
                shape.size().saturating_mul(40).saturating_add(shape[0].saturating_mul(pairs).saturating_mul(pairs))
            }
            Boxes::Match => shape.size().saturating_mul(40),
            Boxes::Assign => shape.size().saturating_mul(shape[2] + 20),
        }
    }

    fn needs(self, _: usize) -> Option<Needs> {
        None
    }

    fn samples() -> Vec<Sample> {
        let mut all = Vec::new();
        let suppress = |overlap: f64, valid: f64, top: i64, inclusive: bool, compact: bool| {
            let sample = call("suppress_boxes").with("overlap", overlap).with("valid", valid).with("top", top);
            sample.with("inclusive", inclusive).with("compact", compact)
        };
        // Scores and corners from all sides, so that some boxes are empty; pairs of boxes have one class.
        let classes = |batch: usize, count: usize| x([batch, count]).values(Values::Rising);
        for (overlap, valid, top, inclusive, compact) in
            [(0.1, -9.0, -1, false, true), (0.05, 0.0, 9, true, false), (0.0, -1.0, 12, false, false)]
        {
            let sample = suppress(overlap, valid, top, inclusive, compact);
            let inputs = [x([2, 40]), x([2, 40, 4]), classes(2, 40)];
            all.push(sample.clone().on(inputs).of([F16, BF16, F32, F64]));
            let same = [x([2, 40]), x([2, 40, 4]).values(Values::Positive), x([2, 40]).values(Values::Special)];
            all.push(sample.on(same).of([F32]));
        }
        all.push(suppress(0.5, 0.0, -1, false, true).on([x([2, 0]), x([2, 0, 4]), x([2, 0])]).of([F32]));
        let text = "suppress_boxes: boxes (2, 5, 3) and classes (2, 5) do not fit scores (2, 5)";
        let bad = suppress(0.5, 0.0, -1, false, true).on([x([2, 5]), x([2, 5, 3]), x([2, 5])]);
        all.push(bad.of([F32]).fails(text));
        let bad = suppress(f64::NAN, 0.0, -1, false, true).on([x([2, 5]), x([2, 5, 4]), x([2, 5])]);
        all.push(bad.of([F32]).fails("suppress_boxes: a threshold is not a number"));
        let bad = suppress(0.5, 0.0, -1, false, true).on([x([5]), x([5, 4]), x([5])]);
        all.push(bad.of([F32]).fails("suppress_boxes: needs scores of 2 dimensions, got (5,)"));
        let bad = suppress(0.5, 0.0, -1, false, true).on([x([2, 5]), x([2, 5, 4]), x([2, 5])]);
        all.push(bad.of([I32]).fails("suppress_boxes: not defined for int32"));
        let pair = |threshold: f64, ascending: bool, top: i64| {
            call("bipartite_match").with("threshold", threshold).with("ascending", ascending).with("top", top)
        };
        for (threshold, ascending, top) in [(-9.0, false, -1), (0.5, true, -1), (0.0, false, 2)] {
            all.push(pair(threshold, ascending, top).on([x([2, 5, 4])]).of([F16, BF16, F32, F64]));
            all.push(pair(threshold, ascending, top).on([x([1, 3, 6]).values(Values::Special)]).of([F32, F64]));
        }
        all.push(pair(0.0, false, -1).on([x([2, 0, 4])]).of([F32]));
        let text = "bipartite_match: needs scores of 3 dimensions, got (5,)";
        all.push(pair(0.0, false, -1).on([x([5])]).of([F32]).fails(text));
        let assign = |overlap: f64, ratio: f64, negative: f64, fewest: i64| {
            let sample = call("assign_anchors").with("overlap", overlap).with("ratio", ratio);
            sample.with("negative", negative).with("fewest", fewest)
        };
        for (overlap, ratio, negative, fewest) in
            [(0.5, -1.0, 0.5, 0), (1.5, 1.5, 1.0, 0), (-1.0, 0.5, 2.0, 5), (0.0, 3.0, 3.0, 0)]
        {
            let inputs = [x([3, 12, 3]), x([3, 3]).values(Values::Positive), x([3, 12])];
            all.push(assign(overlap, ratio, negative, fewest).on(inputs).of([F32, F64]));
        }
        // The last labels are absent.
        let absent = [x([1, 12, 16]), x([1, 16]).values(Values::Special), x([1, 12])];
        all.push(assign(1.0, -1.0, 0.5, 0).on(absent).of([F32, F64]));
        all.push(assign(0.5, -1.0, 0.5, 0).on([x([2, 5, 0]), x([2, 0]), x([2, 5])]).of([F32]));
        let text = "assign_anchors: classes (3, 2) and background (3, 12) do not fit overlaps (3, 12, 3)";
        let bad = assign(0.5, -1.0, 0.5, 0).on([x([3, 12, 3]), x([3, 2]), x([3, 12])]);
        all.push(bad.of([F32]).fails(text));
        all
    }
}
