//! Checks of values.

use crate::routine::call::{Body, HostKernel};
use forerun_base::{Error, ErrorKind};
use forerun_ops::Constraint;
use forerun_plan::RoutineCall;

impl HostKernel for Constraint {
    fn body(&self) -> Body {
        |args, _| {
            if args.input::<u8>(0).contains(&0) {
                let text = String::from_utf8_lossy(args.input::<u8>(1)).into_owned();
                return Err(Error::new(ErrorKind::Value, text));
            }
            args.output::<u8>().fill(1);
            Ok(())
        }
    }

    fn scratch(&self, _: &RoutineCall, _: usize) -> usize {
        0
    }
}
