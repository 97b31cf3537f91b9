// How bytes move to the host and back, by name: "what if the link were PCIe 5?"
//
//     Result<Links> faster = links_named("pcie5");       // of resources/links, built into the program
//     Result<Links> own = links_named("h200");           // those of a device (device_profile.h)
//     Result<Links> mine = links_named("mine.json");     // a file of either kind
//
// Format of resources/links, with a source for each figure under "sources", and the fields of
// core/base/links.h:
//
//     {"format": "rematlas.links", "version": 1, "name": "PCI Express 5.0 x16",
//      "to_host_bytes_per_second": ..., "to_device_bytes_per_second": ...,
//      "sources": {"to_host_bytes_per_second": "..."}}
//
// A file that `rematlas links` wrote has the host of the links too, under "host" (host_profile.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/links.h"
#include "core/base/result.h"
#include "core/costs/host_profile.h"

namespace rematlas {

struct LinkProfile {
    std::string name;
    Links links;  ///< both ways
    std::map<std::string, std::string> sources;
    std::optional<HostProfile> host = {};  ///< the host of these links
};

/// The names of the links that come with the program, without those of devices.
const std::vector<std::string>& link_profile_names();

/// Errors: one line that names the file and the field.
Result<LinkProfile> parse_link_profile(std::string_view text, std::string_view name);

/// The text of a file that `parse_link_profile` reads as the profile.
std::string link_profile_text(const LinkProfile& profile);

/// The links of that name, the links of a device, or those in a file whose path ends in .json. Errors: an
/// unknown name; a device without links to its host; a file that cannot be read.
Result<Links> links_named(const std::string& name);

/// Returns text for people: the name of equal links that come with the program, else the name of a device
/// with equal links, else the slower of both speeds, "12.5 GB/s". The text is empty where copies are not
/// possible both ways.
std::string link_name(const Links& links);

}  // namespace rematlas
