#include "runtime/eviction/evictor.h"

#include <c10/util/Exception.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "runtime/torch_versions/own_key.h"

namespace rematlas {
Evictor::Evictor(DeviceRuntime& device, EvictorOptions options)
    : device_(device),
      options_(options),
      log_(options.log ? std::optional<ProgramLog>(std::in_place) : std::nullopt),
      record_(options.record ? std::optional<EvictionTrace>(std::in_place) : std::nullopt),
      eviction_(*this, options.policy),
      departures_(std::make_shared<Departures>()),
      budget_(options.budget),
      limit_(options.budget) {}

std::int64_t Evictor::wall_clock() {
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

Evictor::~Evictor() {
    try {
        close();
    } catch (...) {
        // The error is dropped. A tensor that could not be restored stays without memory, and reading it
        // fails.
    }
}

void Evictor::open() {
    begin_on_queue();
    guard_ = std::make_unique<DispatchModeGuard>(*this);
    opened_by_ = std::this_thread::get_id();
    if (device_.device().is_cpu()) heap_.emplace();
    MemoryLimit::set(this);
}

void Evictor::follow_thread(bool followed) {
    c10::impl::tls_set_dispatch_key_included(own_key, followed);
}

void Evictor::leave_to_parent() {
    follow_thread(false);
    MemoryLimit::set(nullptr);
}

void Evictor::close() {
    if (!guard_) return;
    const std::lock_guard program(program_);
    if (record_ && backward_is_over()) end_step();
    guard_.reset();
    limit_ = no_limit;
    options_.thrash = std::numeric_limits<double>::infinity();
    Engine engine(engine_);
    bool all_there = true;
    try {
        see_loans();
    } catch (...) {
        error_ = std::current_exception();
        all_there = false;
    }
    loans_.clear();
    let_departed_go();
    for (std::size_t s = 0; s < known_.size(); ++s) {
        const Known& known = known_[s];
        if (known.tensor < 0 || known.user.expired() || eviction_.is_defined(known.tensor)) continue;
        const std::vector<int> wanted{known.tensor};
        if (eviction_.begin(wanted)) {
            eviction_.end(wanted);
        } else {
            all_there = false;
        }
    }
    for (Known& known : known_) {
        const auto user = known.user.lock();
        if (user && ticket_of(*user)) take_ticket_down(*user);
    }
    wait_for_own_queue();
    departures_->close();
    MemoryLimit::set(nullptr);
    engine.unlock();
    for (std::size_t s = 0; s < known_.size(); ++s) known_[s] = {};
    program_memory_.absent = 0;
    shared_.clear();
    heap_.reset();
    stored_.clear();
    device_.trim();  // later tensors are perhaps too large for the gaps that evictions left
    if (!all_there && error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

Evictor::Status Evictor::status() const {
    const std::lock_guard engine(engine_);
    Status status{.steps = steps_, .calls = calls_, .counts = eviction_.counts(), .given_up = given_up_};
    status.known_ops = std::count_if(stored_.begin(), stored_.end(), [](const auto& call) { return !!call; });
    return status;
}

// Functions for steps.

void Evictor::end_step() {
    const std::lock_guard program(program_);
    const Engine engine(engine_);
    let_departed_go();
    if (calls_ > calls_at_step_) {
        step_is_over();
    } else if (record_) {
        record_->step_is_over(alive(), most_alive_.exchange(alive()));
    }
    in_backward_ = false;
}

bool Evictor::backward_is_over() const {
    const std::lock_guard engine(engine_);
    return in_backward_ && !torch::autograd::get_current_node();
}

void Evictor::step_is_over() {
    ++steps_;
    warn_of_other_queues();
    calls_at_step_ = calls_;
    longest_step_ = std::max(longest_step_, std::exchange(step_time_, 0));
    rerun_before_ = eviction_.counts().rerun_time;
    let_shared_go();
    note(Trace::Step::settle, -1);
    eviction_.settle();
    if (record_) record_->step_is_over(alive(), most_alive_.exchange(alive()));
    if (limit_ != no_limit) limit_ = budget_;  // the limit may have risen during the step
    // If releasing storages has failed, the error is dropped: the release is tried again after the next step.
    error_ = nullptr;
    thrashes_ = false;
}

/// Releases storages whose last handle in the program is gone.
void Evictor::let_departed_go() {
    see_loans();
    if (departures_->empty()) return;
    for (const std::unique_ptr<Ticket>& ticket : departures_->take()) {
        Known& known = known_[static_cast<std::size_t>(ticket->storage)];
        known.user = Known().user;
        if (ticket->memory) {
            used_by_own_queue(ticket->memory);
            give(ticket->storage, std::move(ticket->memory));
        }
        departed(ticket->storage);
    }
}

/// Handles the storages that the program has dropped and that no op can restore. Such a storage is kept for
/// reruns of the tensors that were made from it. If these tensors take no more bytes than the storage, the
/// tensors are kept and the storage is released. For example, the optimizer's first copy of a gradient is
/// kept instead of the gradient.
void Evictor::let_go_of_dropped() {
    for (const int storage : dropped_by_program_) {
        const int tensor = known_[storage].tensor;
        if (tensor < 0 || eviction_.has_references(storage) || !eviction_.is_pinned(storage) ||
            !eviction_.is_defined(tensor))
            continue;
        const auto kept = eviction_.bytes_kept_by_losing(tensor);
        if (!kept || *kept > known_[storage].bytes) continue;
        note(Trace::Step::lose, storage);
        eviction_.lose(tensor);  // causes no rerun, and cannot fail
    }
    dropped_by_program_.clear();
}

/// Must be called after a function of `eviction_` has failed. Throws the reason. The program's tensors are
/// unchanged.
void Evictor::fail(const std::string& op) {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    if (std::exchange(thrashes_, false)) {
        const std::string why = why_thrashing();
        rerun_before_ = eviction_.counts().rerun_time;  // if the program continues anyway, its reruns count
                                                        // from 0 again
        C10_THROW_ERROR(OutOfMemoryError, c10::str("rematlas: ", why));
    }
    C10_THROW_ERROR(OutOfMemoryError, c10::str("rematlas: ", op, why_short(), "; give a larger budget"));
}

std::string Evictor::why_thrashing() const {
    return c10::str("eviction thrashes at ", current_, ": within this step ",
                    (eviction_.counts().rerun_time - rerun_before_) / 1'000'000,
                    " ms went into running ops again, more than ", options_.thrash, " times the step's own ",
                    std::max(longest_step_, step_time_) / 1'000'000, " ms; the budget is ", options_.budget,
                    " bytes: give a larger one, or a larger `thrash` to rematlas.evict");
}

/// Returns a text such as " (the largest: 9437184 by aten::mm, ...)", or an empty text.
std::string Evictor::largest_pinned() const {
    constexpr std::size_t most = 3;
    const StorageGraph& graph = eviction_.graph();
    std::vector<std::pair<std::int64_t, int>> found;
    for (int s = 0; s < graph.storage_count(); ++s) {
        if (!graph.knows_storage(s) || !eviction_.is_pinned(s)) continue;
        if (const int tensor = graph.tensors(s).front(); eviction_.is_defined(tensor))
            found.emplace_back(graph.bytes(s), graph.tensor(tensor).op);
    }
    const std::size_t shown = std::min(most, found.size());
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(shown), found.end(),
                      std::greater<>());
    std::string text;
    for (std::size_t i = 0; i < shown; ++i) {
        const auto& call = stored_[static_cast<std::size_t>(found[i].second)];
        text += c10::str(i == 0 ? " (the largest: " : ", ", found[i].first,
                         call ? " by " + call->op().schema().name() : " that were there before");
    }
    return text.empty() ? text : text + ")";
}

std::string Evictor::why_short() const {
    const auto [pinned, locked] = eviction_.stuck();
    const std::string elsewhere =
        calls_elsewhere_ == 0 ? ""
                              : c10::str("; ", calls_elsewhere_,
                                         " ops of this step ran on other streams than that which was current "
                                         "at the beginning: what they read and make stays");
    return c10::str(" needs ", asked_, " bytes more within a budget of ", options_.budget, ": ",
                    missing(asked_), " bytes are missing when all that can be evicted is gone; ", alive(),
                    " bytes are alive, ", pinned, " of them cannot be made again or are held by others",
                    largest_pinned(), ", ", locked, " are being read by ops that run, ",
                    std::max<std::int64_t>(alive() - pinned - locked, 0),
                    " were there before and have not been seen here", elsewhere);
}

/// Gives up the budget because eviction thrashes. Returns whether the program continues; the budget is then
/// twice as large.
bool Evictor::give_up_by_time() {
    if (!give_up(why_thrashing(), std::max<std::int64_t>(limit_, 2 * budget_))) return false;
    budget_ *= 2;
    rerun_before_ = eviction_.counts().rerun_time;
    return true;
}

/// Gives up the budget, for the reason `why`. Returns whether the program continues; the limit is then
/// `limit` bytes.
bool Evictor::give_up(const std::string& why, std::int64_t limit) {
    if (!options_.gives_up || MemoryLimit::is_attempt()) return false;
    if (given_up_.empty()) given_up_ = why;
    limit_ = limit;
    return true;
}

}  // namespace rematlas
