#include "core/costs/device_profile.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/costs/builtin_profiles.h"
#include "core/costs/profile_fields.h"

namespace rematlas {
namespace {

double positive(const Fields& fields, const char* key) {
    const double value = fields.number(key);
    if (!std::isfinite(value) || value <= 0 || value > 1e18)
        fields.fail(std::string(key) + " is out of range");
    return value;
}

double share_or(const Fields& fields, const char* key, double otherwise) {
    if (!fields.has(key)) return otherwise;
    const double value = positive(fields, key);
    if (value > 1) fields.fail(std::string(key) + " is more than 1");
    return value;
}

std::map<std::string, double> shares(const Fields& file, const char* key) {
    std::map<std::string, double> found;
    if (!file.has(key)) return found;
    const Fields fields(file.at(key), key);
    for (const auto& [dtype, share] : file.at(key).items()) found[dtype] = share_or(fields, dtype.c_str(), 1);
    return found;
}

std::map<std::string, double> rates(const Fields& file, const char* key) {
    std::map<std::string, double> found;
    const Fields fields(file.at(key), key);
    for (const auto& [dtype, rate] : file.at(key).items()) found[dtype] = positive(fields, dtype.c_str());
    if (!found.contains("f32")) fields.fail("f32 is missing");
    return found;
}

constexpr std::int64_t kMostDeviceBytes = std::int64_t{1} << 50;
constexpr const char* kDeviceKeys =
    "format version name kind memory_bytes matmul_flops convolution_flops vector_flops"
    " memory_bytes_per_second launch_ns matmul_efficiency matmul_efficiencies convolution_efficiency"
    " attention_efficiency memory_efficiency to_host_bytes_per_second to_device_bytes_per_second"
    " to_host_contended_bytes_per_second to_device_contended_bytes_per_second copy_latency_ns"
    " least_copy_bytes matmul_workspace_bytes capability host sources";

DeviceProfile device_from(const Fields& file) {
    expect_format(file, "rematlas.device", 1);
    file.refuse_unknown(kDeviceKeys);
    DeviceProfile profile{.name = file.text("name"), .kind = file.text("kind")};
    if (profile.kind != "cpu" && profile.kind != "cuda") file.fail("kind is neither cpu nor cuda");
    profile.memory = Bytes(file.integer_or("memory_bytes", 0, 0, kMostDeviceBytes));
    profile.matmul_flops = rates(file, "matmul_flops");
    profile.convolution_flops =
        file.has("convolution_flops") ? rates(file, "convolution_flops") : profile.matmul_flops;
    profile.vector_flops = rates(file, "vector_flops");
    profile.memory_bytes_per_second = positive(file, "memory_bytes_per_second");
    profile.launch = Nanoseconds(file.integer("launch_ns", 0, 1'000'000'000));
    profile.matmul_efficiency = share_or(file, "matmul_efficiency", 1);
    profile.matmul_efficiencies = shares(file, "matmul_efficiencies");
    profile.convolution_efficiency = share_or(file, "convolution_efficiency", profile.matmul_efficiency);
    profile.attention_efficiency = share_or(file, "attention_efficiency", profile.matmul_efficiency);
    profile.memory_efficiency = share_or(file, "memory_efficiency", 1);
    for (const char* key : {"to_host_bytes_per_second", "to_device_bytes_per_second"})
        if (file.has(key)) positive(file, key);
    profile.links = links_from(file);
    profile.matmul_workspace = Bytes(file.integer_or("matmul_workspace_bytes", 0, 0, kMostDeviceBytes));
    if (file.has("capability")) profile.capability = positive(file, "capability");
    if (profile.kind == "cuda" && profile.capability == 0) file.fail("capability is missing");
    Result<HostProfile> host = host_profile(file.text_or("host", "server_share"));
    if (!host) file.fail("host: " + host.error().message);
    profile.host = host.take();
    profile.sources = sources_in(file);
    return profile;
}

}  // namespace

Result<DeviceProfile> parse_device_profile(std::string_view text, std::string_view name) {
    return read_object(text, name, device_from);
}

Result<DeviceProfile> device_profile(const std::string& name) {
    const std::string unknown = "device profile '" + name + "' is not known; there are " +
                                listed(builtin_profiles()) + ", or a .json file";
    const Result<std::string> text = profile_text(builtin_profiles(), name, unknown);
    if (!text) return text.error();
    Result<DeviceProfile> profile = parse_device_profile(*text, name);
    if (profile) profile->id = std::filesystem::path(name).stem().string();
    return profile;
}

}  // namespace rematlas
