//! Routines: the samples of the catalogue, including their errors, and arrays large enough for every algorithm.

use crate::case::Case;
use crate::data::Random;
use crate::ledger::Ledger;
use forerun_base::{DType, Kind, Scalar, Shape};
use forerun_cuda::{Gpu, complaint};
use forerun_ops::draw::Extents;
use forerun_ops::samples::{Sample, Values, samples};
use forerun_ops::scattering::{Axes, Rows};
use forerun_ops::{Attributes, Draw, Encoded, Given, List, Routine};
use forerun_plan::{Kernel, RoutineCall};
use std::sync::Arc;

const EDGES: [f64; 10] = [0.0, -0.0, 1.0, -1.0, 0.5, 88.0, 1e30, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
/// The key and the first block of draws.
const SCALARS: [u64; 2] = [0x1234_5678_9abc_def0, 77];

/// Element `n` of a sample's input.
fn element(values: Values, whole: bool, n: usize, place: usize) -> f64 {
    let spread = ((n * 7 + place * 3) % 13) as f64 / 2.0 - 3.0;
    let cycle = |all: &[i64]| all[n % all.len()] as f64;
    match values {
        Values::Ordinary if whole => spread.floor(),
        Values::Ordinary => spread,
        Values::Positive if whole => 1.0 + (n % 3) as f64,
        Values::Positive => 4.0 + spread,
        Values::Special if whole => cycle(&[0, 1, -1, 2, -7, 100, -100]),
        Values::Special => EDGES[(n * (2 * place + 1) + n / EDGES.len()) % EDGES.len()],
        Values::Rising => (n / 2) as f64,
        Values::Index(e) => cycle(&[0, e as i64 - 1, -1, e as i64 / 2, -(e as i64)]),
        Values::Definite(e) => {
            let (i, j) = (n / e % e, n % e);
            if i == j { (e + i + 1) as f64 } else { 1.0 / (1.0 + i.abs_diff(j) as f64) }
        }
        Values::Beyond(e) => cycle(&[0, e as i64, -(e as i64) - 1, 2 * e as i64 + 1]),
    }
}

/// Elements of a dtype as bytes.
fn bytes(dtype: DType, numbers: impl Iterator<Item = f64>) -> Vec<u8> {
    if dtype.kind() == Kind::Complex {
        let parts: Vec<f64> = numbers.flat_map(|number| [number, 1.0 - number / 2.0]).collect();
        return bytes(dtype.to_real(), parts.into_iter());
    }
    let bits = |number: f64| match dtype.kind() {
        Kind::Int => Scalar::Int(number as i64).to_bits(dtype),
        Kind::Bool => (number != 0.0) as u64,
        _ => Scalar::Float(number).to_bits(dtype),
    };
    numbers.flat_map(|number| bits(number).to_le_bytes()[..dtype.size()].to_vec()).collect()
}

/// The tolerance: results are bitwise equal to the host, except where math functions or other orders of sums are used.
fn off(routine: Routine, dtype: DType) -> f64 {
    let single = dtype == DType::F32;
    match routine {
        Routine::Draw(Draw::Gamma) => 64.0,
        Routine::Fft(_) => -(if single { 1e-6 } else { 1e-14 }),
        Routine::Linalg(_) => -(if single { 2e-3 } else { 1e-10 }),
        _ => 0.0,
    }
}

/// The case of a routine with these inputs, if the device runs it.
fn case(gpu: &Gpu, routine: Routine, inputs: Vec<(Given, Vec<u8>)>, encoded: &[i64], name: String) -> Option<Case> {
    let (given, data): (Vec<Given>, Vec<Vec<u8>>) = inputs.into_iter().unzip();
    let out = routine.infer(&given, encoded).ok()?;
    let wanted = std::env::args().nth(2).is_none_or(|part| routine.name().contains(&part));
    if !wanted || !gpu.runs(routine, &given) {
        return None;
    }
    let kernel = Kernel::Routine(RoutineCall { routine, inputs: given, out, encoded: encoded.into() });
    let scalars = if routine.scalars() == 1 { vec![5] } else { SCALARS[..routine.scalars()].to_vec() };
    let inputs = data.into_iter().map(|bytes| (bytes, 0)).collect();
    // Complex numbers are compared by their parts.
    let parts = if out.0.kind() == Kind::Complex { 2 } else { 1 };
    let outputs = vec![(out.0.to_real(), parts * out.1.size())];
    Some(Case { group: routine.name(), name, kernel, inputs, scalars, outputs, off: off(routine, out.0.to_real()) })
}

pub(super) fn of_the_catalogue(gpu: &Arc<Gpu>, ledger: &mut Ledger) {
    let mut cases = Vec::new();
    for sample in samples() {
        let Some(routine) = Routine::from_name(sample.op) else { continue };
        for &dtype in &sample.dtypes {
            // A matrix that is singular apart from rounding has no meaningful determinant in single precision.
            let determined = !matches!(sample.op, "det" | "slogdet" | "inv") || dtype == DType::F64;
            if !determined && sample.inputs.iter().any(|input| input.values == Values::Ordinary) {
                continue;
            }
            let name = format!("{dtype} {:?} {:?}", sample.inputs, sample.args);
            let encoded = routine.encode(&sample.args).expect("a sample passes what is declared");
            let made = case(gpu, routine, inputs(&sample, dtype), &encoded, name);
            cases.extend(made.map(|case| (case, sample.error.is_some())));
        }
    }
    // Compile in the background while the first cases are checked.
    let _warm: Vec<_> = cases.iter().map(|(case, _)| gpu.compile(&case.kernel)).collect();
    for (case, fails) in cases {
        if fails { complains(gpu, ledger, &case) } else { case.check(gpu, ledger) }
    }
}

fn inputs(sample: &Sample, dtype: DType) -> Vec<(Given, Vec<u8>)> {
    let one = |(place, input): (usize, &forerun_ops::samples::Input)| {
        let (dtype, shape) = (input.dtype.unwrap_or(dtype), Shape::of(&input.shape));
        let whole = dtype.kind() != Kind::Float;
        ((dtype, shape), bytes(dtype, (0..shape.size()).map(|n| element(input.values, whole, n, place))))
    };
    sample.inputs.iter().enumerate().map(one).collect()
}

/// Host and device fail with the same message.
fn complains(gpu: &Arc<Gpu>, ledger: &mut Ledger, case: &Case) {
    let outcome = match (case.host_error(), case.device(gpu, 0).map(|outcome| outcome.raised)) {
        (_, Err(error)) => Err(error.to_string()),
        (None, Ok(None)) => Ok(0.0),
        (Some(want), Ok(Some(raised))) => match complaint(&case.kernel).map(|say| say(raised).to_string()) {
            Some(text) if text == want => Ok(0.0),
            other => Err(format!("it says {other:?}, not {want}")),
        },
        (want, Ok(raised)) => Err(format!("the host says {want:?}, the status {raised:?}")),
    };
    ledger.note("routines' complaints", &format!("{} {}", case.group, case.name), outcome);
}

/// A check of one routine with large random arrays.
struct Large<'a> {
    gpu: &'a Arc<Gpu>,
    ledger: &'a mut Ledger,
    random: Random,
    /// Only starts compilation for a later check.
    warms: bool,
}

/// The elements of an input.
#[derive(Clone, Copy)]
enum Fill {
    Ordinary,
    Edges,
    Below(i64),
    /// Sorted, with repetitions.
    Rising(usize),
    /// Between two numbers.
    Between(f64, f64),
    /// Symmetric positive definite matrices with this many rows.
    Definite(usize),
}

impl Large<'_> {
    fn check(&mut self, name: &str, given: &[(DType, &[usize], Fill)], encoded: &[i64]) {
        let Some(routine) = Routine::from_name(name) else { return };
        if self.warms {
            let bare = given.iter().map(|(dtype, dims, _)| ((*dtype, Shape::of(dims)), vec![])).collect();
            let bare = case(self.gpu, routine, bare, encoded, String::new());
            bare.iter().for_each(|case| drop(self.gpu.compile(&case.kernel)));
            return;
        }
        let inputs = given.iter().map(|(dtype, dims, fill)| {
            let (given, size): (Given, usize) = ((*dtype, Shape::of(dims)), dims.iter().product());
            let random = &mut self.random;
            let (dtype, size) =
                if dtype.kind() == Kind::Complex { (dtype.to_real(), 2 * size) } else { (*dtype, size) };
            let data = match *fill {
                Fill::Ordinary => random.bytes(dtype, size),
                Fill::Edges => random.edges(dtype, size),
                Fill::Below(limit) => random.below(limit, dtype, size),
                Fill::Definite(rows) => bytes(dtype, (0..size).map(|n| element(Values::Definite(rows), false, n, 0))),
                Fill::Rising(each) => bytes(dtype, (0..size).map(|n| (n / each) as f64)),
                Fill::Between(low, high) => {
                    let unit = |random: &mut Random| (random.next() >> 11) as f64 / (1u64 << 53) as f64;
                    bytes(dtype, (0..size).map(|_| low + (high - low) * unit(random)).collect::<Vec<_>>().into_iter())
                }
            };
            (given, data)
        });
        let inputs = inputs.collect();
        let dims: Vec<&[usize]> = given.iter().map(|(_, dims, _)| *dims).collect();
        let label = format!("{:?} {dims:?} {encoded:?}", given.first().map(|(dtype, _, _)| *dtype));
        if let Some(case) = case(self.gpu, routine, inputs, encoded, label) {
            case.check(self.gpu, self.ledger);
        }
    }
}

/// Shapes with their axis: one long line, adjacent lines, consecutive lines, many short ones.
const LINES: [(&[usize], i64); 7] = [
    (&[300_007], 0),
    (&[3, 70_001], 1),
    (&[4000, 37], 0),
    (&[700, 5, 33], 0),
    (&[9, 600, 70], 1),
    (&[30_000, 7], 1),
    (&[513], 0),
];

/// Runs a check twice: the first run only starts compilation.
fn twice(gpu: &Arc<Gpu>, ledger: &mut Ledger, check: fn(&mut Large<'_>)) {
    let mut large = Large { gpu, ledger, random: Random(31), warms: true };
    check(&mut large);
    large.warms = false;
    check(&mut large);
}

pub(super) fn of_lines(gpu: &Arc<Gpu>, ledger: &mut Ledger) {
    twice(gpu, ledger, lines);
    twice(gpu, ledger, rows);
}

pub(super) fn of_places(gpu: &Arc<Gpu>, ledger: &mut Ledger) {
    twice(gpu, ledger, along);
    twice(gpu, ledger, chosen);
}

pub(super) fn of_draws(gpu: &Arc<Gpu>, ledger: &mut Ledger) {
    twice(gpu, ledger, draws);
}

pub(super) fn of_matrices(gpu: &Arc<Gpu>, ledger: &mut Ledger) {
    twice(gpu, ledger, matrices);
}

pub(super) fn of_transforms(gpu: &Arc<Gpu>, ledger: &mut Ledger) {
    twice(gpu, ledger, transforms);
}

fn lines(large: &mut Large<'_>) {
    for (dims, axis) in LINES {
        for dtype in DType::ALL.into_iter().filter(|dtype| matches!(dtype.kind(), Kind::Bool | Kind::Int | Kind::Float))
        {
            let edges = (dtype, dims, Fill::Edges);
            for descending in [0, 1] {
                large.check("sort", &[edges], &[axis, descending]);
                large.check("argsort", &[edges], &[axis, descending]);
            }
            large.check("argtop", &[edges], &[axis, 1, 5]);
            large.check("cumsum", &[(dtype, dims, Fill::Ordinary)], &[axis]);
            large.check("cumprod", &[(dtype, dims, Fill::Ordinary)], &[axis]);
            large.check("argcummax", &[edges], &[axis]);
            large.check("argcummin", &[edges], &[axis]);
            if dtype.kind() == Kind::Float {
                large.check(
                    "linear_scan",
                    &[(dtype, dims, Fill::Ordinary), (dtype, dims, Fill::Between(-0.9, 0.9))],
                    &[axis],
                );
            }
        }
    }
    large.check("sort", &[(DType::F32, &[4_000_000], Fill::Ordinary)], &[0, 0]);
    large.check("argsort", &[(DType::I64, &[4_000_000], Fill::Edges)], &[0, 0]);
    large.check("cumsum", &[(DType::F64, &[4_000_000], Fill::Ordinary)], &[0]);
}

fn rows(large: &mut Large<'_>) {
    for dtype in [DType::F32, DType::F64] {
        for dims in [&[1000, 1000], &[70_000, 10], &[3, 4096], &[1024, 5000]] {
            for fill in [Fill::Ordinary, Fill::Edges] {
                let (x, vector) = ((dtype, &dims[..], fill), (dtype, &dims[1..], Fill::Ordinary));
                large.check("softmax_rows", &[x], &[]);
                large.check("log_softmax_rows", &[x], &[]);
                large.check("layer_norm_rows", &[x, vector, vector], &[1e-5f64.to_bits() as i64]);
            }
        }
    }
}

fn along(large: &mut Large<'_>) {
    let shapes: [(&[usize], &[usize], i64); 5] = [
        (&[1000], &[300_000], 0),
        (&[3], &[100_000], 0),
        (&[200_000], &[100_000], 0),
        (&[40, 50, 33], &[40, 700, 33], 1),
        (&[300, 5], &[9000, 5], 0),
    ];
    for (base, named, axis) in shapes {
        let extent = Fill::Below(base[axis as usize] as i64);
        for dtype in [
            DType::Bool,
            DType::I8,
            DType::I16,
            DType::I32,
            DType::U64,
            DType::F16,
            DType::BF16,
            DType::F32,
            DType::F64,
        ] {
            let (x, at) = ((dtype, base, Fill::Edges), (DType::I64, named, extent));
            large.check("take_along_axis", &[x, at], &[axis]);
            large.check("put_along_axis", &[x, at, (dtype, named, Fill::Ordinary)], &[axis]);
            large.check(
                "add_along_axis",
                &[(dtype, base, Fill::Ordinary), at, (dtype, named, Fill::Ordinary)],
                &[axis],
            );
        }
        let narrow = (DType::U32, named, extent);
        large.check(
            "add_along_axis",
            &[(DType::F32, base, Fill::Ordinary), narrow, (DType::F32, named, Fill::Ordinary)],
            &[axis],
        );
    }
}

fn chosen(large: &mut Large<'_>) {
    let one = |dtype: DType| (dtype, &[200_000][..], Fill::Edges);
    for dtype in [DType::Bool, DType::I16, DType::F32, DType::F64] {
        let some = (DType::I64, &[150_000][..], Fill::Below(199_990));
        large.check("put", &[one(dtype), some, (dtype, &[150_000], Fill::Edges)], &rows_of(&[], &[]));
        large.check("put", &[one(dtype), some, (dtype, &[150_000, 1], Fill::Edges)], &rows_of(&[1], &[1]));
        large.check("put", &[one(dtype), some, (dtype, &[1], Fill::Edges)], &rows_of(&[2], &[3]));
        let few = (DType::I64, &[9000][..], Fill::Below(7));
        large.check("put", &[one(dtype), few, (dtype, &[9000, 6], Fill::Edges)], &rows_of(&[2, 3], &[30_000, 7]));
    }
    large.check("is_last", &[(DType::I64, &[300_000], Fill::Below(90_000))], &[]);
    large.check("is_last", &[(DType::I64, &[300_000], Fill::Edges)], &[]);
    let at = |limit: i64| (DType::I64, &[300, 1][..], Fill::Below(limit));
    let list = List::from_slice;
    let axes = Axes { axes: list(&[0, 1]), extents: list(&[40, 9]), strides: list(&[90, -3]) };
    large.check("positions", &[at(40), (DType::I32, &[1, 500], Fill::Below(9))], &axes.encode());
    for dtype in DType::ALL.into_iter().filter(|dtype| matches!(dtype.kind(), Kind::Bool | Kind::Int | Kind::Float)) {
        for right in [0, 1] {
            // In narrow dtypes few different numbers are sorted, with many repetitions.
            let sorted = (dtype, &[100][..], Fill::Rising(1));
            large.check("searchsorted", &[sorted, (dtype, &[70_000], Fill::Edges)], &[right]);
            large.check("digitize", &[sorted, (dtype, &[70_000], Fill::Ordinary)], &[right]);
        }
        large.check("groups", &[(dtype, &[500_000], Fill::Below(2))], &[0]);
        large.check("groups", &[(dtype, &[50_000, 3], Fill::Edges)], &[1]);
        large.check("row_order", &[(dtype, &[30_000, 3], Fill::Below(4))], &[]);
        large.check("row_order", &[(dtype, &[900, 2], Fill::Edges)], &[]);
    }
    large.check("group_starts", &[(DType::I64, &[400_000], Fill::Rising(4))], &[100_000]);
    if !large.warms {
        masked(large);
    }
}

/// The attributes of `put`.
fn rows_of(extents: &[i64], strides: &[i64]) -> Encoded {
    Rows { extents: List::from_slice(extents), strides: List::from_slice(strides), index: List::new() }.encode()
}

/// The attributes of a draw.
fn extents(shape: &[i64]) -> Encoded {
    Extents { shape: List::from_slice(shape) }.encode()
}

/// The number of true elements is computed first, because it is an attribute.
fn masked(large: &mut Large<'_>) {
    for (dims, mask_dims, axis) in [
        (&[500_001][..], &[500_001][..], 0),
        (&[40, 3000, 3], &[3000], 1),
        (&[30, 70, 50], &[30, 70], 0),
        (&[5, 2049], &[5, 2049], 0),
    ] {
        let size = mask_dims.iter().product();
        let mask = large.random.bytes(DType::Bool, size);
        let count = mask.iter().filter(|byte| **byte != 0).count();
        let given = ((DType::Bool, Shape::of(mask_dims)), mask);
        let name = format!("{dims:?} {mask_dims:?} {axis}");
        let nonzero = Routine::from_name("nonzero")
            .and_then(|r| case(large.gpu, r, vec![given.clone()], &[count as i64], name.clone()));
        nonzero.iter().for_each(|case| case.check(large.gpu, large.ledger));
        for dtype in [DType::I8, DType::F16, DType::F32, DType::I64] {
            let shape = Shape::of(dims);
            let x = ((dtype, shape), large.random.edges(dtype, shape.size()));
            let mut chosen = dims[..axis].to_vec();
            chosen.push(count);
            chosen.extend(&dims[axis + mask_dims.len()..]);
            let values = ((dtype, Shape::of(&chosen)), large.random.edges(dtype, chosen.iter().product()));
            let name = format!("{dtype} {name}");
            for (routine, inputs, encoded) in [
                ("compress", vec![x.clone(), given.clone()], vec![axis as i64, count as i64]),
                ("fill_chosen", vec![x, given.clone(), values], vec![axis as i64]),
            ] {
                let made = Routine::from_name(routine).and_then(|r| case(large.gpu, r, inputs, &encoded, name.clone()));
                made.iter().for_each(|case| case.check(large.gpu, large.ledger));
            }
        }
    }
}

fn draws(large: &mut Large<'_>) {
    let f = DType::F64;
    large.check("random_bits", &[], &extents(&[700, 1000]));
    for (low, high) in [(0.01, 0.99), (1.0, 40.0), (100.0, 1e9)] {
        large.check("random_gamma", &[(f, &[100_000], Fill::Between(low, high))], &extents(&[100_000]));
        large.check("random_poisson", &[(f, &[100_000], Fill::Between(low, high))], &extents(&[100_000]));
    }
    for trials in [8.0, 3000.0] {
        let n = (f, &[1][..], Fill::Between(trials, trials));
        large.check("random_binomial", &[n, (f, &[100_000], Fill::Between(0.0, 1.0))], &extents(&[100_000]));
        large.check("random_multinomial", &[n, (f, &[6], Fill::Between(0.0, 0.2))], &extents(&[20_000, 6]));
    }
}

fn matrices(large: &mut Large<'_>) {
    for dtype in [DType::F32, DType::F64] {
        for (count, n) in [(300, 7), (5, 96), (2, 97), (1, 300), (1, 1000)] {
            let (dims, right) = ([count, n, n], [count, n, 40]);
            let (square, beside) = ((dtype, &dims[..], Fill::Ordinary), (dtype, &right[..], Fill::Ordinary));
            let definite = (dtype, &dims[..], Fill::Definite(n));
            large.check("slogdet", &[square], &[]);
            large.check("inv", &[definite], &[0]);
            large.check("solve", &[square, beside], &[]);
            for flags in 0..4 {
                let encoded = [flags & 1, flags >> 1 & 1, 0];
                large.check("solve_triangular", &[definite, beside], &encoded);
            }
            for upper in [0, 1] {
                large.check("cholesky", &[definite], &[upper]);
            }
            if n < 100 {
                large.check("det", &[square], &[]);
            }
        }
    }
}

fn transforms(large: &mut Large<'_>) {
    for dtype in [DType::F32, DType::F64] {
        for (outer, n, inner) in [(1, 100_000, 1), (300, 64, 1), (1, 97, 50), (20, 30, 12), (3, 1, 5), (2, 1009, 3)] {
            for scale in [0, 1, 2] {
                let (dims, half) = ([outer, n, inner], [outer, n / 2 + 1, inner]);
                for back in [0, 1] {
                    large.check("fft", &[(dtype.to_complex(), &dims, Fill::Ordinary)], &[1, back, scale]);
                }
                large.check("rfft", &[(dtype, &dims, Fill::Ordinary)], &[1, scale]);
                large.check("irfft", &[(dtype.to_complex(), &half, Fill::Ordinary)], &[1, n as i64, scale]);
            }
        }
    }
}
