// Imitates the functions of cuBLAS by which libtorch prepares a handle. Products are not computed here.
// libtorch takes the workspace of the handle from its own allocator, as on a GPU.
extern "C" {

int cublasCreate_v2(void** handle) {
    *handle = new char;
    return 0;
}
int cublasDestroy_v2(void*) {
    return 0;
}
int cublasSetStream_v2(void*, void*) {
    return 0;
}
int cublasSetWorkspace_v2(void*, void*, unsigned long) {
    return 0;
}
int cublasSetMathMode(void*, int) {
    return 0;
}
int cublasGetMathMode(void*, int* mode) {
    *mode = 0;
    return 0;
}
int cublasSetPointerMode_v2(void*, int) {
    return 0;
}
int cublasGetPointerMode_v2(void*, int* mode) {
    *mode = 0;
    return 0;
}

}  // extern "C"
