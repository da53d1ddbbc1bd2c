//! The allocator of the extension; Python's own allocations are not affected.

#[global_allocator]
static ALLOCATOR: forerun::frontend::ScratchAllocator = forerun::frontend::ScratchAllocator;
