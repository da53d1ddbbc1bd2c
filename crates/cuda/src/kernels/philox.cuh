// Philox with ten rounds, as on the host: the four words of a block. `which` numbers the blocks of one element.
DEV void philox(u64 key, u64 block, u32 which, u32* c) {
    u32 k0 = (u32)key, k1 = (u32)(key >> 32);
    c[0] = (u32)block;
    c[1] = (u32)(block >> 32);
    c[2] = which;
    c[3] = 0;
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const u32 h0 = __umulhi(c[0], 0xd2511f53u), l0 = c[0] * 0xd2511f53u;
        const u32 h1 = __umulhi(c[2], 0xcd9e8d57u), l1 = c[2] * 0xcd9e8d57u;
        c[0] = h1 ^ c[1] ^ k0;
        c[1] = l1;
        c[2] = h0 ^ c[3] ^ k1;
        c[3] = l0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
}
