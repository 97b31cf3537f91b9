// The permissions that a browser gives to a page that contains everything it needs.
#pragma once

#include <string>
#include <string_view>

#include "viz/report/page_use.h"

namespace rematlas {

/// Returns a Content-Security-Policy under which only this style and this script apply, each identified by
/// its digest. Nothing else is loaded, sent or framed, and no text is run as a script. A page that is served
/// may send requests to its own server.
std::string page_policy(std::string_view style, std::string_view script, PageUse use);

}  // namespace rematlas
