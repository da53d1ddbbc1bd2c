//! Fills as CUDA C. Random numbers equal the host's: the same counters and words, and the same body for normal numbers.

use super::bodies::{c_type, normal_pair_text, short};
use super::prelude;
use forerun_base::{DType, Kind};
use forerun_plan::FillKind;

/// The Philox generator of fills and draws.
pub(crate) const PHILOX: &str = include_str!("../kernels/philox.cuh");

/// The kernel of a fill, and the number of elements per thread and step.
pub(crate) fn fill_text(kind: FillKind, dtype: DType) -> (String, usize) {
    let t = c_type(dtype);
    let double = dtype == DType::F64;
    let random = matches!(kind, FillKind::Normal | FillKind::Uniform);
    let pack = match kind {
        _ if random => {
            if double {
                2
            } else {
                4
            }
        }
        _ => 16 / dtype.size(),
    };
    let each = |value: &str| format!("    for (int e = 0; e < PACK; ++e) made[e] = {value};\n");
    let cast = |value: &str| format!("to_{}({value})", short(dtype));
    let body = match kind {
        FillKind::Full => each("scalar<T>(p.w[2])"),
        FillKind::Arange if dtype.kind() >= Kind::Float => {
            each(&cast("scalar<double>(p.w[2]) + (double)(i64)(at + e) * scalar<double>(p.w[3])"))
        }
        FillKind::Arange => each(&cast("p.w[2] + (at + e) * p.w[3]")),
        // Row `i` has its one at column `i + k`; batched matrices are consecutive.
        FillKind::Eye => each(&cast("(i64)((at + e) % p.w[5]) == (i64)((at + e) / p.w[5] % p.w[4]) + (i64)p.w[2]")),
        FillKind::Uniform if double => {
            WORDS.to_owned() + "    made[0] = uniform(w[0], w[1]);\n    made[1] = uniform(w[2], w[3]);\n"
        }
        FillKind::Uniform => WORDS.to_owned() + &each("uniform(w[e])"),
        FillKind::Normal if double => {
            WORDS.to_owned() + "    normal_pair(open_uniform(w[0], w[1]), uniform(w[2], w[3]), made[0], made[1]);\n"
        }
        FillKind::Normal => {
            WORDS.to_owned()
                + "    normal_pair(open_uniform(w[0]), uniform(w[1]), made[0], made[1]);\n"
                + "    normal_pair(open_uniform(w[2]), uniform(w[3]), made[2], made[3]);\n"
        }
    };
    let normal = if kind == FillKind::Normal { normal_pair_text(dtype) } else { String::new() };
    let kernel = include_str!("../kernels/fill.cuh");
    let (tools, run) = kernel.split_at(kernel.find("extern \"C\"").unwrap_or(0));
    let text = format!(
        "typedef {t} T;\n#define PACK {pack}\n{PHILOX}{tools}{normal}\
         DEV void make(const P& p, u64 pack, u64 at, T* made) {{\n{body}}}\n{run}"
    );
    (prelude::open(&text), pack)
}

const WORDS: &str = "    u32 w[4];\n    philox(p.w[2], p.w[3] + pack, 0, w);\n";
