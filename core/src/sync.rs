//! The one place that names an atomic type, so that loom's can stand in for it when the model checker runs.

#[cfg(not(all(test, loom)))]
pub(crate) use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};

#[cfg(all(test, loom))]
pub(crate) use loom::sync::atomic::{AtomicI64, AtomicU64, Ordering};
