//! The shape of a plain type: a number that tells types apart whose values have as many bytes, by what their fields are
//! called and are.
//!
//! Stands in files: numbers of what has not changed must not change either. `plain!` computes it in the user's crate, when
//! that is compiled.

use crate::fragment::PlainField;

/// Of a type of which nothing is known.
const UNKNOWN: u64 = 0;
/// FNV-1a begins with it.
const BEGIN: u64 = 0xcbf2_9ce4_8422_2325;
/// FNV-1a multiplies by it.
const PRIME: u64 = 0x0000_0100_0000_01b3;
/// Between a name and what follows: no text has this byte.
const END_OF_NAME: u8 = 0xff;

/// FNV-1a goes on.
const fn add(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(PRIME);
        at += 1;
    }
    hash
}

/// FNV-1a comes to its end: each bit counts in each, so that sums of several tell, too, which belongs to which.
const fn finish(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

/// A shape that is known.
const fn known(hash: u64) -> u64 {
    if hash == UNKNOWN { 1 } else { hash }
}

/// That of a type that all programs call so.
pub(super) const fn of_name(name: &str) -> u64 {
    known(finish(add(add(BEGIN, b"type"), name.as_bytes())))
}

/// That of an array of so many of a type that has a shape.
pub(super) const fn of_array(length: usize, shape: u64) -> u64 {
    if shape == UNKNOWN {
        return UNKNOWN;
    }
    let hash = add(add(BEGIN, b"array"), &(length as u64).to_le_bytes());
    known(finish(add(hash, &shape.to_le_bytes())))
}

/// That of a field with its name, and a type that has a shape.
pub(super) const fn of_field(name: &str, shape: u64) -> u64 {
    if shape == UNKNOWN {
        return UNKNOWN;
    }
    let hash = add(add(BEGIN, name.as_bytes()), &[END_OF_NAME]);
    known(finish(add(hash, &shape.to_le_bytes())))
}

/// That of a struct with these fields, in the order in which they lie in memory, and nothing between or behind them.
#[doc(hidden)]
#[must_use]
pub const fn struct_shape(fields: &[PlainField]) -> u64 {
    match fields {
        [] => of_struct(fields, 0),
        [.., last] => of_struct(fields, last.offset() + last.size()),
    }
}

/// That of a struct with these fields, in the order in which they lie in its `size` bytes. One without bytes that are of no
/// field has that of a type of the program.
pub(super) const fn of_struct(fields: &[PlainField], size: usize) -> u64 {
    let mut hash = add(BEGIN, b"struct");
    let (mut at, mut end) = (0, 0);
    while at < fields.len() {
        let field = &fields[at];
        if field.shape() == UNKNOWN {
            return UNKNOWN;
        }
        hash = add_gap(hash, end, field.offset());
        hash = add(hash, &field.shape().to_le_bytes());
        end = field.offset() + field.size();
        at += 1;
    }
    known(finish(add_gap(hash, end, size)))
}

/// Goes on with the bytes from `end` to `begin`, which are of no field, if there are some.
const fn add_gap(hash: u64, end: usize, begin: usize) -> u64 {
    if end == begin {
        return hash;
    }
    // Fields that are named in another order than they lie in are refused elsewhere.
    let gap = begin.wrapping_sub(end) as u64;
    add(add(hash, b"gap"), &gap.to_le_bytes())
}

/// That of an enum with variants that have these names and values, in any order.
#[doc(hidden)]
#[must_use]
pub const fn enum_shape<const N: usize>(names: &[&str], values: &[[u8; N]]) -> u64 {
    let mut sum = 0_u64;
    let mut at = 0;
    while at < names.len() {
        let hash = add(add(BEGIN, names[at].as_bytes()), &[END_OF_NAME]);
        sum = sum.wrapping_add(finish(add(hash, &values[at])));
        at += 1;
    }
    known(finish(add(add(BEGIN, b"enum"), &sum.to_le_bytes())))
}

/// Whether it is known of both that they are not the same.
#[cfg(not(loom))]
pub(crate) const fn are_others(one: u64, other: u64) -> bool {
    one != UNKNOWN && other != UNKNOWN && one != other
}
