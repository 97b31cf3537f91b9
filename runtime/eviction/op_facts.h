// The facts about an operator that online eviction needs. They are looked up once for each operator.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <vector>

namespace rematlas {

struct OpFacts {
    enum class Kind : std::uint8_t {
        computes,       ///< the results depend only on the arguments, and a rerun gives the same results
        looks,          ///< the op makes views or changes the geometry, and touches no data
        fills_later,    ///< aten::empty and similar: other ops fill the result
        copies_lazily,  ///< the op makes a clone that shares the memory until one of the two tensors is
                        ///< written
        runs_once,      ///< the op may have unknown effects
        takes_memory,   ///< as `runs_once`; the op also keeps the memory of its arguments or replaces it
    };
    Kind kind = Kind::computes;
    bool random = false;
    std::vector<std::uint8_t> writes;  ///< per argument: whether the schema says that the op writes to it
    std::size_t returns = 0;
    bool looks_at_first = false;    ///< the op reads the geometry of the first argument, but not its data
    bool may_write_hidden = false;  ///< see hidden_write
    bool overwrites = false;        ///< see overwrites_everything
    bool by_item = false;           ///< see goes_item_by_item
};

OpFacts facts_of(const c10::OperatorHandle& op);

}  // namespace rematlas
