//! `Lead`: a value of a member that names members, and how it comes to name others.

use crate::entity::EntityMap;
use crate::fragment::{FragmentId, FragmentInfo, FragmentRegistry, MapPlain, MapValue};
use crate::world::Prototype;

/// A value of a member that is to be led over.
#[derive(Clone, Debug)]
pub(crate) struct Lead {
    /// Whose it is: a position.
    pub(crate) member: usize,
    pub(crate) fragment: FragmentId,
    size: usize,
    way: Way,
}

/// How a value comes to name others.
#[derive(Clone, Debug)]
enum Way {
    /// One that is nothing but its bytes.
    Plain(MapPlain),
    /// One of a type that was registered with a function.
    Typed(MapValue),
}

impl Way {
    fn of(info: &FragmentInfo) -> Option<Self> {
        let plain = info.map_entities().cloned().map(Self::Plain);
        plain.or_else(|| info.map_value().cloned().map(Self::Typed))
    }
}

impl Lead {
    /// Leads a value over.
    ///
    /// # Safety
    /// `value` is one of the fragment, which nobody else has. If users' code panics, it is to be dropped unseen, for one that
    /// is plain may be no value then.
    pub(crate) unsafe fn apply(&self, value: *mut u8, entities: &EntityMap) {
        match &self.way {
            Way::Plain(map) => {
                // SAFETY: the caller's; a plain value is nothing but its bytes, without padding.
                let bytes = unsafe { core::slice::from_raw_parts_mut(value, self.size) };
                map.apply(bytes, entities);
            }
            // SAFETY: the caller's.
            Way::Typed(map) => unsafe { map.apply(value, entities) },
        }
    }
}

impl Prototype {
    /// Tells which of its values, in columns, are to be led over where they are copied with others: not the plain ones that
    /// name none of the others, to whom `nobody` leads.
    pub(super) fn leads(
        &self,
        registry: &FragmentRegistry,
        member: usize,
        nobody: &EntityMap,
        leads: &mut Vec<Lead>,
    ) {
        for source in &self.sources {
            let (fragment, size) = (source.value.id(), source.value.size());
            let Some(way) = registry.get(fragment).and_then(Way::of) else {
                continue;
            };
            if let Way::Plain(map) = &way {
                // SAFETY: a plain value of the prototype, which nobody writes.
                let bytes = unsafe {
                    core::slice::from_raw_parts(source.value.as_ptr().cast_const(), size)
                };
                let mut led = bytes.to_vec();
                map.apply(&mut led, nobody);
                if led == bytes {
                    continue;
                }
            }
            leads.push(Lead {
                member,
                fragment,
                size,
                way,
            });
        }
    }
}
