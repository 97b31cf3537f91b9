#include "runtime/eviction/evicted_training.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/solvers/dtr/dtr.h"
#include "core/solving/option_reader.h"
#include "runtime/eviction/evictor.h"
#include "runtime/model/torchscript.h"
#include "runtime/replay/compare.h"

namespace rematlas {
namespace {

double middle_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.empty() ? 0 : values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Of an error in a model's forward the interpreter tells more than one line.
std::optional<std::string> line_of_eviction(const std::exception& error) {
    const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
    const std::string text = of_torch ? of_torch->what_without_backtrace() : error.what();
    const std::size_t begin = text.rfind("rematlas: ");
    if (begin == text.npos) return std::nullopt;
    const std::size_t from = begin + std::string_view("rematlas: ").size();
    return text.substr(from, text.find('\n', from) - from);
}

/// A model in training, and what its last step gave.
struct Trained {
    Model model;
    std::unique_ptr<GeneratorState> generator = {};  ///< before its next step
    std::vector<at::Tensor> outputs = {}, gradients = {};
    double seconds = 0;
    Bytes peak = {};  ///< of all that the device's allocator has handed out
};

class Session {
  public:
    Session(const EvictedOptions& options, const DtrOptions& policy, DeviceRuntime& device, Trained evicted,
            std::vector<InputSpec> specs)
        : options_(options),
          policy_(policy),
          device_(device),
          evicted_(std::move(evicted)),
          specs_(std::move(specs)) {
        device_.seed_generator(options.seed);
        evicted_.generator = device_.generator_state();
        report_.outputs_identical = report_.gradients_identical = report_.buffers_identical =
            report_.random_state_identical = options.verify;
    }

    /// `bytes`: of the model's parameters and buffers.
    void compare_with(Model original, std::int64_t bytes) {
        original_ = Trained{.model = std::move(original)};
        original_->generator = device_.generator_state();
        beside_ = original_bytes_ = bytes;
    }

    Result<EvictedReport> run() {
        const int warm_up = original_ ? 1 : 0;
        for (int i = 0; i < options_.steps + warm_up; ++i) {
            if (options_.progress)
                options_.progress(i < warm_up ? "warm-up" : "run", double(i) / (options_.steps + warm_up));
            if (Result<void> done = step(i, i >= warm_up); !done) return done.error();
        }
        const OnlineEviction::Counts counts = evictor_->status().counts;
        report_.calls = evictor_->status().calls;
        if (counts.time > counts.rerun_time)
            report_.rerun_overhead = double(counts.time) / double(counts.time - counts.rerun_time);
        if (original_) judge();
        if (options_.record) {
            Result<EvictedStep> record =
                finished(evictor_->record()->last(), record_name(), report_.budget, options_.policy);
            if (!record) return record.error();
            report_.record = record.take();
        }
        return std::move(report_);
    }

  private:
    /// What happens while one lives is not the evicted model's: eviction sees none of its ops, and its memory
    /// does not count.
    class Aside {
      public:
        explicit Aside(Session& session)
            : session_(session), alive_(session.device_.alive_bytes()), maker_(MemoryLimit::set(nullptr)) {}
        ~Aside() {
            session_.beside_ += session_.device_.alive_bytes() - alive_;
            if (session_.evictor_) session_.evictor_->set_beside(session_.beside_);
            MemoryLimit::set(maker_);
        }
        Aside(const Aside&) = delete;
        Aside& operator=(const Aside&) = delete;

      private:
        Session& session_;
        std::int64_t alive_;
        RoomMaker* maker_;
        c10::impl::ExcludeDispatchKeyGuard unseen_{c10::DispatchKey::Fake};
    };

    Result<void> step(int index, bool timed) {
        std::vector<at::Tensor> inputs;
        try {
            const std::int64_t before = device_.alive_bytes();
            inputs = draw(specs_, options_.seed * 1000003 + static_cast<std::uint64_t>(index));
            bytes_of_inputs_ = device_.alive_bytes() - before;
            if (original_) {
                const Aside aside(*this);
                const std::int64_t others = device_.alive_bytes() - original_bytes_ - bytes_of_inputs_;
                train(*original_, inputs, index);
                report_.original_peak = std::max(report_.original_peak, original_->peak - Bytes(others));
            }
        } catch (const std::exception& error) {
            return failure(error, original_ ? "--verify: the original cannot run: " : "the model fails: ");
        }
        if (!evictor_)
            if (Result<void> opened = open(); !opened) return opened;
        try {
            evictor_->end_step();
            const OnlineEviction::Counts before = evictor_->status().counts;
            train(evicted_, inputs, index);
            const OnlineEviction::Counts after = evictor_->status().counts;
            const EvictedReport::Step step{.seconds = evicted_.seconds,
                                           .evictions = after.evictions - before.evictions,
                                           .reruns = after.reruns - before.reruns,
                                           .peak = evicted_.peak - Bytes(beside_)};
            report_.measured_peak = std::max(report_.measured_peak, step.peak);
            if (timed) report_.steps.push_back(step);
            inputs.clear();
            evictor_->end_step();
            if (original_) compare();
            evicted_.outputs.clear(), evicted_.gradients.clear();
        } catch (const std::exception& error) {
            return failure(error, "the model fails: ");
        }
        if (timed && original_) ratios_.push_back(evicted_.seconds / original_->seconds);
        const Aside aside(*this);
        if (original_) original_->outputs.clear(), original_->gradients.clear();
        return {};
    }

    Error failure(const std::exception& error, const std::string& otherwise) const {
        const std::string file = evicted_.model.file_name + ": ";
        if (const auto line = line_of_eviction(error)) return {file + *line, ErrorKind::negative};
        return {file + otherwise + one_line(error)};
    }

    std::vector<at::Tensor> draw(const std::vector<InputSpec>& specs, std::uint64_t seed) {
        const c10::impl::ExcludeDispatchKeyGuard unseen(c10::DispatchKey::Fake);
        const at::NoGradGuard no_grad;
        std::vector<at::Tensor> inputs = draw_inputs(specs, seed);
        for (at::Tensor& input : inputs) input = input.to(device_.device());
        return inputs;
    }

    void train(Trained& trained, const std::vector<at::Tensor>& inputs, int index) {
        const auto number = static_cast<std::uint64_t>(index);
        StepObserver observer{.accumulates = true};
        if (options_.loss == Loss::cross_entropy)
            observer.make_target = [&](const std::vector<at::Tensor>& outputs) {
                Result<InputSpec> spec = cross_entropy_target(outputs);
                TORCH_CHECK(spec, spec.error().message);
                return draw({spec.take()}, options_.seed * 7919 + number).front();
            };
        device_.set_generator_state(*trained.generator);
        device_.synchronize();
        device_.reset_peak();
        const std::int64_t began = device_.now();
        StepResult result =
            training_step(trained.model, inputs, options_.loss, options_.seed * 7919 + number, observer);
        trained.outputs = std::move(result.outputs), trained.gradients = std::move(result.gradients);
        descend(trained.model, trained.gradients);
        device_.synchronize();
        trained.seconds = double(device_.now() - began) * 1e-9;
        trained.peak = Bytes(device_.peak_bytes());
        trained.generator = device_.generator_state();
    }

    Result<void> open() {
        Bytes budget = options_.budget.bytes;
        if (options_.budget.of != Budget::Of::nothing) {
            const Result<Bytes> share =
                bytes_of(options_.budget, {report_.original_peak, Bytes(original_bytes_ + bytes_of_inputs_)});
            if (!share) return Error{"--budget: " + share.error().message};
            budget = *share;
        }
        report_.budget = budget;
        evictor_ = std::make_unique<Evictor>(
            device_,
            EvictorOptions{.budget = budget.value,
                           .policy = {{policy_.heuristic, policy_.sample, policy_.ignore_small, policy_.seed},
                                      policy_.deallocation},
                           .thrash = policy_.thrash,
                           .record = options_.record,
                           .costs_from_bytes = options_.costs_from_bytes});
        evictor_->set_beside(beside_);
        evictor_->names(evicted_.model.tensors);
        if (options_.record) {
            places_ = evicted_.model.program->places();
            evictor_->set_places(places_.get());
        }
        evictor_->open();
        return {};
    }

    /// One after the other: together they might not fit.
    bool is_same(const at::Tensor& original, const at::Tensor& evicted) {
        evictor_->touch(evicted, Evictor::Look::now);
        const Aside aside(*this);
        return identical(original, evicted);
    }

    void compare() {
        const auto all_same = [&](const std::vector<at::Tensor>& original,
                                  const std::vector<at::Tensor>& evicted) {
            bool same = original.size() == evicted.size();
            for (std::size_t i = 0; same && i < original.size(); ++i) same = is_same(original[i], evicted[i]);
            return same;
        };
        report_.outputs_identical &= all_same(original_->outputs, evicted_.outputs);
        report_.gradients_identical &= all_same(original_->gradients, evicted_.gradients);
        report_.random_state_identical &= evicted_.generator->equals(*original_->generator);
        for (std::size_t i = 0; i < evicted_.model.tensors.size(); ++i)
            report_.buffers_identical &=
                is_same(original_->model.tensors[i].tensor, evicted_.model.tensors[i].tensor);
    }

    void judge() {
        const auto complain = [&](bool wrong, const std::string& what) {
            if (wrong) report_.mismatch += (report_.mismatch.empty() ? "" : "; ") + what;
        };
        report_.time_ratio_to_eager = middle_of(ratios_);
        complain(!report_.outputs_identical, "outputs differ from the original's");
        complain(!report_.gradients_identical, "gradients differ from the original's");
        complain(!report_.buffers_identical, "buffers differ from the original's");
        complain(!report_.random_state_identical, "random state differs from the original's");
        complain(report_.measured_peak > report_.budget,
                 "measured peak " + std::to_string(report_.measured_peak.value) +
                     " bytes is above the budget of " + std::to_string(report_.budget.value));
        report_.verified = report_.mismatch.empty();
    }

    std::string record_name() const {
        return std::filesystem::path(evicted_.model.file_name).stem().string();
    }

    const EvictedOptions& options_;
    const DtrOptions policy_;
    DeviceRuntime& device_;
    Trained evicted_;
    std::vector<InputSpec> specs_;
    std::optional<Trained> original_;
    std::int64_t original_bytes_ = 0, bytes_of_inputs_ = 0;
    std::int64_t beside_ = 0;  ///< bytes alive that are not the evicted model's
    std::unique_ptr<Places> places_;
    std::unique_ptr<Evictor> evictor_;
    std::vector<double> ratios_;
    EvictedReport report_;
};

}  // namespace

Result<EvictedReport> train_evicting(const std::filesystem::path& path, const EvictedOptions& options,
                                     DeviceRuntime& device) {
    if (options.progress) options.progress("load", 0.0);
    at::set_num_threads(options.threads);
    std::vector<InputSpec> specs = options.inputs;
    const std::vector<FixedInput> fixed = take_fixed(specs);
    Result<Model> model = load_model(path, device.device());
    if (!model) return model.error();
    model->fixed = fixed;
    const Result<DtrOptions> policy = options_from<DtrOptions>("evict", &options.policy);
    if (!policy) return policy.error();
    Session session(options, *policy, device, {.model = model.take()}, std::move(specs));
    if (options.verify) {
        const std::int64_t before = device.alive_bytes();
        Result<Model> second = load_model(path, device.device());
        if (!second) return second.error();
        second->fixed = fixed;
        session.compare_with(second.take(), device.alive_bytes() - before);
    }
    return session.run();
}

}  // namespace rematlas
