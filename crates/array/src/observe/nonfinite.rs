//! Finds the op that produced the first NaN or infinity from finite numbers.
//!
//! After every op with a float result, an observer of the thread submits a check that all elements of the result are
//! finite, and the same for its inputs. No thread waits for the checks: they are read when the thread reads a value
//! anyway, and at the end. Ops without inputs are not reported, because a nonfinite constant is intended; nor are ops
//! with a nonfinite scalar argument.

use crate::array::wait::Wait;
use crate::array::{Arg, Array};
use crate::observe::observers::{ObservedOp, Observer, add_observer, remove_observer, unobserved};
use crate::observe::origin::Origin;
use crate::observe::read_hooks;
use crate::ops;
use forerun_base::{DType, Error, ErrorKind, Kind, Loc, Result, Scalar, Shape};
use forerun_ops::{Point, ReduceKind};
use forerun_plan::{Attrs, Signature};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// The checks of an op: scalars that state whether all elements are finite.
struct Check {
    origin: Origin,
    dtype: DType,
    shape: Shape,
    result: Array,
    inputs: Vec<Array>,
}

/// Checks every op that its thread submits.
#[derive(Default)]
struct Detector {
    checks: RefCell<VecDeque<Check>>,
    found: RefCell<Option<Error>>,
    /// The first nonfinite result was found: no more checks are submitted.
    over: Cell<bool>,
}

thread_local! {
    static DETECTOR: RefCell<Option<Rc<Detector>>> = const { RefCell::new(None) };
}

/// Whether the calling thread detects nonfinite values; its reads may then wait for more than their value.
#[inline]
pub fn detects_nonfinite() -> bool {
    read_hooks::bits(read_hooks::DETECTS) != 0
}

fn set_detects(on: bool) {
    read_hooks::set(read_hooks::DETECTS, if on { read_hooks::DETECTS } else { 0 });
}

/// Starts the detection on the calling thread.
pub fn start_detecting() -> Result<()> {
    if detects_nonfinite() {
        return Err(Error::new(ErrorKind::Runtime, "is already on").in_op("detect_nonfinite"));
    }
    let detector = Rc::new(Detector::default());
    DETECTOR.set(Some(detector.clone()));
    set_detects(true);
    add_observer(detector);
    Ok(())
}

/// Ends the detection on the calling thread. Waits, and fails if a nonfinite result was found that no read has
/// reported.
pub fn stop_detecting(wait: &Wait<'_>) -> Result<()> {
    let Some(detector) = DETECTOR.take() else { return Ok(()) };
    set_detects(false);
    let observer: Rc<dyn Observer> = detector.clone();
    remove_observer(&observer);
    detector.report(wait)
}

/// Ends the detection on the calling thread without waiting or reporting.
pub fn abandon_detecting() {
    if let Some(detector) = DETECTOR.take() {
        set_detects(false);
        let observer: Rc<dyn Observer> = detector;
        remove_observer(&observer);
    }
}

/// Runs `f` and detects the first op in it that produces a NaN or an infinity from finite numbers.
#[track_caller]
pub fn detect_nonfinite<R>(f: impl FnOnce() -> R) -> Result<R> {
    struct Stop;
    impl Drop for Stop {
        fn drop(&mut self) {
            // Only after a panic is the detection still on here; it is not reported then.
            abandon_detecting();
        }
    }
    let loc = Loc::caller();
    start_detecting()?;
    let _stop = Stop;
    let result = f();
    stop_detecting(&Wait::at(loc, "detect_nonfinite"))?;
    Ok(result)
}

/// Called when the thread reads: fails if a nonfinite result was found that no read has reported.
pub(crate) fn check(wait: &Wait<'_>) -> Result<()> {
    if detects_nonfinite() { report_now(wait) } else { Ok(()) }
}

#[cold]
fn report_now(wait: &Wait<'_>) -> Result<()> {
    let Some(detector) = DETECTOR.with_borrow(Clone::clone) else { return Ok(()) };
    // Off meanwhile, because this reads the checks.
    set_detects(false);
    let reported = detector.report(wait);
    set_detects(true);
    reported
}

impl Detector {
    fn report(&self, wait: &Wait<'_>) -> Result<()> {
        while !self.over.get() {
            let Some(check) = self.checks.borrow_mut().pop_front() else { break };
            if let Err(interrupted) = unobserved(|| self.read_check(&check, wait)) {
                self.checks.borrow_mut().push_front(check);
                return Err(interrupted);
            }
        }
        match self.found.take() {
            Some(error) => Err(error.read_at(wait.loc)),
            None => Ok(()),
        }
    }

    /// Reads the results of a check; fails only if that is interrupted.
    fn read_check(&self, check: &Check, wait: &Wait<'_>) -> Result<()> {
        let finite = |flag: &Array| match flag.item_with(&Wait { allowed: true, ..*wait }) {
            Ok(item) => Ok(item.as_f64() != 0.0),
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
            // A failed value is reported by its own reader.
            Err(_) => Ok(true),
        };
        if finite(&check.result)? {
            return Ok(());
        }
        for input in &check.inputs {
            if !finite(input)? {
                return Ok(());
            }
        }
        let Origin { op, loc } = check.origin;
        let (dtype, shape) = (check.dtype, check.shape);
        let text = format!("produced a NaN or an infinity from finite numbers, in {dtype} of shape {shape}");
        *self.found.borrow_mut() = Some(Error::new(ErrorKind::Float, text).in_op(op).submitted_at(loc));
        self.over.set(true);
        Ok(())
    }

    /// Reads finished checks, so that they do not pile up in a long program.
    fn read_settled(&self) {
        let is_settled = |x: &Array| x.cell().with_current(|value| value.is_settled());
        loop {
            let mut checks = self.checks.borrow_mut();
            if !checks.front().is_some_and(|q| is_settled(&q.result) && q.inputs.iter().all(is_settled)) {
                return;
            }
            let Some(check) = checks.pop_front() else { return };
            drop(checks);
            set_detects(false);
            // An interrupt is impossible, because this does not wait.
            let _ = unobserved(|| self.read_check(&check, &Wait::default()));
            set_detects(true);
        }
    }
}

/// Submits a check that all elements are finite, a scalar; `None` if they always are.
fn submit_check(x: &Array, loc: Loc) -> Option<Array> {
    if x.dtype().kind() != Kind::Float || x.size() == 0 {
        return None;
    }
    let finite = ops::pointwise(Point::IsFinite, &[Arg::Array(x)], loc).ok()?;
    ops::reduce(ReduceKind::Min, &finite, None, false, loc).ok()
}

/// Whether a scalar argument of the op is not finite.
fn has_nonfinite_number(signature: &Signature, immediates: [u64; 2]) -> bool {
    let (dtype, count) = match signature.attrs {
        Attrs::Point { compute, scalars, .. } => (compute, scalars.count_ones() as usize),
        // The other immediate is an offset, too small to be mistaken for a nonfinite number.
        Attrs::Update(_) if signature.inputs.len() == 1 => (signature.out.dtype, 2),
        _ => return false,
    };
    immediates[..count.min(2)].iter().any(|bits| !Scalar::from_bits(*bits, dtype).as_f64().is_finite())
}

impl Observer for Detector {
    fn submitted(&self, note: &ObservedOp<'_>) {
        if self.over.get() || note.inputs.is_empty() || has_nonfinite_number(note.signature, note.immediates) {
            return;
        }
        // Checks are not part of the program: no tape and no capture may see them.
        unobserved(|| {
            let result = note.freeze_result();
            let Some(result) = submit_check(&result, note.loc) else { return };
            let inputs = note.inputs.iter().filter_map(|x| submit_check(x, note.loc)).collect();
            let origin = Origin { op: note.signature.op.name(), loc: note.loc };
            let out = &note.signature.out;
            let check = Check { origin, dtype: out.dtype, shape: out.shape(), result, inputs };
            self.checks.borrow_mut().push_back(check);
        });
        self.read_settled();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_checks_are_dropped() {
        let loc = Loc::caller();
        let mut x = ops::full(&[2], Scalar::Float(1.0), DType::F32, loc).unwrap();
        start_detecting().unwrap();
        for _ in 0..100 {
            x = ops::pointwise(Point::Multiply, &[Arg::Array(&x), Arg::Scalar(Scalar::Float(1.0))], loc).unwrap();
            // Another thread may be planning at the moment.
            while !x.settled_now() {
                std::thread::yield_now();
            }
        }
        let open = DETECTOR.with_borrow(|detector| detector.as_ref().unwrap().checks.borrow().len());
        assert!(open <= 2, "{open} checks are open");
        stop_detecting(&Wait::default()).unwrap();
    }

    #[test]
    fn errors_name_the_rust_line() {
        let found = detect_nonfinite(|| {
            let zero = ops::full(&[2], Scalar::Float(0.0), DType::F32, Loc::caller()).unwrap();
            zero.log()
        });
        let error = found.map(|_| ()).unwrap_err();
        assert_eq!((error.kind(), error.op()), (ErrorKind::Float, "log"));
        assert!(!detects_nonfinite());
    }
}
