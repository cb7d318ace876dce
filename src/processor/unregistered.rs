//! What says that `register_processor!` is behind a feature.

/// Registers a processor where it is written: with the feature `inventory`, which is not switched on.
///
/// ```compile_fail
/// use megachunk::prelude::*;
///
/// megachunk::register_processor!(processor("age", |mut ages: QueryRun<&mut u32>| ages.for_each(|age| *age += 1)));
/// ```
#[macro_export]
macro_rules! register_processor {
    ($($processor:tt)*) => {
        $crate::fragment::__core::compile_error!(
            "`register_processor!` is behind the feature `inventory` of megachunk: `features = [\"inventory\"]` in Cargo.toml"
        );
    };
}
