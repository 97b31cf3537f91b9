#include "core/solvers/atlas/window_search.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/milp/milp_thread.h"
#include "core/solvers/atlas/window.h"

namespace rematlas::atlas {

namespace {

// Windows grow while they are planned to the end, and shrink when they are not.
constexpr double kFirstSize = 12, kLeastSize = 4, kMostSize = 64, kGrowth = 1.05, kShrinkage = 0.8;
constexpr std::size_t kMostStages = 400;
constexpr int kMostDraws = 200;
constexpr auto kWindowTime = std::chrono::seconds(1);
constexpr double kGap = 1e-7;

}  // namespace

WindowSearch::WindowSearch(const FlatGraph& graph, std::int64_t budget, MilpLibrary library,
                           std::uint64_t seed)
    : graph_(graph), budget_(budget), library_(library), random_(seed), size_(kFirstSize) {
    for (int op = 0; op < graph.op_count; ++op) {
        if (!graph.recomputable[op] || !graph.required[op]) continue;
        const auto outputs = graph.outputs[op];
        if (std::any_of(outputs.begin(), outputs.end(), [&](int t) { return graph.bytes[t] > 0; }))
            evictable_.push_back(op);
    }
}

Candidate WindowSearch::improve(Candidate best, int windows, const Deadline& deadline,
                                const std::function<void(const Candidate&)>& report) {
    for (int window = 0; window < windows && !deadline.passed(); ++window) {
        const std::int64_t before = best.time;
        const bool ended = plan_window(best, deadline);
        size_ = ended ? std::min(size_ * kGrowth, kMostSize) : std::max(size_ * kShrinkage, kLeastSize);
        if (best.time < before) report(best);
    }
    return best;
}

std::vector<int> WindowSearch::choose_ops(const std::vector<int>& run_counts,
                                          const std::vector<int>& reruns) {
    std::vector<int> ops;
    add(reruns[random_.below(reruns.size())], run_counts, ops);
    for (int draw = 0; static_cast<double>(ops.size()) < size_ && draw < kMostDraws; ++draw) {
        int op;
        if (!ops.empty() && random_.chance(0.5))
            op = neighbour(ops[random_.below(ops.size())]);
        else
            op = random_.chance(0.5) ? reruns[random_.below(reruns.size())]
                                     : evictable_[random_.below(evictable_.size())];
        if (op >= 0 && graph_.recomputable[op]) add(op, run_counts, ops);
    }
    return ops;
}

int WindowSearch::neighbour(int op) {
    const bool maker = random_.chance(0.5);
    const auto tensors = maker ? graph_.inputs[op] : graph_.outputs[op];
    if (tensors.empty()) return -1;
    const int tensor = tensors[random_.below(tensors.size())];
    if (maker) return graph_.producer[tensor];
    const auto users = graph_.users[tensor];
    return users.empty() ? -1 : users[random_.below(users.size())];
}

bool WindowSearch::add(int op, const std::vector<int>& run_counts, std::vector<int>& ops) const {
    std::vector<int> grown = ops;
    for (std::vector<int> todo{op}; !todo.empty();) {
        const int next = todo.back();
        todo.pop_back();
        if (std::find(grown.begin(), grown.end(), next) != grown.end()) continue;
        if (run_counts[next] == 0 || static_cast<double>(grown.size()) >= 2 * size_) return false;
        grown.push_back(next);
        for (const int t : graph_.inputs[next])
            if (run_counts[graph_.producer[t]] > 1) todo.push_back(graph_.producer[t]);
    }
    ops = std::move(grown);
    return true;
}

bool WindowSearch::plan_window(Candidate& best, const Deadline& deadline) {
    std::vector<int> run_counts(static_cast<std::size_t>(graph_.op_count), 0);
    std::vector<int> reruns;
    for (const int op : best.runs)
        if (++run_counts[op] > 1) reruns.push_back(op);
    if (reruns.empty()) return true;
    const std::vector<int> ops = choose_ops(run_counts, reruns);
    if (ops.empty()) return false;
    const auto window = std::make_shared<const Window>(graph_, budget_, best.runs, ops);
    if (window->stages() > kMostStages) return false;
    // Shares the ownership of the whole window.
    const std::shared_ptr<const MilpModel> programme(window, &window->programme());
    MilpThread thread(library_, programme,
                      {.time = std::min<std::chrono::nanoseconds>(kWindowTime, deadline.left()),
                       .relative_gap = kGap,
                       .seed = random_.bits() >> 33},
                      window->start().value_or(std::vector<double>{}));
    while (!deadline.passed()) {
        const MilpThread::News news = thread.news(kGlance);
        if (!news.answer) continue;
        if (!*news.answer) return false;
        const MilpAnswer& answer = **news.answer;
        if (!answer.values.empty()) {
            Candidate found = Candidate::of(graph_, window->decode(answer.values));
            if (found.better_than(best, budget_)) best = std::move(found);
        }
        return answer.status == MilpStatus::optimal || answer.status == MilpStatus::infeasible;
    }
    return false;
}

}  // namespace rematlas::atlas
