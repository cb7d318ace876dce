//! **References, not the product**: what `MegachunkAllocator` is measured against.
