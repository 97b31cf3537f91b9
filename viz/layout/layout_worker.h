// Runs Graphviz in a separate process. Graphviz can neither be cancelled nor be used by several threads, and
// it can abort or take gigabytes of memory.
//
//     LayoutWorker worker({.time = 5s, .stop = token});
//     Result<std::vector<Layout>> layouts = worker.lay_out(requests);
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "viz/layout/layout.h"

namespace rematlas {

class LayoutPrograms;

struct LayoutLimits {
    std::chrono::milliseconds time = std::chrono::seconds(30);  ///< wall-clock time, after which the worker
                                                                ///< is killed
    Bytes bytes{std::int64_t{2} << 30};                         ///< limit of the worker's address space
    std::stop_token stop = {};                                  ///< kills the worker at once
    std::filesystem::path worker = {};                          ///< path of the worker program; if empty,
                                                                ///< `find_layout_worker()` is used
    std::shared_ptr<LayoutPrograms> programs = {};  ///< running programs, of which a free one is borrowed
};

/// A running layout program. Its standard input and output are one socket. The destructor kills the program
/// and waits for its end.
class LayoutProcess {
  public:
    /// Starts a program. The program ends when the calling thread ends.
    static Result<std::unique_ptr<LayoutProcess>> start(const LayoutLimits& limits);
    LayoutProcess(int pid, int socket) : pid_(pid), socket_(socket) {}
    LayoutProcess(const LayoutProcess&) = delete;
    LayoutProcess& operator=(const LayoutProcess&) = delete;
    ~LayoutProcess();

    int socket() const { return socket_; }
    bool running();
    /// Waits up to half a second for the end of a program that has closed its socket, then kills it. Returns
    /// the wait status.
    int finish();

    std::size_t answered = 0;  ///< number of requests answered so far

  private:
    int end();

    int pid_;  ///< -1 if the program has ended
    int socket_;
};

/// Sends requests to the program `rematlas-layout`. The first request borrows a free program from
/// `LayoutLimits::programs`, or starts a program if there is none. The object keeps the program until it is
/// destroyed. The time limit starts when the object is made. Only one thread may use an object; several
/// objects may work at once.
class LayoutWorker {
  public:
    explicit LayoutWorker(LayoutLimits limits = {});
    LayoutWorker(const LayoutWorker&) = delete;
    LayoutWorker& operator=(const LayoutWorker&) = delete;
    ~LayoutWorker();

    /// Borrows or starts a program, without waiting for it. Without this call, the first request does so. A
    /// program that this call starts ends when the calling thread ends.
    Result<void> start();

    /// Returns the layouts of the requests, in their order. Errors, each in one line: no worker program,
    /// stopped, out of time, out of memory, crashed, or the program's error about a request. An error ends
    /// the program. Cost: 20 ms to start the program if none is running, then 2 ms for 20 items and 20 ms for
    /// 150 items.
    Result<std::vector<Layout>> lay_out(std::span<const LayoutRequest> requests);

  private:
    void drop();

    LayoutLimits limits_;
    std::chrono::steady_clock::time_point deadline_;
    std::unique_ptr<LayoutProcess> process_;
    bool borrowed_ = false;  ///< whether `process_` is one of `limits_.programs`
};

/// Lays out one request as a whole. Nested frames slow Graphviz down; `layout_by_clusters` is better for
/// them. Several threads may call the function at once. Fails as `LayoutWorker::lay_out` does.
Result<Layout> layout_in_worker(const LayoutRequest& request, const LayoutLimits& limits = {});

/// Returns the path of the worker program: $REMATLAS_LAYOUT_WORKER if set. Otherwise `rematlas-layout` is
/// searched for in the folder of the running program, in its `bin/`, in `../bin/`, and in `../lib/rematlas/`
/// (as installed). Returns an empty path if there is no worker program (a build without Graphviz).
std::filesystem::path find_layout_worker();

}  // namespace rematlas
