#include "core/bounds/whole_moments.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <tuple>

#include "core/bounds/chain_moments.h"
#include "core/bounds/one_moment.h"
#include "core/milp/milp_thread.h"

namespace rematlas {
namespace {

constexpr double kLargestEntry = 1000;  // largest entry of a scaled row, and the scaled base time
constexpr double kMargin = 1e-6;        // subtracted from the scaled objective, for errors of the library

class WholeSearch {
  public:
    WholeSearch(const FlatGraph& graph, Bytes budget, const DualValue& relaxed,
                const WholeMomentsLimits& limits)
        : graph_(graph),
          budget_(budget.value),
          limits_(limits),
          relaxation_(graph, budget_, {.moments = limits.moments, .join = 0}),
          fixed_time_(static_cast<std::int64_t>(relaxation_.programme().offset)) {
        found_.bound = std::min(relaxed.bound, limits.known);
        programme_ = std::make_shared<MilpModel>(relaxation_.programme());
        fix_columns(relaxed);
        scale();
    }

    WholeMoments run(MilpLibrary library) {
        if (programme_->columns.empty()) {
            offer({});
            return std::move(found_);
        }
        const auto end = std::chrono::steady_clock::now() + limits_.time;
        MilpThread thread(library, programme_, {.time = limits_.time, .relative_gap = 1e-9});
        while (!limits_.stop.stop_requested() && std::chrono::steady_clock::now() < end && !is_proven()) {
            const MilpThread::News news = thread.news(kGlance);
            raise_bound(news.bound);
            found_.nodes = news.nodes;
            for (const std::vector<double>& values : news.incumbents) offer(values);
            if (!news.answer) continue;
            if (*news.answer) conclude(**news.answer);
            break;
        }
        return std::move(found_);
    }

  private:
    /// Says whether the known schedule, or the best one found here, takes no longer than the bound.
    bool is_proven() const {
        return proves_optimal(found_.bound, limits_.known) ||
               (!found_.runs.empty() && cost_.peak <= budget_ && proves_optimal(found_.bound, cost_.time));
    }

    /// Fixes columns by their reduced costs. `relaxed` may also have columns of intervals. The columns of
    /// intervals come last, so columns with equal indices are the same in both programs.
    void fix_columns(const DualValue& relaxed) {
        if (limits_.known == std::numeric_limits<std::int64_t>::max()) return;
        const std::int64_t room = limits_.known - (relaxed.bound - 1);
        const std::size_t count = std::min(programme_->columns.size(), relaxed.reduced_cost.size());
        for (std::size_t j = 0; j < count; ++j) {
            if (relaxed.reduced_cost[j] >= room) programme_->columns[j].upper = 0;
            if (-relaxed.reduced_cost[j] >= room) programme_->columns[j].lower = 1;
        }
    }

    void scale() {
        MilpModel& model = *programme_;
        unit_ = std::max<double>(static_cast<double>(graph_.base_time), 1) / kLargestEntry;
        model.offset = 0;
        for (MilpColumn& column : model.columns) column.cost /= unit_;
        for (std::size_t i = 0; i < model.rows(); ++i) {
            const auto begin = model.value.begin() + model.row_begin[i],
                       end = model.value.begin() + model.row_begin[i + 1];
            double largest = 1;
            for (auto value = begin; value != end; ++value) largest = std::max(largest, std::abs(*value));
            if (largest == 1) continue;
            for (auto value = begin; value != end; ++value) *value *= kLargestEntry / largest;
            model.row_lower[i] *= kLargestEntry / largest;
        }
    }

    void raise_bound(double objective) {
        if (!std::isfinite(objective)) return;
        const double time = (objective - kMargin) * unit_;
        const std::int64_t bound = next_possible_time(
            graph_, fixed_time_ + static_cast<std::int64_t>(std::ceil(std::max(time, 0.0))));
        found_.bound = std::max(found_.bound, std::min(bound, limits_.known));
    }

    void offer(const std::vector<double>& values) {
        RunSequence runs = relaxation_.decode(values);
        if (runs.empty()) return;
        const SequenceCost cost = cost_of(graph_, runs);
        const auto rank = [&](const SequenceCost& c) {
            const bool fits = c.peak <= budget_;
            return std::tuple(!fits, fits ? c.time : c.peak, fits ? c.peak : c.time);
        };
        if (!found_.runs.empty() && rank(cost) >= rank(cost_)) return;
        found_.runs = std::move(runs);
        cost_ = cost;
    }

    void conclude(const MilpAnswer& answer) {
        if (!answer.values.empty()) offer(answer.values);
        if (answer.status != MilpStatus::infeasible) raise_bound(answer.bound);
    }

    const FlatGraph& graph_;
    const std::int64_t budget_;
    const WholeMomentsLimits& limits_;
    const ChainMoments relaxation_;
    const std::int64_t fixed_time_;
    std::shared_ptr<MilpModel> programme_;
    double unit_ = 1;  ///< nanoseconds per unit of the objective
    WholeMoments found_;
    SequenceCost cost_;  ///< cost of `found_.runs`
};

}  // namespace

Result<WholeMoments> solve_whole_moments(const FlatGraph& graph, Bytes budget, const DualValue& relaxed,
                                         MilpLibrary library, const WholeMomentsLimits& limits) {
    if (Result<void> built = has_milp(library); !built) return built.error();
    return WholeSearch(graph, budget, relaxed, limits).run(library);
}

std::int64_t next_possible_time(const FlatGraph& graph, std::int64_t time) {
    std::int64_t step = 0;
    for (std::int64_t t : graph.time) step = std::gcd(step, t);
    if (step <= 1 || time <= 0) return time;
    return (time + step - 1) / step * step;
}

}  // namespace rematlas
