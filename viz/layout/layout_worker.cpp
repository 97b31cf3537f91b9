#include "viz/layout/layout_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "core/base/files.h"
#include "core/base/sizes.h"

extern char** environ;

namespace rematlas {

namespace {

using Clock = std::chrono::steady_clock;

/// Exit status of the worker when it cannot allocate.
constexpr int kOutOfMemory = 3;

class Descriptor {
  public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor() {
        if (fd_ >= 0) close(fd_);
    }
    int get() const { return fd_; }

  private:
    int fd_;
};

/// The running worker: its standard input and output are one socket. Killed and reaped at the end of its
/// scope.
class Worker {
  public:
    static Result<Worker> start(const std::filesystem::path& program, const LayoutLimits& limits);
    Worker(Worker&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)), socket_(std::move(other.socket_)) {}
    ~Worker() {
        if (pid_ >= 0) end();
    }

    int socket() const { return socket_.get(); }

    /// Waits a moment for a worker that has hung up, then kills it. Returns the wait status.
    int finish() {
        int status = 0;
        for (int i = 0; i < 50; ++i) {
            if (waitpid(pid_, &status, WNOHANG) == pid_) {
                pid_ = -1;
                return status;
            }
            usleep(10'000);
        }
        return end();
    }

  private:
    int end() {
        int status = 0;
        kill(pid_, SIGKILL);
        while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
        return status;
    }

    Worker(pid_t pid, Descriptor socket) : pid_(pid), socket_(std::move(socket)) {}
    pid_t pid_;
    Descriptor socket_;
};

Result<Worker> Worker::start(const std::filesystem::path& program, const LayoutLimits& limits) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return Error{std::string("layout: no socket for the layout program: ") + std::strerror(errno)};
    Descriptor own(ends[0]), theirs(ends[1]);
    fcntl(own.get(), F_SETFL, O_NONBLOCK);

    std::string path = program.string(), bytes = std::to_string(limits.bytes.value);
    // One second more than the caller waits: the worker must end by itself should the caller vanish.
    std::string seconds = std::to_string(std::chrono::ceil<std::chrono::seconds>(limits.time).count() + 1);
    std::string bytes_flag = "--bytes", seconds_flag = "--seconds";
    char* arguments[] = {path.data(),         bytes_flag.data(), bytes.data(),
                         seconds_flag.data(), seconds.data(),    nullptr};

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t pid = -1;
    int failed = posix_spawn(&pid, path.c_str(), &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) return Error{"layout: cannot start " + path + ": " + std::strerror(failed)};
    return Worker(pid, std::move(own));
}

/// Sends the request and collects the answer. Errors: stopped, out of time.
Result<std::string> converse(const Worker& worker, std::string_view request, const LayoutLimits& limits) {
    Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    std::stop_callback on_stop(limits.stop, [&] { (void)!eventfd_write(wake.get(), 1); });
    Clock::time_point deadline = Clock::now() + limits.time;
    std::string answer;
    std::size_t sent = 0;
    bool closed = false;
    for (;;) {
        if (limits.stop.stop_requested()) return Error{"layout: stopped", ErrorKind::negative};
        auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        if (left <= 0)
            return Error{"layout: not done within " +
                             format_duration(Nanoseconds(std::chrono::nanoseconds(limits.time).count())),
                         ErrorKind::negative};
        bool sending = sent < request.size() && !closed;
        pollfd watched[2] = {{worker.socket(), static_cast<short>(POLLIN | (sending ? POLLOUT : 0)), 0},
                             {wake.get(), POLLIN, 0}};
        poll(watched, 2, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
        if (watched[0].revents & POLLOUT) {
            ssize_t n = send(worker.socket(), request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
            if (n > 0) sent += static_cast<std::size_t>(n);
            if (n < 0 && errno != EAGAIN && errno != EINTR) closed = true;
            if (sent == request.size()) shutdown(worker.socket(), SHUT_WR);
        }
        if (watched[0].revents & (POLLIN | POLLHUP | POLLERR)) {
            char buffer[1 << 16];
            ssize_t n = recv(worker.socket(), buffer, sizeof buffer, 0);
            if (n > 0) answer.append(buffer, static_cast<std::size_t>(n));
            if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return answer;
        }
    }
}

/// Why the worker ended without an answer.
Error explain(int status, const LayoutLimits& limits) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemory)
        return Error{"layout: the graph needs more than " + format_bytes(limits.bytes) + " to lay out",
                     ErrorKind::negative};
    if (WIFSIGNALED(status))
        return Error{"layout: the layout program was ended by signal " + std::to_string(WTERMSIG(status)) +
                         " (" + strsignal(WTERMSIG(status)) + ")",
                     ErrorKind::negative};
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return Error{"layout: the layout program ended with status " + std::to_string(code) + " and no answer",
                 ErrorKind::negative};
}

Result<Layout> parse_answer(const std::string& answer, const LayoutRequest& request) {
    auto json = parse_json(answer, "layout");
    if (!json) return json.error();
    if (json->is_object() && json->contains("error") && (*json)["error"].is_string())
        return Error{(*json)["error"].get<std::string>()};
    auto layout = layout_from(*json);
    if (!layout) return layout.error();
    if (layout->items.size() != request.items.size() || layout->edges.size() != request.edges.size() ||
        layout->clusters.size() != request.clusters.size())
        return Error{"layout: the answer does not fit the request"};
    return layout;
}

bool is_program(const std::filesystem::path& path) {
    return access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path);
}

}  // namespace

std::filesystem::path find_layout_worker() {
    if (const char* set = std::getenv("REMATLAS_LAYOUT_WORKER"); set && *set) return set;
    std::error_code ignored;
    std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const char* folder : {".", "bin", "../bin"}) {
        std::filesystem::path candidate = (here / folder / "rematlas-layout").lexically_normal();
        if (is_program(candidate)) return candidate;
    }
    return {};
}

Result<Layout> layout_in_worker(const LayoutRequest& request, const LayoutLimits& limits) {
    std::filesystem::path program = limits.worker.empty() ? find_layout_worker() : limits.worker;
    if (program.empty())
        return Error{"layout: the program rematlas-layout is missing (it is built where Graphviz is found)"};
    if (request.items.empty()) return Layout{};
    std::string text = to_json(request).dump();
    auto worker = Worker::start(program, limits);
    if (!worker) return worker.error();
    auto answer = converse(*worker, text, limits);
    if (!answer) return answer.error();
    if (answer->empty()) return explain(worker->finish(), limits);
    return parse_answer(*answer, request);
}

}  // namespace rematlas
