// Tests figures that are computed from measured memory: levels, places, missing events, fragmentation.
#include "core/snapshots/measured_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/support/pickle_writer.h"
#include "tests/core/support/random_snapshot.h"

namespace rematlas {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

MeasuredMemory measured_of(const std::string& text) {
    Result<MeasuredMemory> read = parse_measured_memory(text, "m");
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    return read ? read.take() : MeasuredMemory();
}

ordered_json frames_at(const char* file, int line) {
    return json_list({{{"name", "f"}, {"filename", file}, {"line", line}}});
}

ordered_json event_at(const char* action, std::int64_t address, std::int64_t size,
                      const char* file = "a.py") {
    return {
        {"action", action}, {"addr", address}, {"size", size}, {"stream", 0}, {"frames", frames_at(file, 1)}};
}

ordered_json block_at(std::int64_t address, std::int64_t size, std::int64_t requested, const char* state) {
    return {{"address", address},
            {"size", size},
            {"requested_size", requested},
            {"state", state},
            {"frames", frames_at("kept.py", 2)}};
}

ordered_json segment_at(std::int64_t address, std::int64_t size, const std::vector<ordered_json>& blocks) {
    return {{"device", 0},
            {"address", address},
            {"total_size", size},
            {"stream", 0},
            {"blocks", json_list(blocks)}};
}

MeasuredDevice device_measured_of(const std::vector<ordered_json>& segments,
                                  const std::vector<ordered_json>& events) {
    const MeasuredMemory all = measured_of(
        pickled({{"segments", json_list(segments)}, {"device_traces", json_list({json_list(events)})}}));
    EXPECT_EQ(all.devices.size(), 1u);
    return all.devices.empty() ? MeasuredDevice() : all.devices[0];
}

std::map<std::string, std::int64_t> measured_places_at(const MeasuredMemory& all,
                                                       const MeasuredDevice& device, TraceMoment moment) {
    std::map<std::string, std::int64_t> places;
    for (const PlaceShare& share : alive_by_place(all, device, moment))
        places[share.before ? "?" : share_name(all, share)] += share.bytes.value;
    return places;
}

TEST(MeasuredMemory, is_what_the_allocator_did) {
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
        const RandomSnapshot random = random_snapshot(seed, {.events = 300, .kept = 60 + 10 * int(seed)});
        const MeasuredMemory all =
            measured_of(pickled(random.snapshot, seed % 2 ? kTorchsOwn : PickleStyle()));
        ASSERT_EQ(all.devices.size(), random.devices.size());
        for (std::size_t i = 0; i < all.devices.size(); ++i) {
            const MeasuredDevice& device = all.devices[i];
            const DeviceTruth& truth = random.devices[i];
            EXPECT_EQ(device.allocated, truth.allocated) << seed;
            EXPECT_EQ(device.reserved, truth.reserved) << seed;
            EXPECT_EQ(measured_places_at(all, device, peak_moment(device.allocated)), truth.at_peak) << seed;
            EXPECT_EQ(fragmentation_of(device).inactive.value, truth.inactive);
            EXPECT_EQ(fragmentation_of(device).largest_free.value, truth.largest_free);
            EXPECT_EQ(device.gaps.before.value, truth.allocated.front());
            EXPECT_EQ(device.gaps.lost_frees, 0u);
            EXPECT_EQ(device.gaps.missing_blocks, 0u);
            EXPECT_EQ(device.gaps.reserved_short.value, 0);
        }
    }
}

TEST(MeasuredMemory, at_any_moment_is_the_sum_of_what_is_alive) {
    const MeasuredMemory all = measured_of(pickled(random_snapshot(11).snapshot));
    for (const MeasuredDevice& device : all.devices) {
        for (std::size_t moment = 0; moment < device.allocated.size(); ++moment) {
            std::int64_t sum = 0;
            for (const auto& [place, bytes] :
                 measured_places_at(all, device, static_cast<TraceMoment>(moment)))
                sum += bytes;
            EXPECT_EQ(sum, device.allocated[moment]);
        }
    }
}

TEST(MeasuredMemory, begins_with_what_is_still_there_or_given_back_later) {
    const MeasuredDevice device = device_measured_of(
        {segment_at(0, 4096,
                    {block_at(0, 512, 500, "active_allocated"), block_at(512, 3584, 0, "inactive")})},
        {event_at("alloc", 512, 100), event_at("free_requested", 512, 100),
         event_at("free_completed", 512, 100), event_at("free_requested", 2048, 1000),
         event_at("free_completed", 2048, 1000)});
    EXPECT_THAT(device.allocated, ElementsAre(1500, 1600, 1500, 1500, 500, 500));
    EXPECT_THAT(device.reserved, testing::Each(4096));
    EXPECT_EQ(device.gaps.before, Bytes(1500));
    EXPECT_EQ(device.gaps.before_unplaced, Bytes(1000));
    EXPECT_EQ(device.gaps.rounding, Bytes(12));
}

TEST(MeasuredMemory, lets_go_when_the_program_does_and_not_when_the_allocator_can) {
    const MeasuredDevice delayed = device_measured_of(
        {}, {event_at("alloc", 1, 8), event_at("free_requested", 1, 8), event_at("free_completed", 1, 8)});
    EXPECT_THAT(delayed.allocated, ElementsAre(0, 8, 0, 0));
    const MeasuredDevice unrequested =
        device_measured_of({}, {event_at("alloc", 1, 8), event_at("free_completed", 1, 8)});
    EXPECT_THAT(unrequested.allocated, ElementsAre(0, 8, 0)) << "requests were not recorded";
    const MeasuredDevice before = device_measured_of(
        {}, {event_at("free_completed", 9, 8), event_at("alloc", 1, 8), event_at("free_requested", 1, 8)});
    EXPECT_THAT(before.allocated, ElementsAre(0, 0, 8, 0)) << "asked for before the trace began";
}

TEST(MeasuredMemory, says_that_events_are_missing) {
    const MeasuredDevice twice = device_measured_of({}, {event_at("alloc", 1, 8), event_at("alloc", 1, 4)});
    EXPECT_EQ(twice.gaps.lost_frees, 1u);
    EXPECT_THAT(twice.allocated, ElementsAre(0, 8, 4));
    const MeasuredDevice gone = device_measured_of({segment_at(0, 4096, {block_at(0, 4096, 0, "inactive")})},
                                                   {event_at("alloc", 1, 8)});
    EXPECT_EQ(gone.gaps.missing_blocks, 1u);
    EXPECT_EQ(gone.gaps.missing, Bytes(8));
    const MeasuredDevice unreserved = device_measured_of({}, {event_at("segment_alloc", 0, 4096)});
    EXPECT_THAT(unreserved.reserved, ElementsAre(-4096, 0));
    EXPECT_EQ(unreserved.gaps.reserved_short, Bytes(4096));
}

TEST(MeasuredMemory, counts_expandable_segments_as_they_grow) {
    const MeasuredDevice device =
        device_measured_of({segment_at(0, 2048, {block_at(0, 2048, 0, "inactive")})},
                           {event_at("segment_map", 0, 2048), event_at("segment_map", 2048, 2048),
                            event_at("segment_unmap", 2048, 2048)});
    EXPECT_THAT(device.reserved, ElementsAre(0, 2048, 4096, 2048));
}

TEST(MeasuredMemory, without_segments_says_nothing_of_what_is_reserved) {
    EXPECT_THAT(device_measured_of({}, {event_at("alloc", 1, 8)}).reserved, IsEmpty());
}

TEST(MeasuredMemory, tells_where_memory_ran_out) {
    ordered_json oom = event_at("oom", 0, 1 << 20);
    oom.erase("addr");
    oom["device_free"] = 4096;
    const MeasuredDevice device = device_measured_of({}, {event_at("alloc", 1, 8), oom});
    ASSERT_THAT(device.failures, SizeIs(1));
    EXPECT_EQ(device.failures[0].moment, 2u);
    EXPECT_EQ(device.failures[0].asked, Bytes(1 << 20));
    EXPECT_EQ(device.failures[0].device_free, Bytes(4096));
    EXPECT_THAT(device.allocated, ElementsAre(0, 8, 8));
}

TEST(MeasuredMemory, sums_the_gaps_between_blocks) {
    const MeasuredDevice device = device_measured_of(
        {segment_at(0, 4096,
                    {block_at(0, 1024, 1000, "active_allocated"), block_at(1024, 512, 0, "inactive"),
                     block_at(1536, 512, 500, "active_awaiting_free"), block_at(2048, 2048, 0, "inactive")}),
         segment_at(8192, 1024, {block_at(8192, 1024, 0, "inactive")})},
        {});
    const Fragmentation sums = fragmentation_of(device);
    EXPECT_EQ(sums.segments, 2u);
    EXPECT_EQ(sums.reserved, Bytes(5120));
    EXPECT_EQ(sums.allocated, Bytes(1024));
    EXPECT_EQ(sums.awaiting, Bytes(512));
    EXPECT_EQ(sums.inactive, Bytes(512 + 2048 + 1024));
    EXPECT_EQ(sums.stuck, Bytes(512 + 2048));
    EXPECT_EQ(sums.largest_free, Bytes(2048));
    EXPECT_THAT(device.allocated, ElementsAre(1000));
}

TEST(MeasuredMemory, without_anything_says_what_to_call) {
    const auto refused = [](const ordered_json& whole) {
        const Result<MeasuredMemory> read = parse_measured_memory(pickled(whole), "m");
        return read ? "accepted" : read.error().message;
    };
    EXPECT_THAT(refused({{"segments", ordered_json::array()}, {"device_traces", ordered_json::array()}}),
                HasSubstr("_record_memory_history"));
}

TEST(CallStacks, name_the_innermost_place_of_the_user) {
    TextTable texts;
    CallStacks stacks;
    const auto stack = [&](std::initializer_list<const char*> files) {
        StackId id;
        for (const char* file : files)
            id = stacks.child(id, stacks.frame({texts.add(file), texts.add("f"), 3}, texts));
        return id;
    };
    const auto place = [&](std::initializer_list<const char*> files) {
        return place_text(stacks[stacks.place(stack(files))], texts);
    };
    const char* torch = "/v/lib/python3.12/site-packages/torch/nn/modules/linear.py";
    EXPECT_EQ(place({torch, "/home/me/net.py", "/home/me/train.py"}), "net.py:3 f");
    EXPECT_EQ(place({"??", "/pytorch/aten/src/ATen/x.cpp", torch, "/home/me/train.py"}), "train.py:3 f");
    EXPECT_EQ(place({"/tmp/torchinductor_me/ab/cab.py", torch, "/tmp/ipykernel_1/2.py"}), "2.py:3 f");
    EXPECT_EQ(place({torch, "??"}), "linear.py:3 f") << "the innermost of all where none is the user's";
    EXPECT_EQ(place({"<stdin>"}), "<stdin>:3 f");
    EXPECT_FALSE(stacks.place(StackId()).valid());
    EXPECT_EQ(stack({torch, "a.py"}), stack({torch, "a.py"}));
    EXPECT_NE(stack({torch, "a.py"}), stack({"a.py", torch}));
    EXPECT_THAT(stacks.frames(stack({torch, "a.py"})), SizeIs(2));
    EXPECT_THAT(stacks.frames(StackId()), IsEmpty());
}

}  // namespace
}  // namespace rematlas
