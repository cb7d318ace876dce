//! **References, not the product**: what [`EntityIndex`](crate::entity) is measured against.
