#include "tests/simgpu/engine.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "tests/simgpu/control.h"
#include "tests/simgpu/races.h"
#include "tests/simgpu/settings.h"

namespace simgpu {
namespace {

struct Stream;
struct Need {
    Stream* stream = nullptr;
    std::uint64_t count = 0;  ///< number of the stream's items that must be done
};
struct Item {
    Work work;
    std::vector<Need> needs;
};

struct Capture;
struct Stream {
    std::size_t number = 0;
    int device = 0, priority = 0;
    bool waits_for_legacy = false;  ///< false if made with cudaStreamNonBlocking
    Clock clock;
    double time = 0;  ///< virtual time at which all submitted work is done
    std::deque<Item> queue;
    std::uint64_t submitted = 0, done = 0;
    std::vector<Need> needs;  ///< the work for which the next item must wait
    Capture* capture = nullptr;
};

struct Event {
    Stream* stream = nullptr;  ///< null if the event was never recorded
    std::uint64_t count = 0;
    std::vector<Need> needs;  ///< waits that were added to the stream after its last item
    Clock clock;
    double time = 0;
    std::uint64_t capture = 0;  ///< number of the capture during which the event was recorded; 0 if none
    int queries = 0;
};

/// Work that is being captured as a graph. Races within the captured work are detected at once; the work runs
/// when the graph is launched.
struct Capture {
    std::uint64_t id = 0;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    std::thread::id thread;
    Stream* origin = nullptr;
    bool spoiled = false;
    std::vector<Work> works;
    std::map<Stream*, Clock> clocks;  ///< clocks of the streams that take part
    std::map<Stream*, std::uint64_t> ticks;
    History history;
};

struct Graph {
    std::shared_ptr<std::vector<Work>> works;
};
struct Program {
    std::shared_ptr<std::vector<Work>> works;
    std::vector<Access> accesses;
    double nanoseconds = 0;
};

thread_local int this_device = 0;
thread_local cudaStreamCaptureMode this_mode = cudaStreamCaptureModeGlobal;

/// All state of the engine. It is never destroyed, because libraries still call functions while the process
/// ends.
struct State {
    std::recursive_mutex mutex;
    std::vector<std::unique_ptr<Stream>> streams;  ///< streams are never removed, because events refer to
                                                   ///< them
    std::vector<Stream*> legacy;                   ///< per device: its default stream
    std::set<Stream*> alive;
    Clock host_clock;
    double host_time = 0;
    std::vector<double> lane_free, lane_busy;  ///< per device and lane: virtual time from which the
                                               ///< lane is free; time in which it was busy
    std::map<std::uint64_t, std::unique_ptr<Capture>> captures;
    std::uint64_t last_capture = 0;
    History history;
    cudaError_t failed = cudaSuccess;
    long waits = 0, drop = 0;
    std::uint64_t random = 0;
    std::optional<std::uint64_t> seeded_with;

    State() {
        for (int device = 0; device < settings().devices; ++device) {
            legacy.push_back(make_stream(device, true, 0));
            for (int lane = 0; lane < 3; ++lane) lane_free.push_back(0), lane_busy.push_back(0);
        }
    }
    Stream* make_stream(int device, bool waits_for_legacy, int priority) {
        auto stream = std::make_unique<Stream>();
        stream->number = streams.size();
        stream->device = device, stream->priority = priority, stream->waits_for_legacy = waits_for_legacy;
        alive.insert(stream.get());
        streams.push_back(std::move(stream));
        return streams.back().get();
    }
};

State& state() {
    static State* made = new State;
    return *made;
}

class Lock {
  private:
    std::lock_guard<std::recursive_mutex> lock_{state().mutex};
};

Stream* stream_of(cudaStream_t handle) {
    if (handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread)
        return state().legacy.at(static_cast<std::size_t>(this_device));
    return reinterpret_cast<Stream*>(handle);
}

void run_through(const Need& need) {
    Stream& stream = *need.stream;
    while (stream.done < need.count) {
        Item item = std::move(stream.queue.front());
        stream.queue.pop_front();
        ++stream.done;
        for (const Need& first : item.needs) run_through(first);
        if (state().failed != cudaSuccess) continue;
        try {
            if (item.work.run) item.work.run();
        } catch (const std::exception& error) {
            fail(cudaErrorAssert, item.work.name + ": " + error.what());
        }
    }
}

std::uint64_t draw() {
    State& now = state();
    if (now.seeded_with != settings().seed)
        now.seeded_with = settings().seed, now.random = settings().seed * 2 + 1;
    now.random = now.random * 6364136223846793005u + 1442695040888963407u;
    return now.random >> 33;
}

/// Runs some of the work that is allowed to run, chosen by the random generator.
void run_some() {
    State& now = state();
    for (std::uint64_t left = draw() % 4; left > 0; --left) {
        std::vector<Stream*> waiting;
        for (const auto& stream : now.streams)
            if (stream->done < stream->submitted) waiting.push_back(stream.get());
        if (waiting.empty()) return;
        Stream* chosen = waiting[draw() % waiting.size()];
        run_through({chosen, chosen->done + 1});
    }
}

/// Called when the program learns that work is done, for example by a wait. `clock` and `time` are those of
/// the work.
void seen(const Clock& clock, double time) {
    state().host_clock.join(clock);
    state().host_time = std::max(state().host_time, time);
}

/// Runs the work of a stream, and the work of other streams that the stream has been told to wait for.
void finish(Stream& stream) {
    run_through({&stream, stream.submitted});
    for (const Need& need : std::exchange(stream.needs, {})) run_through(need);
    seen(stream.clock, stream.time);
}

void check_races(History& history, const Work& work, const Stream& stream, const Clock& clock) {
    if (const auto race = history.note(work.accesses, stream.number, clock, work.name)) report_race(*race);
}

cudaError_t submit_captured(Stream& stream, Work work) {
    Capture& capture = *stream.capture;
    if (capture.spoiled) return cudaErrorStreamCaptureInvalidated;
    Clock& clock = capture.clocks[&stream];
    clock.set(stream.number, ++capture.ticks[&stream]);
    check_races(capture.history, work, stream, clock);
    capture.works.push_back(std::move(work));
    return cudaSuccess;
}

/// Makes the stream wait for the device's default stream. If the stream is the default stream itself, makes
/// it wait for the device's other streams. Streams that were made with cudaStreamNonBlocking neither wait nor
/// are waited for.
void order_with_legacy(Stream& stream) {
    if (!stream.waits_for_legacy) return;
    State& now = state();
    Stream* legacy = now.legacy[static_cast<std::size_t>(stream.device)];
    const auto wait_for = [&](Stream* other) {
        if (other == &stream || other->submitted == 0) return;
        stream.clock.join(other->clock);
        stream.time = std::max(stream.time, other->time);
        if (other->done < other->submitted) stream.needs.push_back({other, other->submitted});
    };
    if (&stream != legacy) return wait_for(legacy);
    for (const auto& other : now.streams)
        if (other->waits_for_legacy && other->device == stream.device) wait_for(other.get());
}

}  // namespace

int current_device() {
    return this_device;
}
void set_current_device(int device) {
    this_device = device;
}

void fail(cudaError_t error, const std::string& why) {
    Lock lock;
    if (state().failed != cudaSuccess) return;
    state().failed = error;
    std::fprintf(stderr, "simgpu: %s\n", why.c_str());
}

cudaError_t failure() {
    return state().failed;
}

void forget(std::uintptr_t begin, std::uintptr_t end) {
    Lock lock;
    state().history.forget(begin, end);
}

cudaError_t submit(cudaStream_t handle, Work work) {
    Lock lock;
    State& now = state();
    if (now.failed != cudaSuccess) return now.failed;
    Stream& stream = *stream_of(handle);
    if (stream.capture) return submit_captured(stream, std::move(work));
    order_with_legacy(stream);
    stream.clock.join(now.host_clock);
    stream.clock.set(stream.number, ++stream.submitted);
    check_races(now.history, work, stream, stream.clock);
    const std::size_t lane =
        static_cast<std::size_t>(stream.device) * 3 + static_cast<std::size_t>(work.lane);
    double begin = std::max(stream.time, now.host_time);
    if (work.nanoseconds > 0) {
        begin = std::max(begin, now.lane_free[lane]);
        now.lane_free[lane] = begin + work.nanoseconds;
        now.lane_busy[lane] += work.nanoseconds;
    }
    stream.time = begin + work.nanoseconds;
    stream.queue.push_back({std::move(work), std::exchange(stream.needs, {})});
    if (settings().order == Order::eager) run_through({&stream, stream.submitted});
    if (settings().order == Order::seeded) run_some();
    return now.failed;
}

cudaError_t synchronize_stream(cudaStream_t handle) {
    Lock lock;
    Stream& stream = *stream_of(handle);
    if (stream.capture) {
        stream.capture->spoiled = true;
        return cudaErrorStreamCaptureUnsupported;
    }
    finish(stream);
    return state().failed;
}

cudaError_t synchronize_device() {
    Lock lock;
    if (const cudaError_t error = unsafe_call(); error != cudaSuccess) return error;
    for (const auto& stream : state().streams) {
        if (stream->device != this_device || stream->capture) continue;
        finish(*stream);
    }
    return state().failed;
}

cudaError_t create_stream(cudaStream_t* stream, unsigned flags, int priority) {
    Lock lock;
    *stream = reinterpret_cast<cudaStream_t>(
        state().make_stream(this_device, (flags & cudaStreamNonBlocking) == 0, priority));
    return cudaSuccess;
}

cudaError_t destroy_stream(cudaStream_t handle) {
    Lock lock;
    Stream* stream = stream_of(handle);
    run_through({stream, stream->submitted});
    state().alive.erase(stream);
    return cudaSuccess;
}

int stream_priority(cudaStream_t stream) {
    return stream_of(stream)->priority;
}
int device_of(cudaStream_t stream) {
    return stream_of(stream)->device;
}

bool is_done(cudaStream_t handle) {
    Lock lock;
    Stream& stream = *stream_of(handle);
    if (settings().order == Order::seeded) run_some();
    const bool done = stream.done == stream.submitted;
    if (done) seen(stream.clock, stream.time);
    return done;
}

cudaError_t create_event(cudaEvent_t* event, unsigned) {
    *event = reinterpret_cast<cudaEvent_t>(new Event);
    return cudaSuccess;
}

cudaError_t destroy_event(cudaEvent_t event) {
    delete reinterpret_cast<Event*>(event);
    return cudaSuccess;
}

cudaError_t record_event(cudaEvent_t handle, cudaStream_t stream_handle) {
    Lock lock;
    Event& event = *reinterpret_cast<Event*>(handle);
    Stream& stream = *stream_of(stream_handle);
    event.stream = &stream, event.queries = 0;
    if (Capture* capture = stream.capture) {
        event.capture = capture->id;
        event.clock = capture->clocks[&stream];
        return capture->spoiled ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    }
    order_with_legacy(stream);
    event.capture = 0;
    event.count = stream.submitted;
    event.needs = stream.needs;
    event.clock = stream.clock;
    event.time = std::max(stream.time, state().host_time);
    return state().failed;
}

cudaError_t wait_event(cudaStream_t stream_handle, cudaEvent_t handle) {
    Lock lock;
    State& now = state();
    const Event& event = *reinterpret_cast<Event*>(handle);
    Stream& stream = *stream_of(stream_handle);
    ++now.waits;
    if (now.drop > 0 && --now.drop == 0) return cudaSuccess;
    if (!event.stream) return cudaSuccess;
    if (const auto found = now.captures.find(event.capture); event.capture && found != now.captures.end()) {
        Capture& capture = *found->second;
        if (stream.capture && stream.capture != &capture) return cudaErrorStreamCaptureMerge;
        stream.capture = &capture;
        capture.clocks[&stream].join(event.clock);
        return cudaSuccess;
    }
    if (stream.capture) {
        stream.capture->spoiled = true;
        return cudaErrorStreamCaptureIsolation;
    }
    stream.clock.join(event.clock);
    stream.time = std::max(stream.time, event.time);
    if (event.stream->done < event.count) stream.needs.push_back({event.stream, event.count});
    stream.needs.insert(stream.needs.end(), event.needs.begin(), event.needs.end());
    return now.failed;
}

cudaError_t synchronize_event(cudaEvent_t handle) {
    Lock lock;
    const Event& event = *reinterpret_cast<Event*>(handle);
    if (!event.stream) return cudaSuccess;
    if (event.capture) return cudaErrorCapturedEvent;
    for (const Need& need : event.needs) run_through(need);
    run_through({event.stream, event.count});
    seen(event.clock, event.time);
    return state().failed;
}

cudaError_t query_event(cudaEvent_t handle) {
    Lock lock;
    Event& event = *reinterpret_cast<Event*>(handle);
    if (const cudaError_t error = unsafe_call(); error != cudaSuccess) return error;
    if (!event.stream) return cudaSuccess;
    if (event.capture) return cudaErrorCapturedEvent;
    if (settings().order == Order::seeded) run_some();
    // A program that asks very often is treated as if it waited, so its loop ends under every order.
    if (++event.queries > 1000) {
        run_through({event.stream, event.count});
        for (const Need& need : event.needs) run_through(need);
    }
    const auto undone = [](const Need& need) { return need.stream->done < need.count; };
    if (undone({event.stream, event.count}) || std::any_of(event.needs.begin(), event.needs.end(), undone))
        return cudaErrorNotReady;
    seen(event.clock, event.time);
    return state().failed;
}

cudaError_t elapsed(float* milliseconds, cudaEvent_t first, cudaEvent_t second) {
    Lock lock;
    const Event &begin = *reinterpret_cast<Event*>(first), &end = *reinterpret_cast<Event*>(second);
    if (!begin.stream || !end.stream) return cudaErrorInvalidResourceHandle;
    if (begin.stream->done < begin.count || end.stream->done < end.count) return cudaErrorNotReady;
    *milliseconds = static_cast<float>((end.time - begin.time) * 1e-6);
    return state().failed;
}

cudaError_t begin_capture(cudaStream_t handle, cudaStreamCaptureMode mode) {
    Lock lock;
    State& now = state();
    Stream* stream = stream_of(handle);
    if (std::find(now.legacy.begin(), now.legacy.end(), stream) != now.legacy.end())
        return cudaErrorStreamCaptureUnsupported;
    if (stream->capture) return cudaErrorIllegalState;
    auto capture = std::make_unique<Capture>();
    capture->id = ++now.last_capture;
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->origin = stream;
    capture->clocks[stream];
    stream->capture = capture.get();
    now.captures.emplace(capture->id, std::move(capture));
    return cudaSuccess;
}

cudaError_t end_capture(cudaStream_t handle, cudaGraph_t* graph) {
    Lock lock;
    State& now = state();
    *graph = nullptr;
    Stream* stream = stream_of(handle);
    Capture* capture = stream->capture;
    if (!capture || capture->origin != stream) return cudaErrorIllegalState;
    cudaError_t error = capture->spoiled ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    for (const auto& [other, clock] : capture->clocks) {
        if (capture->clocks[stream][other->number] < capture->ticks[other] && error == cudaSuccess)
            error = cudaErrorStreamCaptureUnjoined;
        other->capture = nullptr;
    }
    if (error == cudaSuccess)
        *graph = reinterpret_cast<cudaGraph_t>(
            new Graph{std::make_shared<std::vector<Work>>(std::move(capture->works))});
    now.captures.erase(capture->id);
    return error;
}

cudaStreamCaptureStatus capture_status(cudaStream_t handle, unsigned long long* id, cudaGraph_t* graph) {
    Lock lock;
    const Capture* capture = stream_of(handle)->capture;
    if (graph) *graph = nullptr;
    if (!capture) return cudaStreamCaptureStatusNone;
    if (id) *id = capture->id;
    return capture->spoiled ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode) {
    return std::exchange(this_mode, mode);
}

cudaError_t unsafe_call() {
    Lock lock;
    if (this_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
    for (const auto& [id, capture] : state().captures) {
        if (capture->mode == cudaStreamCaptureModeRelaxed) continue;
        if (capture->mode == cudaStreamCaptureModeThreadLocal &&
            capture->thread != std::this_thread::get_id())
            continue;
        capture->spoiled = true;
        return cudaErrorStreamCaptureUnsupported;
    }
    return cudaSuccess;
}

std::size_t graph_size(cudaGraph_t graph) {
    return reinterpret_cast<Graph*>(graph)->works->size();
}

cudaError_t destroy_graph(cudaGraph_t graph) {
    delete reinterpret_cast<Graph*>(graph);
    return cudaSuccess;
}

cudaError_t instantiate(cudaGraphExec_t* program, cudaGraph_t graph) {
    auto made = std::make_unique<Program>();
    made->works = reinterpret_cast<Graph*>(graph)->works;
    for (const Work& work : *made->works) {
        made->accesses.insert(made->accesses.end(), work.accesses.begin(), work.accesses.end());
        made->nanoseconds += work.nanoseconds;
    }
    *program = reinterpret_cast<cudaGraphExec_t>(made.release());
    return cudaSuccess;
}

cudaError_t destroy_program(cudaGraphExec_t program) {
    delete reinterpret_cast<Program*>(program);
    return cudaSuccess;
}

cudaError_t launch_graph(cudaGraphExec_t handle, cudaStream_t stream) {
    const Program& program = *reinterpret_cast<Program*>(handle);
    Work whole;
    whole.name = "a recorded graph";
    whole.accesses = program.accesses;
    whole.nanoseconds = program.nanoseconds;
    whole.run = [works = program.works] {
        for (const Work& work : *works)
            if (work.run) work.run();
    };
    return submit(stream, std::move(whole));
}

}  // namespace simgpu

using namespace simgpu;

extern "C" {

void simgpu_drop_wait(long nth) {
    Lock lock;
    state().drop = nth;
}
long simgpu_waits() {
    Lock lock;
    return state().waits;
}
double simgpu_time() {
    Lock lock;
    return state().host_time;
}
double simgpu_busy(int device, int lane) {
    Lock lock;
    return state().lane_busy.at(static_cast<std::size_t>(device * 3 + lane));
}
void simgpu_synchronize() {
    Lock lock;
    for (const auto& stream : state().streams) {
        run_through({stream.get(), stream->submitted});
        seen(stream->clock, stream->time);
    }
}

}  // extern "C"
