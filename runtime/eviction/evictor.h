// Online eviction of a program that runs: Dynamic Tensor Rematerialization (Kirisame et al., ICLR 2021) below
// autograd, by the policy of core/dtr.
//
//     Evictor evictor(device, {.budget = 2LL << 30});
//     evictor.open();
//     ... any forward, backward and optimizer ...     // never more than 2 GiB alive
//     evictor.close();                                // makes everything present again
//
// When memory is short, the evictor frees the memory of storages that ops made while it is open. Before such
// a storage is read, its ops run again and restore its memory. Views, saved variables and handles need no
// care: they refer to the storage, so they see the restored memory. Two kinds of storages are never evicted:
// those that were made outside the evictor, and those that no rerun could restore. The latter are gradients
// once they belong to a parameter, storages that other code reads or writes without calling the dispatcher
// (`touch`), and results of operators that are not libtorch's own.
//
// An op that writes in place makes a new version of its storage. A rerun of the op first makes the old
// version in separate memory. When the contents of an outside storage change, for example in an optimizer's
// step, tensors that were made from the old contents can no longer be evicted. When a step ends, the evictor
// forgets everything that no rerun can need any more.
//
// Errors: c10::OutOfMemoryError and c10::Error with one line, thrown from the op that cannot run; the
// program's tensors are unchanged. On a GPU the evictor covers one stream, which is the current one at
// `open`; tensors that ops on other streams read or make are not evicted. Threads: `open` and `close` must be
// called on one thread. The evictor sees the ops of autograd's own threads; it sees ops of another thread
// only if that thread asks for it (`follow_thread`).
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>
#include <c10/util/intrusive_ptr.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/dtr/evict_online.h"
#include "core/dtr/online_eviction.h"
#include "runtime/allocator/counting_allocator.h"
#include "runtime/allocator/memory_limit.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/mode.h"
#include "runtime/dispatch/yielding_mutex.h"
#include "runtime/eviction/eviction_trace.h"
#include "runtime/eviction/op_facts.h"
#include "runtime/eviction/op_times.h"
#include "runtime/eviction/program_log.h"
#include "runtime/eviction/stored_call.h"
#include "runtime/eviction/ticket.h"

namespace rematlas {

inline constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max() / 2;

struct EvictorOptions {
    std::int64_t budget = 0;  ///< limit of the bytes that the device's allocator has handed out
    OnlineEviction::Options policy = {};
    double thrash = 20;  ///< limit of the reruns' time in a step, as a multiple of the longest step's own
                         ///< time
    /// If true and the budget cannot be kept, no error is thrown. Instead the limit rises by the missing
    /// bytes until the step is over; if eviction thrashes, the budget doubles. Status::given_up gives the
    /// reason.
    bool gives_up = false;
    bool log = false;     ///< keeps a log of calls and evictions; see ProgramLog
    bool record = false;  ///< records the last step; see EvictionTrace
    /// Costs of ops are computed from the ops' bytes instead of measured, so that runs repeat exactly.
    bool costs_from_bytes = false;
};

class Evictor final : public DispatchMode, private EvictionHost, private RoomMaker {
  public:
    struct Status {
        std::int64_t steps = 0;  ///< training steps that have ended
        std::int64_t calls = 0;  ///< ops that touched data
        OnlineEviction::Counts counts;
        std::int64_t known_ops = 0;  ///< ops that could run again
        std::string given_up;        ///< why the budget could not be kept
    };

    /// `device` must outlive the evictor.
    Evictor(DeviceRuntime& device, EvictorOptions options);
    ~Evictor() override;
    Evictor(const Evictor&) = delete;
    Evictor& operator=(const Evictor&) = delete;

    /// Begins to see the ops of this thread and to limit the allocations of all threads.
    void open();
    /// Makes every tensor that the program holds present, even beyond the budget, and ends the eviction.
    void close();
    bool is_open() const { return guard_ != nullptr; }

    /// Sets whether an open evictor also sees the ops of this thread.
    static void follow_thread(bool followed);

    /// Must be called in a forked child of the process, which holds copies of the parent's memory. From this
    /// call on, the child's ops are not seen and its memory is not limited.
    static void leave_to_parent();

    void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) override;
    /// Lets another mode, such as a recorder, be in force within this mode. The inner mode sees each op once,
    /// when all tensors that the op reads are present.
    bool takes_inner() const override { return true; }

    /// From now on these tensors are not evicted, wherever they were made.
    void keep(c10::ArrayRef<at::Tensor> tensors) override;
    std::shared_ptr<void> hold(c10::ArrayRef<at::Tensor> tensors, const char* who) override;
    void changes(c10::ArrayRef<at::Tensor> tensors) override;
    /// How other code accesses a tensor's memory without calling the dispatcher.
    enum class Look {
        now,         ///< the code reads the memory now, and is done before the next op
        on,          ///< the code may read the memory as long as the tensor lives
        and_change,  ///< as `on`, and the code may write to the memory: tensors that were or will be made
                     ///< from this one are no longer evicted
    };
    void touch(const at::Tensor& tensor, Look look);
    /// Lends the memory to other code, which may write to it, until `returned` is called. The loan costs
    /// nothing if it ends before the next op; otherwise the tensor is treated as after Look::and_change until
    /// the loan ends. Returns a number for `returned`, negative if the tensor needs no loan.
    std::int64_t lend(const at::Tensor& tensor);
    void returned(std::int64_t loan);  ///< may be called on any thread at any time

    /// Keeps these tensors from being evicted, as `keep` does. Recorded steps use their names.
    void names(const std::vector<NamedTensor>& tensors);
    /// From now on `places` says to which modules the forward ops of recorded steps belong; may be null.
    void set_places(Places* places);
    /// Sets how many of the alive bytes do not belong to the program. The budget does not count them.
    void set_beside(std::int64_t bytes) { beside_ = bytes; }
    /// Marks the end of a training step. Without this call, a step ends with the first op after a backward.
    /// Must not be called during a backward.
    void end_step();
    /// Returns true between the end of a backward and `end_step` or the next op of the thread that opened the
    /// evictor, whichever comes first.
    bool backward_is_over() const;

    Status status() const;
    /// Returns null without EvictorOptions::log.
    const ProgramLog* log() const { return log_ ? &*log_ : nullptr; }
    /// Returns null without EvictorOptions::record.
    const EvictionTrace* record() const { return record_ ? &*record_ : nullptr; }

  private:
    /// A storage that the evictor's bookkeeping (the "books") knows: a version of one of the program's
    /// storages, or a storage that a rerun has made.
    struct Known {
        int tensor = -1;  ///< the storage's tensor in `eviction_`
        std::int64_t bytes = 0;
        c10::weak_intrusive_ptr<c10::StorageImpl> user;  ///< the program's storage; empty if the program has
                                                         ///< dropped it
        c10::Storage own;                                ///< memory to which the program has no handle
        std::int64_t counted = 0;  ///< bytes that the memory adds to the device's count, or added before it
                                   ///< was dropped
        bool held = false;         ///< whether the program holds the storage
        bool there = false;        ///< whether the storage's memory is present
        bool resident = false;     ///< whether the storage was made outside the evictor
        bool unfilled = false;     ///< whether `empty` made the storage and no op has filled it yet
        int lent = 0;              ///< number of loans of the storage under which other code may write
        Known() : user(c10::intrusive_ptr<c10::StorageImpl>()) {}
    };
    struct Loan {
        int storage = 0;
        std::uint64_t digest = 0;  ///< digest of the storage's contents
        bool seen = false;         ///< whether an op has begun during the loan
    };
    /// Counts the memory that would be alive without eviction. Storages that the program holds count even
    /// while they are absent; storages that the program does not hold do not count even while they are
    /// present.
    struct ProgramMemory final : MemoryMeter {
        explicit ProgramMemory(Evictor& of) : evictor(of) {}
        std::int64_t alive_bytes() const override;
        std::int64_t peak_bytes() const override { return most; }
        void reset_peak() override { most = alive_bytes(); }
        Evictor& evictor;
        std::atomic<std::int64_t> absent = 0, most = 0;
    };
    /// A call of an operator, with its arguments and the facts that follow from them.
    struct Call {
        const c10::OperatorHandle& op;
        const OpFacts& facts;
        std::vector<StoredCall::Place> places;
        std::vector<int> inputs;              ///< known tensors that the call reads
        std::vector<int> changed;             ///< known storages that get a new version
        std::vector<int> refilled;            ///< the storages among `changed` that no op had filled yet
        std::vector<int> lost;                ///< storages whose contents change without a new version
        std::vector<std::size_t> statistics;  ///< arguments that only the first run gets
        std::vector<int> updated;             ///< known storages that hold the statistics
        bool runs_once = false;               ///< the call cannot run again; its results are not evicted
        bool opaque = false;                  ///< a tensor without a storage is among the arguments
        bool elsewhere = false;               ///< the call runs on another queue: its arguments and results
                                              ///< are not evicted
        bool waits = false;                   ///< the call runs on another queue, and some of its arguments
                                              ///< may have been restored on the evictor's queue
    };
    using Books = YieldingMutex<std::mutex>;
    using Engine = std::unique_lock<Books>;

    // The functions of a call. `look`, `show`, `copy_at_once` and `call_items` take the lock on the books;
    // callers of all others must hold it.
    void look(const Call& call, c10::DispatchKeySet keys, torch::jit::Stack* stack);
    void show(const Call& call, c10::DispatchKeySet keys, torch::jit::Stack* stack);
    void copy_at_once(c10::DispatchKeySet keys, torch::jit::Stack* stack);
    void read_arguments(Call& call, const torch::jit::Stack& stack);
    std::optional<std::vector<torch::jit::Stack>> items_of(const Call& call, const torch::jit::Stack& stack);
    void call_items(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                    std::vector<torch::jit::Stack> items, torch::jit::Stack* stack);
    void make_ready(const Call& call);
    void lose(int storage);
    void lent(int storage);
    void see_loans();
    void see_change(int storage) const;
    std::uint64_t digest_of_memory(int storage);
    void take_memory_over(int before, int after);
    void note_results(Call& call, const torch::jit::Stack& stack, std::unique_ptr<StoredCall> stored,
                      std::int64_t time, EvictionTrace::Span span);
    void record_call(const Call& call, int op, std::int64_t workspace, EvictionTrace::Span span);
    bool lies_in_an_input(const Call& call, const c10::StorageImpl& made);
    std::int64_t cost_from_bytes(const Call& call, const std::vector<Trace::Output>& outputs) const;
    void step_is_over();
    void let_departed_go();
    void let_go_of_dropped();
    [[noreturn]] void fail(const std::string& op);
    std::string why_short() const;
    std::string largest_pinned() const;
    std::string why_thrashing() const;
    bool give_up(const std::string& why, std::int64_t limit);
    bool give_up_by_time();

    // The bookkeeping.
    bool can_be_known(const at::Tensor& tensor) const;
    int storage_of(const at::Tensor& tensor) const;
    int make_resident(const at::Tensor& tensor);
    int keep(const at::Tensor& tensor);
    int declare(const Trace::Op& op, const std::vector<Trace::Output>& outputs, const std::string& name);
    void note(Trace::Step step, int storage);
    void release(int storage);
    void freeze(int storage);
    void hang(int storage, c10::StorageImpl& user);
    void let_shared_go();
    void departed(int storage);
    void give(int storage, c10::DataPtr memory);
    c10::DataPtr take(int storage);
    c10::Storage memory_of(int storage);
    void note_memory(int storage, bool held, bool there);
    void note_block(int storage, std::int64_t bytes);

    // Functions of EvictionHost.
    bool run_again(int op, bool in_place) override;
    void drop(int storage) override;
    std::int64_t missing(std::int64_t bytes) const override;
    bool goes_on() override;
    void forget_op(int op) override;
    void forget_storage(int storage) override;
    // Functions of RoomMaker.
    int memory() const override;
    void before_allocation(std::int64_t bytes) override;
    bool give_way(std::int64_t bytes) override;
    std::optional<std::string> make_room(std::int64_t bytes) override;
    const c10::DataPtr& behind(const c10::DataPtr& pointer) const override;
    MemoryMeter& without_it() override { return program_memory_; }
    void take_room(std::int64_t bytes);
    bool evict_all_for(std::int64_t bytes);
    bool evict_for(std::int64_t bytes);

    static std::int64_t wall_clock();
    void run_stored(int op, bool in_place);
    std::int64_t alive() const { return device_.alive_bytes() - beside_; }
    std::int64_t counted(const at::Tensor& tensor) const;

    // Functions of the device.
    std::int64_t run_timed(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
    void begin_on_queue();
    bool on_own_queue() const;
    void warn_of_other_queues();
    void wait_for_own_queue() const;
    void used_by_this_queue(const c10::DataPtr& memory) const;
    void used_by_own_queue(const c10::DataPtr& memory) const;
    void run_stored_on_queue(int op, bool in_place);
    void begin_measuring();
    void measure(std::int64_t bytes);
    std::int64_t finish_measuring(int op);

    DeviceRuntime& device_;
    EvictorOptions options_;
    std::optional<ProgramLog> log_;
    std::optional<EvictionTrace> record_;
    OnlineEviction eviction_;
    std::shared_ptr<Departures> departures_;
    std::unique_ptr<DispatchModeGuard> guard_;
    std::optional<CountingAllocator::KeptHeap> heap_;
    std::thread::id opened_by_;
    std::unordered_map<const c10::FunctionSchema*, OpFacts> facts_;
    std::vector<Known> known_;  ///< per known storage
    /// Known storages in memory that processes share. They have no ticket (ticket.h), because their DataPtr
    /// itself marks them as shared.
    std::unordered_map<const c10::StorageImpl*, int> shared_;
    std::vector<std::unique_ptr<StoredCall>> stored_;  ///< per known op
    std::int64_t budget_;                              ///< bytes; doubled each time that eviction thrashes,
                                                       ///< if the options allow it
    std::atomic<std::int64_t> limit_;                  ///< bytes; above `budget_` after give_up and in close
    std::int64_t queue_ = 0;                           ///< the device's queue on which the evictor was opened
    c10::Stream stream_{c10::Stream::DEFAULT, c10::Device(c10::DeviceType::CPU)};  ///< the stream of `queue_`
    OpTimes times_;
    std::int64_t steps_ = 0, calls_ = 0, calls_at_step_ = 0;
    std::int64_t calls_elsewhere_ = 0;               ///< calls of this step on queues other than the
                                                     ///< evictor's
    bool warned_ = false;                            ///< whether the warning about other queues was given
    std::int64_t step_time_ = 0, longest_step_ = 0;  ///< nanoseconds of first runs: this step, longest step
    std::int64_t rerun_before_ = 0;                  ///< nanoseconds of all reruns in earlier steps
    std::vector<int> dropped_by_program_;            ///< storages that the program has dropped since the last
                                                     ///< call
    std::atomic<int> reruns_ = 0;                    ///< number of reruns under way
    ProgramMemory program_memory_{*this};
    bool in_backward_ = false;
    bool thrashes_ = false;
    std::string given_up_;
    std::exception_ptr error_;  ///< an exception that a rerun has thrown
    std::string current_;       ///< name of the op that is running
    /// In bytes. `beside_`: see set_beside. `most_alive_`: the most alive in this step, without `beside_`.
    std::atomic<std::int64_t> beside_ = 0, most_alive_ = 0;
    bool evicting_ = false;  ///< whether storages are being dropped to make room
    bool measures_ = false;
    std::int64_t began_ = 0, most_ = 0, dropped_ = 0;  ///< bytes; see begin_measuring
    std::int64_t asked_ = 0;                           ///< bytes of the request that could not be met
    std::unordered_map<std::int64_t, Loan> loans_;
    std::int64_t last_loan_ = -1;
    std::vector<std::int64_t> returned_;
    std::mutex returned_lock_;
    mutable Books engine_;                         ///< the lock on the books; never held while a kernel runs
    YieldingMutex<std::recursive_mutex> program_;  ///< lets one call run at a time
};

}  // namespace rematlas
