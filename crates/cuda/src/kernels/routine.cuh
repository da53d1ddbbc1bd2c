// Definitions shared by the kernels of routines. Unnamed words are 0.
struct P { u64 w[32]; };

// A grid-stride loop over all elements.
#define EACH(i, n) for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += (u64)gridDim.x * blockDim.x)
#define ALL 0xffffffffu

DEV i64 index_of(i64 index) { return index; }
DEV i64 index_of(u64 index) { return index > 0x7fffffffffffffffull ? 0x7fffffffffffffffll : (i64)index; }
DEV i64 index_of(int index) { return index; }
DEV i64 index_of(u32 index) { return index; }
DEV i64 index_of(i16 index) { return index; }
DEV i64 index_of(u16 index) { return index; }
DEV i64 index_of(i8 index) { return index; }
DEV i64 index_of(u8 index) { return index; }
