// Bench of schedules with copies. Measures the time to plan the copies, the time per step of a schedule to
// give the orders for copies (with and without virtual time), and the speed of copies by the CPU. CSV on
// standard output: name,run,value,unit.
//
//     bench_transfers [LAYERS...]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "runtime/transfers/transfer_player.h"
#include "runtime/transfers/worker_copies.h"
#include "tests/core/support/long_chain.h"
#include "tests/runtime/copying_plan.h"

namespace rematlas {
namespace {

double seconds_of(const std::function<void()>& work) {
    const auto began = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// Copy queues that copy nothing, so that only the time of giving orders is measured.
class NoCopies final : public CopyQueues {
  public:
    void copy_out(void*, const void*, std::size_t) override {}
    void copy_in(void*, const void*, std::size_t) override {}
    void run(std::function<void()>) override {}
    Mark mark(CopyQueue) override { return {}; }
    void wait(CopyQueue, Mark) override {}
    void release(Mark) override {}
    void synchronize(CopyQueue) override {}
};

void bench_plan(int layers) {
    const Plan plan =
        test::copying_plan(long_chain(ChainKind::blocks, layers), {.residents = false, .most = layers / 2});
    const auto print = [&](const char* run, double value, const char* unit) {
        std::printf("chain%d,%s,%.5g,%s\n", layers, run, value, unit);
    };
    const auto steps = static_cast<double>(plan.schedule.steps.size());
    std::optional<TransferPlan> transfers;
    print("steps", steps, "steps");
    print("copies", test::copies_in(plan.schedule), "copies");
    print("planning",
          1e3 * seconds_of([&] { transfers = TransferPlan::make(plan.graph, plan.schedule.steps).take(); }),
          "ms");
    print("slab over the peak on the host",
          double(transfers->slab_bytes + transfers->home_bytes) / double(transfers->host_peak.value),
          "ratio");
    LinkClock clock(plan.graph, *transfers, plan.graph.device->links);
    NoCopies copies;
    TransferPlayer player(*transfers, copies, nullptr);
    const auto play = [&](LinkClock* with) {
        constexpr int repetitions = 20;
        return 1e9 / repetitions / steps * seconds_of([&] {
                   for (int i = 0; i < repetitions; ++i) {
                       player.begin(with);
                       for (std::size_t at = 0; at < plan.schedule.steps.size(); ++at) {
                           player.give(at);
                           if (with && plan.schedule.steps[at].runs())
                               with->run(plan.graph.ops[plan.schedule.steps[at].op()].time);
                           player.leave(at);
                       }
                       player.end();
                   }
               });
    };
    print("giving orders", play(nullptr), "ns/step");
    print("the same with virtual time", play(&clock), "ns/step");
    print("virtual time over the predicted",
          double(clock.now().value) / 20 / double(plan.schedule.time.value), "ratio");
}

void bench_links() {
    constexpr std::size_t bytes = std::size_t{64} << 20;
    const std::unique_ptr<PinnedSlab> host = mapped_slab(2 * bytes);
    std::vector<char> device(2 * bytes, 1);
    std::memset(host->data(), 1, 2 * bytes);
    const std::unique_ptr<CopyQueues> copies = worker_copies();
    auto* const place = static_cast<char*>(host->data());
    const auto copy = [&](bool out, bool in) {
        constexpr int repetitions = 8;
        const double seconds = seconds_of([&] {
            for (int i = 0; i < repetitions; ++i) {
                if (out) copies->copy_out(place, device.data(), bytes);
                if (in) copies->copy_in(device.data() + bytes, place + bytes, bytes);
            }
            copies->synchronize(CopyQueue::out), copies->synchronize(CopyQueue::in);
        });
        return 1e-9 * repetitions * double(bytes) * (out + in) / seconds;
    };
    std::printf("cpu,copies out,%.4g,GB/s\n", copy(true, false));
    std::printf("cpu,copies in,%.4g,GB/s\n", copy(false, true));
    std::printf("cpu,both ways,%.4g,GB/s\n", copy(true, true));
}

}  // namespace
}  // namespace rematlas

int main(int count, char** arguments) {
    std::puts("name,run,value,unit");
    std::vector<int> layers;
    for (int i = 1; i < count; ++i) layers.push_back(std::atoi(arguments[i]));
    if (layers.empty()) layers = {64, 256};
    for (int one : layers) rematlas::bench_plan(one);
    rematlas::bench_links();
}
