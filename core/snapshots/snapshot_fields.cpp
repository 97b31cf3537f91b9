#include "core/snapshots/snapshot_fields.h"

namespace rematlas {
namespace {

constexpr std::int64_t kMostFieldBytes = std::int64_t{1} << 60;

}  // namespace

std::int64_t SnapshotFields::integer(SnapshotField field) {
    if (!has(field)) return refuse(field, "is missing"), 0;
    if (!at(field).is(PickleValue::Kind::integer)) return refuse(field, "is no integer of 64 bits"), 0;
    return at(field).number;
}

TextId SnapshotFields::text(SnapshotField field) {
    if (!has(field)) return refuse(field, "is missing"), TextId();
    if (!at(field).is(PickleValue::Kind::text)) return refuse(field, "is no text"), TextId();
    return TextId(at(field).number);
}

std::int64_t SnapshotFields::bytes(SnapshotField field) {
    const std::int64_t value = integer(field);
    if (value >= 0 && value < kMostFieldBytes) return value;
    return refuse(field, "is out of range"), 0;
}

std::string SnapshotFields::fault() const {
    return std::string(kSnapshotFields[static_cast<std::size_t>(wrong_field_)]) + " " + wrong_;
}

}  // namespace rematlas
