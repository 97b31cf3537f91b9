// Watches the program's other threads while one thread trains a step that is recorded or compared with a
// plan. All threads share memory and generators, so effects of other threads could be mistaken for effects of
// the step.
//
//     std::shared_ptr<OtherThreads> others = OtherThreads::watch(device);   // this thread runs the step
//     ... the forward ...
//     others->rest();                      // the loss is not watched: another step may begin meanwhile
//     if (others->go_on()) ...             // the backward, perhaps on another thread
//     others->drew();                      // whether another thread drew random numbers
//
// While a step is watched, host memory is counted without the bytes that other threads take
// (CountingAllocator), unless an eviction limits it. Threads that work for the step, such as autograd's
// thread of a GPU, do not count as other threads. Only one step of the process is watched at a time. Threads:
// any.
#pragma once

#include <memory>
#include <string>

#include "runtime/device/device.h"

namespace rematlas {

class OtherThreads {
  public:
    /// Begins to watch. Returns null if another step is being watched and is not paused.
    static std::shared_ptr<OtherThreads> watch(const DeviceRuntime& device);
    ~OtherThreads();
    OtherThreads(const OtherThreads&) = delete;
    OtherThreads& operator=(const OtherThreads&) = delete;

    /// Pauses the watching between the forward and the backward of the step.
    void rest();
    /// Continues to watch. Returns false if another step was watched meanwhile; then this step was not
    /// watched as a whole, and is no longer watched.
    bool go_on();

    /// Returns an op that another thread has run, preferably one that draws random numbers; empty if there
    /// was none.
    std::string op() const;
    /// Says whether another thread drew random numbers.
    bool drew() const;

  private:
    OtherThreads() = default;
};

}  // namespace rematlas
