#include "tests/core/support/random_snapshot.h"

#include <algorithm>
#include <random>

namespace rematlas {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kRound = 512, kSegment = 8192;

struct SimBlock {
    std::int64_t address = 0, bytes = 0, requested = 0;
    std::string state = "inactive";
    int place = 0;
};

struct SimSegment {
    std::int64_t address = 0, bytes = 0;
    std::vector<SimBlock> blocks;
};

/// The beginning or the end of an allocation. The expected values are computed from these changes.
struct SimChange {
    std::int64_t address = 0, bytes = 0;  ///< negative bytes: the allocation ends
    int place = 0;
};

std::string place_name(int place) {
    return "model.py:" + std::to_string(10 + place) + " layer" + std::to_string(place);
}

ordered_json frames_of(int place) {
    return {
        {{"name", "linear"}, {"filename", "/x/site-packages/torch/nn/functional.py"}, {"line", 7}},
        {{"name", "layer" + std::to_string(place)}, {"filename", "/home/me/model.py"}, {"line", 10 + place}},
        {{"name", "main"}, {"filename", "/home/me/train.py"}, {"line", 99}}};
}

class SimAllocator {
  public:
    SimAllocator(int device, std::mt19937& random) : device_(device), random_(random) {}

    void play(int events) {
        while (static_cast<int>(events_.size()) < events) {
            const int what = upto(20);
            if (what < 10) {
                alloc(1 + upto(6000), upto(5));
            } else if (what < 17) {
                free_one();
            } else if (what < 18) {
                complete_one();
            } else if (what < 19) {
                empty_cache();
            } else {
                note("oom", {{"device_free", upto(5000)}, {"size", 1 + upto(9000)}}, upto(5));
            }
        }
    }

    ordered_json segments() const {
        ordered_json all = ordered_json::array();
        for (const SimSegment& segment : segments_) {
            ordered_json blocks = ordered_json::array();
            for (const SimBlock& block : segment.blocks)
                blocks.push_back(
                    {{"address", block.address},
                     {"size", block.bytes},
                     {"requested_size", block.requested},
                     {"state", block.state},
                     {"frames", block.state == "inactive" ? ordered_json::array() : frames_of(block.place)}});
            all.push_back({{"device", device_},
                           {"address", segment.address},
                           {"total_size", segment.bytes},
                           {"stream", 0},
                           {"segment_type", "small"},
                           {"segment_pool_id", {0, 0}},
                           {"is_expandable", false},
                           {"frames", ordered_json::array()},
                           {"blocks", blocks}});
        }
        return all;
    }

    ordered_json last_events(std::size_t kept) const {
        ordered_json events = ordered_json::array();
        for (std::size_t i = events_.size() - std::min(kept, events_.size()); i < events_.size(); ++i)
            events.push_back(events_[i]);
        return events;
    }

    DeviceTruth truth(std::size_t kept) const {
        const std::size_t begin = events_.size() - std::min(kept, events_.size());
        DeviceTruth truth;
        truth.allocated.assign(allocated_.begin() + static_cast<std::ptrdiff_t>(begin), allocated_.end());
        truth.reserved.assign(reserved_.begin() + static_cast<std::ptrdiff_t>(begin), reserved_.end());
        const auto peak = std::max_element(truth.allocated.begin(), truth.allocated.end());
        const auto at = begin + static_cast<std::size_t>(peak - truth.allocated.begin());
        truth.at_peak = alive_by_place(at, begin);
        for (const SimSegment& segment : segments_) {
            for (const SimBlock& block : segment.blocks) {
                if (block.state != "inactive") continue;
                truth.inactive += block.bytes;
                truth.largest_free = std::max(truth.largest_free, block.bytes);
            }
        }
        return truth;
    }

  private:
    int upto(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

    void note(const char* action, ordered_json event, int place, SimChange change = {}) {
        event["action"] = action;
        event["stream"] = 0;
        event["time_us"] = 1'700'000'000'000'000 + 10 * static_cast<std::int64_t>(events_.size());
        event["compile_context"] = "N/A";
        event["frames"] = frames_of(place);
        events_.push_back(std::move(event));
        changes_.push_back(change);
        allocated_.push_back(allocated_.back() + change.bytes);
        reserved_.push_back(reserved_.back());
    }

    /// Returns the first free block that is large enough. Adds a new segment if there is none.
    std::pair<SimSegment*, std::size_t> room_for(std::int64_t bytes) {
        for (SimSegment& segment : segments_)
            for (std::size_t i = 0; i < segment.blocks.size(); ++i)
                if (segment.blocks[i].state == "inactive" && segment.blocks[i].bytes >= bytes)
                    return {&segment, i};
        const std::int64_t size = std::max(kSegment, bytes);
        segments_.push_back({next_address_, size, {{next_address_, size}}});
        next_address_ += 2 * size;
        note("segment_alloc", {{"addr", segments_.back().address}, {"size", size}}, 0);
        reserved_.back() += size;
        return {&segments_.back(), 0};
    }

    void alloc(std::int64_t requested, int place) {
        const std::int64_t bytes = (requested + kRound - 1) / kRound * kRound;
        const auto [segment, i] = room_for(bytes);
        SimBlock& block = segment->blocks[i];
        const SimBlock rest{block.address + bytes, block.bytes - bytes};
        block = {block.address, bytes, requested, "active_allocated", place};
        const std::int64_t address = block.address;
        if (rest.bytes > 0)
            segment->blocks.insert(segment->blocks.begin() + static_cast<std::ptrdiff_t>(i) + 1, rest);
        note("alloc", {{"addr", address}, {"size", requested}}, place, {address, requested, place});
    }

    SimBlock* some_block(const char* state) {
        std::vector<SimBlock*> found;
        for (SimSegment& segment : segments_)
            for (SimBlock& block : segment.blocks)
                if (block.state == state) found.push_back(&block);
        return found.empty() ? nullptr
                             : found[static_cast<std::size_t>(upto(static_cast<int>(found.size())))];
    }

    void free_one() {
        SimBlock* block = some_block("active_allocated");
        if (block == nullptr) return;
        block->state = "active_awaiting_free";
        note("free_requested", {{"addr", block->address}, {"size", block->requested}}, 4,
             {block->address, -block->requested, block->place});
        if (upto(4) > 0) complete(*block);
    }

    void complete_one() {
        if (SimBlock* block = some_block("active_awaiting_free")) complete(*block);
    }

    void complete(SimBlock& block) {
        note("free_completed", {{"addr", block.address}, {"size", block.requested}}, 4);
        block.state = "inactive";
        for (SimSegment& segment : segments_) {
            std::vector<SimBlock> merged;
            for (const SimBlock& each : segment.blocks) {
                if (!merged.empty() && merged.back().state == "inactive" && each.state == "inactive")
                    merged.back().bytes += each.bytes;
                else
                    merged.push_back(each);
            }
            segment.blocks = std::move(merged);
        }
    }

    void empty_cache() {
        for (std::size_t i = segments_.size(); i-- > 0;) {
            const SimSegment segment = segments_[i];
            if (segment.blocks.size() != 1 || segment.blocks[0].state != "inactive") continue;
            segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(i));
            note("segment_free", {{"addr", segment.address}, {"size", segment.bytes}}, 0);
            reserved_.back() -= segment.bytes;
        }
    }

    /// Returns for each place the bytes that are allocated at `moment`. The snapshot has the changes from
    /// `begin` on. A block that began earlier has a known place only if it still exists at the end.
    std::map<std::string, std::int64_t> alive_by_place(std::size_t moment, std::size_t begin) const {
        std::map<std::int64_t, std::pair<SimChange, std::size_t>> alive;  // address -> (allocation, its index
                                                                          // among the changes)
        for (std::size_t i = 0; i < moment; ++i) {
            if (changes_[i].bytes > 0) alive[changes_[i].address] = {changes_[i], i};
            if (changes_[i].bytes < 0) alive.erase(changes_[i].address);
        }
        std::map<std::string, std::int64_t> places;
        for (const auto& [address, began] : alive) {
            bool ends = false;
            for (std::size_t i = moment; i < changes_.size() && !ends; ++i)
                ends = changes_[i].bytes < 0 && changes_[i].address == address;
            const bool known = began.second >= begin || !ends;
            places[known ? place_name(began.first.place) : "?"] += began.first.bytes;
        }
        return places;
    }

    int device_;
    std::mt19937& random_;
    std::vector<SimSegment> segments_;
    std::vector<ordered_json> events_;
    std::vector<SimChange> changes_;
    std::vector<std::int64_t> allocated_{0}, reserved_{0};
    std::int64_t next_address_ = 139'637'976'727'552;
};

}  // namespace

RandomSnapshot random_snapshot(std::uint32_t seed, const SnapshotOptions& options) {
    std::mt19937 random(seed);
    RandomSnapshot out;
    ordered_json segments = ordered_json::array(), traces = ordered_json::array();
    const auto kept = static_cast<std::size_t>(options.kept);
    for (int device = 0; device < options.devices; ++device) {
        SimAllocator allocator(device, random);
        allocator.play(options.events);
        for (const ordered_json& segment : allocator.segments()) segments.push_back(segment);
        traces.push_back(allocator.last_events(kept));
        out.devices.push_back(allocator.truth(kept));
    }
    out.snapshot = {{"segments", segments},
                    {"device_traces", traces},
                    {"allocator_settings",
                     {{"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:False"},
                      {"garbage_collection_threshold", 0.5},
                      {"roundup_power2_divisions", {{"1", 0}, {"2", 0}}}}},
                    {"external_annotations", ordered_json::array()}};
    return out;
}

}  // namespace rematlas
