// The memory of the imitated devices: readable pages of the host at ascending addresses, with a hard limit on
// the capacity.
#pragma once

#include <driver_types.h>

#include <cstdint>

namespace simgpu {

constexpr std::int64_t page_bytes = 2LL << 20;  ///< the driver's granularity

cudaError_t device_allocate(void** data, std::size_t bytes);
cudaError_t device_free(void* data);

/// Reserves addresses without memory on the current device. The same addresses are never returned again.
std::uintptr_t reserve_addresses(std::size_t bytes);
/// Takes pages without addresses. Returns false if the device does not have enough free bytes.
bool take_pages(int device, std::int64_t bytes);
void return_pages(int device, std::int64_t bytes);
/// Maps pages at the address and fills them with 0xff, so no program can rely on fresh memory.
void put_pages(std::uintptr_t at, std::size_t bytes);
void remove_pages(std::uintptr_t at, std::size_t bytes);

cudaError_t host_allocate(void** data, std::size_t bytes);
cudaError_t host_free(void* data);
cudaError_t host_register(void* data, std::size_t bytes);
cudaError_t host_unregister(void* data);

/// Returns the device whose memory contains the address, or -1 if none does.
int device_that_holds(const void* data);
bool is_pinned(const void* data);
void memory_info(int device, std::size_t* free, std::size_t* total);

}  // namespace simgpu
