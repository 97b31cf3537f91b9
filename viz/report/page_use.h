// How a page is used.
#pragma once

namespace rematlas {

enum class PageUse {
    file,    ///< the page is opened from a disk and calls no server
    served,  ///< the page comes from `rematlas serve` and may call that server
};

}  // namespace rematlas
