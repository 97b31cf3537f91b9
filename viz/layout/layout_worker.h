// Layout by Graphviz in a process of its own, because Graphviz can neither be cancelled nor shared between
// threads, and may abort or take gigabytes.
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
    std::chrono::milliseconds time = std::chrono::seconds(30);  ///< wall clock; the worker is killed after it
    Bytes bytes{std::int64_t{2} << 30};                         ///< of the worker's address space
    std::stop_token stop = {};                                  ///< kills the worker at once
    std::filesystem::path worker = {};                          ///< empty: `find_layout_worker()`
    std::shared_ptr<LayoutPrograms> programs = {};  ///< running ones, to be used where one is free
};

/// A program that lays out, running: its standard input and output are one socket. Killed and reaped at the end
/// of its scope.
class LayoutProcess {
  public:
    /// The program ends with the thread that called this.
    static Result<std::unique_ptr<LayoutProcess>> start(const LayoutLimits& limits);
    LayoutProcess(int pid, int socket) : pid_(pid), socket_(socket) {}
    LayoutProcess(const LayoutProcess&) = delete;
    LayoutProcess& operator=(const LayoutProcess&) = delete;
    ~LayoutProcess();

    int socket() const { return socket_; }
    bool running();
    /// Waits a moment for a program that has hung up, then kills it. Returns the wait status.
    int finish();

    std::size_t answered = 0;  ///< requests

  private:
    int end();

    int pid_;  ///< -1: it has ended
    int socket_;
};

/// The program `rematlas-layout`, running from the first request to the end of the object's scope, when one that
/// was borrowed is given back. The time limit begins with the object. One thread uses an object; several objects may work at once.
class LayoutWorker {
  public:
    explicit LayoutWorker(LayoutLimits limits = {});
    LayoutWorker(const LayoutWorker&) = delete;
    LayoutWorker& operator=(const LayoutWorker&) = delete;
    ~LayoutWorker();

    /// Starts the program without waiting for it; else the first request does. It ends with the thread that
    /// started it, unless it is one of `LayoutLimits::programs`.
    Result<void> start();

    /// The layouts of the requests, in their order. Errors, each one line: no worker program, stopped, out of
    /// time, out of memory, crashed, or what the program says of a request; after one the object is of no
    /// more use. Cost: 20 ms to start the program where none is running, then 2 ms for 20 items and 20 ms for 150.
    Result<std::vector<Layout>> lay_out(std::span<const LayoutRequest> requests);

  private:
    void drop();

    LayoutLimits limits_;
    std::chrono::steady_clock::time_point deadline_;
    std::unique_ptr<LayoutProcess> process_;
    bool borrowed_ = false;  ///< the process is one of `limits_.programs`
};

/// One request, as a whole: frames in frames slow Graphviz down, see `layout_by_clusters`. Any thread may
/// call it, several at once. Errors as above.
Result<Layout> layout_in_worker(const LayoutRequest& request, const LayoutLimits& limits = {});

/// The worker program: $REMATLAS_LAYOUT_WORKER when set, else `rematlas-layout` beside the running program,
/// in `bin/` beside it, in `../bin/` or, where it is installed, in `../lib/rematlas/`. Empty when there is none (a build without Graphviz).
std::filesystem::path find_layout_worker();

}  // namespace rematlas
