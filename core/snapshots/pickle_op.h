// Reads the instructions of a pickle, one at a time. A pickle is a program for a machine with a stack. This
// reader supports the instructions that plain values need, and refuses all others by name.
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
    tuple,    ///< makes a tuple of all values above the mark
    tuple_n,  ///< makes a tuple of the last `PickleStep::number` values
    integer,  ///< `PickleStep::number`
    flag,     ///< `PickleStep::number` is 0 or 1
    text,     ///< `PickleStep::text`
    other,    ///< a value that snapshots do not use: None, a float, bytes, a number of more than 64 bits
    get,      ///< pushes the value that the memo has under `PickleStep::number`
    put,      ///< stores the last value in the memo under `PickleStep::number`
    memoize,  ///< stores the last value in the memo under the next number
};

struct PickleStep {
    PickleOp op = PickleOp::other;
    std::int64_t number = 0;
    std::string_view text = {};  ///< valid until the next step is read
    std::int64_t position = 0;   ///< byte of the file at which the instruction begins
};

/// Reads the next instruction that has an effect. Throws SnapshotFault if the file ends, or if a length
/// reaches beyond the end of the file. Also throws for an instruction that imports code, calls code or is not
/// needed for plain values.
PickleStep next_pickle_step(ByteStream& bytes);

/// Reads the first two bytes. Throws SnapshotFault unless they announce protocol 2 to 5.
void expect_pickle_protocol(ByteStream& bytes);

/// Returns a text such as "byte 17: ".
std::string at_byte(std::int64_t position);

}  // namespace rematlas
