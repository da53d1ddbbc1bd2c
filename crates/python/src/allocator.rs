//! The extension's own allocations; Python's stay where they are.

#[global_allocator]
static ALLOCATOR: forerun::frontend::ScratchAllocator = forerun::frontend::ScratchAllocator;
