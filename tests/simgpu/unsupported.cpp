// Functions of the CUDA runtime that libtorch 2.12 and later refer to. No test on the stand-in needs them.
// Each returns cudaErrorNotSupported.
#include <cuda_runtime_api.h>

#include <cstdint>

extern "C" {

// Graphs that are built node by node (for branches and loops), and graphs that own memory. Torch 2.13 and
// later can ask for these graphs.

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t, cudaGraph_t, const cudaGraphNode_t*,
                                          const cudaGraphEdgeData*, std::size_t, cudaStreamCaptureMode) {
    return cudaErrorNotSupported;
}
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t, cudaGraphNode_t*, const cudaGraphEdgeData*,
                                                std::size_t, unsigned) {
    return cudaErrorNotSupported;
}
cudaError_t cudaGraphAddNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, const cudaGraphEdgeData*,
                             std::size_t, cudaGraphNodeParams*) {
    return cudaErrorNotSupported;
}
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle*, cudaGraph_t, unsigned, unsigned) {
    return cudaErrorNotSupported;
}
cudaError_t cudaUserObjectCreate(cudaUserObject_t*, void*, cudaHostFn_t, unsigned, unsigned) {
    return cudaErrorNotSupported;
}
cudaError_t cudaUserObjectRelease(cudaUserObject_t, unsigned) {
    return cudaErrorNotSupported;
}
cudaError_t cudaGraphRetainUserObject(cudaGraph_t, cudaUserObject_t, unsigned, unsigned) {
    return cudaErrorNotSupported;
}
cudaError_t cudaDeviceGetGraphMemAttribute(int, cudaGraphMemAttributeType, void* value) {
    *static_cast<std::uint64_t*>(value) = 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceSetGraphMemAttribute(int, cudaGraphMemAttributeType, void*) {
    return cudaSuccess;
}

// Libraries of kernels that are loaded by name.

cudaError_t cudaLibraryLoadData(cudaLibrary_t*, const void*, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
    return cudaErrorNotSupported;
}
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t*, const char*, cudaJitOption*, void**, unsigned,
                                    cudaLibraryOption*, void**, unsigned) {
    return cudaErrorNotSupported;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t) {
    return cudaErrorNotSupported;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t*, cudaLibrary_t, const char*) {
    return cudaErrorNotSupported;
}
cudaError_t cudaLibraryGetKernelCount(unsigned*, cudaLibrary_t) {
    return cudaErrorNotSupported;
}
cudaError_t cudaLibraryGetGlobal(void**, std::size_t*, cudaLibrary_t, const char*) {
    return cudaErrorNotSupported;
}
cudaError_t cudaLibraryGetManaged(void**, std::size_t*, cudaLibrary_t, const char*) {
    return cudaErrorNotSupported;
}
cudaError_t cudaLibraryGetUnifiedFunction(void**, cudaLibrary_t, const char*) {
    return cudaErrorNotSupported;
}
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t, cudaFuncAttribute, int, int) {
    return cudaErrorNotSupported;
}

// Memory of host and device.

cudaError_t cudaMallocManaged(void**, std::size_t, unsigned) {
    return cudaErrorNotSupported;
}

}  // extern "C"
