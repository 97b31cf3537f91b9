#include "core/solvers/hierarchical/block_search.h"

#include <algorithm>

#include "core/solvers/annealing/anneal.h"
#include "core/solvers/annealing/greedy_start.h"
#include "core/solvers/dtr/dtr.h"
#include "core/solvers/staged/staged_model.h"

namespace rematlas::hierarchical {

namespace {

using annealing::Annealer;

class BlockSearch {
  public:
    BlockSearch(const Subproblem& block, const BlockSearchOptions& options, std::uint64_t seed,
                const Deadline& deadline)
        : block_(block),
          flat_(block.flat),
          options_(options),
          seed_(seed),
          deadline_(deadline),
          beside_(bytes_beside(block)) {}

    /// Returns the best sequence for the limits. The search starts from the option in `known` that exceeds
    /// the limits by the fewest bytes.
    BlockOption solve(std::int64_t saved, std::int64_t peak, const std::vector<BlockOption>& known) {
        // While `outside` runs, the step holds `beside_` bytes, the saved bytes, and the workspace of
        // `outside`. If `saved` bytes are saved, this workspace takes all bytes that remain below the limit
        // `peak`. So a schedule that saves more than `saved` bytes exceeds the limit.
        flat_.workspace[block_.outside] = std::max<std::int64_t>(0, peak - beside_ - saved);
        const auto excess = [&](const BlockOption& o) {
            return std::max<std::int64_t>(0, o.saved - saved) +
                   std::max<std::int64_t>(0, std::max(o.forward_peak, o.backward_peak) - peak);
        };
        const auto nearest = std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
            return std::pair(excess(a), a.time()) < std::pair(excess(b), b.time());
        });
        Candidate best = Candidate::of(flat_, whole_sequence(block_, *nearest));
        const auto offer = [&](RunSequence runs) {
            Candidate other = Candidate::of(flat_, std::move(runs));
            if (other.better_than(best, peak)) best = std::move(other);
        };
        if (options_.solver == BlockSolver::dtr) {
            GraphEviction evicted =
                evict_on_graph(flat_, Bytes(peak), {.seed = seed_},
                               [&](const DtrOutcome&, double) { return !deadline_.passed(); });
            if (evicted.outcome.status == DtrOutcome::Status::ok) offer(std::move(evicted.runs));
            return measured(block_, best.runs);
        }
        const annealing::GreedyRule rule{.with_ancestors = true};
        if (auto greedy = annealing::greedy_start(flat_, peak, rule, deadline_)) offer(*std::move(greedy));
        if (options_.solver == BlockSolver::checkmate && StagedModel::fits(flat_))
            run_staged(peak, best, offer);
        else
            anneal(peak, best);
        return measured(block_, best.runs);
    }

  private:
    void anneal(std::int64_t peak, Candidate& best) {
        const AnnealingOptions annealing;
        Annealer annealer(flat_, peak, std::move(best), annealing, seed_++);
        const auto moves = std::max(options_.least_moves, options_.moves_an_op * flat_.op_count);
        for (int cycle = 0; cycle < 2 && !deadline_.passed(); ++cycle)
            annealer.run_cycle(static_cast<std::uint64_t>(moves / 2), 1, deadline_,
                               [](const Candidate&) { return true; });
        best = annealer.best();
    }

    template <class Offer>
    void run_staged(std::int64_t peak, const Candidate& start, const Offer& offer) {
        StagedModelOptions interest;
        std::vector<double> point;
        if (start.peak <= peak) interest.below = start.time;
        const auto model = std::make_shared<const StagedModel>(flat_, peak, interest);
        if (start.peak <= peak)
            if (auto encoded = model->encode(start.runs)) point = *std::move(encoded);
        run_programme(std::shared_ptr<const MilpModel>(model, &model->milp()), std::move(point),
                      options_.programme, deadline_,
                      [&](std::span<const double> values) { offer(model->decode(values)); });
    }

    const Subproblem& block_;
    FlatGraph flat_;
    const BlockSearchOptions& options_;
    std::uint64_t seed_;
    const Deadline& deadline_;
    const std::int64_t beside_;
};

/// Says whether the search has a choice: some forward op may run again, and makes a tensor that is not passed
/// on.
bool has_choice(const Subproblem& block) {
    for (int op = 0; op < block.outside; ++op)
        if (block.flat.recomputable[op])
            for (const int t : block.flat.outputs[op])
                if (block.flat.bytes[t] > 0 &&
                    std::find(block.passed_on.begin(), block.passed_on.end(), t) == block.passed_on.end())
                    return true;
    return false;
}

/// The result of a search for one pair of limits. If the result also keeps a tighter pair of limits, no
/// search for that pair is needed.
struct Answered {
    std::int64_t saved_limit, peak_limit, saved, peak;

    bool answers(std::int64_t for_saved, std::int64_t for_peak) const {
        return for_saved <= saved_limit && for_peak <= peak_limit && saved <= for_saved && peak <= for_peak;
    }
};

}  // namespace

BlockOptions search_options(const Subproblem& block, const BlockSearchOptions& options, std::uint64_t seed,
                            const Deadline& deadline) {
    BlockOptions found{.advance = advance_option(block), .options = {keep_all_option(block)}};
    if (block.outside < 0 || !has_choice(block)) return found;
    BlockSearch search(block, options, seed, deadline);
    const BlockOption all = found.options.front();
    const std::int64_t most_saved = all.saved;
    const std::int64_t most_peak = std::max(all.forward_peak, all.backward_peak);
    const std::int64_t least = std::min(most_peak, least_peak(block.flat).bytes.value);
    std::vector<Answered> answered{{most_saved, most_peak, most_saved, most_peak}};
    for (int p = options.peak_limits; p-- > 0;) {
        const std::int64_t peak = least + (most_peak - least) * (p + 1) / options.peak_limits;
        for (int s = options.saved_limits; s-- > 0;) {
            if (deadline.passed()) break;
            const std::int64_t saved = most_saved * s / options.saved_limits;
            if (std::any_of(answered.begin(), answered.end(),
                            [&](const Answered& a) { return a.answers(saved, peak); }))
                continue;
            const BlockOption option = search.solve(saved, peak, found.options);
            answered.push_back(
                {saved, peak, option.saved, std::max(option.forward_peak, option.backward_peak)});
            found.options.push_back(option);
        }
        keep_best(found.options);
    }
    // The last search has the tightest limits: the least peak, and zero saved bytes. Its result can fit a
    // budget that no other option fits.
    if (!deadline.passed()) found.options.push_back(search.solve(0, least, found.options));
    keep_best(found.options);
    return found;
}

}  // namespace rematlas::hierarchical
