// Imitates the library of the CUDA driver. libtorch calls the driver's functions for contexts by their names,
// and gets all other functions of the driver through the CUDA runtime.
extern "C" {

int simgpu_is_open(int device);

int cuInit(unsigned) {
    return 0;
}
int cuDriverGetVersion(int* version) {
    *version = 13000;
    return 0;
}
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
    *flags = 0;
    *active = simgpu_is_open(device);
    return 0;
}

int cuCtxGetCurrent(void** context) {
    static char only;
    *context = &only;
    return 0;
}
int cuCtxSetCurrent(void*) {
    return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
    return cuCtxGetCurrent(context);
}

}  // extern "C"
