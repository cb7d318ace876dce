//! Mutants: deliberate faults in the protocols, for the gate that shows that the models find them.

#[cfg(not(loom))]
mod off {
    use crate::sync::atomic::Ordering;

    #[inline(always)]
    pub(crate) const fn active(_name: &'static str) -> bool {
        false
    }

    #[inline(always)]
    pub(crate) const fn ordering(_name: &'static str, order: Ordering) -> Ordering {
        order
    }
}

#[cfg(not(loom))]
pub(crate) use off::{active, ordering};
