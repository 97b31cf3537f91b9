// What a browser may do for a page that holds all it needs.
#pragma once

#include <string>
#include <string_view>

#include "viz/report/page_use.h"

namespace rematlas {

/// A Content-Security-Policy under which just this style and this script apply and run, each known by
/// its digest; nothing is loaded, sent or framed, and no text is run as a script. A page that is served may
/// send to where it came from.
std::string page_policy(std::string_view style, std::string_view script, PageUse use);

}  // namespace rematlas
