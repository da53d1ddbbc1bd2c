//! The cost of pointwise programs, for the decision to split them over threads.

use forerun_base::DType;
use forerun_ops::Point;
use forerun_ops::symbol::{Verb, script};
use forerun_plan::{Instr, Program};
use std::sync::LazyLock;

/// The cost of an element of a program, in units of the cheapest instruction.
pub(crate) fn weight(program: &Program) -> usize {
    program.code.iter().map(weight_of).sum()
}

/// The cost of an instruction per element: one memory access, plus the steps of the body at six per unit. A step that
/// runs lane by lane costs 64 accesses; a division or square root costs one.
fn weight_of(instr: &Instr) -> usize {
    static WEIGHTS: LazyLock<Vec<usize>> = LazyLock::new(|| {
        let script = |op: &Point| script(*op, DType::F32).or_else(|| script(*op, DType::I32));
        let steps = |op: &Point| script(op).map_or(0, |script| script.steps.iter().map(|step| sixths(step.verb)).sum());
        Point::ALL.iter().map(|op| 1 + steps(op) / 6).collect()
    });
    let wide = if instr.dtype.size() == 8 { 2 } else { 1 };
    wide * WEIGHTS[instr.op as usize]
}

fn sixths(verb: Verb) -> usize {
    use Verb::*;
    match verb {
        Argument(_) | Constant(_) => 0,
        FloorDiv | Remainder | Fmod | Power | NextAfter | Gcd | Lcm => 384,
        Quadrant => 20,
        Div | Sqrt => 6,
        _ => 1,
    }
}
