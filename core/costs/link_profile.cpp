#include "core/costs/link_profile.h"

#include <nlohmann/json.hpp>

#include "core/costs/builtin_profiles.h"
#include "core/costs/device_profile.h"
#include "core/costs/profile_fields.h"

namespace rematlas {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "rematlas.links";

LinkProfile read_links(const Fields& file) {
    constexpr const char* known =
        "format version name to_host_bytes_per_second to_device_bytes_per_second"
        " to_host_contended_bytes_per_second to_device_contended_bytes_per_second copy_latency_ns"
        " least_copy_bytes host sources";
    expect_format(file, kFormat, 1);
    file.refuse_unknown(known);
    LinkProfile profile{.name = file.text("name"), .links = links_from(file), .sources = {}};
    if (!profile.links.both_ways()) file.fail("a speed is missing: bytes leave and come back");
    profile.sources = sources_in(file);
    if (file.has("host")) profile.host = host_from(Fields(file.at("host"), "host"));
    return profile;
}

Result<Links> links_of(const Result<LinkProfile>& profile) {
    if (!profile) return profile.error();
    return profile->links;
}

/// Says whether a file describes links and not a device.
bool is_of_links(std::string_view text) {
    const json parsed = json::parse(text, nullptr, false);
    const auto format = parsed.is_object() ? parsed.find("format") : parsed.end();
    return parsed.is_object() && format != parsed.end() && *format == kFormat;
}

}  // namespace

Result<LinkProfile> parse_link_profile(std::string_view text, std::string_view name) {
    return read_object(text, name, read_links);
}

std::string link_profile_text(const LinkProfile& profile) {
    json object = {{"format", kFormat}, {"version", 1}, {"name", profile.name}, {"sources", profile.sources}};
    add_links(profile.links, object);
    if (profile.host) add_host(*profile.host, object["host"]);
    return object.dump(2) + "\n";
}

Result<Links> links_named(const std::string& name) {
    const Result<std::string> text = profile_text(builtin_links(), name, {});
    if (text && is_of_links(*text)) return links_of(parse_link_profile(*text, name));
    const Result<DeviceProfile> device = device_profile(name);
    if (!device) {
        const std::string more = name.ends_with(".json") ? "" : "; of links " + listed(builtin_links());
        return Error{device.error().message + more};
    }
    if (!device->links.both_ways()) return Error{device->name + " has no links to the host"};
    return device->links;
}

std::string link_name(const Links& links) {
    if (!links.both_ways()) return {};
    static const std::vector<LinkProfile> known = [] {
        std::vector<LinkProfile> all;
        for (const BuiltinProfile& profile : builtin_links())
            if (auto read = parse_link_profile(profile.text, profile.name)) all.push_back(read.take());
        for (const std::string& name : names_of(builtin_profiles()))
            if (const auto device = device_profile(name); device && device->links.both_ways())
                all.push_back({device->name, device->links, {}});
        return all;
    }();
    for (const LinkProfile& profile : known)
        if (profile.links == links) return profile.name;
    char speed[32];
    std::snprintf(speed, sizeof speed, "%.3g GB/s",
                  std::min(links.to_host_bytes_per_second, links.to_device_bytes_per_second) / 1e9);
    return speed;
}

}  // namespace rematlas
