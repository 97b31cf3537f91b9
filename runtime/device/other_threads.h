// Sees what other threads of the program do while one of them trains a step that is recorded, or compared with a
// plan. Memory and generators are the process's: what others do there must not be taken for the step's.
//
//     std::shared_ptr<OtherThreads> others = OtherThreads::watch(device);   // this thread is the step's
//     ... the forward ...
//     others->rest();                      // the loss, unseen: another step may be watched from here on
//     if (others->go_on()) ...             // the backward, perhaps on another thread
//     others->drew()                       // another thread ran an op that draws random numbers
//
// As long as it watches, the host's memory is counted without what other threads take (CountingAllocator), unless
// an eviction limits it. Threads that work for the step (those of kernels, and autograd's of a GPU) are no others.
// One step of the process is watched at a time. Threads: any.
#pragma once

#include <memory>
#include <string>

#include "runtime/device/device.h"

namespace rematlas {

class OtherThreads {
  public:
    /// Null where another step is being watched, and does not rest.
    static std::shared_ptr<OtherThreads> watch(const DeviceRuntime& device);
    ~OtherThreads();
    OtherThreads(const OtherThreads&) = delete;
    OtherThreads& operator=(const OtherThreads&) = delete;

    /// Between the halves of the step.
    void rest();
    /// False: another step was watched meanwhile, so that this one was not watched as a whole, and is no more.
    bool go_on();

    /// An op that another thread has run, of those that draw random numbers where there are such; empty: none.
    std::string op() const;
    /// Whether one of them drew random numbers.
    bool drew() const;

  private:
    OtherThreads() = default;
};

}  // namespace rematlas
