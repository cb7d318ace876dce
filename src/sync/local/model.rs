//! Models have no thread that quietly owns a node: a call takes one for itself and empties it, unless the thread says that it
//! [`hold`]s one.

use super::{Arc, CachePadded, Cell, Home, Node, ptr};

loom::thread_local! {
    /// The node that this thread holds: structure number, node.
    static HELD: Cell<(u64, *const ())> = Cell::new((0, ptr::null()));
}

/// Calls `access` with the node that this thread holds, or with one for this call.
///
/// # Safety
/// `access` does not come back here with the same structure.
pub(crate) unsafe fn with<H: Home, R>(
    home: &Arc<H>,
    access: impl FnOnce(&mut H::Private, &H::Public) -> R,
) -> R {
    const { assert!(H::KIND < super::KINDS) };
    let (id, held) = HELD.with(Cell::get);
    let holds = id == home.registry().id;
    let node = if holds {
        // SAFETY: a node of this structure, which is alive; see `hold`.
        unsafe { &*held.cast::<CachePadded<Node<H::Private, H::Public>>>() }
    } else {
        home.registry().acquire(|| home.new_parts())
    };
    // SAFETY: held by this thread, or acquired for this call; the caller does not re-enter.
    let result = unsafe { node.private(|private| access(private, &node.public)) };
    if !holds {
        retire(home, node);
    }
    result
}

/// A promise of a node: models have no table of nodes.
pub(crate) struct HotNode<'a, H: Home>(&'a Arc<H>);

/// See [`with`].
pub(crate) fn hot<H: Home>(home: &Arc<H>) -> Option<HotNode<'_, H>> {
    Some(HotNode(home))
}

impl<H: Home> HotNode<'_, H> {
    /// [`with`].
    ///
    /// # Safety
    /// As for [`with`].
    pub(crate) unsafe fn with<R>(self, access: impl FnOnce(&mut H::Private, &H::Public) -> R) -> R {
        // SAFETY: as the caller promised.
        unsafe { with(self.0, access) }
    }
}

fn retire<H: Home>(home: &Arc<H>, node: &CachePadded<Node<H::Private, H::Public>>) {
    // SAFETY: the caller owns the node and does not use it again.
    unsafe { node.private(|private| home.retire(private, &node.public)) };
    home.registry().release(node);
}

/// A node in this thread's hands, as an ordinary thread has one: until this is dropped, as when
/// the thread ends. It may be sent to another thread before it is used.
#[derive(Debug)]
pub(crate) struct Held<H: Home> {
    home: Arc<H>,
    node: *const CachePadded<Node<H::Private, H::Public>>,
}

/// Takes a node for a thread.
pub(crate) fn hold<H: Home>(home: &Arc<H>) -> Held<H> {
    Held {
        home: Arc::clone(home),
        node: home.registry().acquire(|| home.new_parts()),
    }
}

// SAFETY: a node has no tie to a thread but that one thread uses it at a time, as the one that
// owns this does.
unsafe impl<H: Home> Send for Held<H> {}

impl<H: Home> super::super::model::ThreadCache for Held<H> {
    fn adopt(&self) {
        HELD.with(|held| held.set((self.home.registry().id, self.node.cast())));
    }
}

impl<H: Home> Drop for Held<H> {
    fn drop(&mut self) {
        HELD.with(|held| {
            if held.get().1 == self.node.cast() {
                held.set((0, ptr::null()));
            }
        });
        // SAFETY: acquired by `hold`, and the structure is kept alive here.
        retire(&self.home, unsafe { &*self.node });
    }
}
