//! `.await` on arrays: the executor's thread stays free until the elements are ready.

use crate::array::Array;
use crate::array::read::Snapshot;
use crate::array::wait::Wait;
use forerun_base::{Loc, Result};
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Resolves when the elements of an array are ready.
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
