// Feeds arbitrary bytes to the reader of cached options of a block. If it reads them, they must survive being
// written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/base/files.h"
#include "core/solvers/hierarchical/option_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using namespace rematlas::hierarchical;
    const std::string body(reinterpret_cast<const char*>(bytes), size);
    parse_cached(body);
    // Also reads the input as a body with a correct digest. Without it, the reader would refuse nearly every
    // input at the digest.
    const std::string empty = cached_text({});
    const std::string digest = rematlas::sha256(std::string(empty.substr(empty.find('\n') + 1 + 64)));
    const auto read = parse_cached(empty.substr(0, empty.find(digest)) + rematlas::sha256(body) + body);
    if (read && !parse_cached(cached_text(*read))) std::abort();
    return 0;
}
