//! `FragmentDraft`: a fragment that is to be registered, before it has its number.

use core::alloc::Layout;
use core::any::{TypeId, type_name};
use std::borrow::Cow;

use crate::fragment::info::extras::Extras;
use crate::fragment::info::functions::{
    CloneValue, DebugValue, DropValues, SharedOps, clone_value, drop_values, shared_ops,
};
use crate::fragment::info::saved_as::{PlainValues, SavedAs};
use crate::fragment::{Fragment, FragmentId, FragmentInfo, FragmentKind, SharedFragment};

/// A fragment that is to be registered: all but its number.
#[derive(Debug)]
pub(crate) struct FragmentDraft {
    pub(crate) name: Cow<'static, str>,
    pub(crate) kind: FragmentKind,
    pub(crate) layout: Layout,
    pub(crate) drop: Option<DropValues>,
    pub(crate) role: Option<RoleOfType>,
    pub(crate) shared: Option<SharedOps>,
    pub(crate) clone: Option<CloneValue>,
    pub(crate) debug: Option<DebugValue>,
    pub(crate) plain: Option<PlainValues>,
}

/// A type in a role.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoleOfType {
    /// The type, in its role: see [`FragmentInfo`].
    role: TypeId,
    /// The type itself.
    of: TypeId,
}

impl FragmentDraft {
    /// `T` in the role that `R` names.
    fn of<R: 'static, T: Fragment>(kind: FragmentKind) -> Self {
        Self {
            name: type_name::<T>().into(),
            kind,
            layout: Layout::new::<T>(),
            drop: core::mem::needs_drop::<T>().then_some(drop_values::<T>),
            role: Some(RoleOfType {
                role: TypeId::of::<R>(),
                of: TypeId::of::<T>(),
            }),
            shared: None,
            clone: None,
            debug: None,
            plain: None,
        }
    }

    /// `T` as a fragment of its own, or a tag.
    pub(crate) fn fragment<T: Fragment>() -> Self {
        Self::of::<T, T>(FragmentKind::of::<T>())
    }

    /// `T` as a chunk fragment.
    pub(crate) fn chunk<T: Fragment + Clone>() -> Self {
        Self {
            clone: Some(clone_value::<T>),
            ..Self::of::<crate::fragment::PerChunk<T>, T>(FragmentKind::Chunk)
        }
    }

    /// `T` as a shared fragment.
    pub(crate) fn shared<T: SharedFragment>() -> Self {
        Self {
            shared: Some(shared_ops::<T>()),
            ..Self::of::<crate::fragment::Shared<T>, T>(FragmentKind::Shared)
        }
    }

    /// `T` as a const shared fragment.
    pub(crate) fn const_shared<T: SharedFragment>() -> Self {
        Self {
            shared: Some(shared_ops::<T>()),
            ..Self::of::<crate::fragment::ConstShared<T>, T>(FragmentKind::ConstShared)
        }
    }

    /// The type that stands for it, in its role.
    pub(crate) fn role(&self) -> Option<TypeId> {
        self.role.map(|role| role.role)
    }

    /// The same with another name than the type's.
    pub(crate) fn named(self, name: &str) -> Self {
        Self {
            name: String::from(name).into(),
            ..self
        }
    }

    /// The fragment with its number, and that of its registry.
    pub(crate) fn numbered(self, number: u16, registry: u64) -> FragmentInfo {
        let (extras, role) = (Extras::default(), self.role());
        if let Some(clone) = self.clone {
            let _ = extras.clone.set(clone);
        }
        if let Some(debug) = self.debug {
            let _ = extras.debug.set(debug);
        }
        let plain_of = self.plain.as_ref().and_then(|plain| plain.of);
        if let Some(plain) = self.plain {
            let _ = extras.saved.set(SavedAs::Plain(plain.ops));
        }
        FragmentInfo {
            id: FragmentId::from_number(number),
            registry,
            name: self.name,
            kind: self.kind,
            layout: self.layout,
            drop: self.drop,
            role,
            shared: self.shared,
            values_of: match self.role {
                Some(role) => Some(role.of),
                None => plain_of,
            },
            extras,
        }
    }
}
