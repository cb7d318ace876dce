//! A call of a world, and what the naive world says of it: the same result, or the same refusal.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use megachunk::prelude::*;
use megachunk::world::SliceReport;

use crate::world_fragments::{Fused, Ledger};
use crate::world_naive::Refusal;

/// Calls `call` with the fuse armed; what the fuse panicked with, if it did.
pub(crate) fn fused<R>(ledger: &Ledger, fuse: u8, call: impl FnOnce() -> R) -> Result<R, Fused> {
    ledger.arm(if fuse & 0x80 == 0 {
        0
    } else {
        1 + u32::from(fuse & 0x7f)
    });
    let result = catch_unwind(AssertUnwindSafe(call));
    ledger.arm(0);
    result.map_err(|panic| match panic.downcast::<Fused>() {
        Ok(fused) => *fused,
        Err(panic) => resume_unwind(panic),
    })
}

pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    real: Result<T, WorldError>,
    expected: Result<T, Refusal>,
    what: &str,
) {
    match (real, expected) {
        (Ok(real), Ok(expected)) => assert_eq!(real, expected, "{what}"),
        (Err(error), Err(refusal)) => assert_eq!(Refusal::of(&error), refusal, "{what}: {error}"),
        (real, expected) => panic!("{what}: {real:?}, not {expected:?}"),
    }
}

pub(crate) fn same_report(report: &SliceReport, expected: &[Result<bool, Refusal>]) {
    let refused: Vec<_> = report
        .refused
        .iter()
        .map(|(at, e)| (*at, Refusal::of(e)))
        .collect();
    let model = expected.iter().enumerate();
    let model: Vec<_> = model.filter_map(|(at, e)| Some((at, e.err()?))).collect();
    assert_eq!(refused, model);
    assert_eq!(
        report.done,
        expected.iter().filter(|e| **e == Ok(true)).count()
    );
    assert_eq!(report.is_clean(), model.is_empty());
}
