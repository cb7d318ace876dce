//! Placeholder root; see the package's folders.
