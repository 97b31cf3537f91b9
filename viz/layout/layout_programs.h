// Layout programs that wait for requests, so that a layout need not wait until a program has started.
//
//     auto programs = std::make_shared<LayoutPrograms>();      // once; they start in the background
//     layout_by_clusters(request, cache, {.programs = programs});
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "viz/layout/layout_worker.h"

namespace rematlas {

/// Any thread may take a program and give it back. A lost program is replaced by a new one. All programs end
/// when this object is destroyed, so code that uses them must also own the object.
class LayoutPrograms {
  public:
    /// `limits` has the time, the memory and the path of each program. The time is processor time since the
    /// start of the program.
    explicit LayoutPrograms(std::size_t count = 2, LayoutLimits limits = {});
    LayoutPrograms(const LayoutPrograms&) = delete;
    LayoutPrograms& operator=(const LayoutPrograms&) = delete;
    ~LayoutPrograms();

    /// Returns a waiting program, or null if there is none.
    std::unique_ptr<LayoutProcess> take();
    /// Gives back a program that has answered all of its requests. Null means that the program is lost.
    void give_back(std::unique_ptr<LayoutProcess> process);

    std::size_t waiting() const;

  private:
    void keep_up(const std::stop_token& stop);

    const std::size_t count_;
    const LayoutLimits limits_;
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    std::vector<std::unique_ptr<LayoutProcess>> waiting_;
    std::size_t taken_ = 0;
    std::jthread starter_;  ///< starts the programs, which end with this thread
};

}  // namespace rematlas
