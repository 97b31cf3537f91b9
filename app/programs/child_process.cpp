#include "app/programs/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

namespace rematlas {
namespace {

using ChildClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kMostWords = std::size_t{64} << 20;  // maximum number of bytes kept of each output
                                                           // stream
constexpr milliseconds kBetweenLooks{20};
constexpr milliseconds kAfterKill{1000};

/// A pipe from which the child's output is read.
class ChildWords {
  public:
    explicit ChildWords(std::string& text) : text_(text) {
        if (::pipe2(ends_.data(), O_CLOEXEC) != 0) ends_ = {-1, -1};
    }
    ChildWords(const ChildWords&) = delete;
    ChildWords& operator=(const ChildWords&) = delete;
    ~ChildWords() {
        close(0);
        close(1);
    }

    int theirs() const { return ends_[1]; }
    int ours() const { return ends_[0]; }
    void close(int end) {
        if (ends_[end] >= 0) ::close(ends_[end]);
        ends_[end] = -1;
    }
    /// Reads the available bytes. Closes the pipe if the child has closed its end.
    void take() {
        char part[4096];
        while (ends_[0] >= 0) {
            const ssize_t got = ::read(ends_[0], part, sizeof part);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0 && errno == EAGAIN) return;
            if (got <= 0) return close(0);
            if (text_.size() < kMostWords) text_.append(part, static_cast<std::size_t>(got));
        }
    }

  private:
    std::string& text_;
    std::array<int, 2> ends_{-1, -1};
};

/// Says whether the child has ended.
bool has_ended(pid_t pid, int& status) {
    pid_t found;
    while ((found = ::waitpid(pid, &status, WNOHANG)) < 0 && errno == EINTR) {
    }
    return found != 0;
}

int start_child(const std::vector<std::string>& words, const ChildWords& out, const ChildWords& errors,
                pid_t& pid) {
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out.theirs(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors.theirs(), STDERR_FILENO);
    const int failed = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

}  // namespace

bool ChildRun::ended_well() const {
    return !start_error && !hung && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string ChildRun::how_it_ended(std::chrono::seconds limit) const {
    if (start_error) return std::string("cannot start: ") + std::strerror(start_error);
    if (hung) return "gave no answer in " + std::to_string(limit.count()) + " s";
    if (WIFSIGNALED(status))
        return "was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
               strsignal(WTERMSIG(status)) + ")";
    return WEXITSTATUS(status) == 0 ? "ran" : "ended with status " + std::to_string(WEXITSTATUS(status));
}

ChildRun run_child(const std::vector<std::string>& words, std::chrono::seconds limit) {
    ChildRun run;
    ChildWords out(run.out), errors(run.errors);
    pid_t pid = 0;
    run.start_error = start_child(words, out, errors, pid);
    if (run.start_error) return run;
    for (ChildWords* one : {&out, &errors}) {
        one->close(1);
        ::fcntl(one->ours(), F_SETFL, O_NONBLOCK);
    }
    const ChildClock::time_point end = ChildClock::now() + limit;
    // Waits for the end of the child, not of its output, because processes that the child started can keep
    // the pipes open.
    bool ended = false;
    while (!(ended = has_ended(pid, run.status)) && ChildClock::now() < end) {
        std::array<pollfd, 2> both{pollfd{out.ours(), POLLIN, 0}, pollfd{errors.ours(), POLLIN, 0}};
        ::poll(both.data(), both.size(), static_cast<int>(kBetweenLooks.count()));
        out.take();
        errors.take();
        if (out.ours() < 0 && errors.ours() < 0) std::this_thread::sleep_for(kBetweenLooks);
    }
    if (!ended) {
        run.hung = true;
        ::kill(pid, SIGKILL);
        const ChildClock::time_point given_up = ChildClock::now() + kAfterKill;
        while (!has_ended(pid, run.status) && ChildClock::now() < given_up)
            std::this_thread::sleep_for(kBetweenLooks);
    }
    out.take();
    errors.take();
    return run;
}

}  // namespace rematlas
