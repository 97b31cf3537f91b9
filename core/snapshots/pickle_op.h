// The instructions of a pickle, one at a time. A pickle is a programme for a machine with a stack. This
// reader reads the instructions that plain values need, and refuses all others by name.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/snapshots/byte_stream.h"

namespace rematlas {

enum class PickleOp : std::uint8_t {
    mark,
    stop,
    empty_dict,
    empty_list,
    append,
    appends,
    set_item,
    set_items,
    tuple,    ///< of all values above the mark
    tuple_n,  ///< of the last `PickleStep::number` values
    integer,  ///< `PickleStep::number`
    flag,     ///< the same, 0 or 1
    text,     ///< `PickleStep::text`
    other,    ///< a value that means nothing here: None, a float, bytes, a number of more than 64 bits
    get,      ///< the value that has this number in the memo
    put,      ///< gives the last value this number
    memoize,  ///< gives the last value the next number
};

struct PickleStep {
    PickleOp op = PickleOp::other;
    std::int64_t number = 0;
    std::string_view text = {};  ///< valid until the next step is read
    std::int64_t position = 0;   ///< in the file
};

/// Reads the next instruction that does something. Throws SnapshotFault where the file ends, where a length
/// goes beyond its end, and for instructions that import code, call code or are not needed for plain
/// values.
PickleStep next_pickle_step(ByteStream& bytes);

/// Reads the first two bytes. Throws SnapshotFault unless they announce protocol 2 to 5.
void expect_pickle_protocol(ByteStream& bytes);

/// "byte 17: "
std::string at_byte(std::int64_t position);

}  // namespace rematlas
