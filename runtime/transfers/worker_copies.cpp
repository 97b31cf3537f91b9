#include "runtime/transfers/worker_copies.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace rematlas {
namespace {

class WorkerCopies final : public CopyQueues {
  public:
    WorkerCopies() {
        for (CopyQueue queue : {CopyQueue::in, CopyQueue::out, CopyQueue::host})
            worker_of(queue).thread = std::thread([this, queue] { work(worker_of(queue)); });
    }
    ~WorkerCopies() override {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        for (Worker& worker : workers_)  // a forked process does not have these threads
            getpid() == process_ ? worker.thread.join() : worker.thread.detach();
    }

    void copy_out(void* host, const void* device, std::size_t bytes) override {
        add(CopyQueue::out, {.to = host, .from = device, .bytes = bytes});
    }
    void copy_in(void* device, const void* host, std::size_t bytes) override {
        add(CopyQueue::in, {.to = device, .from = host, .bytes = bytes});
    }
    void run(std::function<void()> work) override {
        const std::lock_guard lock(mutex_);
        add_locked(CopyQueue::host, {.work = std::move(work)});
    }
    Mark mark(CopyQueue queue) override {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) {
            free_.push_back(static_cast<Mark>(moments_.size()));
            moments_.emplace_back();
        }
        const Mark mark = free_.back();
        free_.pop_back();
        of(mark) = std::make_shared<Moment>(Moment{.reached = queue == CopyQueue::compute});
        if (queue != CopyQueue::compute) add_locked(queue, {.reaches = of(mark)});
        return mark;
    }
    /// Does nothing if the mark is on the compute queue: work on that queue is done as soon as it has been
    /// submitted.
    void wait(CopyQueue queue, Mark mark) override {
        std::unique_lock lock(mutex_);
        const std::shared_ptr<Moment> moment = of(mark);
        if (queue == CopyQueue::compute)
            changed_.wait(lock, [&] { return moment->reached; });
        else if (!moment->reached)
            add_locked(queue, {.waits_for = moment});
    }
    void release(Mark mark) override {
        const std::lock_guard lock(mutex_);
        free_.push_back(mark);
    }
    void synchronize(CopyQueue queue) override {
        if (queue == CopyQueue::compute) return;
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return worker_of(queue).jobs.empty(); });
    }

  private:
    struct Moment {
        bool reached = false;
    };
    /// A piece of work. It makes a copy, runs an op, marks a moment as reached, or waits until a moment is
    /// reached.
    struct Job {
        void* to = nullptr;
        const void* from = nullptr;
        std::size_t bytes = 0;
        std::function<void()> work = {};
        std::shared_ptr<Moment> reaches = {}, waits_for = {};
    };
    struct Worker {
        std::deque<Job> jobs;  ///< the first job is running
        std::thread thread;
    };

    Worker& worker_of(CopyQueue queue) { return workers_[static_cast<std::size_t>(queue) - 1]; }
    std::shared_ptr<Moment>& of(Mark mark) { return moments_[static_cast<std::size_t>(mark)]; }

    void add(CopyQueue queue, const Job& job) {
        if (job.bytes == 0) return;
        const std::lock_guard lock(mutex_);
        add_locked(queue, job);
    }
    void add_locked(CopyQueue queue, Job job) {
        worker_of(queue).jobs.push_back(std::move(job));
        changed_.notify_all();
    }

    void work(Worker& worker) {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [&] { return stopping_ || !worker.jobs.empty(); });
            if (worker.jobs.empty()) return;
            Job& job = worker.jobs.front();  // the reference stays valid while jobs are added behind it
            if (job.work) {
                lock.unlock();
                std::exchange(job.work, {})();
                lock.lock();
            } else if (job.bytes > 0) {
                lock.unlock();
                std::memcpy(job.to, job.from, job.bytes);
                lock.lock();
            } else if (job.waits_for) {
                changed_.wait(lock, [&] { return job.waits_for->reached; });
            } else {
                job.reaches->reached = true;
            }
            worker.jobs.pop_front();
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::array<Worker, copy_queue_count - 1> workers_;  ///< the workers of in, out and host
    std::vector<std::shared_ptr<Moment>> moments_;      ///< moments, by mark
    std::vector<Mark> free_;
    bool stopping_ = false;
    const pid_t process_ = getpid();
};

class MappedSlab final : public PinnedSlab {
  public:
    MappedSlab(void* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
    ~MappedSlab() override { munmap(data_, bytes_); }
    MappedSlab(const MappedSlab&) = delete;
    MappedSlab& operator=(const MappedSlab&) = delete;
    void* data() const override { return data_; }
    std::size_t bytes() const override { return bytes_; }

  private:
    void* data_;
    std::size_t bytes_;
};

}  // namespace

std::unique_ptr<CopyQueues> worker_copies() {
    return std::make_unique<WorkerCopies>();
}

std::unique_ptr<PinnedSlab> mapped_slab(std::size_t bytes) {
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return nullptr;
    return std::make_unique<MappedSlab>(data, bytes);
}

}  // namespace rematlas
