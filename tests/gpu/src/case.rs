//! One kernel on the host and on the device: the same inputs, and a comparison of the results.

use crate::data::{bits, distance};
use crate::ledger::Ledger;
use forerun_base::{DType, Error, Kind, Result, Solo};
use forerun_cpu::CpuBackend;
use forerun_cuda::{DeviceIo, Gpu, Raised};
use forerun_plan::{Backend, Io as HostIo, Kernel, Lane};
use std::sync::Arc;

/// A kernel and its inputs.
pub(crate) struct Case {
    pub(crate) group: &'static str,
    pub(crate) name: String,
    pub(crate) kernel: Kernel,
    /// The bytes of each input, and the offset of its first element.
    pub(crate) inputs: Vec<(Vec<u8>, usize)>,
    pub(crate) scalars: Vec<u64>,
    pub(crate) outputs: Vec<(DType, usize)>,
    /// The tolerance: in ulp, or, if negative, relative to the largest element.
    pub(crate) off: f64,
}

/// What the device left: the outputs, and whether a status was raised.
pub(crate) struct Outcome {
    made: Vec<Vec<u8>>,
    pub(crate) raised: Option<Raised>,
}

/// Guard bytes around outputs.
const GUARD: usize = 64;

impl Case {
    /// Computes the outputs on the host.
    pub(crate) fn host(&self) -> Vec<Vec<u8>> {
        let executable = CpuBackend::new().compile(&self.kernel);
        let inputs: Vec<*const u8> = self.inputs.iter().map(|(b, first)| b.as_ptr().wrapping_add(*first)).collect();
        let mut made: Vec<Vec<u8>> = self.outputs.iter().map(|(d, n)| vec![0xa5; d.size() * n]).collect();
        let outputs: Vec<*mut u8> = made.iter_mut().map(|b| b.as_mut_ptr()).collect();
        // SAFETY: the buffers match the kernel's layouts.
        unsafe { executable.run(HostIo { inputs: &inputs, outputs: &outputs, scalars: &self.scalars }, &Solo) };
        made
    }

    /// The error on the host, if any.
    pub(crate) fn host_error(&self) -> Option<String> {
        let executable = CpuBackend::new().compile(&self.kernel);
        let inputs: Vec<*const u8> = self.inputs.iter().map(|(b, first)| b.as_ptr().wrapping_add(*first)).collect();
        let mut made: Vec<Vec<u8>> = self.outputs.iter().map(|(d, n)| vec![0; d.size() * n]).collect();
        let outputs: Vec<*mut u8> = made.iter_mut().map(|b| b.as_mut_ptr()).collect();
        let io = HostIo { inputs: &inputs, outputs: &outputs, scalars: &self.scalars };
        // SAFETY: the buffers match the kernel's layouts.
        let refused = unsafe { executable.check(io).and_then(|()| executable.attempt(io, &Solo)) };
        refused.err().map(|error| error.to_string())
    }

    /// What the device computes, with buffers `shift` bytes off their alignment.
    pub(crate) fn device(&self, gpu: &Arc<Gpu>, shift: usize) -> Result<Outcome> {
        let kernel = gpu.compile(&self.kernel);
        let mut held = Vec::new();
        let mut upload = |bytes: &[u8], lead: usize| {
            let room = bytes.len() + lead + GUARD;
            let address = gpu.alloc(room)?;
            held.push((address, room));
            // An earlier launch may still use the memory.
            let launched = gpu.record(Lane::Compute)?;
            gpu.wait(Lane::In, Lane::Compute, launched)?;
            // SAFETY: the memory was just allocated.
            unsafe { gpu.copy_in(bytes, address + lead as u64, &Solo)? };
            Ok::<u64, Error>(address + lead as u64)
        };
        let mut inputs = Vec::new();
        for (bytes, first) in &self.inputs {
            inputs.push(upload(bytes, shift)? + *first as u64);
        }
        let status = upload(&[0; Gpu::STATUS_BYTES], 0)?;
        let mut outputs = Vec::new();
        for (dtype, count) in &self.outputs {
            outputs.push(upload(&vec![0xa5; dtype.size() * count + GUARD], shift + GUARD)?);
        }
        let uploaded = gpu.record(Lane::In)?;
        gpu.wait(Lane::Compute, Lane::In, uploaded)?;
        let io = DeviceIo { inputs: &inputs, outputs: &outputs, scalars: &self.scalars, status };
        // SAFETY: the buffers are as the kernel's layouts say, and nobody else has them.
        unsafe { kernel.enqueue(io)? };
        let computed = gpu.record(Lane::Compute)?;
        gpu.wait(Lane::Out, Lane::Compute, computed)?;
        let mut made = Vec::new();
        for ((dtype, count), address) in self.outputs.iter().zip(outputs) {
            let mut bytes = vec![0; dtype.size() * count + GUARD];
            // SAFETY: as many bytes were uploaded there.
            unsafe { gpu.copy_out(address, &mut bytes, &Solo)? };
            made.push(bytes);
        }
        let mut words = [0; Gpu::STATUS_BYTES];
        // SAFETY: a status was uploaded there.
        unsafe { gpu.copy_out(status, &mut words, &Solo)? };
        gpu.synchronize()?;
        held.into_iter().try_for_each(|(address, room)| gpu.free(address, room))?;
        Ok(Outcome { made, raised: Gpu::read_status(&words) })
    }

    /// Compares host and device, with aligned and with shifted buffers.
    pub(crate) fn check(&self, gpu: &Arc<Gpu>, ledger: &mut Ledger) {
        let want = self.host();
        // Elements are aligned to their size.
        let made = self.outputs.iter().map(|(d, _)| d.size()).max().unwrap_or(4);
        let given = match &self.kernel {
            Kernel::Routine(call) => {
                call.inputs.iter().map(|(d, _)| d.size()).max().unwrap_or(4).max(call.out.0.size())
            }
            Kernel::Pointwise(program) => program.inputs.iter().map(|input| input.dtype.size()).max().unwrap_or(4),
            _ => 8,
        };
        let widest = made.max(given).max(8);
        for shift in [0, widest] {
            let outcome = match self.device(gpu, shift) {
                Err(error) => Err(error.to_string()),
                Ok(Outcome { raised: Some(raised), .. }) => Err(format!("a status was raised: {raised:?}")),
                Ok(Outcome { made, raised: None }) => {
                    self.compare(&made, &want).map_err(|text| format!("shift {shift}: {text}"))
                }
            };
            ledger.note(self.group, &self.name, outcome);
        }
    }

    fn compare(&self, got: &[Vec<u8>], want: &[Vec<u8>]) -> std::result::Result<f64, String> {
        let mut worst = 0.0f64;
        for (n, ((got, want), (dtype, _))) in got.iter().zip(want).zip(&self.outputs).enumerate() {
            let (body, guard) = got.split_at(want.len());
            if guard.iter().any(|byte| *byte != 0xa5) {
                return Err("wrote beyond its output".to_owned());
            }
            // Complex numbers are compared part by part.
            let dtype = if dtype.kind() == Kind::Complex { dtype.to_real() } else { *dtype };
            let (got, want) = (bits(dtype, body), bits(dtype, want));
            let value = |bits: u64| forerun_base::Scalar::from_bits(bits, dtype).as_f64();
            let largest = want.iter().map(|w| value(*w).abs()).filter(|w| w.is_finite()).fold(1e-30, f64::max);
            let (mut wrong, mut first, mut furthest) = (0, None, 0.0f64);
            for (i, (g, w)) in got.iter().zip(&want).enumerate() {
                let (off, limit) = if self.off < 0.0 && value(*w).is_finite() {
                    ((value(*g) - value(*w)).abs() / largest, -self.off)
                } else {
                    (distance(dtype, *g, *w), self.off.max(0.0))
                };
                furthest = furthest.max(off);
                // This comparison also fails for NaN.
                if off.partial_cmp(&limit).is_none_or(|order| order.is_gt()) {
                    wrong += 1;
                    first = first.or(Some((i, value(*g), value(*w))));
                }
            }
            if let Some((i, g, w)) = first {
                let (count, length) = (wrong, want.len());
                return Err(format!(
                    "output {n}: {count} of {length} differ, by up to {furthest}; element {i} is {g:e}, not {w:e}"
                ));
            }
            worst = worst.max(furthest);
        }
        Ok(worst)
    }
}
