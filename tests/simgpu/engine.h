// The heart of the stand-in: streams that are queues of work, events, recorded graphs, virtual time.
//
// Everything is ordered by the program, not by the clock of the machine: the program's calls say when work
// may begin (streams, events, waits), and an order says when it does. It runs on the thread whose call let it
// run, one piece at a time; so a run repeats to the bit, given one order and one thread of the program.
#pragma once

#include <driver_types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace simgpu {

/// Bytes that a piece of work touches: [begin, end).
struct Access {
    std::uintptr_t begin = 0, end = 0;
    bool writes = false;
};

/// What of the device does the work; each does one thing at a time.
enum class Lane { compute, copy_in, copy_out };

struct Work {
    std::function<void()> run;  ///< may run several times, when it was recorded into a graph
    std::vector<Access> accesses;
    double nanoseconds = 0;  ///< virtual
    Lane lane = Lane::compute;
    std::string name;
};

/// When submitted work really runs.
enum class Order {
    eager,   ///< at once
    lazy,    ///< when somebody waits for it, and then nothing else than what that needs
    seeded,  ///< some of what may run, by the numbers of a generator, at each call
};

/// Adds to the stream's queue, or to the graph that the stream is recorded into.
cudaError_t submit(cudaStream_t stream, Work work);

cudaError_t synchronize_stream(cudaStream_t stream);
cudaError_t synchronize_device();

cudaError_t create_stream(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t destroy_stream(cudaStream_t stream);
int stream_priority(cudaStream_t stream);
int device_of(cudaStream_t stream);
bool is_done(cudaStream_t stream);

cudaError_t create_event(cudaEvent_t* event, unsigned flags);
cudaError_t destroy_event(cudaEvent_t event);
cudaError_t record_event(cudaEvent_t event, cudaStream_t stream);
cudaError_t wait_event(cudaStream_t stream, cudaEvent_t event);
cudaError_t synchronize_event(cudaEvent_t event);
cudaError_t query_event(cudaEvent_t event);
cudaError_t elapsed(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);

cudaError_t begin_capture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t end_capture(cudaStream_t stream, cudaGraph_t* graph);
cudaStreamCaptureStatus capture_status(cudaStream_t stream, unsigned long long* id, cudaGraph_t* graph);
cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode);
/// What must not happen while something records: allocation, waiting for the device. It spoils the recording.
cudaError_t unsafe_call();
std::size_t graph_size(cudaGraph_t graph);
cudaError_t destroy_graph(cudaGraph_t graph);
cudaError_t instantiate(cudaGraphExec_t* program, cudaGraph_t graph);
cudaError_t destroy_program(cudaGraphExec_t program);
cudaError_t launch_graph(cudaGraphExec_t program, cudaStream_t stream);

int current_device();
void set_current_device(int device);
/// An error within work that ran: every later call gives it back, as on a device.
void fail(cudaError_t error, const std::string& why);
cudaError_t failure();
/// The memory is no longer what it was: its history is no matter of races any more.
void forget(std::uintptr_t begin, std::uintptr_t end);

}  // namespace simgpu
