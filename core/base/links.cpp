#include "core/base/links.h"

#include <nlohmann/json.hpp>

#include "core/base/json_fields.h"

namespace rematlas {
namespace {

constexpr std::int64_t kLongestLatency = 1'000'000'000;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

double speed(const Fields& object, const char* key) {
    const double bytes_per_second = object.has(key) ? object.number(key) : 0;
    if (bytes_per_second < 0) object.fail("a link speed is negative");
    return bytes_per_second;
}

/// Returns the speed of one direction while copies also run in the other direction; 0 if the field is
/// missing.
double contended_speed(const Fields& object, const char* key, double alone) {
    if (!object.has(key)) return 0;
    const double bytes_per_second = object.number(key);
    if (!(bytes_per_second > 0)) object.fail(std::string(key) + " is not positive");
    if (bytes_per_second > alone)
        object.fail(std::string(key) + " is more than the speed without the other way");
    return bytes_per_second;
}

}  // namespace

Links links_from(const Fields& object) {
    Links links{.to_host_bytes_per_second = speed(object, "to_host_bytes_per_second"),
                .to_device_bytes_per_second = speed(object, "to_device_bytes_per_second")};
    links.to_host_contended_bytes_per_second =
        contended_speed(object, "to_host_contended_bytes_per_second", links.to_host_bytes_per_second);
    links.to_device_contended_bytes_per_second =
        contended_speed(object, "to_device_contended_bytes_per_second", links.to_device_bytes_per_second);
    links.copy_latency = Nanoseconds(object.integer_or("copy_latency_ns", 0, 0, kLongestLatency));
    links.least_copy = Bytes(object.integer_or("least_copy_bytes", 0, 0, kMostBytes));
    return links;
}

void add_links(const Links& links, nlohmann::json& object) {
    object["to_host_bytes_per_second"] = links.to_host_bytes_per_second;
    object["to_device_bytes_per_second"] = links.to_device_bytes_per_second;
    if (links.to_host_contended_bytes_per_second > 0)
        object["to_host_contended_bytes_per_second"] = links.to_host_contended_bytes_per_second;
    if (links.to_device_contended_bytes_per_second > 0)
        object["to_device_contended_bytes_per_second"] = links.to_device_contended_bytes_per_second;
    if (links.copy_latency.value > 0) object["copy_latency_ns"] = links.copy_latency.value;
    if (links.least_copy.value > 0) object["least_copy_bytes"] = links.least_copy.value;
}

}  // namespace rematlas
