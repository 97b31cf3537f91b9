// The dictionaries and lists of a memory snapshot while it is read. As soon as an object is filled, it
// becomes what it stands for: a frame, an event, a list of blocks. No other form of the object is kept, only
// four bytes for each.
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

    // Each returns the number of a new object, and throws SnapshotFault where there are too many.
    std::uint32_t dict();
    std::uint32_t list();
    std::uint32_t other();  ///< one that means nothing here, such as a tuple

    /// Fills a dictionary with keys and values in turn. `position` is for messages. Throws SnapshotFault
    /// where the object is no dictionary, or a dictionary that was filled before: the writer of snapshots
    /// fills each at once.
    void fill(std::uint32_t object, std::span<const PickleValue> pairs, std::int64_t position);
    /// Throws SnapshotFault where the object is no list.
    void append(std::uint32_t object, std::span<const PickleValue> values, std::int64_t position);

    /// Returns the snapshot that the root of the file is. Throws SnapshotFault where the root is no
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
    /// The kind of an object, and its index among the frames, stacks, events and so on; for most lists, that
    /// of its range.
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
    std::vector<std::uint32_t> objects_;  ///< packed meanings
    std::vector<ItemRange> ranges_;       ///< of lists
    std::vector<ItemRange> traces_;
    std::vector<Root> roots_;
    SnapshotFields fields_;
    TextId first_action_, first_state_;
    std::int64_t counted_ = 0;  ///< bytes of all items together
    std::string first_fault_;   ///< of a dictionary that could not be understood
};

}  // namespace rematlas
