// The known fields of the dictionaries in a memory snapshot, and a holder for the values of one dictionary.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/snapshots/text_table.h"

namespace rematlas {

enum class SnapshotField : std::uint8_t {
    action,
    addr,
    address,
    alloc_conf,
    allocator_settings,
    blocks,
    device,
    device_free,
    device_traces,
    filename,
    frames,
    is_expandable,
    line,
    name,
    requested_size,
    segments,
    size,
    state,
    stream,
    time_us,
    total_size,
    user_metadata,
};

constexpr std::array<std::string_view, 22> kSnapshotFields{"action",
                                                           "addr",
                                                           "address",
                                                           "PYTORCH_CUDA_ALLOC_CONF",
                                                           "allocator_settings",
                                                           "blocks",
                                                           "device",
                                                           "device_free",
                                                           "device_traces",
                                                           "filename",
                                                           "frames",
                                                           "is_expandable",
                                                           "line",
                                                           "name",
                                                           "requested_size",
                                                           "segments",
                                                           "size",
                                                           "state",
                                                           "stream",
                                                           "time_us",
                                                           "total_size",
                                                           "user_metadata"};

/// A value on the stack of the pickle machine.
struct PickleValue {
    enum class Kind : std::uint8_t { other, integer, flag, text, object };
    Kind kind = Kind::other;
    std::int64_t number = 0;  ///< the value, the id of the text, or the number of the object

    bool is(Kind of) const { return kind == of; }
};

/// The values of the known fields of one dictionary. If a field occurs twice, its last value counts. A field
/// that is absent or of another kind reads as zero, and `fault` then returns a message about it.
class SnapshotFields {
  public:
    void clear() {
        present_ = 0;
        wrong_ = nullptr;
    }
    void set(SnapshotField field, PickleValue value) {
        present_ |= bit(field);
        values_[static_cast<std::size_t>(field)] = value;
    }
    bool has(SnapshotField field) const { return (present_ & bit(field)) != 0; }
    /// May only be called if `has(field)`.
    const PickleValue& at(SnapshotField field) const { return values_[static_cast<std::size_t>(field)]; }

    std::int64_t integer(SnapshotField field) {
        if (!has(field)) return refuse(field, "is missing"), 0;
        if (!at(field).is(PickleValue::Kind::integer)) return refuse(field, "is no integer of 64 bits"), 0;
        return at(field).number;
    }
    std::int64_t integer_or(SnapshotField field, std::int64_t otherwise) {
        return has(field) ? integer(field) : otherwise;
    }
    TextId text(SnapshotField field) {
        if (!has(field)) return refuse(field, "is missing"), TextId();
        if (!at(field).is(PickleValue::Kind::text)) return refuse(field, "is no text"), TextId();
        return TextId(at(field).number);
    }
    /// Returns a number of bytes, at least 0 and less than 2^60.
    std::int64_t bytes(SnapshotField field) {
        const std::int64_t value = integer(field);
        if (value >= 0 && value < std::int64_t{1} << 60) return value;
        return refuse(field, "is out of range"), 0;
    }

    /// Records a fault of the field. Only the first fault is kept.
    void refuse(SnapshotField field, const char* what) {
        if (wrong_ == nullptr) wrong_field_ = field, wrong_ = what;
    }
    bool faulty() const { return wrong_ != nullptr; }
    /// Returns a text such as "addr is missing". May only be called if `faulty()`.
    std::string fault() const {
        return std::string(kSnapshotFields[static_cast<std::size_t>(wrong_field_)]) + " " + wrong_;
    }

  private:
    static std::uint32_t bit(SnapshotField field) { return std::uint32_t{1} << static_cast<unsigned>(field); }

    std::uint32_t present_ = 0;
    std::array<PickleValue, kSnapshotFields.size()> values_;
    SnapshotField wrong_field_ = SnapshotField::action;
    const char* wrong_ = nullptr;
};

static_assert(kSnapshotFields.size() <= 32);

}  // namespace rematlas
