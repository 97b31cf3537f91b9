// The layout program: reads a request as JSON from standard input and writes its layout as JSON to standard
// output.
//
//     rematlas-layout [--bytes N] [--seconds N] < request.json > layout.json
//
// If the input begins with a digit, it is a series of requests: a length in bytes, a newline, a request of
// that length, and so on. Each request is answered in the same form before the next request is read. A
// refused request is answered by {"error": "..."}. If the input is a single request that is refused, the exit
// status is 2. `--bytes` and `--seconds` limit the program's address space and processor time.
#include <sys/prctl.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/files.h"
#include "core/base/numbers.h"
#include "viz/layout/dot_layout.h"

namespace {

using rematlas::Error;
using rematlas::Layout;
using rematlas::LayoutRequest;
using rematlas::number_from;
using rematlas::Result;

constexpr std::size_t kLongestRequest = std::size_t{1} << 30;

/// Sanitizers reserve terabytes of address space for their own tables. So a program built with a sanitizer
/// has no limit on its address space.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

bool limit(int resource, std::size_t value) {
    if (kSanitized && resource == RLIMIT_AS) return true;
    rlimit limits{static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
    return setrlimit(resource, &limits) == 0;
}

Result<Layout> lay_out(std::string_view text) {
    auto json = rematlas::parse_json(text, "layout request");
    if (!json) return json.error();
    auto request = rematlas::layout_request_from(*json);
    if (!request) return request.error();
    return rematlas::layout_by_dot(*request);
}

std::string answer(const Result<Layout>& layout) {
    return layout ? rematlas::to_json(*layout).dump()
                  : nlohmann::json{{"error", layout.error().message}}.dump();
}

bool write_all(std::string_view text) {
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

int serve_one(int first) {
    std::string text(1, static_cast<char>(first));
    char buffer[1 << 16];
    while (std::size_t n = std::fread(buffer, 1, sizeof buffer, stdin)) {
        text.append(buffer, n);
        if (text.size() > kLongestRequest) return 2;
    }
    Result<Layout> layout = lay_out(text);
    if (!write_all(answer(layout) + "\n")) return 1;
    return layout ? 0 : 2;
}

int serve_series(int first) {
    for (int c = first; c != EOF; c = std::getchar()) {
        std::string digits;
        for (; c != '\n' && c != EOF && digits.size() < 12; c = std::getchar())
            digits += static_cast<char>(c);
        auto size = number_from<std::size_t>(digits);
        if (c != '\n' || !size || *size > kLongestRequest) return 2;
        std::string text(*size, '\0');
        if (std::fread(text.data(), 1, text.size(), stdin) != text.size()) return 2;
        std::string reply = answer(lay_out(text));
        if (!write_all(std::to_string(reply.size()) + "\n" + reply)) return 1;
    }
    return 0;
}

int usage() {
    std::fputs("usage: rematlas-layout [--bytes N] [--seconds N] < request.json > layout.json\n", stderr);
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    for (int i = 1; i < argc; i += 2) {
        auto value = i + 1 < argc ? number_from<std::size_t>(argv[i + 1]) : std::nullopt;
        bool bytes = std::strcmp(argv[i], "--bytes") == 0, seconds = std::strcmp(argv[i], "--seconds") == 0;
        if (!value || !(bytes || seconds)) return usage();
        if (!limit(bytes ? RLIMIT_AS : RLIMIT_CPU, *value)) return usage();
    }
    limit(RLIMIT_CORE, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends with the caller, because nobody else needs the answer
    try {
        rematlas::load_dot();  // loads Graphviz before the first request arrives
        int first = std::getchar();
        if (first == EOF) return usage();
        return first >= '0' && first <= '9' ? serve_series(first) : serve_one(first);
    } catch (const std::bad_alloc&) {
        return 3;
    }
}
