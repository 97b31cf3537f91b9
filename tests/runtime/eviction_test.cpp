// Compares online eviction of real programs with a simulation of the eviction of the same programs.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <future>
#include <numeric>

#include "core/dtr/evict_online.h"
#include "runtime/allocator/counting_allocator.h"
#include "runtime/eviction/evictor.h"
#include "runtime/model/load_model.h"
#include "tests/runtime/captured_model.h"

namespace rematlas {
namespace {

constexpr int kSteps = 3;

struct Program {
    Model model;
    std::vector<at::Tensor> inputs;

    explicit Program(const std::string& name) : model(load_model(test::model_path(name)).take()) {
        DeviceKernels kernels(test::cpu());
        inputs = kernels.draw(test::model_inputs(name), 1);
    }

    /// Returns the sum and the largest absolute value of each gradient of each step.
    std::vector<double> run() {
        test::cpu().seed_generator(3);
        std::vector<double> numbers;
        for (int step = 0; step < kSteps; ++step) {
            const StepResult result = training_step(model, inputs, Loss::sum, 7);
            for (const at::Tensor& gradient : result.gradients) {
                if (!gradient.defined()) continue;
                numbers.push_back(gradient.sum().item().toDouble());
                numbers.push_back(gradient.abs().max().item().toDouble());
            }
            descend(model, result.gradients);
        }
        return numbers;
    }
};

/// Returns the bytes that the program takes in addition to the bytes that are alive before it.
std::int64_t taken_by(const std::string& name) {
    Program program(name);
    const std::int64_t before = CountingAllocator::alive();
    CountingAllocator::reset_peak();
    program.run();
    return CountingAllocator::peak() - before;
}

/// Returns all events except drops of storages that have no bytes.
std::vector<DtrEvent> of_bytes(const std::vector<DtrEvent>& events, const Trace& trace) {
    std::vector<DtrEvent> kept;
    for (const DtrEvent& event : events)
        if (event.kind != DtrEvent::Kind::drop || trace.bytes[event.id] > 0) kept.push_back(event);
    return kept;
}

std::string around(const ProgramLog& log, const std::vector<DtrEvent>& events, std::ptrdiff_t at) {
    std::string text;
    const auto size = static_cast<std::ptrdiff_t>(events.size());
    for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(at - 6, 0); i < std::min(at + 4, size); ++i) {
        const DtrEvent& event = events[static_cast<std::size_t>(i)];
        const bool drop = event.kind == DtrEvent::Kind::drop;
        text += std::string(drop                                  ? "drop "
                            : event.kind == DtrEvent::Kind::rerun ? "rerun "
                                                                  : "call ") +
                std::to_string(event.id) +
                (drop ? " of " + std::to_string(log.trace().bytes[event.id]) + " bytes"
                      : " " + log.names()[event.id]) +
                "\n";
    }
    return text;
}

class EvictionOfModels : public ::testing::TestWithParam<std::string> {
  protected:
    /// Uses one thread: on a busy machine, several threads spend more time waiting than computing.
    void SetUp() override { at::set_num_threads(1); }
    void TearDown() override { at::set_num_threads(threads_); }

    void expect_as_simulated(const DtrOptions& policy, double share) {
        const std::vector<double> wanted = Program(GetParam()).run();
        Program program(GetParam());
        const std::int64_t before = CountingAllocator::alive();
        const auto room = static_cast<std::int64_t>(share * static_cast<double>(taken_by(GetParam())));
        Evictor evictor(test::cpu(),
                        {.budget = before + room,
                         .policy = {{policy.heuristic, policy.sample, policy.ignore_small, policy.seed},
                                    policy.deallocation},
                         .thrash = 3,
                         .log = true,
                         .costs_from_bytes = true});
        CountingAllocator::reset_peak();
        evictor.open();
        std::vector<double> made;
        try {
            made = program.run();
        } catch (const std::exception& error) {  // the interpreter wraps the exception
            const std::string why = error.what();
            EXPECT_TRUE(why.find("bytes are missing") != why.npos || why.find("thrashes") != why.npos) << why;
            return;
        }
        EXPECT_LE(CountingAllocator::peak(), before + room);
        const ProgramLog& log = *evictor.log();
        const std::vector<DtrEvent> events = log.events();
        const Trace trace = log.without_outside();
        const OnlineEviction::Counts counts = evictor.status().counts;
        evictor.close();

        ++kept_;
        evictions_ += counts.evictions;
        EXPECT_EQ(made, wanted);
        std::vector<DtrEvent> simulated;
        DtrOptions options = policy;
        options.thrash = 1e6;
        const DtrOutcome outcome = evict_online(trace, Bytes(room), options, {}, &simulated);
        EXPECT_EQ(outcome.status, DtrOutcome::Status::ok);
        const auto ours = of_bytes(events, trace), theirs = of_bytes(simulated, trace);
        const auto [at, other] = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end());
        EXPECT_TRUE(at == ours.end() && other == theirs.end())
            << "event " << at - ours.begin() << " of " << ours.size() << " and " << theirs.size() << "\n"
            << around(log, ours, at - ours.begin()) << "simulated\n"
            << around(log, theirs, at - ours.begin());
        EXPECT_EQ(outcome.evictions, counts.evictions);
        EXPECT_EQ(outcome.rematerializations, counts.reruns);
    }

    const int threads_ = at::get_num_threads();
    int kept_ = 0;  ///< number of budgets that could be kept
    std::int64_t evictions_ = 0;
};

TEST_P(EvictionOfModels, IsThatOfTheSimulation) {
    for (const double share : {1.1, 0.9, 0.75, 0.6, 0.45}) {
        SCOPED_TRACE(share);
        expect_as_simulated({}, share);
    }
    EXPECT_GE(kept_, 2);
    EXPECT_GT(evictions_, 0);
}

TEST_P(EvictionOfModels, IsThatOfTheSimulationByEveryHeuristic) {
    for (const DtrHeuristic heuristic : {DtrHeuristic::dtr, DtrHeuristic::local, DtrHeuristic::lru,
                                         DtrHeuristic::size, DtrHeuristic::msps, DtrHeuristic::random}) {
        SCOPED_TRACE(static_cast<int>(heuristic));
        for (const double share : {0.7, 0.9}) expect_as_simulated({.heuristic = heuristic}, share);
    }
    EXPECT_GE(kept_, 4) << "`size` and `random` may thrash";
    EXPECT_GT(evictions_, 0);
}

TEST_P(EvictionOfModels, IsThatOfTheSimulationBySamplesAndWithoutTheSmall) {
    for (const double share : {0.8, 0.9}) {
        SCOPED_TRACE(share);
        expect_as_simulated({.sample = true}, share);
        expect_as_simulated({.ignore_small = true}, share);
    }
    EXPECT_GT(kept_, 0);
    EXPECT_GT(evictions_, 0);
}

TEST_P(EvictionOfModels, IsThatOfTheSimulationByEveryDeallocation) {
    for (const DtrDeallocation deallocation : {DtrDeallocation::ignore, DtrDeallocation::banish}) {
        SCOPED_TRACE(static_cast<int>(deallocation));
        expect_as_simulated({.deallocation = deallocation}, 0.9);
        expect_as_simulated({.deallocation = deallocation}, 0.8);
    }
    EXPECT_GT(kept_, 0);
    EXPECT_GT(evictions_, 0);
}

/// Returns whether the program can run in `room` bytes in addition to the bytes that are alive before it.
/// Writes a trace of the program to `trace` unless it is null.
bool ends_within(std::int64_t room, const std::string& name, Trace* trace = nullptr) {
    Program program(name);
    Evictor evictor(
        test::cpu(),
        {.budget = CountingAllocator::alive() + room, .thrash = 1e6, .log = true, .costs_from_bytes = true});
    evictor.open();
    bool ends = true;
    try {
        program.run();
    } catch (const std::exception& error) {
        ends = false;
        const std::string why = error.what();
        EXPECT_NE(why.find("bytes are missing"), why.npos) << why;
    }
    if (trace) *trace = evictor.log()->without_outside();
    evictor.close();
    return ends;
}

/// The program runs the same ops for each budget. So the simulation can use one log, made with enough memory,
/// to tell which budgets can be kept.
TEST_P(EvictionOfModels, EndsWithoutMemoryWhereTheSimulationDoes) {
    const std::int64_t taken = taken_by(GetParam());
    Trace trace;
    ASSERT_TRUE(ends_within(2 * taken, GetParam(), &trace));
    const auto expect_as_simulated = [&](std::int64_t room) {
        const bool simulated =
            evict_online(trace, Bytes(room), {.thrash = 1e6}).status == DtrOutcome::Status::ok;
        // A failed backward leaves work in the queue of its thread. This work holds memory until the thread
        // ends, so each run has its own thread.
        EXPECT_EQ(std::async(std::launch::async, [&] { return ends_within(room, GetParam()); }).get(),
                  simulated)
            << room << " of " << taken << " bytes";
        return simulated;
    };
    std::int64_t most_failed = 0, least_kept = taken;
    for (int share = 90; share >= 10; share -= 10) {
        const std::int64_t room = taken * share / 100;
        if (expect_as_simulated(room)) {
            least_kept = std::min(least_kept, room);
        } else {
            most_failed = std::max(most_failed, room);
        }
    }
    ASSERT_LT(most_failed, least_kept);
    while (least_kept - most_failed > 1) {
        const std::int64_t room = std::midpoint(most_failed, least_kept);
        const bool kept = evict_online(trace, Bytes(room), {.thrash = 1e6}).status == DtrOutcome::Status::ok;
        (kept ? least_kept : most_failed) = room;
    }
    EXPECT_LT(least_kept, taken);
    EXPECT_TRUE(expect_as_simulated(least_kept));
    EXPECT_FALSE(expect_as_simulated(most_failed));
}

INSTANTIATE_TEST_SUITE_P(Small, EvictionOfModels,
                         ::testing::Values("mlp_scripted", "mlp_traced", "resnet_scripted", "resnet_traced",
                                           "gpt_scripted", "gpt_traced", "unet_scripted",
                                           "translator_scripted", "lstm_scripted", "inplace_scripted"),
                         [](const auto& info) { return info.param; });

/// Tests the claim in section 3 of the DTR paper with a real program: n sines and their backward run in
/// memory of O(sqrt(n)).
TEST(EvictionOfChains, RunsLinearlyManyOpsWithMemoryOfTheOrderOfTheRoot) {
    constexpr std::int64_t unit = 4096;
    for (const int n : {64, 256, 1024}) {
        at::Tensor x = at::rand({unit / 4});
        const auto run = [&] {
            const at::Tensor leaf = x.detach().requires_grad_();
            at::Tensor y = leaf;
            for (int i = 0; i < n; ++i) y = at::sin(y);
            return torch::autograd::grad({y.sum()}, {leaf}).front();
        };
        const at::Tensor wanted = run();
        const std::int64_t room = (2 * static_cast<std::int64_t>(std::ceil(std::sqrt(n))) + 4) * unit;
        Evictor evictor(test::cpu(), {.budget = CountingAllocator::alive() + room, .costs_from_bytes = true});
        evictor.open();
        CountingAllocator::reset_peak();
        const std::int64_t before = CountingAllocator::alive();
        const at::Tensor made = run();
        EXPECT_LE(CountingAllocator::peak() - before, room);
        const OnlineEviction::Counts counts = evictor.status().counts;
        const std::int64_t calls = evictor.status().calls;
        evictor.close();
        EXPECT_TRUE(at::equal(wanted, made));
        EXPECT_GT(counts.reruns, 0) << n;
        EXPECT_LE(counts.reruns, calls) << n;
    }
}

}  // namespace
}  // namespace rematlas
