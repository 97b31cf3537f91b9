#include "core/costs/link_profile.h"

#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/costs/builtin_profiles.h"
#include "core/costs/device_profile.h"
#include "core/costs/profile_fields.h"

namespace rematlas {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "rematlas.links";

LinkProfile read_links(const json& object) {
    constexpr std::string_view known[] = {"format",
                                          "version",
                                          "name",
                                          "to_host_bytes_per_second",
                                          "to_device_bytes_per_second",
                                          "to_host_contended_bytes_per_second",
                                          "to_device_contended_bytes_per_second",
                                          "copy_latency_ns",
                                          "least_copy_bytes",
                                          "sources"};
    const Fields file(object, "");
    expect_format(file, kFormat, 1);
    refuse_unknown(file, object, known);
    LinkProfile profile{.name = file.text("name"), .links = links_from(file), .sources = {}};
    if (!profile.links.both_ways()) file.fail("a speed is missing: bytes leave and come back");
    profile.sources = sources_in(file);
    return profile;
}

Result<Links> links_of(const Result<LinkProfile>& profile) {
    if (!profile) return profile.error();
    return profile->links;
}

/// Whether a file says that it is of links, and not of a device.
bool is_of_links(std::string_view text) {
    const json parsed = json::parse(text, nullptr, false);
    const auto format = parsed.is_object() ? parsed.find("format") : parsed.end();
    return parsed.is_object() && format != parsed.end() && *format == kFormat;
}

}  // namespace

const std::vector<std::string>& link_profile_names() {
    static const std::vector<std::string> names = names_of(builtin_links());
    return names;
}

Result<LinkProfile> parse_link_profile(std::string_view text, std::string_view name) {
    return profile_in(text, name, &read_links);
}

Result<Links> links_named(const std::string& name) {
    for (const BuiltinProfile& profile : builtin_links())
        if (profile.name == name) return links_of(parse_link_profile(profile.text, name));
    if (name.ends_with(".json")) {
        const Result<std::string> text = read_file(name);
        if (!text) return text.error();
        if (is_of_links(*text)) return links_of(parse_link_profile(*text, name));
    }
    const Result<DeviceProfile> device = device_profile(name);
    if (!device) {
        const std::string more = name.ends_with(".json") ? "" : "; of links " + listed(link_profile_names());
        return Error{device.error().message + more};
    }
    if (!device->links.both_ways()) return Error{device->name + " has no links to the host"};
    return device->links;
}

}  // namespace rematlas
