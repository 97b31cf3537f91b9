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
    // Reads the input a second time, now as the body of a file with a correct digest. With a wrong digest,
    // the reader refuses the file before it reads the body.
    const std::string empty = cached_text({});
    const std::string digest = rematlas::sha256(std::string(empty.substr(empty.find('\n') + 1 + 64)));
    const auto read = parse_cached(empty.substr(0, empty.find(digest)) + rematlas::sha256(body) + body);
    if (read && !parse_cached(cached_text(*read))) std::abort();
    return 0;
}
