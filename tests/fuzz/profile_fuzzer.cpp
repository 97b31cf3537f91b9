// Feeds arbitrary bytes to the readers of profiles: of devices, of hosts, of links to the host and of links
// between ranks. Each must read them or refuse with one line. Links that are read must stay the same when
// they are written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/costs/device_profile.h"
#include "core/costs/host_profile.h"
#include "core/costs/link_profile.h"
#include "core/costs/rank_links.h"
#include "tests/fuzz/is_read.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    is_read(rematlas::parse_device_profile(text, "device"));
    is_read(rematlas::parse_host_profile(text, "host"));
    if (const auto links = rematlas::parse_link_profile(text, "links"); is_read(links)) {
        const auto again = rematlas::parse_link_profile(rematlas::link_profile_text(*links), "links");
        if (!again || again->links != links->links) std::abort();
    }
    if (const auto link = rematlas::parse_rank_link(text, "link"); is_read(link)) {
        const rematlas::RankLinks links{{*link}};
        for (const int ranks : {2, 8, 1 << 20})
            is_read(links.time_of(rematlas::RankCollective::sum, rematlas::Bytes(std::int64_t{1} << 61),
                                  {"queue", ranks, std::min(ranks, links.node())}));
    }
    return 0;
}
