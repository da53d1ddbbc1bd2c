// Multiplies floats by a number. Words: number of floats, their address, the factor as a double.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const T by = (T)scalar<double>(p.w[2]);
    EACH(i, p.w[0]) ((T*)p.w[1])[i] *= by;
}
