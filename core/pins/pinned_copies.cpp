#include "core/pins/pinned_copies.h"

#include <set>

namespace rematlas {
namespace {

class Mapping {
  public:
    Mapping(const PinnedStep& step, const Graph& original)
        : step_(step),
          maker_(producers(original)),
          on_device_(original.tensors.size()),
          on_host_(original.tensors.size()) {}

    std::vector<Step> map(std::span<const Step> steps) {
        for (const Step& step : steps) {
            if (step.names_op())
                run(step);
            else if (step_.tensor_of[step.tensor().index()].valid())
                move(step);
        }
        return std::move(mapped_);
    }

  private:
    using Versions = std::set<TensorId>;  ///< tensors of the graph under pins that stand for one tensor of
                                          ///< the original

    TensorId of(TensorId t) const { return step_.tensor_of[t.index()]; }

    void run(const Step& step) {
        const Op& op = step_.graph.ops[step.op()];
        mapped_.push_back({step.kind, step_.op_of[step.op().index()].value});
        if (step.kind == StepKind::run_inplace)
            for (const InplacePair& pair : op.inplace)
                if (of(pair.in).valid()) on_device_[of(pair.in)].clear();
        for (const TensorId t : op.outputs) {
            if (!of(t).valid()) continue;
            (step.kind == StepKind::run_host ? on_host_ : on_device_)[of(t)].insert(t);
        }
    }

    void move(const Step& step) {
        const TensorId t = step.tensor(), ours = of(t);
        // Residents are the same in both graphs, so their steps always change something.
        const bool changes = !maker_[ours].valid()          ? true
                             : step.kind == StepKind::free  ? leaves(on_device_[ours], t)
                             : step.kind == StepKind::fetch ? comes(on_device_[ours], t)
                             : step.kind == StepKind::drop  ? leaves(on_host_[ours], t)
                                                            : comes(on_host_[ours], t);
        if (changes) mapped_.push_back({step.kind, ours.value});
    }

    static bool comes(Versions& there, TensorId t) {
        const bool first = there.empty();
        there.insert(t);
        return first;
    }
    static bool leaves(Versions& there, TensorId t) {
        there.erase(t);
        return there.empty();
    }

    const PinnedStep& step_;
    const IdVector<TensorId, OpId> maker_;
    IdVector<TensorId, Versions> on_device_, on_host_;
    std::vector<Step> mapped_;
};

}  // namespace

std::vector<Step> on_original(const PinnedStep& step, const Graph& original, std::span<const Step> steps) {
    return Mapping(step, original).map(steps);
}

}  // namespace rematlas
