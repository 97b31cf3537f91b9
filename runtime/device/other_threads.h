// Watches the other threads of the program while one thread trains a step that is recorded, or compared
// with a plan. Memory and generators belong to the process, so that the doings of other threads must not be
// taken for the step's.
//
//     std::shared_ptr<OtherThreads> others = OtherThreads::watch(device);   // this thread is the step's
//     ... the forward ...
//     others->rest();                      // the loss, unseen: another step may be watched from here on
//     if (others->go_on()) ...             // the backward, perhaps on another thread
//     others->drew()                       // another thread ran an op that draws random numbers
//
// While a step is watched, the host's memory is counted without the bytes that other threads take
// (CountingAllocator), unless an eviction limits it. Threads that work for the step (those of kernels, and
// autograd's of a GPU) are not other threads. One step of the process is watched at a time. Threads: any.
#pragma once

#include <memory>
#include <string>

#include "runtime/device/device.h"

namespace rematlas {

class OtherThreads {
  public:
    /// Begins to watch. Null if another step is being watched and does not rest.
    static std::shared_ptr<OtherThreads> watch(const DeviceRuntime& device);
    ~OtherThreads();
    OtherThreads(const OtherThreads&) = delete;
    OtherThreads& operator=(const OtherThreads&) = delete;

    /// Pauses between the halves of the step.
    void rest();
    /// Continues to watch. False: another step was watched meanwhile, so that this one was not watched as a
    /// whole, and is no longer watched.
    bool go_on();

    /// An op that another thread has run, preferably one that draws random numbers; empty if there was
    /// none.
    std::string op() const;
    /// Whether another thread drew random numbers.
    bool drew() const;

  private:
    OtherThreads() = default;
};

}  // namespace rematlas
