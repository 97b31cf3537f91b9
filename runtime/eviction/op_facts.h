// Facts about an operator that online eviction needs. They are looked up once for each operator.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <vector>

namespace rematlas {

struct OpFacts {
    enum class Kind : std::uint8_t {
        computes,       ///< its results depend on its arguments alone, and a rerun gives the same
        looks,          ///< it makes views or changes the geometry, and touches no data
        fills_later,    ///< aten::empty and similar: the contents of its result come from other ops
        copies_lazily,  ///< a clone that shares the memory until one of the two is written
        runs_once,      ///< it may have unknown effects besides
        takes_memory,   ///< as `runs_once`; it also keeps the memory of its arguments, or gives them other
                        ///< memory
    };
    Kind kind = Kind::computes;
    bool random = false;
    std::vector<std::uint8_t> writes;  ///< per argument: the schema says that it writes to it
    std::size_t returns = 0;
    bool looks_at_first = false;    ///< only the geometry of the first argument matters
    bool may_write_hidden = false;  ///< see hidden_write
    bool overwrites = false;        ///< see overwrites_everything
    bool by_item = false;           ///< see goes_item_by_item
};

OpFacts facts_of(const c10::OperatorHandle& op);

}  // namespace rematlas
