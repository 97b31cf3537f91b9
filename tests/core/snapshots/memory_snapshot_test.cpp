// Tests the reader of memory snapshots: it must read every form that writers use, and give a one-line error
// for each wrong form.
#include "core/snapshots/memory_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "tests/core/support/pickle_writer.h"
#include "tests/core/support/random_snapshot.h"

namespace rematlas {
namespace {

using nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kPickleHead("\x80\x04", 2);

std::string pickle_codes(std::initializer_list<int> numbers) {
    std::string text;
    for (const int number : numbers) text += static_cast<char>(number);
    return text;
}

std::string pickle_bytes(std::initializer_list<int> numbers) {
    return kPickleHead + pickle_codes(numbers);
}

std::string snapshot_refused(const std::string& text) {
    const Result<MemorySnapshot> snapshot = parse_memory_snapshot(text, "s.pickle");
    return snapshot ? "accepted" : snapshot.error().message;
}

MemorySnapshot read_snapshot(const std::string& text) {
    Result<MemorySnapshot> snapshot = parse_memory_snapshot(text, "s.pickle");
    EXPECT_TRUE(snapshot) << (snapshot ? "" : snapshot.error().message);
    return snapshot ? snapshot.take() : MemorySnapshot();
}

ordered_json snapshot_event(const char* action, std::int64_t address, std::int64_t size) {
    return {{"action", action}, {"addr", address}, {"size", size}, {"stream", 0}, {"time_us", 5}};
}

ordered_json with_events(const ordered_json& events) {
    return {{"segments", ordered_json::array()}, {"device_traces", json_list({events})}};
}

const std::vector<PickleStyle> kPickleStyles{{.protocol = 2},
                                             {.protocol = 3},
                                             {.protocol = 4},
                                             {.protocol = 5},
                                             {.batch = 3},
                                             kTorchsOwn,
                                             {.protocol = 2, .batch = 2, .memo = false}};

TEST(MemorySnapshot, is_the_same_in_every_form_that_is_written) {
    const ordered_json source = random_snapshot(1).snapshot;
    for (const PickleStyle& style : kPickleStyles) {
        const MemorySnapshot snapshot = read_snapshot(pickled(source, style));
        ASSERT_EQ(snapshot.segments.size(), source["segments"].size());
        ASSERT_EQ(snapshot.device_events.size(), 2u);
        EXPECT_EQ(snapshot.settings, "expandable_segments:False");
        for (std::size_t device = 0; device < 2; ++device) {
            const ordered_json& trace = source["device_traces"][device];
            const ItemRange range = snapshot.device_events[device];
            ASSERT_EQ(range.count, trace.size());
            for (std::uint32_t i = 0; i < range.count; ++i) {
                const AllocatorEvent& read_event = snapshot.events[range.first + i];
                EXPECT_EQ(read_event.bytes, trace[i]["size"]);
                EXPECT_EQ(read_event.time_us, trace[i]["time_us"]);
                const auto address = trace[i].contains("addr") ? trace[i]["addr"] : trace[i]["device_free"];
                EXPECT_EQ(read_event.address, address.get<std::uint64_t>());
                EXPECT_EQ(snapshot.stacks.frames(read_event.stack).size(), 3u);
            }
        }
    }
}

TEST(MemorySnapshot, keeps_equal_stacks_once) {
    const MemorySnapshot snapshot = read_snapshot(pickled(random_snapshot(1).snapshot, {.memo = false}));
    EXPECT_LE(snapshot.stacks.size(),
              1 + 5 * 2u);  // main, and two frames for each of five layers: the layer's frame and torch's
                            // frame
}

TEST(MemorySnapshot, passes_over_what_it_does_not_know) {
    ordered_json one = snapshot_event("alloc", 512, 100);
    one["category"] = {{"name", 1.5}, {"parts", {1, "two", nullptr, true}}};
    one["pool_id"] = {0, 0};
    one["big"] = std::string(100'000, 'x');
    ordered_json whole = with_events(json_list({one, snapshot_event("annotate", 512, 0)}));
    whole["host_traces"] = json_list({json_list({snapshot_event("alloc", 1, 1)})});
    whole["notes"] = {{"action", "not an event"}, {"filename", "no name"}};
    for (const PickleStyle& style : kPickleStyles) {
        const MemorySnapshot snapshot = read_snapshot(pickled(whole, style));
        ASSERT_EQ(snapshot.device_events.size(), 1u);
        ASSERT_EQ(snapshot.device_events[0].count, 2u);
        EXPECT_EQ(snapshot.events[0].action, AllocatorAction::alloc);
        EXPECT_EQ(snapshot.events[1].action, AllocatorAction::other);
    }
}

TEST(MemorySnapshot, may_be_a_list_of_segments_alone) {
    const ordered_json source = random_snapshot(3).snapshot["segments"];
    EXPECT_EQ(read_snapshot(pickled(source)).segments.size(), source.size());
}

TEST(MemorySnapshot, gives_blocks_without_an_address_the_next_one) {
    ordered_json source = random_snapshot(3).snapshot;
    for (ordered_json& segment : source["segments"])
        for (ordered_json& block : segment["blocks"]) block.erase("address");
    const MemorySnapshot with = read_snapshot(pickled(random_snapshot(3).snapshot)),
                         without = read_snapshot(pickled(source));
    ASSERT_EQ(with.blocks.size(), without.blocks.size());
    for (std::size_t i = 0; i < with.blocks.size(); ++i)
        EXPECT_EQ(with.blocks[i].address, without.blocks[i].address);
}

TEST(MemorySnapshot, makes_texts_that_can_be_printed) {
    ordered_json one = snapshot_event("alloc", 512, 100);
    one["user_metadata"] = "two\nlines \xff caf\xc3\xa9";
    const MemorySnapshot snapshot = read_snapshot(pickled(with_events(json_list({one}))));
    EXPECT_EQ(snapshot.texts[snapshot.events[0].metadata], "two?lines ? caf\xc3\xa9");
}

TEST(MemorySnapshot, refuses_by_name_what_imports_or_calls) {
    const std::pair<int, const char*> refusals[] = {
        {'c', "GLOBAL"}, {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},     {'b', "BUILD"},       {'i', "INST"},
        {'o', "OBJ"},    {0x81, "NEWOBJ"},       {0x92, "NEWOBJ_EX"}, {0x82, "EXT1"},       {0x83, "EXT2"},
        {0x84, "EXT4"},  {'P', "PERSID"},        {'Q', "BINPERSID"},  {0x97, "NEXT_BUFFER"}};
    for (const auto& [code, name] : refusals)
        EXPECT_THAT(snapshot_refused(pickle_bytes({'}', code})),
                    AllOf(StartsWith("s.pickle: byte 3: the pickle instruction " + std::string(name) + " "),
                          HasSubstr("_dump_snapshot")));
    EXPECT_THAT(snapshot_refused(kPickleHead + "cos\nsystem\n(X\x02\0\0\0lstR."),
                HasSubstr("byte 2: the pickle instruction GLOBAL"));
    EXPECT_THAT(snapshot_refused(pickle_bytes({'}', 0xff})), HasSubstr("byte 3: 255 is no instruction"));
    EXPECT_THAT(snapshot_refused(pickle_bytes({'I', '1'})), HasSubstr("protocol 0 or 1"));
    EXPECT_THAT(snapshot_refused("}."), HasSubstr("is no pickle of protocol 2 to 5"));
    EXPECT_THAT(snapshot_refused("\x80\x06}."), HasSubstr("protocol 6"));
    EXPECT_THAT(snapshot_refused(""), HasSubstr("is no pickle"));
}

TEST(MemorySnapshot, names_the_place_of_what_is_wrong) {
    EXPECT_THAT(snapshot_refused(pickle_bytes({'a', '.'})), HasSubstr("byte 2: a value is missing"));
    EXPECT_THAT(snapshot_refused(pickle_bytes({'}', 'u'})), HasSubstr("byte 3: a mark is missing"));
    EXPECT_THAT(snapshot_refused(pickle_bytes({'}', '(', 'K', 1, 'u'})),
                HasSubstr("byte 6: a key of a dictionary has no value"));
    EXPECT_THAT(snapshot_refused(pickle_bytes({'h', 0})), HasSubstr("byte 2: number 0 of the memo is used"));
    EXPECT_THAT(snapshot_refused(pickle_bytes({']', 'r', 0xff, 0xff, 0xff, 0xff})),
                HasSubstr("byte 3: the memo of the pickle"));
    EXPECT_THAT(snapshot_refused(pickle_bytes({'(', '.'})),
                HasSubstr("byte 3: the pickle ends with a value"));
    EXPECT_THAT(snapshot_refused(pickle_bytes({'N', 'K', 1, 'a'})),
                HasSubstr("neither a dictionary nor a list"));
    EXPECT_THAT(snapshot_refused(pickle_bytes({'}', '(', 'K', 1, 'e', '.'})),
                HasSubstr("no list is appended to"));
    EXPECT_THAT(snapshot_refused(pickle_bytes({'N', '.'})), HasSubstr("holds no memory snapshot"));
    EXPECT_THAT(snapshot_refused(pickle_bytes({'}', '.'})), HasSubstr("holds no memory snapshot"));
}

TEST(MemorySnapshot, names_the_field_that_is_wrong) {
    const auto with = [](const char* field, ordered_json value) {
        ordered_json one = snapshot_event("alloc", 512, 100);
        if (value.is_null())
            one.erase(field);
        else
            one[field] = std::move(value);
        return snapshot_refused(pickled(with_events(json_list({one}))));
    };
    EXPECT_THAT(with("size", nullptr), AllOf(HasSubstr("byte "), HasSubstr("size is missing")));
    EXPECT_THAT(with("addr", nullptr), HasSubstr("addr is missing"));
    EXPECT_THAT(with("size", "big"), HasSubstr("size is no integer"));
    EXPECT_THAT(with("size", -1), HasSubstr("size is out of range"));
    EXPECT_THAT(with("time_us", -1), HasSubstr("time_us is out of range"));
    EXPECT_THAT(with("frames", 3), HasSubstr("frames is no list of frames"));
    EXPECT_THAT(with("frames", json_list({1})), HasSubstr("frames is no list of frames"));
    EXPECT_THAT(snapshot_refused(pickled({{"segments", 1}})), HasSubstr("segments is no list of segments"));
    EXPECT_THAT(snapshot_refused(pickled({{"device_traces", json_list({1, 2})}})),
                HasSubstr("device_traces is no list of lists"));
    ordered_json events = ordered_json::array();
    for (int i = 0; i < 5; ++i) events.push_back(snapshot_event("alloc", i, std::int64_t{1} << 59));
    EXPECT_EQ(snapshot_refused(pickled(with_events(events))), "accepted");
    for (int i = 0; i < 5; ++i) events.push_back(snapshot_event("alloc", i, std::int64_t{1} << 59));
    EXPECT_THAT(snapshot_refused(pickled(with_events(events))), HasSubstr("more than 2^62 bytes"));
}

TEST(MemorySnapshot, of_any_part_of_a_file_is_refused_with_one_line) {
    const std::string whole = pickled(random_snapshot(5, {.events = 40, .kept = 20, .devices = 1}).snapshot);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const std::string message = snapshot_refused(whole.substr(0, size));
        EXPECT_THAT(message, AllOf(StartsWith("s.pickle: "), Not(HasSubstr("\n"))));
    }
    EXPECT_THAT(snapshot_refused(whole.substr(0, whole.size() - 1)), HasSubstr("was cut off"));
}

TEST(MemorySnapshot, with_a_byte_changed_is_read_or_refused) {
    const std::string whole = pickled(random_snapshot(5, {.events = 40, .kept = 20, .devices = 1}).snapshot);
    std::mt19937 random(7);
    for (int i = 0; i < 20'000; ++i) {
        std::string changed = whole;
        for (unsigned n = 1 + random() % 3; n > 0; --n)
            changed[random() % changed.size()] = static_cast<char>(random());
        EXPECT_THAT(snapshot_refused(changed), Not(HasSubstr("\n")));
    }
}

TEST(MemorySnapshot, of_a_giant_length_takes_no_memory) {
    const int f = 0xff;
    for (const std::string& text :
         {pickle_bytes({0x8d, f, f, f, f, f, f, f, f}), pickle_bytes({'X', f, f, f, f}),
          pickle_bytes({0x8e, f, f, f, f, f, f, f, 0x7f}), pickle_bytes({0x8b, f, f, f, f}),
          pickle_bytes({'B', f, f, f, f})})
        EXPECT_THAT(snapshot_refused(text), HasSubstr("are due and the file ends"));
    EXPECT_THAT(snapshot_refused(pickle_bytes({0x95, f, f, f, f, f, f, f, f, '}'})),
                HasSubstr("was cut off"));
}

TEST(MemorySnapshot, nested_without_end_is_refused) {
    EXPECT_THAT(snapshot_refused(kPickleHead + std::string(100'000, '(')),
                HasSubstr("byte 1002: values are nested deeper"));
    EXPECT_THAT(snapshot_refused(kPickleHead + std::string(100'000, ']')), HasSubstr("was cut off"));
}

TEST(MemorySnapshot, that_holds_itself_is_refused) {
    // Two values contain themselves: a list, and a dictionary under its key "segments".
    EXPECT_THAT(snapshot_refused(pickle_bytes({']', 0x94, 'h', 0, 'a', '.'})),
                HasSubstr("holds no memory snapshot"));
    const std::string dictionary =
        pickle_bytes({'}', 0x94, 0x8c, 8}) + "segments" + pickle_codes({0x94, 'h', 0, 's', '.'});
    EXPECT_THAT(snapshot_refused(dictionary), HasSubstr("segments is no list of segments"));
}

TEST(MemorySnapshot, fills_each_dictionary_once_and_lists_each_event_once) {
    const std::string twice = pickle_bytes({'}', 0x94, 0x8c, 8}) + "segments" +
                              pickle_codes({']', 's', 'h', 0, 0x8c, 8}) + "segments" +
                              pickle_codes({']', 's', '.'});
    EXPECT_THAT(snapshot_refused(twice), HasSubstr("no new dictionary is filled"));
    // Lists the same event again by its memo number.
    const std::string events = pickled(with_events(json_list({snapshot_event("alloc", 1, 1)})), {.batch = 1});
    const std::size_t end_of_event = events.rfind("uaau");
    ASSERT_NE(end_of_event, std::string::npos);
    const std::string again = events.substr(0, end_of_event + 2) + "h";
    EXPECT_EQ(snapshot_refused(events), "accepted");
    for (int number = 0; number < 9; ++number) {
        const std::string text = again + static_cast<char>(number) + "aau.";
        EXPECT_NE(snapshot_refused(text), "accepted") << number;
    }
}

TEST(MemorySnapshot, is_read_from_a_file_as_from_memory) {
    const std::string path = testing::TempDir() + "rematlas_memory_snapshot_test.pickle";
    const std::string whole =
        pickled(random_snapshot(2, {.events = 6000, .kept = 6000}).snapshot, {.memo = false});
    ASSERT_GT(whole.size(), std::size_t{3} << 20);  // the reader needs more than two pieces for this size
    std::ofstream(path, std::ios::binary) << whole;
    const Result<MemorySnapshot> file = read_memory_snapshot(path);
    ASSERT_TRUE(file) << file.error().message;
    const MemorySnapshot memory = read_snapshot(whole);
    ASSERT_EQ(file->events.size(), memory.events.size());
    for (std::size_t i = 0; i < memory.events.size(); ++i) {
        EXPECT_EQ(file->events[i].address, memory.events[i].address);
        EXPECT_EQ(file->events[i].stack, memory.events[i].stack);
    }
    std::stop_source stopped;
    stopped.request_stop();
    const Result<MemorySnapshot> none = read_memory_snapshot(path, stopped.get_token());
    EXPECT_THAT(none ? "" : none.error().message, HasSubstr("was stopped"));
    std::remove(path.c_str());
    EXPECT_THAT(read_memory_snapshot(path).error().message, HasSubstr("cannot open"));
    EXPECT_THAT(read_memory_snapshot(testing::TempDir()).error().message, HasSubstr("no regular file"));
}

}  // namespace
}  // namespace rematlas
