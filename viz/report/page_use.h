// Says how a page is used: as a file, or served.
#pragma once

namespace rematlas {

enum class PageUse {
    file,    ///< the page is opened from a disk and calls no server
    served,  ///< the page comes from `rematlas serve` and may call that server
};

}  // namespace rematlas
