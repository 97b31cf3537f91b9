#include "runtime/verify/evicted_run.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <memory>
#include <utility>

#include "core/solvers/dtr/dtr.h"
#include "core/solving/option_reader.h"
#include "runtime/eviction/evictor.h"
#include "runtime/model/load_model.h"
#include "runtime/replay/compare.h"
#include "runtime/torch_versions/own_key.h"

namespace rematlas {
namespace {

/// Returns the line that eviction wrote in an error; nothing if there is none. If the error is in a model's
/// forward, the interpreter has added other lines.
std::optional<std::string> line_of_eviction(const std::exception& error) {
    const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
    const std::string text = of_torch ? of_torch->what_without_backtrace() : error.what();
    const std::size_t begin = text.rfind("rematlas: ");
    if (begin == text.npos) return std::nullopt;
    const std::size_t from = begin + std::string_view("rematlas: ").size();
    return text.substr(from, text.find('\n', from) - from);
}

/// A model in training.
struct Trained {
    Model model;
    std::unique_ptr<GeneratorState> generator = nullptr;  ///< generator's state before the model's next step
};

class EvictedRun : public PairedSides {
  public:
    EvictedRun(const EvictedOptions& options, const DtrOptions& policy, DeviceRuntime& device, Model evicted,
               std::vector<InputSpec> specs)
        : options_(options),
          policy_(policy),
          device_(device),
          evicted_{.model = std::move(evicted)},
          specs_(std::move(specs)) {
        device_.seed_generator(options.seed);
        evicted_.generator = device_.generator_state();
    }

    /// Also trains the original, for a comparison. `bytes`: the bytes of its parameters and buffers.
    void compare_with(Model original, std::int64_t bytes) {
        original_ = Trained{.model = std::move(original), .generator = device_.generator_state()};
        beside_ = original_bytes_ = bytes;
    }

    Result<EvictedReport> run() {
        const PairedOptions pairs{.steps = options_.steps,
                                  .warm_up = original_ ? 1 : 0,
                                  .verify = original_.has_value(),
                                  .seed = options_.seed,
                                  .progress = options_.progress};
        if (Result<void> done = train_in_pairs(*this, pairs, device_, report_); !done) return done.error();
        const OnlineEviction::Counts counts = evictor_->status().counts;
        report_.calls = evictor_->status().calls;
        if (counts.time > counts.rerun_time)
            report_.rerun_overhead = double(counts.time) / double(counts.time - counts.rerun_time);
        if (original_) {
            report_.mismatch = mismatch_of(report_, Bytes());
            report_.verified = report_.mismatch.empty();
        }
        if (options_.record) {
            Result<EvictedStep> record =
                finished(evictor_->record()->last(), record_name(), report_.budget, options_.policy);
            if (!record) return record.error();
            report_.record = record.take();
        }
        return std::move(report_);
    }

    const std::vector<InputSpec>& inputs() const override { return specs_; }

    Result<StepOutcome> run_original(const std::vector<at::Tensor>& inputs, std::uint64_t seed) override {
        try {
            const Aside aside(*this);
            const std::int64_t others = device_.alive_bytes() - original_bytes_ - bytes_of(inputs);
            StepOutcome outcome = train(*original_, inputs, seed);
            outcome.peak -= Bytes(others);
            return outcome;
        } catch (const std::exception& error) {
            return failure(error, "--verify: the original cannot run: ");
        }
    }

    Result<StepOutcome> run_own(std::vector<at::Tensor> inputs, std::uint64_t seed, bool warms_up) override {
        if (!evictor_)
            if (Result<void> opened = open(bytes_of(inputs)); !opened) return opened.error();
        try {
            evictor_->end_step();
            const OnlineEviction::Counts before = evictor_->status().counts;
            StepOutcome outcome = train(evicted_, inputs, seed);
            const OnlineEviction::Counts after = evictor_->status().counts;
            outcome.peak -= Bytes(beside_);
            if (!warms_up)
                report_.steps.push_back({.seconds = outcome.seconds,
                                         .evictions = after.evictions - before.evictions,
                                         .reruns = after.reruns - before.reruns,
                                         .peak = outcome.peak});
            inputs.clear();
            evictor_->end_step();
            return outcome;
        } catch (const std::exception& error) {
            return failure(error, "the model fails: ");
        }
    }

    /// Makes one tensor of the evicted model present at a time, because all of them together might not fit.
    bool is_same(const at::Tensor& original, const at::Tensor& own) override {
        evictor_->touch(own, Evictor::Look::now);
        const Aside aside(*this);
        return identical(original, own);
    }

    void drop(StepOutcome original) override {
        const Aside aside(*this);
        const StepOutcome dropped = std::move(original);
    }

  private:
    /// While an Aside lives, ops and memory do not count as the evicted model's: eviction does not see the
    /// ops, and the memory is not counted.
    class Aside {
      public:
        explicit Aside(EvictedRun& run)
            : run_(run), alive_(run.device_.alive_bytes()), maker_(MemoryLimit::set(nullptr)) {}
        ~Aside() {
            run_.beside_ += run_.device_.alive_bytes() - alive_;
            if (run_.evictor_) run_.evictor_->set_beside(run_.beside_);
            MemoryLimit::set(maker_);
        }
        Aside(const Aside&) = delete;
        Aside& operator=(const Aside&) = delete;

      private:
        EvictedRun& run_;
        std::int64_t alive_;
        RoomMaker* maker_;
        c10::impl::ExcludeDispatchKeyGuard unseen_{own_key};
    };

    Error failure(const std::exception& error, const std::string& otherwise) const {
        const std::string file = evicted_.model.file_name + ": ";
        if (const auto line = line_of_eviction(error)) return {file + *line, ErrorKind::negative};
        return {file + otherwise + one_line(error)};
    }

    StepOutcome train(Trained& trained, const std::vector<at::Tensor>& inputs, std::uint64_t seed) {
        StepObserver observer{.accumulates = true};
        if (options_.loss == Loss::cross_entropy)
            observer.make_target = [&](const std::vector<at::Tensor>& outputs) {
                Result<InputSpec> spec = cross_entropy_target(outputs);
                TORCH_CHECK(spec, spec.error().message);
                const c10::impl::ExcludeDispatchKeyGuard unseen(own_key);
                const at::NoGradGuard no_grad;
                return draw_inputs({spec.take()}, seed).front().to(device_.device());
            };
        device_.set_generator_state(*trained.generator);
        device_.synchronize();
        device_.reset_peak();
        const std::int64_t began = device_.now();
        StepResult result = training_step(trained.model, inputs, options_.loss, seed, observer);
        StepOutcome outcome{.outputs = std::move(result.outputs), .gradients = std::move(result.gradients)};
        descend(trained.model, outcome.gradients);
        device_.synchronize();
        outcome.seconds = double(device_.now() - began) * 1e-9;
        outcome.peak = Bytes(device_.peak_bytes());
        trained.generator = device_.generator_state();
        outcome.generator = device_.generator_state();
        for (const NamedTensor& tensor : trained.model.tensors) outcome.tensors.push_back(tensor.tensor);
        return outcome;
    }

    std::int64_t bytes_of(const std::vector<at::Tensor>& inputs) const {
        std::int64_t bytes = 0;
        for (const at::Tensor& input : inputs)
            bytes += device_.footprint(static_cast<std::int64_t>(input.nbytes()));
        return bytes;
    }

    Result<void> open(std::int64_t bytes_of_inputs) {
        Bytes budget = options_.budget.bytes;
        if (options_.budget.of != Budget::Of::nothing) {
            const Result<Bytes> share = rematlas::bytes_of(
                options_.budget, {report_.original_peak, Bytes(original_bytes_ + bytes_of_inputs)});
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

    std::string record_name() const {
        return std::filesystem::path(evicted_.model.file_name).stem().string();
    }

    const EvictedOptions& options_;
    const DtrOptions policy_;
    DeviceRuntime& device_;
    Trained evicted_;
    std::vector<InputSpec> specs_;
    std::optional<Trained> original_;
    std::int64_t original_bytes_ = 0;
    std::int64_t beside_ = 0;  ///< bytes alive that do not belong to the evicted model
    std::unique_ptr<Places> places_;
    std::unique_ptr<Evictor> evictor_;
    EvictedReport report_;
};

}  // namespace

Result<EvictedReport> train_evicting(const std::filesystem::path& path, const EvictedOptions& options,
                                     DeviceRuntime& device) {
    if (options.progress) options.progress("load", 0.0);
    at::set_num_threads(options.threads);
    std::vector<InputSpec> given = options.inputs;
    const std::vector<FixedInput> fixed = take_fixed(given);
    Result<Model> model = load_model(path, device.device());
    if (!model) return model.error();
    model->fixed = fixed;
    Result<std::vector<InputSpec>> tensors =
        input_tensors(*model, options.inputs, path.string() + ": --evict");
    if (!tensors) return tensors.error();
    const Result<DtrOptions> policy = options_from<DtrOptions>("evict", &options.policy);
    if (!policy) return policy.error();
    EvictedRun run(options, *policy, device, model.take(), tensors.take());
    if (options.verify) {
        const std::int64_t before = device.alive_bytes();
        Result<Model> second = load_model(path, device.device());
        if (!second) return second.error();
        second->fixed = fixed;
        run.compare_with(second.take(), device.alive_bytes() - before);
    }
    return run.run();
}

}  // namespace rematlas
