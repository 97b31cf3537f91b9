// The functions of the CUDA driver that libtorch looks up by name: they map memory page by page.
#include "tests/simgpu/driver.h"

#include <cuda.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "tests/simgpu/engine.h"
#include "tests/simgpu/memory.h"

using namespace simgpu;

namespace {

/// Pages that the program has allocated, and the number of places where they are mapped now.
struct Pages {
    int device = 0;
    std::int64_t bytes = 0;
    bool released = false;
    int mapped = 0;
};

std::mutex mutex;
std::map<CUdeviceptr, std::pair<Pages*, std::size_t>>& mappings() {
    static auto* made = new std::map<CUdeviceptr, std::pair<Pages*, std::size_t>>;
    return *made;
}

void return_unused(Pages* pages) {
    if (!pages->released || pages->mapped > 0) return;
    return_pages(pages->device, pages->bytes);
    delete pages;
}

CUresult device_get(CUdevice* device, int index) {
    return *device = index, CUDA_SUCCESS;
}
CUresult device_attribute(int* value, CUdevice_attribute attribute, CUdevice) {
    *value = attribute == CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED ? 1 : 0;
    return CUDA_SUCCESS;
}
CUresult reserve(CUdeviceptr* at, std::size_t bytes, std::size_t, CUdeviceptr, unsigned long long) {
    *at = reserve_addresses(bytes);
    return *at ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult address_free(CUdeviceptr, std::size_t) {
    return CUDA_SUCCESS;
}
CUresult create(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* wanted,
                unsigned long long) {
    if (!take_pages(wanted->location.id, static_cast<std::int64_t>(bytes))) return CUDA_ERROR_OUT_OF_MEMORY;
    *handle = reinterpret_cast<CUmemGenericAllocationHandle>(
        new Pages{wanted->location.id, static_cast<std::int64_t>(bytes)});
    return CUDA_SUCCESS;
}
CUresult release(CUmemGenericAllocationHandle handle) {
    std::lock_guard lock(mutex);
    auto* pages = reinterpret_cast<Pages*>(handle);
    pages->released = true;
    return_unused(pages);
    return CUDA_SUCCESS;
}
CUresult map(CUdeviceptr at, std::size_t bytes, std::size_t, CUmemGenericAllocationHandle handle,
             unsigned long long) {
    std::lock_guard lock(mutex);
    auto* pages = reinterpret_cast<Pages*>(handle);
    ++pages->mapped;
    mappings()[at] = {pages, bytes};
    return CUDA_SUCCESS;
}
CUresult set_access(CUdeviceptr at, std::size_t bytes, const CUmemAccessDesc*, std::size_t) {
    return put_pages(at, bytes), CUDA_SUCCESS;
}
CUresult unmap(CUdeviceptr at, std::size_t bytes) {
    std::lock_guard lock(mutex);
    auto found = mappings().lower_bound(at);
    while (found != mappings().end() && found->first < at + bytes) {
        remove_pages(found->first, found->second.second);
        --found->second.first->mapped;
        return_unused(found->second.first);
        found = mappings().erase(found);
    }
    return CUDA_SUCCESS;
}
CUresult granularity(std::size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
    return *bytes = page_bytes, CUDA_SUCCESS;
}
CUresult error_string(CUresult error, const char** text) {
    *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory"
            : error == CUDA_SUCCESS           ? "no error"
                                              : "an error";
    return CUDA_SUCCESS;
}
CUresult set_words(CUdeviceptr at, unsigned value, std::size_t count, CUstream stream) {
    Work work;
    work.name = "a memset";
    work.accesses = {{at, at + count * sizeof value, true}};
    work.run = [=] {
        for (std::size_t i = 0; i < count; ++i) reinterpret_cast<unsigned*>(at)[i] = value;
    };
    return submit(reinterpret_cast<cudaStream_t>(stream), std::move(work)) == cudaSuccess
               ? CUDA_SUCCESS
               : CUDA_ERROR_UNKNOWN;
}
CUresult not_supported() {
    return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

void* simgpu::driver_function(const char* name) {
    static const std::map<std::string, void*> functions = {
        {"cuDeviceGet", reinterpret_cast<void*>(&device_get)},
        {"cuDeviceGetAttribute", reinterpret_cast<void*>(&device_attribute)},
        {"cuMemAddressReserve", reinterpret_cast<void*>(&reserve)},
        {"cuMemAddressFree", reinterpret_cast<void*>(&address_free)},
        {"cuMemCreate", reinterpret_cast<void*>(&create)},
        {"cuMemRelease", reinterpret_cast<void*>(&release)},
        {"cuMemMap", reinterpret_cast<void*>(&map)},
        {"cuMemUnmap", reinterpret_cast<void*>(&unmap)},
        {"cuMemSetAccess", reinterpret_cast<void*>(&set_access)},
        {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(&granularity)},
        {"cuMemsetD32Async", reinterpret_cast<void*>(&set_words)},
        {"cuGetErrorString", reinterpret_cast<void*>(&error_string)},
        {"cuMemExportToShareableHandle", reinterpret_cast<void*>(&not_supported)},
        {"cuMemImportFromShareableHandle", reinterpret_cast<void*>(&not_supported)},
        {"cuMemRetainAllocationHandle", reinterpret_cast<void*>(&not_supported)},
        {"cuMemGetAddressRange", reinterpret_cast<void*>(&not_supported)},
        {"cuMemGetAllocationPropertiesFromHandle", reinterpret_cast<void*>(&not_supported)},
        {"cuStreamWriteValue32", reinterpret_cast<void*>(&not_supported)},
    };
    const auto found = functions.find(name);
    return found == functions.end() ? nullptr : found->second;
}
