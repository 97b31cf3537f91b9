// Tests the reader of memory events in Chrome traces that torch.profiler wrote.
#include "core/snapshots/profiler_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rematlas {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

json memory_event(double time, int type, std::int64_t bytes, std::int64_t total, std::uint64_t address) {
    return {{"ph", "i"},
            {"name", "[memory]"},
            {"ts", time},
            {"args",
             {{"Total Reserved", type == 0 ? 0 : 4096},
              {"Total Allocated", total},
              {"Bytes", bytes},
              {"Addr", address},
              {"Device Id", type == 0 ? -1 : 0},
              {"Device Type", type}}}};
}

std::string profiler_trace_of(const json& events) {
    return json({{"schemaVersion", 1}, {"deviceProperties", json::array()}, {"traceEvents", events}}).dump();
}

std::string trace_refused(const std::string& text) {
    const Result<MeasuredMemory> read = parse_profiler_trace(text, "t.json");
    return read ? "accepted" : read.error().message;
}

TEST(ProfilerTrace, gives_the_levels_of_each_device) {
    const json other = {{"ph", "X"}, {"name", "aten::mm"}, {"ts", 1}, {"args", {{"Bytes", 77}}}};
    const Result<MeasuredMemory> read = parse_measured_memory(
        profiler_trace_of({memory_event(20.5, 1, -100, 200, 1), other, memory_event(10, 1, 50, 300, 2),
                           memory_event(11, 0, 64, 64, 3), memory_event(30, 1, -50, 150, 2)}),
        "t.json");
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->devices.size(), 2u);
    const MeasuredDevice &cpu = read->devices[0], &cuda = read->devices[1];
    EXPECT_EQ(cpu.name, "cpu");
    EXPECT_THAT(cpu.allocated, ElementsAre(0, 64));
    EXPECT_TRUE(cpu.reserved.empty());
    EXPECT_EQ(cuda.name, "cuda:0");
    EXPECT_THAT(cuda.times_us, ElementsAre(10, 20, 30));
    EXPECT_THAT(cuda.allocated, ElementsAre(250, 300, 200, 150));
    EXPECT_THAT(cuda.reserved, ElementsAre(4096, 4096, 4096, 4096));
    EXPECT_EQ(peak_moment(cuda.allocated), 1u);
    const std::vector<PlaceShare> alive = alive_by_place(*read, cuda, 1);
    ASSERT_EQ(alive.size(), 2u);
    EXPECT_EQ(alive[0].bytes, Bytes(100));
    EXPECT_TRUE(alive[0].before);
    EXPECT_EQ(alive[1].bytes, Bytes(50));
}

TEST(ProfilerTrace, without_memory_events_says_how_to_record_them) {
    EXPECT_THAT(trace_refused(profiler_trace_of(json::array())), HasSubstr("profile_memory=True"));
    EXPECT_THAT(trace_refused("{\"a\": [[[]]]}"), HasSubstr("profile_memory=True"));
}

TEST(ProfilerTrace, that_is_damaged_is_refused_with_the_byte) {
    const std::string whole = profiler_trace_of(json::array({memory_event(1, 1, 50, 300, 2)}));
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_THAT(trace_refused(whole.substr(0, size)), HasSubstr("t.json: byte ")) << size;
    EXPECT_EQ(trace_refused(whole), "accepted");
    const json big = memory_event(1, 1, std::int64_t{1} << 59, 1, 2);
    EXPECT_THAT(trace_refused(profiler_trace_of(json::array({big, big, big, big, big, big, big, big, big}))),
                HasSubstr("2^62"));
    EXPECT_THAT(read_profiler_trace("/nowhere/t.json").error().message, HasSubstr("/nowhere/t.json"));
}

}  // namespace
}  // namespace rematlas
