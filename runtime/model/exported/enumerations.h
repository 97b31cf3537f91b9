// The numbers that a torch.export archive uses for dtypes, layouts and memory formats. They differ from the
// numbers of c10.
#pragma once

#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

namespace rematlas::exported {

/// Each function throws a c10::Error that names the number if the number is unknown.
c10::ScalarType scalar_type(std::int64_t number);
c10::Layout layout(std::int64_t number);
c10::MemoryFormat memory_format(std::int64_t number);

}  // namespace rematlas::exported
