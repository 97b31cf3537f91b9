// The functions of the CUDA runtime that libtorch calls. The files engine.cpp, memory.cpp and races.cpp
// imitate the GPU itself.
#include <cuda_runtime_api.h>
#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "tests/simgpu/driver.h"
#include "tests/simgpu/engine.h"
#include "tests/simgpu/memory.h"
#include "tests/simgpu/settings.h"

using namespace simgpu;

namespace {

thread_local cudaError_t last_error = cudaSuccess;

cudaError_t said(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
    return error;
}

/// Names of the kernels that libtorch has compiled for the device, by the addresses of their host functions.
std::unordered_map<const void*, const char*>& kernels() {
    static auto* made = new std::unordered_map<const void*, const char*>;
    return *made;
}

std::string name_of(const void* kernel) {
    const auto found = kernels().find(kernel);
    if (found == kernels().end()) return "an unknown kernel";
    int status = 0;
    char* plain = abi::__cxa_demangle(found->second, nullptr, nullptr, &status);
    const std::string name = status == 0 ? plain : found->second;
    std::free(plain);
    return name;
}

cudaError_t no_such_kernel(const void* kernel) {
    std::fprintf(stderr, "simgpu: a kernel that the stand-in does not compute: %s\n",
                 name_of(kernel).c_str());
    return said(cudaErrorNotSupported);
}

/// Loads the CPU kernels that replace the device's kernels. Called when the program first asks for a device,
/// because libtorch_cuda has registered its own kernels by then.
void load_kernels() {
    static const bool loaded = [] {
        Dl_info here{};
        dladdr(reinterpret_cast<void*>(&load_kernels), &here);
        std::string path = here.dli_fname;
        path = path.substr(0, path.rfind('/') + 1) + "libsimgpu_kernels.so";
        if (!dlsym(RTLD_DEFAULT, "simgpu_without_torch") && !dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
            std::fprintf(stderr, "simgpu: %s\n", dlerror());
            std::_Exit(2);
        }
        return true;
    }();
    (void)loaded;
}

Access bytes_of(const void* data, std::size_t bytes, bool writes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    return {begin, begin + bytes, writes};
}

/// Submits a copy. A copy from pageable memory reads this memory at once, and a copy to pageable memory is
/// done when the call returns. Races on pageable memory are not detected.
cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
    if (bytes == 0) return cudaSuccess;
    const bool to_device = device_that_holds(to) >= 0, from_device = device_that_holds(from) >= 0;
    const bool to_pageable = !to_device && !is_pinned(to), from_pageable = !from_device && !is_pinned(from);
    Work work;
    work.name = from_device && to_device ? "a copy within the device"
                : to_device              ? "a copy to the device"
                                         : "a copy to the host";
    work.lane = from_device && to_device ? Lane::compute : to_device ? Lane::copy_in : Lane::copy_out;
    work.nanoseconds = work.lane == Lane::compute
                           ? settings().launch_nanoseconds + 2 * double(bytes) / settings().memory_rate
                           : 1000 + double(bytes) / settings().copy_rate[work.lane == Lane::copy_in ? 0 : 1];
    if (!from_pageable) work.accesses.push_back(bytes_of(from, bytes, false));
    if (!to_pageable) work.accesses.push_back(bytes_of(to, bytes, true));
    if (from_pageable && to_device) {
        auto staged = std::make_shared<std::string>(static_cast<const char*>(from), bytes);
        work.run = [to, staged, bytes] { std::memcpy(to, staged->data(), bytes); };
    } else {
        work.run = [to, from, bytes] { std::memmove(to, from, bytes); };
    }
    const cudaError_t error = submit(stream, std::move(work));
    if (error != cudaSuccess || !to_pageable) return error;
    return synchronize_stream(stream);
}

cudaError_t set(void* data, int value, std::size_t bytes, cudaStream_t stream) {
    Work work;
    work.name = "a memset";
    work.nanoseconds = settings().launch_nanoseconds + double(bytes) / settings().memory_rate;
    work.accesses = {bytes_of(data, bytes, true)};
    work.run = [data, value, bytes] { std::memset(data, value, bytes); };
    return submit(stream, std::move(work));
}

struct Configuration {
    dim3 grid, block;
    std::size_t shared;
    cudaStream_t stream;
};
thread_local Configuration configuration;

}  // namespace

extern "C" {

// Devices.

cudaError_t cudaGetDeviceCount(int* count) {
    load_kernels();
    *count = settings().devices;
    return *count > 0 ? cudaSuccess : said(cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int* device) {
    return *device = current_device(), cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    load_kernels();
    if (device < 0 || device >= settings().devices) return said(cudaErrorInvalidDevice);
    set_current_device(device);
    std::size_t free, total;
    memory_info(device, &free, &total);  // this call makes the context
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* made, int device) {
    if (device < 0 || device >= settings().devices) return said(cudaErrorInvalidDevice);
    std::memset(made, 0, sizeof *made);
    std::snprintf(made->name, sizeof made->name, "%s", settings().name.c_str());
    made->uuid.bytes[0] = 's', made->uuid.bytes[15] = static_cast<char>(device);
    made->totalGlobalMem = static_cast<std::size_t>(settings().memory);
    made->sharedMemPerBlock = 48 << 10, made->sharedMemPerBlockOptin = 227 << 10;
    made->sharedMemPerMultiprocessor = 228 << 10, made->reservedSharedMemPerBlock = 1 << 10;
    made->regsPerBlock = made->regsPerMultiprocessor = 65536;
    made->warpSize = 32;
    made->memPitch = 0x7fffffff;
    made->maxThreadsPerBlock = 1024, made->maxThreadsPerMultiProcessor = 2048;
    made->maxBlocksPerMultiProcessor = 32;
    for (int i = 0; i < 3; ++i)
        made->maxThreadsDim[i] = i == 2 ? 64 : 1024, made->maxGridSize[i] = i ? 65535 : 0x7fffffff;
    made->totalConstMem = 64 << 10;
    made->major = 8, made->minor = 0;
    made->textureAlignment = 512;
    made->multiProcessorCount = settings().multiprocessors;
    made->canMapHostMemory = made->concurrentKernels = made->unifiedAddressing = 1;
    made->asyncEngineCount = 2;
    made->pciBusID = device + 1;
    made->memoryBusWidth = 5120, made->l2CacheSize = 50 << 20;
    made->streamPrioritiesSupported = made->managedMemory = made->cooperativeLaunch = 1;
    made->hostRegisterSupported = 1;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    cudaDeviceProp about;
    if (const cudaError_t error = cudaGetDeviceProperties(&about, device); error != cudaSuccess) return error;
    switch (attribute) {
        case cudaDevAttrMultiProcessorCount:
            *value = about.multiProcessorCount;
            break;
        case cudaDevAttrMaxThreadsPerBlock:
            *value = about.maxThreadsPerBlock;
            break;
        case cudaDevAttrMaxSharedMemoryPerBlock:
            *value = static_cast<int>(about.sharedMemPerBlock);
            break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin:
            *value = static_cast<int>(about.sharedMemPerBlockOptin);
            break;
        case cudaDevAttrComputeCapabilityMajor:
            *value = about.major;
            break;
        case cudaDevAttrComputeCapabilityMinor:
            *value = about.minor;
            break;
        case cudaDevAttrWarpSize:
            *value = about.warpSize;
            break;
        case cudaDevAttrCanMapHostMemory:
        case cudaDevAttrUnifiedAddressing:
        case cudaDevAttrHostRegisterSupported:
            *value = 1;
            break;
        default:
            *value = 0;
    }
    return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
    std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 1);
    return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    *least = 0, *greatest = -5;
    return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
    return *can = 0, cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
    return said(cudaErrorPeerAccessUnsupported);
}
cudaError_t cudaDeviceSynchronize() {
    return said(synchronize_device());
}
cudaError_t cudaDriverGetVersion(int* version) {
    return *version = CUDART_VERSION, cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    return *version = CUDART_VERSION, cudaSuccess;
}
cudaError_t cudaProfilerStart() {
    return cudaSuccess;
}
cudaError_t cudaProfilerStop() {
    return cudaSuccess;
}

// Errors. An error of the device itself is permanent.

const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
        case cudaSuccess:
            return "cudaSuccess";
        case cudaErrorMemoryAllocation:
            return "cudaErrorMemoryAllocation";
        case cudaErrorNotSupported:
            return "cudaErrorNotSupported";
        case cudaErrorNotReady:
            return "cudaErrorNotReady";
        default:
            return "cudaError";
    }
}
const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaSuccess:
            return "no error";
        case cudaErrorMemoryAllocation:
            return "out of memory";
        case cudaErrorInvalidDevice:
            return "invalid device ordinal";
        case cudaErrorInvalidValue:
            return "invalid argument";
        case cudaErrorNotSupported:
            return "operation not supported";
        case cudaErrorNotReady:
            return "device not ready";
        case cudaErrorAssert:
            return "device-side assert triggered";
        case cudaErrorStreamCaptureUnsupported:
            return "operation not permitted when stream is capturing";
        case cudaErrorStreamCaptureInvalidated:
            return "operation failed due to a previous error during capture";
        case cudaErrorStreamCaptureUnjoined:
            return "capturing stream has unjoined work";
        case cudaErrorStreamCaptureIsolation:
            return "dependency created on uncaptured work in another stream";
        case cudaErrorHostMemoryAlreadyRegistered:
            return "part or all of the requested memory range is already mapped";
        case cudaErrorHostMemoryNotRegistered:
            return "pointer does not correspond to a registered memory region";
        default:
            return "an error of the stand-in for the GPU";
    }
}
cudaError_t cudaPeekAtLastError() {
    return failure() != cudaSuccess ? failure() : last_error;
}
cudaError_t cudaGetLastError() {
    if (failure() != cudaSuccess) return failure();
    return std::exchange(last_error, cudaSuccess);
}

// Memory.

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
    if (const cudaError_t error = unsafe_call(); error != cudaSuccess) return said(error);
    return said(device_allocate(data, bytes));
}
cudaError_t cudaFree(void* data) {
    if (!data) return cudaSuccess;
    if (const cudaError_t error = synchronize_device(); error != cudaSuccess) return said(error);
    return said(device_free(data));
}
cudaError_t cudaMallocAsync(void** data, std::size_t bytes, cudaStream_t) {
    return said(device_allocate(data, bytes));
}
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
    if (const cudaError_t error = synchronize_stream(stream); error != cudaSuccess) return said(error);
    return said(device_free(data));
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    memory_info(current_device(), free, total);
    return cudaSuccess;
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
    return *pool = nullptr, cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void* value) {
    *static_cast<std::uint64_t*>(value) = 0;
    return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
    return cudaSuccess;
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, std::size_t) {
    return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) {
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned) {
    if (const cudaError_t error = unsafe_call(); error != cudaSuccess) return said(error);
    return said(host_allocate(data, bytes));
}
cudaError_t cudaMallocHost(void** data, std::size_t bytes) {
    return cudaHostAlloc(data, bytes, cudaHostAllocDefault);
}
cudaError_t cudaFreeHost(void* data) {
    if (const cudaError_t error = synchronize_device(); error != cudaSuccess) return said(error);
    return said(host_free(data));
}
cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned) {
    return said(host_register(data, bytes));
}
cudaError_t cudaHostUnregister(void* data) {
    if (const cudaError_t error = synchronize_device(); error != cudaSuccess) return said(error);
    return said(host_unregister(data));
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
    return *device = host, cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* made, const void* data) {
    std::memset(made, 0, sizeof *made);
    const int device = device_that_holds(data);
    made->type = device >= 0       ? cudaMemoryTypeDevice
                 : is_pinned(data) ? cudaMemoryTypeHost
                                   : cudaMemoryTypeUnregistered;
    made->device = device >= 0 ? device : made->type == cudaMemoryTypeHost ? 0 : -1;
    if (made->type != cudaMemoryTypeUnregistered) made->devicePointer = const_cast<void*>(data);
    if (made->type != cudaMemoryTypeDevice) made->hostPointer = const_cast<void*>(data);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
    if (const cudaError_t error = copy(to, from, bytes, nullptr); error != cudaSuccess) return said(error);
    return said(synchronize_stream(nullptr));
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
    return said(copy(to, from, bytes, stream));
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                cudaStream_t stream) {
    return said(copy(to, from, bytes, stream));
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t stream) {
    for (std::size_t row = 0; row < height; ++row)
        if (const cudaError_t error = copy(static_cast<char*>(to) + row * to_pitch,
                                           static_cast<const char*>(from) + row * from_pitch, width, stream);
            error != cudaSuccess)
            return said(error);
    return cudaSuccess;
}
cudaError_t cudaMemcpyToSymbol(const void*, const void*, std::size_t, std::size_t, cudaMemcpyKind) {
    return said(cudaErrorNotSupported);
}
cudaError_t cudaMemset(void* data, int value, std::size_t bytes) {
    return said(set(data, value, bytes, nullptr));
}
cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
    return said(set(data, value, bytes, stream));
}

cudaError_t cudaIpcCloseMemHandle(void*) {
    return said(cudaErrorNotSupported);
}
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t*, cudaEvent_t) {
    return said(cudaErrorNotSupported);
}
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) {
    return said(cudaErrorNotSupported);
}
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t*, cudaIpcEventHandle_t) {
    return said(cudaErrorNotSupported);
}
cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned) {
    return said(cudaErrorNotSupported);
}

// Streams and events.

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return create_stream(stream, cudaStreamDefault, 0);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return create_stream(stream, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    return create_stream(stream, flags, priority);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return destroy_stream(stream);
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    return *priority = stream_priority(stream), cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return said(synchronize_stream(stream));
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    if (const cudaError_t error = unsafe_call(); error != cudaSuccess) return said(error);
    return is_done(stream) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    return said(wait_event(stream, event));
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void* data, unsigned) {
    Work work;
    work.name = "a callback";
    work.run = [=] { call(stream, cudaSuccess, data); };
    return said(submit(stream, std::move(work)));
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call, void* data) {
    Work work;
    work.name = "a function of the host";
    work.run = [=] { call(data); };
    return said(submit(stream, std::move(work)));
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return create_event(event, cudaEventDefault);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    return create_event(event, flags);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return destroy_event(event);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return said(record_event(event, stream));
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
    return said(record_event(event, stream));
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return said(synchronize_event(event));
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    return said(query_event(event));
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    return said(elapsed(milliseconds, begin, end));
}

// Recorded graphs.

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    return said(begin_capture(stream, mode));
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    return said(end_capture(stream, graph));
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    *status = capture_status(stream, nullptr, nullptr);
    return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                     std::size_t* count) {
    *status = capture_status(stream, id, graph);
    if (dependencies) *dependencies = nullptr;
    if (edges) *edges = nullptr;
    if (count) *count = 0;
    return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    *mode = exchange_capture_mode(*mode);
    return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
    if (nodes) return said(cudaErrorNotSupported);
    return *count = graph_size(graph), cudaSuccess;
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t, cudaGraphNode_t*, cudaGraphEdgeData*,
                                         std::size_t*) {
    return said(cudaErrorNotSupported);
}
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t, const char*, unsigned) {
    return said(cudaErrorNotSupported);
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    return destroy_graph(graph);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* program, cudaGraph_t graph, unsigned long long) {
    return said(instantiate(program, graph));
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* program, cudaGraph_t graph, unsigned long long) {
    return said(instantiate(program, graph));
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t program) {
    return destroy_program(program);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t program, cudaStream_t stream) {
    return said(launch_graph(program, stream));
}

// Kernels of the device. None can run here: libtorch's kernels are replaced in its dispatcher
// (kernels/kernels.cpp), and the launch of any other kernel is an error that names the kernel.

void** __cudaRegisterFatBinary(void*) {
    static void* handle = nullptr;
    return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) {
    return 1;
}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {
    kernels().emplace(host, name);
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream) {
    configuration = {grid, block, shared, stream};
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
    *grid = configuration.grid, *block = configuration.block, *shared = configuration.shared;
    *static_cast<cudaStream_t*>(stream) = configuration.stream;
    return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
    *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host));
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3, dim3, void**, std::size_t, cudaStream_t) {
    return no_such_kernel(kernel);
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3, dim3, void**, std::size_t, cudaStream_t) {
    return no_such_kernel(kernel);
}
cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3, dim3, void**, std::size_t, cudaStream_t) {
    return no_such_kernel(kernel);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void* kernel, void**) {
    return no_such_kernel(kernel);
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* made, const void*) {
    std::memset(made, 0, sizeof *made);
    made->maxThreadsPerBlock = 1024, made->numRegs = 32;
    made->ptxVersion = made->binaryVersion = 90;
    return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
    return cudaSuccess;
}
cudaError_t cudaGetSymbolAddress(void**, const void*) {
    return said(cudaErrorNotSupported);
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, std::size_t) {
    return *blocks = 2, cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, std::size_t,
                                                                   unsigned) {
    return *blocks = 2, cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
    *function = driver_function(name);
    if (result) *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

}  // extern "C"
