// A mixed-integer programme solved beside its caller, who looks in when it likes and may leave at any time.
//
//     MilpThread thread(MilpLibrary::highs, std::make_shared<const MilpModel>(model), {.time = 10s});
//     while (!thread.news(20ms).answer) ...
//
// The libraries look at their stop tokens only now and then, so the thread outlives this object if it has
// to, and shares the ownership of all that it needs. Such a thread yields to everything else. While there
// are two of them, a new programme waits for one of them to end.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "core/milp/milp.h"

namespace rematlas {

/// How long callers wait for news before they look at their own limits.
constexpr auto kGlance = std::chrono::milliseconds(20);

class MilpThread {
  public:
    /// The news since the last call of `news`.
    struct News {
        std::vector<std::vector<double>> incumbents;
        double bound = -kInfinite;                 ///< the best so far
        std::int64_t nodes = 0;                    ///< of the branch and bound so far
        std::optional<Result<MilpAnswer>> answer;  ///< once it has ended
    };

    /// `limits.stop`, `limits.progress` and `limits.start` are not used; `start` is a feasible point or
    /// empty.
    MilpThread(MilpLibrary library, std::shared_ptr<const MilpModel> model, MilpLimits limits,
               std::vector<double> start = {});
    ~MilpThread();
    MilpThread(const MilpThread&) = delete;
    MilpThread& operator=(const MilpThread&) = delete;

    /// Waits until something is new, at most that long.
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
