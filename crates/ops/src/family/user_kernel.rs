//! A user's kernel in CUDA C, as an op. Its source is interned: attributes name it by a number, which is valid in this process only, so
//! files cannot contain these ops.
//!
//! The op is functional: the arrays that the kernel writes come first among the inputs, and the result has their values after the
//! launch. One written array is the result itself. Several are packed as bytes, and [`UserKernel::Output`] takes one out.

use crate::gradient::Needs;
use crate::routine::{Attributes, Family, Given, List, attributes, family, invalid, mistyped};
use crate::samples::{Input, Sample, Values, call, x};
use forerun_base::DType::{self, F32, I16, U8};
use forerun_base::{Result, Shape};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

family! {
    /// Launches of kernels that users give as text.
    UserKernel {
        Launch {
            name: "user_kernel",
            inputs: [written, ...],
            attributes: KernelLaunch,
            fallible: true,
            doc: "the first input as a kernel in CUDA C leaves it",
        }
        LaunchPacked {
            name: "user_kernel_packed",
            inputs: [written, ...],
            attributes: KernelLaunch,
            fallible: true,
            doc: "the first inputs as a kernel in CUDA C leaves them, packed as bytes",
        }
        Output {
            name: "user_kernel_output",
            inputs: [packed, like],
            attributes: KernelOutput,
            fallible: false,
            doc: "the bytes from an offset on as an array like another one",
        }
    }
}

attributes! {
    /// The attributes of `user_kernel` and `user_kernel_packed`.
    KernelLaunch {
        /// The number of the source, as [`intern`] returned it.
        kernel: i64,
        /// Two numbers per parameter: 0 and the number of an input, or the size of a scalar and its bits.
        parameters: List<i64>,
        /// Blocks along each axis.
        grid: List<i64>,
        /// Threads of a block along each axis.
        block: List<i64>,
        /// Bytes of dynamic shared memory.
        shared: i64,
        /// How many inputs the kernel writes.
        written: i64,
    }
    /// The attributes of `user_kernel_output`.
    KernelOutput {
        /// The first byte.
        offset: i64,
    }
}

/// A kernel's source, and what its compilation depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KernelSource {
    /// The text in CUDA C.
    pub text: String,
    /// The options of the compiler.
    pub options: Vec<String>,
    /// The name of the function.
    pub function: String,
}

#[derive(Default)]
struct Sources {
    all: Vec<&'static KernelSource>,
    numbers: HashMap<&'static KernelSource, usize>,
}

static SOURCES: LazyLock<Mutex<Sources>> = LazyLock::new(Mutex::default);

/// The number of a source in this process, from 1 on. Sources are kept until the process ends, like source lines.
pub fn intern(source: KernelSource) -> i64 {
    let mut sources = SOURCES.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(number) = sources.numbers.get(&source) {
        return *number as i64;
    }
    let kept: &'static KernelSource = Box::leak(Box::new(source));
    sources.all.push(kept);
    let number = sources.all.len();
    sources.numbers.insert(kept, number);
    number as i64
}

/// The source with this number.
pub fn source(number: i64) -> Result<&'static KernelSource> {
    let sources = SOURCES.lock().unwrap_or_else(|e| e.into_inner());
    let found = usize::try_from(number).ok().and_then(|n| n.checked_sub(1)).and_then(|n| sources.all.get(n));
    found.copied().map_or_else(|| invalid(format!("there is no kernel {number}")), Ok)
}

/// Where packed outputs start: at multiples of so many bytes, as allocations do.
const ALIGNMENT: usize = 256;

/// The offset of each packed output in bytes, and the number of bytes of all.
pub fn packed_offsets(written: &[Given]) -> (Vec<usize>, usize) {
    let mut end = 0;
    let offsets = written.iter().map(|(dtype, shape)| {
        let begin = end;
        end += (shape.size() * dtype.size()).next_multiple_of(ALIGNMENT);
        begin
    });
    (offsets.collect(), end)
}

impl KernelLaunch {
    /// The parameters in order.
    pub fn arguments(&self) -> impl Iterator<Item = KernelArgument> {
        self.parameters.chunks(2).map(|pair| match pair {
            [0, input] => KernelArgument::Input(*input as usize),
            [_, bits] => KernelArgument::Scalar(*bits as u64),
            _ => unreachable!("inference checked the pairs"),
        })
    }

    fn check(&self, given: &[Given]) -> Result<usize> {
        let source = source(self.kernel)?;
        let name = &source.function;
        let is_size = |list: &[i64]| list.len() == 3 && list.iter().all(|n| (1..=i32::MAX as i64).contains(n));
        if !is_size(&self.grid) || !is_size(&self.block) {
            return invalid(format!(
                "{name}: grid {:?} and block {:?} must be three positive numbers each",
                &self.grid[..],
                &self.block[..]
            ));
        }
        if !(0..=i32::MAX as i64).contains(&self.shared) {
            return invalid(format!("{name}: {} bytes of shared memory", self.shared));
        }
        let known = |pair: &[i64]| match pair {
            [0, input] => (0..given.len() as i64).contains(input),
            [size, _] => matches!(size, 1 | 2 | 4 | 8),
            _ => false,
        };
        if !self.parameters.chunks(2).all(known) {
            return invalid(format!("{name}: {:?} are no parameters", &self.parameters[..]));
        }
        match usize::try_from(self.written) {
            Ok(written) if (1..=given.len()).contains(&written) => Ok(written),
            _ => invalid(format!("{name}: writes {} of {} arrays", self.written, given.len())),
        }
    }
}

/// What a kernel receives for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelArgument {
    /// The address of an input; of a written one, that of its place in the result.
    Input(usize),
    /// A number, as bits.
    Scalar(u64),
}

impl Family for UserKernel {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        match self {
            UserKernel::Launch => match KernelLaunch::read(attributes)?.check(given)? {
                1 => Ok(given[0]),
                written => invalid(format!("writes one array, not {written}")),
            },
            UserKernel::LaunchPacked => {
                let written = KernelLaunch::read(attributes)?.check(given)?;
                Ok((U8, Shape::new(&[packed_offsets(&given[..written]).1])?.checked()?))
            }
            UserKernel::Output => {
                let KernelOutput { offset } = KernelOutput::read(attributes)?;
                let ((dtype, shape), (like, wanted)) = (given[0], given[1]);
                if dtype != U8 || shape.rank() != 1 {
                    return mistyped(format!("needs bytes of one dimension, got {dtype} {shape}"));
                }
                let bytes = wanted.size() * like.size();
                match usize::try_from(offset) {
                    Ok(offset) if offset.checked_add(bytes).is_some_and(|end| end <= shape.size()) => {
                        Ok((like, wanted))
                    }
                    _ => invalid(format!("{like} {wanted} from byte {offset} on is not within {} bytes", shape.size())),
                }
            }
        }
    }

    fn cost(self, given: &[Given], _: &Given, _: &[i64]) -> usize {
        given.iter().map(|(_, shape)| shape.size()).fold(0, usize::saturating_add)
    }

    fn needs(self, _: usize) -> Option<Needs> {
        None
    }

    fn in_place(self) -> bool {
        self == UserKernel::Launch
    }

    fn takes_complex(self) -> bool {
        true
    }

    fn samples() -> Vec<Sample> {
        let launch = |name: &'static str| {
            let sample = call(name).with("kernel", 0).with("parameters", [0, 0]).with("grid", [1, 1, 1]);
            sample.with("block", [1, 1, 1]).with("shared", 0).with("written", 1)
        };
        let output = |offset: i64| call("user_kernel_output").with("offset", offset);
        let bytes = |count: usize| x([count]).values(Values::Rising).dtype(U8);
        let like = |shape: &[usize], dtype: DType| Input { shape: shape.to_vec(), ..x([]) }.dtype(dtype);
        vec![
            launch("user_kernel").on([x([3])]).of([F32]).fails("user_kernel: there is no kernel 0"),
            launch("user_kernel_packed").on([x([3])]).of([F32]).fails("user_kernel_packed: there is no kernel 0"),
            output(0).on([bytes(6), like(&[2, 3], U8)]).of([U8]),
            output(4).on([bytes(12), like(&[2, 2], I16)]).of([U8]),
            output(6).on([bytes(6), like(&[0, 3], I16)]).of([U8]),
            output(2)
                .on([bytes(6), like(&[2, 3], U8)])
                .of([U8])
                .fails("user_kernel_output: uint8 (2, 3) from byte 2 on is not within 6 bytes"),
            output(0).on([x([6]), like(&[6], U8)]).of([F32]).fails("user_kernel_output: needs bytes"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel() -> i64 {
        intern(KernelSource { text: "text".to_owned(), options: Vec::new(), function: "twice".to_owned() })
    }

    fn launch(change: impl FnOnce(&mut KernelLaunch)) -> KernelLaunch {
        let list = List::from_slice;
        let mut launch = KernelLaunch {
            kernel: kernel(),
            parameters: list(&[0, 1, 0, 0, 4, 7]),
            grid: list(&[2, 1, 1]),
            block: list(&[64, 1, 1]),
            shared: 0,
            written: 1,
        };
        change(&mut launch);
        launch
    }

    #[test]
    fn equal_sources_have_one_number() {
        assert_eq!(kernel(), kernel());
        assert_eq!(source(kernel()).unwrap().function, "twice");
        for number in [0, -1, i64::MAX] {
            assert_eq!(source(number).unwrap_err().to_string(), format!("there is no kernel {number}"));
        }
    }

    #[test]
    fn one_written_array_is_the_result_and_several_are_packed() {
        let given = [(F32, Shape::of(&[3, 5])), (I16, Shape::of(&[200])), (U8, Shape::of(&[7]))];
        let one = launch(|_| {});
        assert_eq!(UserKernel::Launch.infer(&given, &one.encode()).unwrap(), given[0]);
        let three = launch(|launch| launch.written = 3);
        assert_eq!(UserKernel::LaunchPacked.infer(&given, &three.encode()).unwrap(), (U8, Shape::of(&[1024])));
        assert_eq!(packed_offsets(&given), (vec![0, 256, 768], 1024));
        assert!(UserKernel::Launch.infer(&given, &three.encode()).is_err());
        let arguments: Vec<_> = one.arguments().collect();
        assert_eq!(arguments, [KernelArgument::Input(1), KernelArgument::Input(0), KernelArgument::Scalar(7)]);
    }

    #[test]
    fn a_launch_that_no_kernel_can_have_is_refused() {
        let given = [(F32, Shape::of(&[3])), (F32, Shape::of(&[3]))];
        let said = |launch: KernelLaunch| UserKernel::Launch.infer(&given, &launch.encode()).unwrap_err().to_string();
        assert!(said(launch(|l| l.grid[1] = 0)).starts_with("twice: grid [2, 0, 1] and block [64, 1, 1] must be"));
        assert!(said(launch(|l| l.block.truncate(2))).contains("block [64, 1]"));
        assert_eq!(said(launch(|l| l.shared = -1)), "twice: -1 bytes of shared memory");
        assert_eq!(said(launch(|l| l.parameters[1] = 2)), "twice: [0, 2, 0, 0, 4, 7] are no parameters");
        assert!(said(launch(|l| l.parameters[4] = 3)).ends_with("are no parameters"));
        assert!(said(launch(|l| l.parameters.truncate(5))).ends_with("are no parameters"));
        assert_eq!(said(launch(|l| l.written = 0)), "twice: writes 0 of 2 arrays");
        assert_eq!(said(launch(|l| l.written = 3)), "twice: writes 3 of 2 arrays");
    }
}
