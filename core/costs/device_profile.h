// The speeds and sizes of a device, from which the times of ops are predicted without the device.
//
//     Result<DeviceProfile> h200 = device_profile("h200");         // comes with the program
//     Result<DeviceProfile> mine = device_profile("mine.json");    // a file of the user
//
// Format, with a source for each figure under "sources":
//
//     {"format": "rematlas.device", "version": 1, "name": "NVIDIA H200 SXM", "kind": "cuda",
//      "memory_bytes": ..., "matmul_flops": {"f32": ..., "bf16": ...}, "vector_flops": {"f32": ...},
//      "memory_bytes_per_second": ..., "launch_ns": ..., "matmul_efficiency": 0.7,
//      "matmul_efficiencies": {"bf16": 0.8},
//      "convolution_efficiency": 0.5, "memory_efficiency": 0.8, "to_host_bytes_per_second": ...,
//      "to_device_bytes_per_second": ..., "to_host_contended_bytes_per_second": ...,
//      "to_device_contended_bytes_per_second": ..., "copy_latency_ns": ..., "least_copy_bytes": ...,
//      "matmul_workspace_bytes": ..., "capability": 9.0,
//      "host": "desktop", "sources": {"matmul_flops": "..."}}
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/base/ids.h"
#include "core/base/links.h"
#include "core/base/result.h"
#include "core/costs/host_profile.h"

namespace rematlas {

struct DeviceProfile {
    std::string id = {};  ///< "h200", or the file's name without its extension
    std::string name = {};
    std::string kind = {};                                 ///< "cpu" or "cuda"
    Bytes memory = {};                                     ///< memory of the device
    std::map<std::string, double> matmul_flops = {};       ///< peak flops per second, by type (such as "f32")
    std::map<std::string, double> convolution_flops = {};  ///< if missing, `matmul_flops`
    std::map<std::string, double> vector_flops = {};
    double memory_bytes_per_second = 0;
    /// Added to the time of every op.
    Nanoseconds launch = {};
    double matmul_efficiency = 1;                            ///< share of the peak that large products reach
    std::map<std::string, double> matmul_efficiencies = {};  ///< by type, for types whose share differs
    double convolution_efficiency = 1;
    /// Share of the peak that fused attention kernels reach.
    double attention_efficiency = 1;
    double memory_efficiency = 1;  ///< share of the bandwidth that large copies reach
    Links links = {};              ///< links to the memory of the host
    /// The host that such devices usually have. In the file it is a name or a path.
    HostProfile host = {};
    Bytes matmul_workspace = {};  ///< bytes that the library of matrix products holds permanently
    double capability = 0;        ///< CUDA compute capability, e.g. 9.0
    std::map<std::string, std::string> sources = {};
};

/// Reads a profile by its name, or from a path that ends in .json. Errors are one line that names the file
/// and the field.
Result<DeviceProfile> device_profile(const std::string& name_or_path);
Result<DeviceProfile> parse_device_profile(std::string_view text, std::string_view name);

}  // namespace rematlas
