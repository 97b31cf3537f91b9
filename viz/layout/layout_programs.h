// Layout programs that wait for requests, so that a layout need not begin with the start of one.
//
//     auto programs = std::make_shared<LayoutPrograms>();      // once; they start aside
//     layout_by_clusters(request, cache, {.programs = programs});
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "viz/layout/layout_worker.h"

namespace rematlas {

/// Any thread may take a program and give it back. One that was not given back is replaced by a new one. All
/// end with this object: whoever lays out with them holds it too.
class LayoutPrograms {
  public:
    /// `limits`: of time, memory and which program. The time counts from each start on, of the processor.
    explicit LayoutPrograms(std::size_t count = 2, LayoutLimits limits = {});
    LayoutPrograms(const LayoutPrograms&) = delete;
    LayoutPrograms& operator=(const LayoutPrograms&) = delete;
    ~LayoutPrograms();

    /// A program that waits; null: there is none.
    std::unique_ptr<LayoutProcess> take();
    /// What was taken, once it has answered all that it was asked. Null: it is lost.
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
    std::jthread starter_;  ///< programs end with the thread that started them: it lives as long as this
};

}  // namespace rematlas
