//! The traces that the program carries in itself, so that it needs no file at run time.

use super::Trace;

const SHIPPED: [(&str, &[u8]); 3] = [
    (
        "python",
        include_bytes!("../../data/traces/python.trace.gz"),
    ),
    ("gcc", include_bytes!("../../data/traces/gcc.trace.gz")),
    ("node", include_bytes!("../../data/traces/node.trace.gz")),
];

impl Trace {
    /// The names of the traces in `data/traces`.
    pub fn shipped_names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|&(name, _)| name)
    }

    /// The shipped trace of that name, read from the program itself; `None` if there is none.
    ///
    /// # Panics
    /// If the program was built with a damaged trace; a test reads each.
    #[must_use]
    pub fn shipped(name: &str) -> Option<Self> {
        let &(name, bytes) = SHIPPED.iter().find(|&&(shipped, _)| shipped == name)?;
        match Self::from_reader(name, bytes) {
            Ok(trace) => Some(trace),
            Err(error) => panic!("the trace in the program is damaged: {error}"),
        }
    }
}
