// Memory of the stand-in: pages of the host that can be read, at addresses that ascend, with a hard capacity.
#pragma once

#include <driver_types.h>

#include <cstdint>

namespace simgpu {

constexpr std::int64_t page_bytes = 2LL << 20;  ///< the granule of the driver

cudaError_t device_allocate(void** data, std::size_t bytes);
cudaError_t device_free(void* data);

/// Addresses without memory, of the current device; they are never given out again.
std::uintptr_t reserve_addresses(std::size_t bytes);
/// Pages without addresses; false: the device has no more.
bool take_pages(int device, std::int64_t bytes);
void return_pages(int device, std::int64_t bytes);
/// Fills what is put there with 0xff: fresh memory holds nothing that a program may rely on.
void put_pages(std::uintptr_t at, std::size_t bytes);
void remove_pages(std::uintptr_t at, std::size_t bytes);

cudaError_t host_allocate(void** data, std::size_t bytes);
cudaError_t host_free(void* data);
cudaError_t host_register(void* data, std::size_t bytes);
cudaError_t host_unregister(void* data);

/// -1: it is no device memory.
int device_that_holds(const void* data);
bool is_pinned(const void* data);
void memory_info(int device, std::size_t* free, std::size_t* total);

}  // namespace simgpu
