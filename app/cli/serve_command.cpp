// rematlas serve
#include "app/cli/command.h"

#if REMATLAS_SERVES
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/cli/reported_files.h"
#include "app/cli/serve/page_server.h"
#include "core/base/limits_of_the_process.h"
#endif

namespace rematlas {
namespace {

struct ServeFlags {
    std::vector<std::string> paths;
    std::string graph;
    int port = 0;
};

#if REMATLAS_SERVES

/// While an object of this class exists, SIGINT and SIGTERM do not end the process but make a descriptor
/// readable. After the object's destruction the signals end the process again. Threads that are started
/// meanwhile ignore both signals.
class EndSignals {
  public:
    EndSignals() {
        sigset_t both;
        sigemptyset(&both);
        sigaddset(&both, SIGINT);
        sigaddset(&both, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &both, &before_);
        descriptor_ = ::signalfd(-1, &both, SFD_CLOEXEC | SFD_NONBLOCK);
    }
    ~EndSignals() {
        signalfd_siginfo told;
        while (::read(descriptor_, &told, sizeof told) > 0) {
        }
        ::close(descriptor_);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    EndSignals(const EndSignals&) = delete;
    EndSignals& operator=(const EndSignals&) = delete;

    int descriptor() const { return descriptor_; }

  private:
    sigset_t before_{};
    int descriptor_ = -1;
};

/// Returns for example "ann@gpu7", in the form that ssh takes.
std::string this_account() {
    char host[256] = "HOST";
    if (::gethostname(host, sizeof host - 1) != 0) std::strcpy(host, "HOST");
    const char* user = std::getenv("USER");
    return std::string(user && *user ? user : "USER") + "@" + host;
}

void tell_address(const std::string& address, int port, const OutputFlags& output) {
    if (output.json) {
        std::printf("%s\n", nlohmann::json{{"address", address}, {"port", port}}.dump().c_str());
    } else {
        std::printf("%s\n", address.c_str());
        std::printf("from elsewhere: ssh -N -L %d:127.0.0.1:%d %s, then open the same address there\n", port,
                    port, this_account().c_str());
    }
    std::fflush(stdout);
}

Result<Exit> serve_command(const ServeFlags& flags, const OutputFlags& output) {
    share_free_memory_between_threads();
    ReportedFiles files(flags.graph);
    if (const Result<void> read = files.read(flags.paths); !read) return read.error();
    ReportOf report = files.report();
    report.use = PageUse::served;
    if (!report.graph)
        return Error{flags.paths.front() +
                     ": its graph is not beside it; name it with --graph, or give it, too"};
    Result<std::string> page = report_page(report);
    if (!page) return page.error();

    const Result<std::unique_ptr<HttpServer>> listening = HttpServer::listen(flags.port);
    if (!listening) return listening.error();
    HttpServer& server = **listening;
    std::optional<EndSignals> signals(std::in_place);
    std::signal(SIGPIPE, SIG_IGN);
    const std::string token = new_token();
    const std::size_t processors = std::max(1u, std::thread::hardware_concurrency());
    PageServer pages(report, page.take(), token, processors, [&server] { server.wake(); });
    tell_address("http://127.0.0.1:" + std::to_string(server.port()) + "/?token=" + token, server.port(),
                 output);
    server.serve(pages, signals->descriptor());
    signals.reset();  // from here on, a signal ends the process at once
    return Exit::success;
}

#else

Result<Exit> serve_command(const ServeFlags&, const OutputFlags&) {
    return Error{
        "serve: this build has no serve: it was configured without libmicrohttpd or without cairo (on "
        "Debian: "
        "apt install libmicrohttpd-dev libcairo2-dev, then build again); rematlas report writes the page as "
        "a "
        "file"};
}

#endif

}  // namespace

void add_serve_command(const Commands& commands) {
    static OutputFlags output;
    static ServeFlags flags;
    CLI::App* app = commands.add(
        "serve",
        "serve the page of report on 127.0.0.1, where one solves and sweeps and sees plans as they are found",
        "rematlas serve gpt12.graph.json gpt12.schedule.json", output,
        [] { return serve_command(flags, output); });
    app->add_option("files", flags.paths, "a graph, and schedules, plans and sweeps of it")
        ->required()
        ->expected(1, 64);
    app->add_option("--graph", flags.graph, "their graph, as in report");
    app->add_option("--port", flags.port, "the port on 127.0.0.1; 0 takes a free one")
        ->check(CLI::Range(0, 65535))
        ->capture_default_str();
}

}  // namespace rematlas
