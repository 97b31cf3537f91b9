// Numbers by which a torch.export archive names types, layouts and memory formats. They are not those of c10.
#pragma once

#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

namespace rematlas::exported {

/// Each throws c10::Error, which names the number, where nothing is known by it.
c10::ScalarType scalar_type(std::int64_t number);
c10::Layout layout(std::int64_t number);
c10::MemoryFormat memory_format(std::int64_t number);

}  // namespace rematlas::exported
