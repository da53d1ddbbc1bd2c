//! Handles: what C has in place of an array, a network or another object.
//!
//! In a release build a handle is the address of the object. With debug assertions it is a number that is never used
//! twice, looked up in a table: a handle that was freed, or one of another type, is an error and not undefined behaviour.

use crate::abi::{forerun_archive, forerun_array, forerun_network, forerun_optimiser, forerun_snapshot};
use crate::error::Failure;
use crate::optimiser::Trained;
use forerun::nn::Network;
use forerun::{Array, Snapshot};

/// An opaque type of the header, and the object behind its handles.
pub(crate) trait Opaque: Sized {
    type Object: 'static;
    const NAME: &'static str;
}

macro_rules! opaque {
    ($($handle:ty: $object:ty, $name:literal;)*) => {$(
        impl Opaque for $handle {
            type Object = $object;
            const NAME: &'static str = $name;
        }
    )*};
}

opaque! {
    forerun_array: Array, "array";
    forerun_snapshot: Snapshot, "snapshot";
    forerun_archive: Vec<(std::ffi::CString, Array)>, "archive";
    forerun_network: Network, "network";
    forerun_optimiser: Trained, "optimiser";
}

fn null<T: Opaque>() -> Failure {
    Failure::handle(format!("the handle of the {} is null", T::NAME))
}

#[cfg(not(debug_assertions))]
mod table {
    use super::{Opaque, null};
    use crate::error::Failure;

    pub(crate) type Borrowed<'a, T> = &'a <T as Opaque>::Object;

    /// The handle of a new object.
    #[inline]
    pub(crate) fn give<T: Opaque>(object: T::Object) -> *mut T {
        Box::into_raw(Box::new(object)).cast()
    }

    /// The object of a handle.
    ///
    /// # Safety
    /// The handle is null or comes from [`give`], and is not freed before the end of `'a`.
    #[inline]
    pub(crate) unsafe fn borrow<'a, T: Opaque>(handle: *const T) -> Result<Borrowed<'a, T>, Failure> {
        // SAFETY: the caller's guarantee.
        unsafe { handle.cast::<T::Object>().as_ref() }.ok_or_else(null::<T>)
    }

    /// Frees a handle; null is none.
    ///
    /// # Safety
    /// The handle is null or comes from [`give`], and nobody uses it afterwards.
    #[inline]
    pub(crate) unsafe fn free<T: Opaque>(handle: *mut T) -> Result<(), Failure> {
        if !handle.is_null() {
            // SAFETY: the caller's guarantee.
            drop(unsafe { Box::from_raw(handle.cast::<T::Object>()) });
        }
        Ok(())
    }
}

#[cfg(debug_assertions)]
mod table {
    use super::{Opaque, null};
    use crate::error::Failure;
    use std::any::Any;
    use std::collections::HashMap;
    use std::marker::PhantomData;
    use std::ops::Deref;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

    /// An object in the table.
    struct Kept<T>(T);

    // SAFETY: the objects may move between threads, and the header allows one thread at a time to use a handle.
    unsafe impl<T> Send for Kept<T> {}
    // SAFETY: as above.
    unsafe impl<T> Sync for Kept<T> {}

    type Table = HashMap<usize, Arc<dyn Any + Send + Sync>>;

    fn table() -> MutexGuard<'static, Table> {
        static TABLE: OnceLock<Mutex<Table>> = OnceLock::new();
        TABLE.get_or_init(Default::default).lock().unwrap_or_else(|e| e.into_inner())
    }

    /// An object that stays alive while it is used, even if another thread frees its handle.
    pub(crate) struct Borrowed<'a, T: Opaque>(Arc<Kept<T::Object>>, PhantomData<&'a T>);

    impl<T: Opaque> Deref for Borrowed<'_, T> {
        type Target = T::Object;

        fn deref(&self) -> &T::Object {
            &self.0.0
        }
    }

    /// The handle of a new object.
    pub(crate) fn give<T: Opaque>(object: T::Object) -> *mut T {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed) << 4;
        table().insert(number, Arc::new(Kept(object)));
        std::ptr::without_provenance_mut(number)
    }

    fn stale<T: Opaque>() -> Failure {
        Failure::handle(format!("the handle is not that of a live {}", T::NAME))
    }

    /// The object of a handle.
    ///
    /// # Safety
    /// Any handle is safe here.
    pub(crate) unsafe fn borrow<'a, T: Opaque>(handle: *const T) -> Result<Borrowed<'a, T>, Failure> {
        if handle.is_null() {
            return Err(null::<T>());
        }
        let found = table().get(&handle.addr()).cloned();
        let found = found.and_then(|found| found.downcast::<Kept<T::Object>>().ok()).ok_or_else(stale::<T>)?;
        Ok(Borrowed(found, PhantomData))
    }

    /// Frees a handle; null is none.
    ///
    /// # Safety
    /// Any handle is safe here.
    pub(crate) unsafe fn free<T: Opaque>(handle: *mut T) -> Result<(), Failure> {
        if handle.is_null() {
            return Ok(());
        }
        let mut table = table();
        match table.get(&handle.addr()) {
            Some(found) if found.is::<Kept<T::Object>>() => {
                let removed = table.remove(&handle.addr());
                // The object may hold others, and is dropped after the lock is released.
                drop(table);
                drop(removed);
                Ok(())
            }
            _ => Err(stale::<T>()),
        }
    }
}

pub(crate) use table::{Borrowed, borrow, free, give};
