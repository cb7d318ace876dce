//! `SystemError`: what the system said, as a value that can be copied and compared.

use core::error::Error;
use core::fmt;
use core::ops::Deref;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::io;
use std::sync::Arc;

/// What the system said when it refused something: an [`io::Error`], to which it derefs, that can
/// be cloned. Two are equal that have one kind, one number and one text.
#[derive(Clone, Debug)]
pub struct SystemError(Arc<io::Error>);

// It is only read: a panic meanwhile leaves it as it was.
impl UnwindSafe for SystemError {}
impl RefUnwindSafe for SystemError {}

impl Deref for SystemError {
    type Target = io::Error;

    fn deref(&self) -> &io::Error {
        &self.0
    }
}

impl From<io::Error> for SystemError {
    fn from(error: io::Error) -> Self {
        Self(Arc::new(error))
    }
}

impl PartialEq for SystemError {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind()
            && self.raw_os_error() == other.raw_os_error()
            && self.to_string() == other.to_string()
    }
}

impl Eq for SystemError {}

impl fmt::Display for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for SystemError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
