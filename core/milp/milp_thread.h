// Solves a mixed-integer program on another thread. The caller can ask for news at any time, and can destroy
// the object at any time.
//
//     MilpThread thread(MilpLibrary::highs, std::make_shared<const MilpModel>(model), {.time = 10s});
//     while (!thread.news(20ms).answer) ...
//
// The libraries look at their stop tokens only from time to time. So the thread may outlive this object, and
// it shares the ownership of everything that it needs. A thread that outlives its object runs only when a
// processor is idle. While there are two such threads, a new program waits until one of the two ends.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "core/milp/milp.h"

namespace rematlas {

/// How long callers wait for news before they check their own limits.
constexpr auto kGlance = std::chrono::milliseconds(20);

class MilpThread {
  public:
    /// The news since the last call of `news`. The bound and the nodes are totals.
    struct News {
        std::vector<std::vector<double>> incumbents;
        double bound = -kInfinite;                 ///< the best bound so far
        std::int64_t nodes = 0;                    ///< nodes of the branch and bound so far
        std::optional<Result<MilpAnswer>> answer;  ///< set once the solve has ended
    };

    /// `limits.stop`, `limits.progress` and `limits.start` are ignored. `start` must be a feasible point, or
    /// empty.
    MilpThread(MilpLibrary library, std::shared_ptr<const MilpModel> model, MilpLimits limits,
               std::vector<double> start = {});
    ~MilpThread();
    MilpThread(const MilpThread&) = delete;
    MilpThread& operator=(const MilpThread&) = delete;

    /// Waits for further news, but at most `at_most`, and not at all once the solve has ended. Returns all
    /// news since the last call.
    News news(std::chrono::nanoseconds at_most);

  private:
    struct Shared {
        std::mutex mutex;
        std::condition_variable changed;
        News news;
    };
    struct Life;
    std::stop_source stop_;
    std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
    std::shared_ptr<Life> life_;
};

}  // namespace rematlas
