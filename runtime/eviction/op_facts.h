// What online eviction has to know of an operator, looked up once for each.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <vector>

namespace rematlas {

struct OpFacts {
    enum class Kind : std::uint8_t {
        computes,       ///< from its arguments alone, and again the same
        looks,          ///< views and changes of geometry: it touches no data
        fills_later,    ///< aten::empty and its kin: what is in its result comes from elsewhere
        copies_lazily,  ///< a clone that shares the memory until one of the two is written
        runs_once,      ///< nobody knows what else it does
        takes_memory,  ///< as `runs_once`, and it keeps the memory of its arguments, or gives them other memory
    };
    Kind kind = Kind::computes;
    bool random = false;
    std::vector<std::uint8_t> writes;  ///< per argument: the schema says that it writes to it
    std::size_t returns = 0;
    bool looks_at_first = false;    ///< of the first argument only the geometry matters
    bool may_write_hidden = false;  ///< see hidden_write
    bool overwrites = false;        ///< see overwrites_everything
    bool by_item = false;           ///< see goes_item_by_item
};

OpFacts facts_of(const c10::OperatorHandle& op);

}  // namespace rematlas
