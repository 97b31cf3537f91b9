#include "core/costs/host_profile.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/costs/builtin_profiles.h"
#include "core/costs/profile_fields.h"

namespace rematlas {
namespace {

constexpr std::string_view kHostFormat = "rematlas.host", kLinksFormat = "rematlas.links";
constexpr int kMostHostCores = 4096;
constexpr std::int64_t kMostHostMemory = std::int64_t{1} << 50;
constexpr std::int64_t kLongestLaunch = 1'000'000'000;

double bandwidth(const Fields& fields, const char* key) {
    const double value = fields.number(key);
    if (!std::isfinite(value) || value < 1e6 || value > 1e18)
        fields.fail(std::string(key) + " is out of range");
    return value;
}

/// Reads a host from its own file, or from a file of links that contains a host.
HostProfile read_host(const Fields& file) {
    if (file.has("format") && file.text("format") == kLinksFormat) {
        if (!file.has("host"))
            file.fail("it is of links and says nothing of the host; `rematlas links` measures both");
        return host_from(Fields(file.at("host"), "host"));
    }
    expect_format(file, kHostFormat, 1);
    return host_from(file);
}

double rate_of(const HostProfile& host) {
    if (host.core_bytes_per_second == 0) return host.memory_bytes_per_second;
    return std::min(host.memory_bytes_per_second, host.cores * host.core_bytes_per_second);
}

}  // namespace

HostProfile host_from(const Fields& fields) {
    fields.refuse_unknown(
        "format version name cores memory_bytes memory_bytes_per_second launch_ns"
        " core_bytes_per_second sources");
    HostProfile host{.name = fields.text("name")};
    host.cores = static_cast<int>(fields.integer("cores", 1, kMostHostCores));
    if (fields.has("memory_bytes")) host.memory = Bytes(fields.integer("memory_bytes", 0, kMostHostMemory));
    host.memory_bytes_per_second = bandwidth(fields, "memory_bytes_per_second");
    if (fields.has("core_bytes_per_second"))
        host.core_bytes_per_second = bandwidth(fields, "core_bytes_per_second");
    if (fields.has("launch_ns")) host.launch = Nanoseconds(fields.integer("launch_ns", 0, kLongestLaunch));
    host.sources = sources_in(fields);
    return host;
}

Result<HostProfile> parse_host_profile(std::string_view text, std::string_view name) {
    return read_object(text, name, read_host);
}

Result<HostProfile> host_profile(const std::string& name) {
    const std::string unknown = "host profile '" + name.substr(0, 60) + "' is not known; there are " +
                                listed(builtin_hosts()) + ", or a .json file, which `rematlas links` writes";
    const Result<std::string> text = profile_text(builtin_hosts(), name, unknown);
    if (!text) return text.error();
    return parse_host_profile(*text, name);
}

void add_host(const HostProfile& host, nlohmann::json& object) {
    object["name"] = host.name;
    object["cores"] = host.cores;
    if (host.memory.value > 0) object["memory_bytes"] = host.memory.value;
    object["memory_bytes_per_second"] = host.memory_bytes_per_second;
    if (host.core_bytes_per_second > 0) object["core_bytes_per_second"] = host.core_bytes_per_second;
    if (host.launch.value > 0) object["launch_ns"] = host.launch.value;
    object["sources"] = host.sources;
}

Nanoseconds update_time(const HostProfile& host, double bytes) {
    const double seconds = std::min(bytes / rate_of(host), 1e6);
    return Nanoseconds(
        std::max<std::int64_t>(1, host.launch.value + static_cast<std::int64_t>(seconds * 1e9)));
}

std::string described(const HostProfile& host) {
    char rate[64];
    std::snprintf(rate, sizeof rate, ": updates move %.3g GB/s", rate_of(host) / 1e9);
    return host.name + rate;
}

}  // namespace rematlas
