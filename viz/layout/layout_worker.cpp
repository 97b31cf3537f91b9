#include "viz/layout/layout_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/files.h"
#include "core/base/numbers.h"
#include "core/base/sizes.h"
#include "viz/layout/layout_programs.h"

extern char** environ;

namespace rematlas {

namespace {

using Clock = std::chrono::steady_clock;

/// Exit status of the worker if it cannot allocate memory.
constexpr int kOutOfMemory = 3;

class Descriptor {
  public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (fd_ >= 0) close(fd_);
    }
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

  private:
    int fd_;
};

}  // namespace

LayoutProcess::~LayoutProcess() {
    if (pid_ >= 0) end();
    close(socket_);
}

bool LayoutProcess::running() {
    int status = 0;
    if (pid_ >= 0 && waitpid(pid_, &status, WNOHANG) == pid_) pid_ = -1;
    return pid_ >= 0;
}

int LayoutProcess::finish() {
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

int LayoutProcess::end() {
    int status = 0;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
}

Result<std::unique_ptr<LayoutProcess>> LayoutProcess::start(const LayoutLimits& limits) {
    const std::filesystem::path program = limits.worker.empty() ? find_layout_worker() : limits.worker;
    if (program.empty())
        return Error{"layout: the program rematlas-layout is missing (it is built where Graphviz is found)"};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return Error{std::string("layout: no socket for the layout program: ") + std::strerror(errno)};
    Descriptor own(ends[0]), theirs(ends[1]);
    fcntl(own.get(), F_SETFL, O_NONBLOCK);

    std::string path = program.string(), bytes = std::to_string(limits.bytes.value);
    // The worker also limits its own time, in case the caller vanishes. This limit is one second above the
    // time that the caller waits, so that the caller reports the error.
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
    return std::make_unique<LayoutProcess>(pid, own.release());
}

namespace {

/// Collects the texts that the program writes. Each text is its length in bytes, a newline, and that many
/// bytes.
class Answers {
  public:
    void append(const char* bytes, std::size_t count) { text_.append(bytes, count); }

    /// Takes all complete texts. Returns false if the bytes do not have this form.
    bool take_complete() {
        for (;;) {
            std::size_t end = text_.find('\n', at_);
            std::string_view digits = std::string_view(text_).substr(at_, std::min(end - at_, kMostDigits));
            const auto size = number_from<std::size_t>(digits.empty() ? "0" : digits);
            if (!size) return false;
            if (end == std::string::npos) return digits.size() < kMostDigits;
            if (text_.size() - (end + 1) < *size) return true;
            complete_.push_back(text_.substr(end + 1, *size));
            at_ = end + 1 + *size;
        }
    }
    std::size_t count() const { return complete_.size(); }
    const std::vector<std::string>& all() const { return complete_; }

  private:
    static constexpr std::size_t kMostDigits = 12;
    std::string text_;
    std::size_t at_ = 0;
    std::vector<std::string> complete_;
};

/// Sends the requests and collects one answer for each, or fewer if the program closes the socket. Fails if
/// the call is stopped, if the time is over, or if the program writes something other than answers.
Result<Answers> converse(int socket, std::string_view requests, std::size_t count, const LayoutLimits& limits,
                         Clock::time_point deadline) {
    Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    std::stop_callback on_stop(limits.stop, [&] { (void)!eventfd_write(wake.get(), 1); });
    Answers answers;
    std::size_t sent = 0;
    bool closed = false;
    while (answers.count() < count) {
        if (limits.stop.stop_requested()) return Error{"layout: stopped", ErrorKind::negative};
        auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        if (left <= 0)
            return Error{"layout: not done within " +
                             format_duration(Nanoseconds(std::chrono::nanoseconds(limits.time).count())),
                         ErrorKind::negative};
        bool sending = sent < requests.size() && !closed;
        pollfd watched[2] = {{socket, static_cast<short>(POLLIN | (sending ? POLLOUT : 0)), 0},
                             {wake.get(), POLLIN, 0}};
        poll(watched, 2, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
        if (watched[0].revents & POLLOUT) {
            ssize_t n = send(socket, requests.data() + sent, requests.size() - sent, MSG_NOSIGNAL);
            if (n > 0) sent += static_cast<std::size_t>(n);
            if (n < 0 && errno != EAGAIN && errno != EINTR) closed = true;
        }
        if (watched[0].revents & (POLLIN | POLLHUP | POLLERR)) {
            char buffer[1 << 16];
            ssize_t n = recv(socket, buffer, sizeof buffer, 0);
            if (n > 0) answers.append(buffer, static_cast<std::size_t>(n));
            if (n > 0 && !answers.take_complete())
                return Error{"layout: the layout program gave an answer that is none"};
            if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) break;
        }
    }
    return answers;
}

/// Says why the worker ended without an answer.
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
    for (const char* folder : {".", "bin", "../bin", "../lib/rematlas"}) {
        std::filesystem::path candidate = (here / folder / "rematlas-layout").lexically_normal();
        if (is_program(candidate)) return candidate;
    }
    return {};
}

LayoutWorker::LayoutWorker(LayoutLimits limits)
    : limits_(std::move(limits)), deadline_(Clock::now() + limits_.time) {}
LayoutWorker::~LayoutWorker() {
    if (borrowed_) limits_.programs->give_back(std::move(process_));
}

/// Abandons the program after an error, because its state is unknown.
void LayoutWorker::drop() {
    process_.reset();
    if (borrowed_) limits_.programs->give_back(nullptr);
    borrowed_ = false;
}

Result<void> LayoutWorker::start() {
    if (process_) return {};
    if (limits_.programs) process_ = limits_.programs->take();
    borrowed_ = process_ != nullptr;
    if (borrowed_) return {};
    auto started = LayoutProcess::start(limits_);
    if (!started) return started.error();
    process_ = started.take();
    return {};
}

Result<std::vector<Layout>> LayoutWorker::lay_out(std::span<const LayoutRequest> requests) {
    std::vector<Layout> layouts;
    if (requests.empty()) return layouts;
    std::string text;
    for (const LayoutRequest& request : requests) {
        const std::string one = to_json(request).dump();
        text += std::to_string(one.size()) + "\n" + one;
    }
    if (auto started = start(); !started) return started.error();
    auto answers = converse(process_->socket(), text, requests.size(), limits_, deadline_);
    if (!answers) {
        drop();
        return answers.error();
    }
    for (std::size_t i = 0; i < answers->count(); ++i) {
        auto layout = parse_answer(answers->all()[i], requests[i]);
        if (!layout) {
            drop();
            return layout.error();
        }
        layouts.push_back(layout.take());
    }
    if (layouts.size() < requests.size()) {
        const Error why = explain(process_->finish(), limits_);
        drop();
        return why;
    }
    process_->answered += requests.size();
    return layouts;
}

Result<Layout> layout_in_worker(const LayoutRequest& request, const LayoutLimits& limits) {
    if (request.items.empty()) return Layout{};
    auto layouts = LayoutWorker(limits).lay_out({&request, 1});
    if (!layouts) return layouts.error();
    return std::move(layouts->front());
}

}  // namespace rematlas
