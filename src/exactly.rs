//! `Exactly`: a type of which what has it speaks, and no other that it could be taken for.

use core::marker::PhantomData;

/// Has no value of `T`, and cannot be taken for one of another type. (`for<'a> fn(&'a u8)` can be taken for
/// `fn(&'static u8)`; they are two types, with two [`TypeId`](core::any::TypeId)s.) For whoever asked something of `T`
/// when it was made, and lends or takes values by what was said then.
///
/// A query asks whether it lends a resource twice:
///
/// ```compile_fail,E0308
/// # use megachunk::prelude::*;
/// type One = for<'a> fn(&'a u8);
/// type Other = fn(&'static u8);
/// # let mut world = World::new();
/// let query = Query::<Entity, (), (&'static One, &'static mut Other)>::new(&world)?;
/// let _: Query<Entity, (), (&'static Other, &'static mut Other)> = query;
/// # Ok::<(), QueryError>(())
/// ```
///
/// A signal asks who carries what:
///
/// ```compile_fail,E0308
/// # use megachunk::prelude::*;
/// type One = for<'a> fn(&'a u8);
/// type Other = fn(&'static u8);
/// # let world = World::new();
/// let signal: Signal<Other> = world.signal("one")?;
/// let _: Signal<One> = signal;
/// # Ok::<(), megachunk::signal::SignalError>(())
/// ```
///
/// A host's object is found by its type:
///
/// ```compile_fail,E0308
/// # use megachunk::processor::translator::HostOf;
/// fn take(of: HostOf<for<'a> fn(&'a u8)>) -> HostOf<fn(&'static u8)> {
///     of
/// }
/// ```
pub(crate) type Exactly<T> = PhantomData<fn(T) -> T>;
