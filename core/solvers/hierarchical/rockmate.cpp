#include "core/solvers/hierarchical/rockmate.h"

#include <algorithm>

#include "core/solvers/hierarchical/block_sequence.h"
#include "core/solvers/rotor/rotor_curve.h"

namespace rematlas {

namespace {

using namespace hierarchical;

constexpr double kOptionShare = 0.5;  // share of the time for options of blocks

class Rockmate final : public CurveSolver {
  public:
    explicit Rockmate(const RockmateOptions& options) : options_(options) {}
    std::string_view name() const override { return rockmate_solver.traits.name; }
    std::unique_ptr<Solver> up_to(const Problem& problem, Bytes largest,
                                  const Limits& limits) const override {
        const Deadline deadline(limits);
        TrainingTree tree = training_tree(problem.graph, problem.flat, options_.partition);
        const std::vector<std::uint8_t> always = always_there(problem.flat, tree);
        BlockTable table(problem, std::move(tree), options_.blocks, always);
        table.fill(Deadline(limits.with_time(share_of(limits.time, kOptionShare))), limits.threads,
                   OptionCache(limits.cache));
        std::vector<RotorChain> chains{chain_of(problem.flat, table)};
        return std::make_unique<RotorCurve>(name(), problem, std::move(chains), largest, options_.slots,
                                            deadline);
    }

  private:
    RockmateOptions options_;
};

}  // namespace

void read_options(OptionReader& reader, RockmateOptions& options) {
    read_block_options(reader, options.partition, options.blocks);
    reader.integer("slots", options.slots, 10, 100'000);
}

bool is_sequence_of_blocks(const Problem& problem) {
    const TrainingTree tree = training_tree(problem.graph, problem.flat, {.by = Partition::articulation});
    const auto& children = tree.blocks.front().children;
    const auto half = static_cast<std::int32_t>(tree.forward.size() / 2);
    return children.size() >= 4 && std::all_of(children.begin(), children.end(), [&](int child) {
               return tree.blocks[child].end - tree.blocks[child].begin <= half;
           });
}

std::unique_ptr<Solver> make_rockmate(const RockmateOptions& options) {
    return std::make_unique<Rockmate>(options);
}

constinit const SolverEntry rockmate_solver = solver_entry<RockmateOptions, make_rockmate>(
    {.name = "rockmate",
     .summary = "a sequence of blocks with options each, Rotor's programme over them (Zhao et al. 2023)",
     .compared = true});

}  // namespace rematlas
