#include "core/snapshots/profiler_trace.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/snapshots/lifetimes.h"

namespace rematlas {
namespace {

using nlohmann::json;

constexpr double kLargestField = 0x1p60;
constexpr double kLatestTime = 0x1p52;  ///< in microseconds; about 140 years
constexpr std::int64_t kMostMoved = std::int64_t{1} << 62;

/// One `[memory]` event; `bytes` is negative if a block is freed.
struct ProfiledEvent {
    double time_us = 0;
    std::int64_t address = 0, bytes = 0, allocated = 0, reserved = 0;
    int device_type = 0, device = 0;
};

/// Collects the memory events while a trace is parsed; everything else in the file is dropped.
class ProfilerTraceReader : public json::json_sax_t {
  public:
    explicit ProfilerTraceReader(std::stop_token stop) : stop_(std::move(stop)) {}

    std::vector<ProfiledEvent> events;
    std::string fault;

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t value) override { return number(value, static_cast<double>(value)); }
    bool number_unsigned(number_unsigned_t value) override {
        return number(static_cast<std::int64_t>(value), static_cast<double>(value));
    }
    bool number_float(number_float_t value, const string_t&) override {
        const bool whole = value > -kLargestField && value < kLargestField;
        return number(whole ? static_cast<std::int64_t>(value) : 0, value);
    }
    bool string(string_t& value) override {
        if (in_event() && key_ == "name") is_memory_ = value == "[memory]";
        return true;
    }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override {
        ++depth_;
        if (depth_ == kEventDepth && in_events_) {
            event_ = {};
            is_memory_ = false;
        }
        if (depth_ == kEventDepth + 1) in_arguments_ = in_events_ && key_ == "args";
        if (!stop_.stop_requested()) return true;
        fault = "reading was stopped";
        return false;
    }
    bool end_object() override {
        if (in_event() && is_memory_) {
            moved_ += event_.bytes < 0 ? -event_.bytes : event_.bytes;
            if (moved_ > kMostMoved) {
                fault = "the sizes in the file add up to more than 2^62 bytes; it is damaged";
                return false;
            }
            events.push_back(event_);
        }
        if (depth_ == kEventDepth + 1) in_arguments_ = false;
        --depth_;
        return true;
    }
    bool start_array(std::size_t) override {
        ++depth_;
        if (depth_ == 2) in_events_ = key_ == "traceEvents";
        return true;
    }
    bool end_array() override {
        if (depth_ == 2) in_events_ = false;
        --depth_;
        return true;
    }
    bool key(string_t& value) override {
        key_ = value;
        return true;
    }
    bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
        fault = "byte " + std::to_string(position) +
                ": is no JSON; a trace is written by export_chrome_trace of torch.profiler";
        return false;
    }

  private:
    /// Depth of nesting inside an event: the file's object, its list of events, the event's object.
    static constexpr std::size_t kEventDepth = 3;

    bool in_event() const { return in_events_ && depth_ == kEventDepth; }

    bool number(std::int64_t value, double exact) {
        if (in_event() && key_ == "ts" && exact >= 0 && exact < kLatestTime) event_.time_us = exact;
        if (!in_arguments_ || depth_ != kEventDepth + 1) return true;
        if (key_ == "Addr") event_.address = value;
        if (exact < -kLargestField || exact > kLargestField) return true;
        if (key_ == "Bytes") event_.bytes = value;
        if (key_ == "Total Allocated") event_.allocated = value;
        if (key_ == "Total Reserved") event_.reserved = value;
        if (key_ == "Device Type") event_.device_type = static_cast<int>(value);
        if (key_ == "Device Id") event_.device = static_cast<int>(value);
        return true;
    }

    std::stop_token stop_;
    std::size_t depth_ = 0;
    bool in_events_ = false, in_arguments_ = false, is_memory_ = false;
    std::string key_;
    ProfiledEvent event_;
    std::int64_t moved_ = 0;  ///< sum of the bytes of all events, allocated or freed
};

/// Returns the name of a device. `type` is torch's number (c10/core/DeviceType.h).
std::string device_name(int type, int number) {
    static const std::map<int, std::string> names{{0, "cpu"},  {1, "cuda"}, {6, "hip"},  {9, "xla"},
                                                  {12, "xpu"}, {13, "mps"}, {14, "meta"}};
    const auto known = names.find(type);
    const std::string name = known != names.end() ? known->second : "device type " + std::to_string(type);
    return type == 0 ? name : name + ":" + std::to_string(number);
}

MeasuredDevice profiled_device(std::string name, std::vector<ProfiledEvent> events) {
    std::stable_sort(events.begin(), events.end(),
                     [](const ProfiledEvent& a, const ProfiledEvent& b) { return a.time_us < b.time_us; });
    MeasuredDevice device{.name = std::move(name)};
    device.allocated = {std::max<std::int64_t>(0, events.front().allocated - events.front().bytes)};
    device.reserved = {events.front().reserved};
    BlockLifetimes lifetimes;
    for (const ProfiledEvent& event : events) {
        const auto after = static_cast<TraceMoment>(device.allocated.size());
        const auto address = static_cast<std::uint64_t>(event.address);
        if (event.bytes > 0)
            lifetimes.begin({.address = address, .bytes = Bytes(event.bytes), .from = after});
        if (event.bytes < 0) lifetimes.end(address, Bytes(-event.bytes), after);
        device.times_us.push_back(static_cast<std::int64_t>(event.time_us));
        device.allocated.push_back(std::max<std::int64_t>(0, event.allocated));
        device.reserved.push_back(event.reserved);
    }
    const bool reserves = std::any_of(device.reserved.begin(), device.reserved.end(),
                                      [](std::int64_t bytes) { return bytes > 0; });
    if (!reserves) device.reserved.clear();
    BlockLifetimes::Ended ended = lifetimes.finish(static_cast<TraceMoment>(events.size()), false);
    device.blocks = std::move(ended.blocks);
    device.gaps = ended.gaps;
    device.gaps.before = device.gaps.before_unplaced = Bytes(device.allocated.front());
    return device;
}

Result<MeasuredMemory> measured_by_profiler(std::vector<ProfiledEvent> events, const std::string& name) {
    if (events.empty())
        return Error{name +
                     ": holds no memory event; record the trace with torch.profiler.profile(..., "
                     "profile_memory=True)"};
    std::map<std::pair<int, int>, std::vector<ProfiledEvent>> by_device;
    for (const ProfiledEvent& event : events) {
        const int number = event.device_type == 0 ? 0 : event.device;  // the CPU has no device number
        by_device[{event.device_type, number}].push_back(event);
    }
    MeasuredMemory measured{.source = MeasuredMemory::Source::profile};
    for (auto& [which, its] : by_device)
        measured.devices.push_back(profiled_device(device_name(which.first, which.second), std::move(its)));
    return measured;
}

template <class Input>
Result<MeasuredMemory> read_trace(Input&& input, const std::string& name, std::stop_token stop) {
    ProfilerTraceReader reader(std::move(stop));
    try {
        if (!json::sax_parse(std::forward<Input>(input), &reader)) return Error{name + ": " + reader.fault};
        return measured_by_profiler(std::move(reader.events), name);
    } catch (const std::bad_alloc&) {
        return Error{name + ": this machine has too little memory to read it", ErrorKind::failure};
    }
}

}  // namespace

Result<MeasuredMemory> read_profiler_trace(const std::filesystem::path& path, std::stop_token stop) {
    std::ifstream file(path, std::ios::binary);
    if (!file || !std::filesystem::is_regular_file(path)) return Error{path.string() + ": cannot open"};
    return read_trace(file, path.string(), std::move(stop));
}

Result<MeasuredMemory> parse_profiler_trace(std::string_view text, const std::string& name) {
    return read_trace(text, name, {});
}

}  // namespace rematlas
