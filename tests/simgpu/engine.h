// The core of the stand-in, which imitates a GPU: streams as queues of work, events, recorded graphs, and
// virtual time.
//
// The program's calls (streams, events, waits) determine when work is allowed to begin; the setting `Order`
// determines when it really runs. The clock of the computer has no influence. Work runs one piece at a time,
// on the thread whose call lets it run. So a run with one order and one thread of the program repeats
// exactly, bit by bit.
#pragma once

#include <driver_types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace simgpu {

/// The bytes [begin, end) that a piece of work touches.
struct Access {
    std::uintptr_t begin = 0, end = 0;
    bool writes = false;
};

/// The unit of the device that does the work. Each unit does one thing at a time.
enum class Lane { compute, copy_in, copy_out };

struct Work {
    std::function<void()> run;  ///< is called several times if the work was recorded into a graph that is
                                ///< launched several times
    std::vector<Access> accesses;
    double nanoseconds = 0;  ///< virtual time
    Lane lane = Lane::compute;
    std::string name;
};

/// The time at which submitted work really runs.
enum class Order {
    eager,   ///< when it is submitted
    lazy,    ///< when the program waits for it; work that this wait does not need does not run
    seeded,  ///< at each call: some of the work that is allowed to run, chosen by a random generator
};

/// Adds work to the stream's queue, or to the graph that is being recorded from the stream.
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
/// Must be called by functions that are forbidden during a recording, such as allocations or waits for the
/// device. During a recording, unless its mode allows these functions, the call makes the recording invalid
/// and returns an error.
cudaError_t unsafe_call();
std::size_t graph_size(cudaGraph_t graph);
cudaError_t destroy_graph(cudaGraph_t graph);
cudaError_t instantiate(cudaGraphExec_t* program, cudaGraph_t graph);
cudaError_t destroy_program(cudaGraphExec_t program);
cudaError_t launch_graph(cudaGraphExec_t program, cudaStream_t stream);

int current_device();
void set_current_device(int device);
/// Notes an error of work that ran. Every later call returns this error, as on a GPU.
void fail(cudaError_t error, const std::string& why);
cudaError_t failure();
/// Forgets the past accesses to memory that was freed or replaced. Later accesses to the same addresses are
/// then no races with them.
void forget(std::uintptr_t begin, std::uintptr_t end);

}  // namespace simgpu
