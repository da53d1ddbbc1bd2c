//! What a raised status of a routine says, in the host's words.

use super::job::word;
use crate::gpu::Raised;
use crate::run::complaint::beyond;
use forerun_base::{Error, ErrorKind, Shape};
use forerun_ops::{Along, Choose, Draw, Place, Routine, Search, Unique};
use forerun_plan::RoutineCall;

/// Bits of a place that number elements; those above number arrays.
const PLACE: u32 = 48;

/// The error of a routine whose kernels raised a status.
pub(in crate::run) fn complaint(call: &RoutineCall, raised: Raised) -> Error {
    let (index, array) = (raised.index, (raised.place >> PLACE) as usize);
    let value = |text: String| Error::new(ErrorKind::Value, text);
    match call.routine {
        Routine::Along(Along::Take | Along::Add | Along::Put) => {
            let shape = call.inputs[0].1;
            let axis = shape.axis(word(call, 0) as isize).unwrap_or(0);
            beyond(index, axis, shape[axis])
        }
        Routine::Place(Place::Positions) => {
            beyond(index, word(call, 3 * array) as usize, word(call, 3 * array + 1) as usize)
        }
        Routine::Place(_) => {
            let size = call.out.1.size();
            Error::new(ErrorKind::Index, format!("a row at position {index} reaches beyond {size} elements"))
        }
        Routine::Choose(Choose::Nonzero) => value(format!("the mask is true {index} times, not {}", call.out.1[1])),
        Routine::Choose(Choose::Compress) => {
            value(format!("the mask is true {index} times, not {}", call.out.1[word(call, 0) as usize]))
        }
        Routine::Choose(Choose::Fill) => {
            let count = call.inputs[2].1[word(call, 0) as usize];
            value(format!("cannot assign {count} input values to the {index} places where the mask is true"))
        }
        Routine::Search(Search::Digitize) => value("bins must rise or fall".to_owned()),
        Routine::Unique(Unique::Starts) => {
            let count = call.out.1.size();
            value(format!("the numbers are not those of {count} groups, one after another"))
        }
        Routine::Linalg(_) => {
            let failure = if index == 0 { "is singular" } else { "is not positive definite" };
            let text = format!("{} {failure}", matrix(&call.inputs[0].1, raised.place as usize));
            Error::new(ErrorKind::Linear, text)
        }
        Routine::Draw(routine) => {
            let number = f64::from_bits(index as u64);
            value(match (routine, array) {
                (Draw::Gamma, _) => format!("alpha must not be negative: {number}"),
                (Draw::Poisson, _) => format!("lam must be neither negative nor too large: {number}"),
                (Draw::Multinomial, 2) => "p must not add up to more than 1".to_owned(),
                (Draw::Multinomial, 1) => "p must lie between 0 and 1".to_owned(),
                (_, 1) => format!("p must lie between 0 and 1: {number}"),
                _ => format!("n must be a count: {number}"),
            })
        }
        other => Error::new(ErrorKind::Runtime, format!("{} raised {raised:?}", other.name())),
    }
}

/// How a message calls the `i`-th matrix of a stack.
fn matrix(shape: &Shape, i: usize) -> String {
    let lead = &shape[..shape.rank() - 2];
    let mut rest = i;
    let mut place: Vec<String> = Vec::new();
    for extent in lead.iter().rev() {
        place.insert(0, (rest % extent).to_string());
        rest /= extent;
    }
    if place.is_empty() { "the matrix".to_owned() } else { format!("matrix [{}]", place.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forerun_base::DType;
    use forerun_ops::Linalg;

    fn said(routine: Routine, given: &[(DType, &[usize])], words: &[i64], raised: (i64, u64)) -> String {
        let inputs: Vec<_> = given.iter().map(|(dtype, dims)| (*dtype, Shape::of(dims))).collect();
        let out = routine.infer(&inputs, words).unwrap();
        let call = RoutineCall { routine, inputs, out, words: words.into() };
        complaint(&call, Raised { index: raised.0, place: raised.1 }).to_string()
    }

    #[test]
    fn an_index_is_named_with_its_axis() {
        let given = [(DType::F32, &[3, 4][..]), (DType::I64, &[5, 4])];
        let text = said(Routine::Along(Along::Take), &given, &[-2], (7, 11));
        assert_eq!(text, "index 7 is out of bounds for axis 0 with size 3");
        let given = [(DType::I64, &[5][..]), (DType::I32, &[5])];
        let words = [0, 3, 4, 1, 4, 1];
        let text = said(Routine::Place(Place::Positions), &given, &words, (-5, 1 << PLACE | 2));
        assert_eq!(text, "index -5 is out of bounds for axis 1 with size 4");
    }

    #[test]
    fn a_matrix_is_named_by_its_place_in_the_stack() {
        let given = [(DType::F64, &[2, 3, 4, 4][..])];
        assert_eq!(said(Routine::Linalg(Linalg::Inv), &given, &[0], (0, 4)), "matrix [1, 1] is singular");
        let given = [(DType::F64, &[4, 4][..])];
        let text = said(Routine::Linalg(Linalg::Cholesky), &given, &[0], (1, 0));
        assert_eq!(text, "the matrix is not positive definite");
    }

    #[test]
    fn a_parameter_is_named_with_its_value() {
        let given = [(DType::F64, &[2][..]), (DType::F64, &[2])];
        let bits = |x: f64| x.to_bits() as i64;
        let binomial = |raised| said(Routine::Draw(Draw::Binomial), &given, &[2], raised);
        assert_eq!(binomial((bits(-1.5), 1)), "n must be a count: -1.5");
        assert_eq!(binomial((bits(2.0), 1 << PLACE)), "p must lie between 0 and 1: 2");
    }
}
