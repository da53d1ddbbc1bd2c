// An interpreter for any program, one element at a time; it stands in until the program's own kernel is compiled.
// Words: elements, inputs, scalars, outputs, instructions, rank; extents; per input: address, bytes per element,
// strides; scalars; per output: address, bytes per element; code.
struct P { u64 w[CODE_WORDS]; };

DEV u64 read(u64 address, u64 size, i64 offset) {
    switch (size) {
        case 1: return ((const u8*)address)[offset];
        case 2: return ((const u16*)address)[offset];
        case 4: return ((const u32*)address)[offset];
        default: return ((const u64*)address)[offset];
    }
}

DEV void write(u64 address, u64 size, u64 offset, u64 bits) {
    switch (size) {
        case 1: ((u8*)address)[offset] = (u8)bits; break;
        case 2: ((u16*)address)[offset] = (u16)bits; break;
        case 4: ((u32*)address)[offset] = (u32)bits; break;
        default: ((u64*)address)[offset] = bits;
    }
}

extern "C" __global__ void __launch_bounds__(128) run(const __grid_constant__ P p) {
    u64 r[SLOTS];
    const u64 n = p.w[0], step = (u64)gridDim.x * 128;
    const int inputs = (int)p.w[1], scalars = (int)p.w[2], outputs = (int)p.w[3], length = (int)p.w[4], rank = (int)p.w[5];
    const u64* const extents = p.w + 6;
    const u64* const reads = extents + rank;
    const u64* const numbers = reads + inputs * (2 + rank);
    const u64* const writes = numbers + scalars;
    const u64* const code = writes + 2 * outputs;
    for (u64 at = (u64)blockIdx.x * 128 + threadIdx.x; at < n; at += step) {
        i64 offsets[INPUTS];
        for (int i = 0; i < inputs; ++i) offsets[i] = 0;
        u64 left = at;
        for (int d = rank - 1; d >= 0; --d) {
            const u64 q = d > 0 ? left / extents[d] : 0;
            const i64 x = (i64)(left - q * extents[d]);
            for (int i = 0; i < inputs; ++i) offsets[i] += x * (i64)reads[i * (2 + rank) + 2 + d];
            left = q;
        }
        for (int i = 0; i < inputs; ++i) r[i] = read(reads[i * (2 + rank)], reads[i * (2 + rank) + 1], offsets[i]);
        for (int i = 0; i < scalars; ++i) r[inputs + i] = numbers[i];
        for (int c = 0; c < length; ++c) {
            const u64 word = code[c];
            const u64 a = r[word >> 28 & 0xfff], b = r[word >> 40 & 0xfff], x = r[word >> 52];
            u64 made = 0;
            step_of((int)(word & 0xff), (int)(word >> 8 & 0xf), (int)(word >> 12 & 0xf), a, b, x, made);
            r[word >> 16 & 0xfff] = made;
        }
        for (int i = 0; i < outputs; ++i) write(writes[2 * i], writes[2 * i + 1], at, r[inputs + scalars + i]);
    }
}
