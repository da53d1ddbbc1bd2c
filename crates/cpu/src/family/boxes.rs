//! Decisions about boxes, one member of the batch per thread, in double precision.

use super::sampling::Pixel;
use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, HostKernel};
use forerun_base::{BFloat16, DType, Float16, Result, Team};
use forerun_ops::Boxes;
use forerun_ops::boxes::{Assignment, Matching, Suppression};
use forerun_plan::RoutineCall;

impl HostKernel for Boxes {
    fn body(&self) -> Body {
        match self {
            Boxes::Suppress => |args, team| run(Boxes::Suppress, args, team),
            Boxes::Match => |args, team| run(Boxes::Match, args, team),
            Boxes::Assign => |args, team| run(Boxes::Assign, args, team),
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        let own = call.inputs[0].1[1..].iter().product::<usize>().max(call.out.1[1]);
        // Boxes, areas, scores, orders and the room that sorting takes.
        own.saturating_mul(160).saturating_mul(threads)
    }
}

fn run(kind: Boxes, args: &Args<'_>, team: &dyn Team) -> Result<()> {
    match args.dtype(0) {
        DType::F32 => each::<f32>(kind, args, team),
        DType::F64 => each::<f64>(kind, args, team),
        DType::F16 => each::<Float16>(kind, args, team),
        DType::BF16 => each::<BFloat16>(kind, args, team),
        dtype => unreachable!("inference refuses {dtype}"),
    }
    Ok(())
}

fn each<E: Pixel>(kind: Boxes, args: &Args<'_>, team: &dyn Team) {
    let batch = args.call.out.1[0];
    let to = args.output::<i64>();
    if to.is_empty() {
        return;
    }
    let (target, size) = (Shared(to.as_mut_ptr()), to.len() / batch);
    let (call, inputs) = (args.call, (0..args.call.inputs.len()).map(|i| args.input::<E>(i)).collect::<Vec<_>>());
    // The part of an input that belongs to one member of the batch, widened.
    let part = |input: usize, member: usize| -> Vec<f64> {
        let all = inputs[input];
        let count = all.len() / batch;
        all[member * count..(member + 1) * count].iter().map(|x| x.widen().into()).collect()
    };
    team.split(batch, &|member| {
        // SAFETY: a member of the batch is no other piece's.
        let to = unsafe { std::slice::from_raw_parts_mut(target.get().add(member * size), size) };
        let first = part(0, member);
        match kind {
            Boxes::Suppress => suppress(&first, &part(1, member), &part(2, member), &call.attributes(), to),
            Boxes::Match => pair(&first, call.inputs[0].1[2], &call.attributes(), to),
            Boxes::Assign => assign(&first, &part(1, member), &part(2, member), &call.attributes(), to),
        }
    });
}

/// The area of a box; nothing if its ends are swapped.
fn area([left, top, right, bottom]: [f64; 4]) -> f64 {
    let (width, height) = (right - left, bottom - top);
    if width < 0.0 || height < 0.0 { 0.0 } else { width * height }
}

/// Intersection over union.
fn overlap(a: [f64; 4], b: [f64; 4]) -> f64 {
    let (width, height) = (a[2].min(b[2]) - a[0].max(b[0]), a[3].min(b[3]) - a[1].max(b[1]));
    if width <= 0.0 || height <= 0.0 {
        return 0.0;
    }
    let both = width * height;
    both / (area(a) + area(b) - both)
}

/// Indices in the order of their numbers; equal numbers keep their order.
fn ordered(mut places: Vec<usize>, numbers: &[f64], ascending: bool) -> Vec<usize> {
    places.sort_by(|a, b| {
        let order = numbers[*a].total_cmp(&numbers[*b]);
        if ascending { order } else { order.reverse() }
    });
    places
}

fn suppress(scores: &[f64], boxes: &[f64], classes: &[f64], how: &Suppression, to: &mut [i64]) {
    // Zeros of both signs are equal scores.
    let scores: Vec<f64> = scores.iter().map(|score| score + 0.0).collect();
    let valid = (0..scores.len()).filter(|n| scores[*n] > how.valid).collect();
    let mut order = ordered(valid, &scores, false);
    order.truncate(usize::try_from(how.top).unwrap_or(order.len()));
    let corners = |n: usize| [0, 1, 2, 3].map(|i| boxes[n * 4 + i]);
    let mut gone = vec![false; order.len()];
    for i in 0..order.len() {
        if gone[i] {
            continue;
        }
        let (best, class) = (corners(order[i]), classes[order[i]]);
        for j in i + 1..order.len() {
            if !gone[j] && classes[order[j]] == class {
                let found = overlap(best, corners(order[j]));
                gone[j] = found > how.overlap || (how.inclusive && found == how.overlap);
            }
        }
    }
    to.fill(scores.len() as i64);
    let told = order.iter().zip(gone).filter(|(_, gone)| !(how.compact && *gone));
    for (to, (n, gone)) in to.iter_mut().zip(told) {
        *to = if gone { -1 - *n as i64 } else { *n as i64 };
    }
}

fn pair(scores: &[f64], columns: usize, how: &Matching, to: &mut [i64]) {
    let scores: Vec<f64> = scores.iter().map(|score| score + 0.0).collect();
    let good = |n: &usize| if how.ascending { scores[*n] < how.threshold } else { scores[*n] > how.threshold };
    let order = ordered((0..scores.len()).filter(good).collect(), &scores, how.ascending);
    to.fill(-1);
    let split = to.len() - columns;
    let (row_matches, column_matches) = to.split_at_mut(split);
    let mut left = usize::try_from(how.top).ok().filter(|top| *top > 0).unwrap_or(usize::MAX);
    for n in order {
        let (row, column) = (n / columns, n % columns);
        if left > 0 && row_matches[row] < 0 && column_matches[column] < 0 {
            row_matches[row] = column as i64;
            column_matches[column] = row as i64;
            left -= 1;
        }
    }
}

/// An anchor that is not assigned to a label.
const NOTHING: i64 = -1;
/// An anchor that does not count.
const IGNORED: i64 = -2;

fn assign(overlaps: &[f64], classes: &[f64], background: &[f64], how: &Assignment, to: &mut [i64]) {
    to.fill(IGNORED);
    // The first label of class -1 ends the list.
    let labels = classes.iter().position(|class| *class == -1.0).unwrap_or(classes.len());
    if labels == 0 {
        return;
    }
    let row = |anchor: usize| &overlaps[anchor * classes.len()..][..labels];
    // Each label gets the anchor that overlaps it most, best pairs first.
    let mut done = vec![false; labels];
    loop {
        let mut best = (1e-6, None);
        for (anchor, _) in to.iter().enumerate().filter(|(_, found)| **found == IGNORED) {
            for (label, overlap) in row(anchor).iter().enumerate() {
                if !done[label] && *overlap > best.0 {
                    best = (*overlap, Some((anchor, label)));
                }
            }
        }
        let Some((anchor, label)) = best.1 else { break };
        to[anchor] = label as i64;
        done[label] = true;
    }
    // The label that an anchor overlaps most; nothing overlaps less than -1.
    let most = |anchor: usize| {
        let mut best = (-1.0, None);
        for (label, overlap) in row(anchor).iter().enumerate() {
            if *overlap > best.0 {
                best = (*overlap, Some(label));
            }
        }
        best
    };
    if how.overlap > 0.0 {
        for (anchor, found) in to.iter_mut().enumerate().filter(|(_, found)| **found == IGNORED) {
            if let (overlap, Some(label)) = most(anchor)
                && overlap > how.overlap
            {
                *found = label as i64;
            }
        }
    }
    let free: Vec<usize> = (0..to.len()).filter(|anchor| to[*anchor] == IGNORED).collect();
    if how.ratio <= 0.0 {
        free.iter().for_each(|anchor| to[*anchor] = NOTHING);
        return;
    }
    // The anchors that look least like background are the hardest.
    let matched = to.len() - free.len();
    let wanted = ((matched as f64 * how.ratio) as usize).max(usize::try_from(how.fewest).unwrap_or(0));
    let hard = ordered(free.into_iter().filter(|anchor| most(*anchor).0 < how.negative).collect(), background, true);
    hard.iter().take(wanted).for_each(|anchor| to[*anchor] = NOTHING);
}
