// Feeds arbitrary bytes to the reader of graphs, which must read them or refuse with one line. What is read
// must stay the same when it is written and read again.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/graph/graph_file.h"
#include "tests/fuzz/is_read.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    check_reader(text, rematlas::parse_graph, rematlas::graph_text);
    return 0;
}
