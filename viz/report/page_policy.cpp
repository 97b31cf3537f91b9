#include "viz/report/page_policy.h"

#include "core/base/base64.h"
#include "core/base/files.h"

namespace rematlas {
namespace {

std::string source_of(std::string_view text) {
    return "'sha256-" + base64_encode(sha256_bytes(text)) + "'";
}

}  // namespace

std::string page_policy(std::string_view style, std::string_view script, PageUse use) {
    return "default-src 'none'; style-src " + source_of(style) + "; script-src " + source_of(script) +
           (use == PageUse::served ? "; connect-src 'self'" : "") + "; base-uri 'none'; form-action 'none'";
}

}  // namespace rematlas
