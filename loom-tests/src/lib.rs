//! Loom models, mutation gate, stall table and history check; see the folder `tests/`.
