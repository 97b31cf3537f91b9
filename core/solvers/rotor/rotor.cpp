#include "core/solvers/rotor/rotor.h"

#include <utility>
#include <vector>

#include "core/solvers/rotor/rotor_chain.h"
#include "core/solvers/rotor/rotor_curve.h"
#include "core/solving/limits.h"
#include "core/solving/option_reader.h"

namespace rematlas {
namespace {

constexpr std::size_t kLong = 150;  // for longer chains, a table of kMerged merged stages is filled first
constexpr int kMerged = 64;

class Rotor final : public CurveSolver {
  public:
    explicit Rotor(RotorOptions options) : options_(options) {}
    std::string_view name() const override { return rotor_solver.traits.name; }
    std::unique_ptr<Solver> up_to(const Problem& problem, Bytes largest,
                                  const Limits& limits) const override {
        const Deadline deadline(limits);
        std::vector<RotorChain> chains{rotor_chain(problem, options_.max_stages)};
        if (chains.front().stages.size() > kLong)
            chains.insert(chains.begin(), rotor_chain(problem, kMerged));
        return std::make_unique<RotorCurve>(name(), problem, std::move(chains), largest, options_.slots,
                                            deadline);
    }

  private:
    RotorOptions options_;
};

}  // namespace

void read_options(OptionReader& reader, RotorOptions& options) {
    reader.integer("slots", options.slots, 10, 100000);
    reader.integer("max_stages", options.max_stages, 2, 1000);
}

std::unique_ptr<Solver> make_rotor(RotorOptions options) {
    return std::make_unique<Rotor>(options);
}

constinit const SolverEntry rotor_solver =
    solver_entry<RotorOptions, make_rotor>({.name = "rotor",
                                            .summary = "optimal checkpointing of a chain of stages (Beaumont "
                                                       "et al. 2019); falls back where there is no chain",
                                            .compared = true});

}  // namespace rematlas
