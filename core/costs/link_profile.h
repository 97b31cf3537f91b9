// How bytes move to the host and back, by name: "what if the link were PCIe 5?"
//
//     Result<Links> faster = links_named("pcie5");       // of resources/links, built into the program
//     Result<Links> own = links_named("h200");           // those of a device (device_profile.h)
//     Result<Links> mine = links_named("mine.json");     // a file of either kind
//
// Format of resources/links, with a source for each figure under "sources", and the fields of
// core/base/links.h:
//
//     {"format": "rematlas.links", "version": 1, "name": "PCI Express 5.0 x16", "to_host_bytes_per_second": ...,
//      "to_device_bytes_per_second": ..., "sources": {"to_host_bytes_per_second": "..."}}
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
    std::optional<HostProfile> host = {};  ///< at the other end
};

/// Of links that come with the program; devices are not among them.
const std::vector<std::string>& link_profile_names();

/// Errors: one line that names the file and the field.
Result<LinkProfile> parse_link_profile(std::string_view text, std::string_view name);

/// A file that reads as the profile.
std::string link_profile_text(const LinkProfile& profile);

/// Of links, of a device, or of a path that ends in .json. Errors: an unknown name; a device that has none.
Result<Links> links_named(const std::string& name);

/// For people: the name of links that come with the program and are just these, else of a device that has such, else
/// the slower speed, "12.5 GB/s". Empty: nothing can be copied.
std::string link_name(const Links& links);

}  // namespace rematlas
