// The speeds of copies to the host and back, by name, for questions such as "what if the link were PCIe 5?"
//
//     Result<Links> faster = links_named("pcie5");       // of resources/links, built into the program
//     Result<Links> own = links_named("h200");           // the links of a device (device_profile.h)
//     Result<Links> mine = links_named("mine.json");     // a file of either kind
//
// Format of resources/links. It has the fields of core/base/links.h, and a source for each figure under
// "sources":
//
//     {"format": "rematlas.links", "version": 1, "name": "PCI Express 5.0 x16",
//      "to_host_bytes_per_second": ..., "to_device_bytes_per_second": ...,
//      "sources": {"to_host_bytes_per_second": "..."}}
//
// A file that `rematlas links` wrote also contains the host of the links, under "host" (host_profile.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/links.h"
#include "core/base/result.h"
#include "core/costs/host_profile.h"

namespace rematlas {

struct LinkProfile {
    std::string name;
    Links links;  ///< copies are possible in both directions
    std::map<std::string, std::string> sources;
    /// The host that was measured together with these links, if any.
    std::optional<HostProfile> host = {};
};

/// Reads the links from the text of a file. Errors are one line that names the file and the field.
Result<LinkProfile> parse_link_profile(std::string_view text, std::string_view name);

/// Returns the text of a file that `parse_link_profile` reads as this profile.
std::string link_profile_text(const LinkProfile& profile);

/// Returns the links of that name, the links of the device of that name, or the links in a file if the name
/// is a path that ends in .json. Fails if the name is unknown, if the device has no links to its host, or if
/// the file cannot be read.
Result<Links> links_named(const std::string& name);

/// Returns a text for users: the name of equal links that come with the program, else the name of a device
/// with equal links, else the lower of the two speeds, "12.5 GB/s". The text is empty if copies are not
/// possible in both directions.
std::string link_name(const Links& links);

}  // namespace rematlas
