#include "runtime/device/other_threads.h"

#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/thread_name.h>
#include <torch/csrc/autograd/function.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "runtime/allocator/counting_allocator.h"
#include "runtime/allocator/memory_limit.h"
#include "runtime/torch_versions/own_key.h"

namespace rematlas {
namespace {

/// The state of the step that is watched.
struct Watched {
    std::mutex mutex;
    const OtherThreads* by = nullptr;
    bool rests = false;
    std::string op, random_op;  ///< names of ops that another thread has run
};

Watched& watched() {
    static Watched state;
    return state;
}

std::atomic<bool> watches{false};
std::atomic<int> memory{the_host};  ///< the device whose memory the step uses; see MemoryLimit
std::atomic<std::thread::id> own_thread{};

/// Says whether this thread works for the step. Threads of four kinds do:
/// - A kernel splits its work among several threads.
/// - Threads of Gloo run the collectives for which the step waits.
/// - Autograd has a thread for each GPU.
/// - A TorchScript program forks threads. They are recognized by Rematlas' dispatch key. This is not possible
///   while an eviction limits the memory, because then other threads have the key, too.
bool works_for_step() {
    return at::in_parallel_region() || c10::getThreadName().starts_with("pt_gloo") ||
           (memory != the_host && torch::autograd::get_current_node()) ||
           (c10::impl::tls_is_dispatch_key_included(own_key) && !MemoryLimit::maker(memory));
}

bool is_other() {
    return watches.load(std::memory_order_relaxed) && own_thread.load() != std::this_thread::get_id() &&
           !works_for_step();
}

bool draws(const c10::OperatorName& name) {
    const auto op = c10::Dispatcher::singleton().findOp(name);
    return op && op->hasSchema() && op->hasTag(at::Tag::nondeterministic_seeded);
}

std::unique_ptr<at::ObserverContext> see(const at::RecordFunction& function) {
    if (!is_other()) return nullptr;
    const auto name = function.operator_name();
    if (!name) return nullptr;
    const bool random = draws(*name);
    Watched& state = watched();
    const std::lock_guard lock(state.mutex);
    std::string& noted = random ? state.random_op : state.op;
    if (noted.empty()) noted = name->name;
    return nullptr;
}

/// Returns the handle of the callback. While the callback is enabled, each op of the process calls it.
at::CallbackHandle observer() {
    static const at::CallbackHandle handle = [] {
        const at::CallbackHandle made =
            at::addGlobalCallback(at::RecordFunctionCallback(&see).scopes({at::RecordScope::FUNCTION}));
        at::disableCallback(made);
        return made;
    }();
    return handle;
}

}  // namespace

std::shared_ptr<OtherThreads> OtherThreads::watch(const DeviceRuntime& device) {
    Watched& state = watched();
    std::shared_ptr<OtherThreads> made(new OtherThreads);
    const std::lock_guard lock(state.mutex);
    if (state.by && !state.rests) return nullptr;
    state.by = made.get();
    state.rests = false;
    state.op.clear(), state.random_op.clear();
    memory = device.device().is_cpu() ? the_host : device.device().index();
    own_thread = std::this_thread::get_id();
    watches = true;
    at::reenableCallback(observer());
    const bool counts_apart = memory == the_host && !MemoryLimit::maker(the_host);
    CountingAllocator::count_apart(counts_apart ? &is_other : nullptr);
    return made;
}

OtherThreads::~OtherThreads() {
    Watched& state = watched();
    const std::lock_guard lock(state.mutex);
    if (state.by != this) return;
    state.by = nullptr;
    watches = false;
    at::disableCallback(observer());
    CountingAllocator::count_apart(nullptr);
}

void OtherThreads::rest() {
    Watched& state = watched();
    const std::lock_guard lock(state.mutex);
    if (state.by == this) state.rests = true;
}

bool OtherThreads::go_on() {
    Watched& state = watched();
    const std::lock_guard lock(state.mutex);
    if (state.by != this) return false;
    state.rests = false;
    own_thread = std::this_thread::get_id();
    return true;
}

std::string OtherThreads::op() const {
    Watched& state = watched();
    const std::lock_guard lock(state.mutex);
    if (state.by != this) return {};
    return state.random_op.empty() ? state.op : state.random_op;
}

bool OtherThreads::drew() const {
    Watched& state = watched();
    const std::lock_guard lock(state.mutex);
    return state.by == this && !state.random_op.empty();
}

}  // namespace rematlas
