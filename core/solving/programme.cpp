#include "core/solving/programme.h"

#include <algorithm>
#include <utility>

#include "core/milp/milp_thread.h"

namespace rematlas {

void run_programme(std::shared_ptr<const MilpModel> model, std::vector<double> start,
                   const ProgrammeLimits& limits, const Deadline& deadline,
                   const std::function<void(std::span<const double>)>& take) {
    const MilpLimits own{.time = std::min(limits.time, deadline.left()), .relative_gap = limits.gap};
    const Deadline end({.time = own.time});
    MilpThread thread(limits.library, std::move(model), own, std::move(start));
    while (!deadline.passed() && !end.passed()) {
        const MilpThread::News news = thread.news(kGlance);
        for (const std::vector<double>& values : news.incumbents) take(values);
        if (!news.answer) continue;
        if (*news.answer && !(*news.answer)->values.empty()) take((*news.answer)->values);
        return;
    }
}

}  // namespace rematlas
