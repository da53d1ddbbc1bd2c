//! `.await` on arrays: the executor's thread is free until the engine has the elements.

use crate::array::Array;
use crate::array::read::Snapshot;
use crate::array::wait::Wait;
use forerun_base::{Loc, Result};
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The elements of an array, once they are there.
pub struct ReadyFuture {
    array: Array,
    loc: Loc,
}

impl IntoFuture for &Array {
    type Output = Result<Snapshot>;
    type IntoFuture = ReadyFuture;

    #[track_caller]
    fn into_future(self) -> ReadyFuture {
        ReadyFuture { array: self.clone(), loc: Loc::caller() }
    }
}

impl IntoFuture for Array {
    type Output = Result<Snapshot>;
    type IntoFuture = ReadyFuture;

    #[track_caller]
    fn into_future(self) -> ReadyFuture {
        ReadyFuture { array: self, loc: Loc::caller() }
    }
}

impl Future for ReadyFuture {
    type Output = Result<Snapshot>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Snapshot>> {
        if !self.array.settled_or_wake(context.waker()) {
            return Poll::Pending;
        }
        Poll::Ready(self.array.snapshot_with(&Wait { allowed: true, ..Wait::at(self.loc, "await") }))
    }
}
