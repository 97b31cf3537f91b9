#include "core/snapshots/snapshot_objects.h"

#include <algorithm>
#include <array>

#include "core/snapshots/byte_stream.h"
#include "core/snapshots/pickle_op.h"

namespace rematlas {
namespace {

constexpr unsigned kPlaceBits = 28;
constexpr std::uint32_t kMostObjects = std::uint32_t{1} << kPlaceBits;
constexpr std::int64_t kMostBytesTogether = std::int64_t{1} << 62;
constexpr std::int64_t kMostDevices = 1024;
constexpr std::int64_t kLatestMicrosecond = std::int64_t{1} << 52;  ///< about 140 years

/// Torch's names of the actions, in the order of AllocatorAction; `other` has no name.
constexpr std::array<std::string_view, 9> kActions{"alloc",         "free_requested", "free_completed",
                                                   "segment_alloc", "segment_free",   "segment_map",
                                                   "segment_unmap", "snapshot",       "oom"};
/// Torch's names of the block states. `kStateOf` has, in the same order, the state that each name means.
constexpr std::array<std::string_view, 4> kStates{"active_allocated", "active_awaiting_free",
                                                  "active_pending_free", "inactive"};
constexpr std::array<BlockState, 4> kStateOf{BlockState::allocated, BlockState::awaiting_free,
                                             BlockState::awaiting_free, BlockState::inactive};

bool moves_a_block(AllocatorAction action) {
    return action != AllocatorAction::snapshot && action != AllocatorAction::oom &&
           action != AllocatorAction::other;
}

}  // namespace

SnapshotObjects::SnapshotObjects() {
    for (const std::string_view name : kSnapshotFields)
        texts().add(name);  // so the id of a field's name equals its SnapshotField
    // The names of actions get consecutive ids, and so do the names of states, because none of them is also
    // the name of a field.
    first_action_ = TextId(static_cast<std::int64_t>(texts().size()));
    for (const std::string_view name : kActions) texts().add(name);
    first_state_ = TextId(static_cast<std::int64_t>(texts().size()));
    for (const std::string_view name : kStates) texts().add(name);
}

std::uint32_t SnapshotObjects::dict() {
    return added({Kind::new_dict, 0});
}

std::uint32_t SnapshotObjects::list() {
    return added({Kind::new_list, 0});
}

std::uint32_t SnapshotObjects::other() {
    return added({Kind::other, 0});
}

std::uint32_t SnapshotObjects::next_of(std::size_t size) const {
    if (size >= kMostObjects)
        throw SnapshotFault{"the file holds more objects than fit in this reader (2^28)"};
    return static_cast<std::uint32_t>(size);
}

std::uint32_t SnapshotObjects::added(Meaning meaning) {
    const std::uint32_t object = next_of(objects_.size());
    objects_.push_back(0);
    become(object, meaning);
    return object;
}

void SnapshotObjects::become(std::uint32_t object, Meaning meaning) {
    objects_[object] = static_cast<std::uint32_t>(meaning.kind) << kPlaceBits | meaning.at;
}

SnapshotObjects::Meaning SnapshotObjects::meaning(const PickleValue& value) const {
    if (!value.is(PickleValue::Kind::object)) return {};
    const std::uint32_t packed = objects_[static_cast<std::size_t>(value.number)];
    return {static_cast<Kind>(packed >> kPlaceBits), packed & (kMostObjects - 1)};
}

void SnapshotObjects::fill(std::uint32_t object, std::span<const PickleValue> pairs, std::int64_t position) {
    const Meaning before = meaning({PickleValue::Kind::object, object});
    if (before.kind == Kind::other) return;
    if (before.kind != Kind::new_dict)
        throw SnapshotFault{at_byte(position) + "something that is no new dictionary is filled"};
    fields_.clear();
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
        if (pairs[i].is(PickleValue::Kind::text) &&
            pairs[i].number < static_cast<std::int64_t>(kSnapshotFields.size()))
            fields_.set(static_cast<SnapshotField>(pairs[i].number), pairs[i + 1]);
    const Meaning now = understood();
    become(object, fields_.faulty() ? Meaning() : now);
    if (fields_.faulty() && first_fault_.empty()) first_fault_ = at_byte(position) + fields_.fault();
}

SnapshotObjects::Meaning SnapshotObjects::understood() {
    if (fields_.has(SnapshotField::action)) return understood_event();
    if (fields_.has(SnapshotField::filename)) return understood_frame();
    if (fields_.has(SnapshotField::state)) return understood_block();
    if (fields_.has(SnapshotField::total_size)) return understood_segment();
    if (fields_.has(SnapshotField::segments) || fields_.has(SnapshotField::device_traces))
        return understood_snapshot();
    if (!fields_.has(SnapshotField::alloc_conf) ||
        !fields_.at(SnapshotField::alloc_conf).is(PickleValue::Kind::text))
        return {};
    return {Kind::settings, static_cast<std::uint32_t>(fields_.text(SnapshotField::alloc_conf).value)};
}

std::int64_t SnapshotObjects::counted_bytes(SnapshotField field) {
    const std::int64_t bytes = fields_.bytes(field);
    counted_ += bytes;
    if (counted_ > kMostBytesTogether)
        throw SnapshotFault{"the sizes in the file add up to more than 2^62 bytes; it is damaged"};
    return bytes;
}

StackId SnapshotObjects::stack_field() {
    if (!fields_.has(SnapshotField::frames)) return {};
    const Meaning frames = meaning(fields_.at(SnapshotField::frames));
    if (frames.kind == Kind::frame_list) return StackId(frames.at);
    if (frames.kind != Kind::new_list) fields_.refuse(SnapshotField::frames, "is no list of frames");
    return {};
}

ItemRange SnapshotObjects::range_field(SnapshotField field, Kind kind, const char* what) {
    if (!fields_.has(field)) return {};
    const Meaning list = meaning(fields_.at(field));
    if (list.kind == kind) return ranges_[list.at];
    if (list.kind != Kind::new_list) fields_.refuse(field, what);
    return {};
}

SnapshotObjects::Meaning SnapshotObjects::understood_event() {
    AllocatorEvent event;
    const std::int64_t action = fields_.text(SnapshotField::action).value - first_action_.value;
    if (action >= 0 && action < static_cast<std::int64_t>(kActions.size()))
        event.action = static_cast<AllocatorAction>(action);
    const bool moves = moves_a_block(event.action);
    if (moves || fields_.has(SnapshotField::size)) event.bytes = counted_bytes(SnapshotField::size);
    const SnapshotField place =
        fields_.has(SnapshotField::device_free) && !moves ? SnapshotField::device_free : SnapshotField::addr;
    if (moves || fields_.has(place)) event.address = static_cast<std::uint64_t>(fields_.integer(place));
    event.time_us = fields_.integer_or(SnapshotField::time_us, 0);
    if (event.time_us < 0 || event.time_us > kLatestMicrosecond)
        fields_.refuse(SnapshotField::time_us, "is out of range");
    event.stack = stack_field();
    if (fields_.has(SnapshotField::user_metadata) &&
        fields_.at(SnapshotField::user_metadata).is(PickleValue::Kind::text))
        event.metadata = fields_.text(SnapshotField::user_metadata);
    if (fields_.faulty()) return {};
    const std::uint32_t at = next_of(snapshot_.events.size());
    snapshot_.events.push_back(event);
    return {Kind::event, at};
}

SnapshotObjects::Meaning SnapshotObjects::understood_frame() {
    const CallFrame frame{fields_.text(SnapshotField::filename), fields_.text(SnapshotField::name),
                          fields_.integer_or(SnapshotField::line, 0)};
    if (fields_.faulty()) return {};
    return {Kind::frame, static_cast<std::uint32_t>(snapshot_.stacks.frame(frame, texts()).value)};
}

SnapshotObjects::Meaning SnapshotObjects::understood_block() {
    const std::int64_t state = fields_.text(SnapshotField::state).value - first_state_.value;
    if (state < 0 || state >= static_cast<std::int64_t>(kStateOf.size()))
        return fields_.refuse(SnapshotField::state, "is not known"), Meaning();
    AllocatorBlock block{.bytes = counted_bytes(SnapshotField::size),
                         .state = kStateOf[static_cast<std::size_t>(state)]};
    block.address = static_cast<std::uint64_t>(fields_.integer_or(SnapshotField::address, 0));
    block.requested = fields_.has(SnapshotField::requested_size)
                          ? fields_.bytes(SnapshotField::requested_size)
                          : block.bytes;
    block.stack = stack_field();
    if (block.requested > block.bytes) block.requested = block.bytes;
    if (fields_.faulty()) return {};
    const std::uint32_t at = next_of(snapshot_.blocks.size());
    snapshot_.blocks.push_back(block);
    return {Kind::block, at};
}

SnapshotObjects::Meaning SnapshotObjects::understood_segment() {
    AllocatorSegment segment{.address = static_cast<std::uint64_t>(fields_.integer(SnapshotField::address)),
                             .bytes = counted_bytes(SnapshotField::total_size),
                             .stream = fields_.integer_or(SnapshotField::stream, 0)};
    const std::int64_t device = fields_.integer_or(SnapshotField::device, 0);
    if (device < 0 || device >= kMostDevices) fields_.refuse(SnapshotField::device, "is out of range");
    segment.device = static_cast<int>(device);
    if (fields_.has(SnapshotField::is_expandable))
        segment.expandable = fields_.at(SnapshotField::is_expandable).number != 0;
    segment.blocks = range_field(SnapshotField::blocks, Kind::block_list, "is no list of blocks");
    if (fields_.faulty()) return {};
    // Before torch 2.1, blocks had no addresses in the file. They follow each other in the segment.
    std::uint64_t address = segment.address;
    for (std::uint32_t i = 0; i < segment.blocks.count; ++i) {
        AllocatorBlock& block = snapshot_.blocks[segment.blocks.first + i];
        if (block.address == 0) block.address = address;
        address = block.address + static_cast<std::uint64_t>(block.bytes);
    }
    const std::uint32_t at = next_of(snapshot_.segments.size());
    snapshot_.segments.push_back(segment);
    return {Kind::segment, at};
}

SnapshotObjects::Meaning SnapshotObjects::understood_snapshot() {
    Root root{.segments = range_field(SnapshotField::segments, Kind::segment_list, "is no list of segments"),
              .traces = range_field(SnapshotField::device_traces, Kind::trace_list,
                                    "is no list of lists of events")};
    if (fields_.has(SnapshotField::allocator_settings)) {
        const Meaning settings = meaning(fields_.at(SnapshotField::allocator_settings));
        if (settings.kind == Kind::settings) root.settings = TextId(settings.at);
    }
    if (root.traces.count > kMostDevices)
        fields_.refuse(SnapshotField::device_traces, "has too many devices");
    if (fields_.faulty()) return {};
    const std::uint32_t at = next_of(roots_.size());
    roots_.push_back(root);
    return {Kind::snapshot, at};
}

void SnapshotObjects::append(std::uint32_t object, std::span<const PickleValue> values,
                             std::int64_t position) {
    const Kind before = meaning({PickleValue::Kind::object, object}).kind;
    if (before == Kind::other_list) return;
    const std::array lists{Kind::new_list,   Kind::frame_list,   Kind::event_list,
                           Kind::block_list, Kind::segment_list, Kind::trace_list};
    if (std::find(lists.begin(), lists.end(), before) == lists.end())
        throw SnapshotFault{at_byte(position) + "something that is no list is appended to"};
    for (const PickleValue& value : values.subspan(append_frames(object, values))) append_one(object, value);
}

/// Appends the frames at the beginning of `values` to the list, and returns how many frames there are. Frames
/// have their own function for speed, because most values of a file are frames.
std::size_t SnapshotObjects::append_frames(std::uint32_t object, std::span<const PickleValue> values) {
    const Meaning list = meaning({PickleValue::Kind::object, object});
    if (list.kind != Kind::new_list && list.kind != Kind::frame_list) return 0;
    StackId stack = list.kind == Kind::frame_list ? StackId(list.at) : StackId();
    std::size_t count = 0;
    for (; count < values.size(); ++count) {
        const Meaning item = meaning(values[count]);
        if (item.kind != Kind::frame) break;
        stack = snapshot_.stacks.child(stack, FrameId(item.at));
    }
    if (count > 0) become(object, {Kind::frame_list, static_cast<std::uint32_t>(stack.value)});
    return count;
}

void SnapshotObjects::append_one(std::uint32_t object, const PickleValue& value) {
    const Meaning list = meaning({PickleValue::Kind::object, object}), item = meaning(value);
    if (list.kind == Kind::new_list) return become(object, started_list(item));
    if (list.kind == Kind::frame_list || !extended(list, item)) become(object, {Kind::other_list, 0});
}

SnapshotObjects::Meaning SnapshotObjects::started_list(Meaning first) {
    Meaning list{Kind::other_list, next_of(ranges_.size())};
    std::uint32_t begin = first.at;
    if (first.kind == Kind::event) list.kind = Kind::event_list;
    if (first.kind == Kind::block) list.kind = Kind::block_list;
    if (first.kind == Kind::segment) list.kind = Kind::segment_list;
    if (first.kind == Kind::event_list || first.kind == Kind::new_list) {
        list.kind = Kind::trace_list;
        begin = static_cast<std::uint32_t>(traces_.size());
    }
    if (list.kind == Kind::other_list) return {Kind::other_list, 0};
    ranges_.push_back({begin, 0});
    extended(list, first);
    return list;
}

/// Appends the item to the range of the list. Returns false if the item does not fit. The items of a list are
/// stored one after another, because the file creates each item just before it adds the item to the list.
bool SnapshotObjects::extended(Meaning list, Meaning item) {
    const bool lists_events =
        list.kind == Kind::trace_list && (item.kind == Kind::event_list || item.kind == Kind::new_list);
    const bool fits = lists_events || (list.kind == Kind::event_list && item.kind == Kind::event) ||
                      (list.kind == Kind::block_list && item.kind == Kind::block) ||
                      (list.kind == Kind::segment_list && item.kind == Kind::segment);
    if (!fits) return false;
    ItemRange& range = ranges_[list.at];
    if (range.first + range.count != (lists_events ? traces_.size() : item.at)) return false;
    if (lists_events) traces_.push_back(item.kind == Kind::event_list ? ranges_[item.at] : ItemRange());
    ++range.count;
    return true;
}

MemorySnapshot SnapshotObjects::take(const PickleValue& root) {
    const Meaning whole = meaning(root);
    Root parts;
    if (whole.kind == Kind::snapshot)
        parts = roots_[whole.at];
    else if (whole.kind == Kind::segment_list)  // torch.cuda.memory_snapshot() returns only the segments
        parts.segments = ranges_[whole.at];
    else if (!first_fault_.empty())
        throw SnapshotFault{first_fault_};
    else
        throw SnapshotFault{
            "holds no memory snapshot but something else; torch.cuda.memory._dump_snapshot writes one"};
    const auto first = snapshot_.segments.begin() + parts.segments.first;
    snapshot_.segments = std::vector<AllocatorSegment>(first, first + parts.segments.count);
    snapshot_.device_events.assign(traces_.begin() + parts.traces.first,
                                   traces_.begin() + parts.traces.first + parts.traces.count);
    snapshot_.settings = std::string(texts()[parts.settings]);
    return std::move(snapshot_);
}

}  // namespace rematlas
