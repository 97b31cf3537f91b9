// The dictionaries and lists of a memory snapshot while it is read. As soon as an object is filled, it is
// converted to what it represents: a frame, an event, a list of blocks. After that, only four bytes are kept
// for the object itself.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/snapshots/memory_snapshot.h"
#include "core/snapshots/snapshot_fields.h"

namespace rematlas {

class SnapshotObjects {
  public:
    SnapshotObjects();

    TextTable& texts() { return snapshot_.texts; }

    // Each of the next three functions returns the number of a new object. They throw SnapshotFault if there
    // are too many objects.
    std::uint32_t dict();
    std::uint32_t list();
    std::uint32_t other();  ///< an object that snapshots do not use, such as a tuple

    /// Fills a dictionary with keys and values, which alternate in `pairs`. `position` is for messages.
    /// Throws SnapshotFault if the object is a list, or was filled before (torch's writer fills each
    /// dictionary at once). Ignores objects that snapshots do not use.
    void fill(std::uint32_t object, std::span<const PickleValue> pairs, std::int64_t position);
    /// Appends values to a list. Throws SnapshotFault if the object is not a list.
    void append(std::uint32_t object, std::span<const PickleValue> values, std::int64_t position);

    /// Returns the snapshot. `root` is the outermost value of the file. Throws SnapshotFault if it is not a
    /// snapshot.
    MemorySnapshot take(const PickleValue& root);

  private:
    enum class Kind : std::uint8_t {
        new_dict,
        new_list,
        other,
        frame,
        frame_list,
        event,
        event_list,
        block,
        block_list,
        segment,
        segment_list,
        trace_list,
        settings,
        snapshot,
        other_list,
    };
    /// The kind of an object, and the index of the object in the vector for this kind (frames, stacks, events
    /// and so on). For most lists that vector is `ranges_`.
    struct Meaning {
        Kind kind = Kind::other;
        std::uint32_t at = 0;
    };
    struct Root {
        ItemRange segments, traces;
        TextId settings = {};
    };

    std::uint32_t added(Meaning meaning);
    Meaning meaning(const PickleValue& value) const;
    void become(std::uint32_t object, Meaning meaning);
    std::uint32_t next_of(std::size_t size) const;

    Meaning understood();  ///< the meaning of `fields_`
    Meaning understood_event();
    Meaning understood_block();
    Meaning understood_segment();
    Meaning understood_snapshot();
    Meaning understood_frame();
    StackId stack_field();
    ItemRange range_field(SnapshotField field, Kind kind, const char* what);
    std::int64_t counted_bytes(SnapshotField field);

    std::size_t append_frames(std::uint32_t object, std::span<const PickleValue> values);
    void append_one(std::uint32_t object, const PickleValue& value);
    Meaning started_list(Meaning first);
    bool extended(Meaning list, Meaning item);

    MemorySnapshot snapshot_;
    std::vector<std::uint32_t> objects_;  ///< by object: its Meaning, packed into 32 bits
    std::vector<ItemRange> ranges_;       ///< ranges of items that lists contain
    std::vector<ItemRange> traces_;
    std::vector<Root> roots_;
    SnapshotFields fields_;
    TextId first_action_, first_state_;
    std::int64_t counted_ = 0;  ///< sum of the bytes of all items
    std::string first_fault_;   ///< message about the first dictionary that could not be understood
};

}  // namespace rematlas
