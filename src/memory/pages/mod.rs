//! `Pages`: addresses, and memory there where it is wanted, as this system has them.
//!
//! One file for each way a system does it, each with the same methods; offsets and lengths are in
//! bytes, from [`Pages::start`] on.
//!
//! | file | systems | memory comes | and goes |
//! |---|---|---|---|
//! | `mapped` | Linux and other Unix | on first touch, wherever there are addresses | by advice to the system on Linux, Android and Apple's; else never before the end |
//! | `windows` | Windows | once it is committed, on first touch | when it is decommitted |
//! | `heap` | Miri, which has no addresses without memory | at once | never before the end |

#[cfg(miri)]
mod heap;
#[cfg(not(any(miri, windows)))]
mod mapped;
#[cfg(all(windows, not(miri)))]
mod windows;

#[cfg(miri)]
pub(super) use heap::Pages;
#[cfg(not(any(miri, windows)))]
pub(super) use mapped::Pages;
#[cfg(all(windows, not(miri)))]
pub(super) use windows::Pages;
