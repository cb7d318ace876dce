//! Parallel work on threads of a program's own: the same as on rayon's, whatever these threads do.
//!
//! No test here asks rayon's global pool for anything: one asks that it was never made.

#![cfg(feature = "world")]

mod contract;
mod same;
mod teams;
