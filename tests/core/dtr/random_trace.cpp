#include "tests/core/dtr/random_trace.h"

#include <random>

namespace rematlas {
namespace {

class Program {
  public:
    explicit Program(std::uint64_t seed) : random_(seed) {}

    Trace write(int calls) {
        for (int i = 0; i < 3; ++i) live_.push_back(trace_.constant(below(5)));
        for (int i = 0; i < calls; ++i) {
            call();
            if (below(6) == 0) retain();
            while (live_.size() > 12 || (below(3) == 0 && live_.size() > 4)) release();
        }
        for (int tensor : live_) trace_.pin(tensor);
        return trace_;
    }

  private:
    int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

    void call() {
        Trace::Op op{.time = below(8)};
        for (int i = 1 + below(3); i > 0; --i)
            op.inputs.push_back(live_[below(static_cast<int>(live_.size()))]);
        std::vector<Trace::Output> outputs;
        for (int i = below(4) == 0 ? 2 : 1; i > 0; --i) {
            const bool view = below(4) == 0;
            const int of = view ? below(static_cast<int>(op.inputs.size())) : -1;
            outputs.push_back({.bytes = view ? 0 : below(6), .view_of = of});
        }
        for (int tensor : trace_.call(op, outputs)) live_.push_back(tensor);
    }

    void retain() {
        const int tensor = live_[below(static_cast<int>(live_.size()))];
        trace_.retain(tensor);
        live_.push_back(tensor);
    }

    void release() {
        const int at = below(static_cast<int>(live_.size()));
        trace_.release(live_[at]);
        live_.erase(live_.begin() + at);
    }

    std::mt19937_64 random_;
    Trace trace_;
    std::vector<int> live_;  // one entry per reference
};

}  // namespace

Trace random_trace(std::uint64_t seed, int calls) {
    return Program(seed).write(calls);
}

Trace unit_chain_trace(int n) {
    Trace trace;
    const auto unit = [&](std::vector<int> inputs) {
        return trace.call({.time = 1, .inputs = std::move(inputs)}, {{.bytes = 1}}).front();
    };
    std::vector<int> forward;
    for (int i = 0; i < n; ++i)
        forward.push_back(unit(i == 0 ? std::vector<int>{} : std::vector{forward.back()}));
    trace.release(forward.back());
    int gradient = unit({});
    for (int i = n - 2; i >= 0; --i) {
        trace.release(forward[i]);
        const int next = i > 0 ? unit({forward[i - 1], gradient}) : unit({gradient});
        trace.release(gradient);
        gradient = next;
    }
    return trace;
}

}  // namespace rematlas
