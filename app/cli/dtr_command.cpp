// rematlas dtr
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/interrupt.h"
#include "app/cli/reading.h"
#include "core/base/sizes.h"
#include "core/dtr/evict_online.h"
#include "core/dtr/eviction_names.h"
#include "core/dtr/trace_log.h"

namespace rematlas {
namespace {

using nlohmann::json;

struct DtrFlags {
    std::string log, budget, heuristic = "dtr-eq", deallocation = "eager";
    std::vector<double> ratios{0.5};
    double thrash = 2;
    bool sample = false, ignore_small = false;
    std::uint64_t seed = 1;
};

template <class Names>
auto meant_by(const std::string& word, const Names& names) {
    return std::find_if(names.begin(), names.end(), [&](const auto& name) { return name.first == word; })
        ->second;
}

const char* word(DtrOutcome::Status status) {
    static constexpr const char* words[] = {"ok", "oom", "thrash", "stopped"};
    return words[static_cast<std::size_t>(status)];
}

struct BudgetPoint {
    Bytes budget;
    double ratio = 0;
    double seconds = 0;
    DtrOutcome outcome;
};

Result<std::vector<BudgetPoint>> points_from(const DtrFlags& flags, Bytes peak) {
    std::vector<BudgetPoint> points;
    const double full = static_cast<double>(std::max<std::int64_t>(peak.value, 1));
    if (!flags.budget.empty()) {
        const Result<Budget> given = budget_flag(flags.budget);
        if (!given) return given.error();
        if (given->of == Budget::Of::activations)
            return Error{"--budget: '" + flags.budget + "': a log does not tell what is resident"};
        const Result<Bytes> budget = bytes_of(*given, {.peak = peak, .resident = {}});
        if (!budget) return Error{"--budget: " + budget.error().message};
        points.push_back(
            {.budget = *budget, .ratio = static_cast<double>(budget->value) / full, .outcome = {}});
        return points;
    }
    for (const double ratio : flags.ratios)
        points.push_back(
            {.budget = Bytes(static_cast<std::int64_t>(full * ratio)), .ratio = ratio, .outcome = {}});
    return points;
}

json to_json(const BudgetPoint& point) {
    return {{"status", word(point.outcome.status)},
            {"ratio", point.ratio},
            {"budget_bytes", point.budget.value},
            {"overhead", point.outcome.overhead()},
            {"peak_bytes", point.outcome.peak.value},
            {"evictions", point.outcome.evictions},
            {"rematerializations", point.outcome.rematerializations},
            {"seconds", point.seconds}};
}

json to_json(const DtrFlags& flags, Bytes peak, std::size_t calls, const std::vector<BudgetPoint>& points) {
    json object = {{"log", flags.log},
                   {"heuristic", flags.heuristic},
                   {"deallocation", flags.deallocation},
                   {"calls", calls},
                   {"unbounded_peak_bytes", peak.value}};
    if (points.size() == 1) {
        object.update(to_json(points.front()));
    } else {
        object["points"] = json::array();
        for (const BudgetPoint& point : points) object["points"].push_back(to_json(point));
    }
    return object;
}

void print(const std::vector<BudgetPoint>& points, Bytes peak, std::size_t calls) {
    std::printf("%zu calls, a peak of %s without evictions\n", calls, format_bytes(peak).c_str());
    std::printf("%6s %12s %8s %9s %12s %10s %8s\n", "ratio", "budget", "status", "overhead", "peak",
                "evictions", "reruns");
    for (const BudgetPoint& point : points) {
        std::printf("%6.3f %12s %8s %9.4f %12s %10lld %8lld\n", point.ratio,
                    format_bytes(point.budget).c_str(), word(point.outcome.status), point.outcome.overhead(),
                    format_bytes(point.outcome.peak).c_str(), static_cast<long long>(point.outcome.evictions),
                    static_cast<long long>(point.outcome.rematerializations));
    }
}

Result<Exit> dtr_command(const DtrFlags& flags, const OutputFlags& output) {
    const Result<Trace> trace = read_trace_log(flags.log);
    if (!trace) return trace.error();
    const DtrOptions options{.heuristic = meant_by(flags.heuristic, kHeuristicNames),
                             .deallocation = meant_by(flags.deallocation, kDeallocationNames),
                             .thrash = flags.thrash,
                             .sample = flags.sample,
                             .ignore_small = flags.ignore_small,
                             .seed = flags.seed};
    const Bytes peak = unbounded_peak(*trace);
    Result<std::vector<BudgetPoint>> points = points_from(flags, peak);
    if (!points) return points.error();
    const std::stop_token stop = catch_interrupt();
    bool all_ok = true;
    for (BudgetPoint& point : *points) {
        const auto start = std::chrono::steady_clock::now();
        point.outcome = evict_online(*trace, point.budget, options, [&](const DtrOutcome&, double done) {
            if (output.shows_progress())
                std::fprintf(stderr, "\r\033[Kratio %.3f: %.0f %%", point.ratio, 100 * done);
            return !stop.stop_requested();
        });
        point.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        all_ok = all_ok && point.outcome.status == DtrOutcome::Status::ok;
    }
    if (output.shows_progress()) std::fprintf(stderr, "\r\033[K");
    const std::size_t calls = trace->ops.size();
    if (output.json)
        print_json(to_json(flags, peak, calls, *points));
    else
        print(*points, peak, calls);
    return all_ok ? Exit::success : Exit::negative;
}

}  // namespace

void add_dtr_command(const Commands& commands) {
    static OutputFlags output;
    static DtrFlags flags;
    CLI::App* app = commands.add("dtr", "simulate online eviction on a published log",
                                 "rematlas dtr resnet32.log --heuristic dtr-eq --ratio 0.3,0.5,0.7", output,
                                 [] { return dtr_command(flags, output); });
    app->add_option("log", flags.log, "log of DTR's experiments, one JSON object a line")->required();
    app->add_option("--heuristic", flags.heuristic, "what is evicted first")
        ->check(CLI::IsMember(words_of(kHeuristicNames)))
        ->capture_default_str();
    CLI::Option* ratio = app->add_option("--ratio", flags.ratios, "budget over the peak without evictions")
                             ->delimiter(',')
                             ->check(number_between(0, 1e3))
                             ->capture_default_str();
    app->add_option("--budget", flags.budget, "bytes (4GB) or a share of that peak (60%)")->excludes(ratio);
    app->add_option("--deallocation", flags.deallocation, "what happens when the program drops a tensor")
        ->check(CLI::IsMember(words_of(kDeallocationNames)))
        ->capture_default_str();
    app->add_option("--thrash", flags.thrash, "gives up when the time passes this multiple")
        ->check(number_between(1, 1e6))
        ->capture_default_str();
    app->add_flag("--sample", flags.sample, "scores a random sample: the root of the number of candidates");
    app->add_flag("--ignore-small", flags.ignore_small, "never evicts below 1 % of the average size");
    app->add_option("--seed", flags.seed, "seed of the heuristic random and of --sample")
        ->check(unsigned_number())
        ->capture_default_str();
}

}  // namespace rematlas
