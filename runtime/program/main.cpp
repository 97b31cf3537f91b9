// rematlas-runtime: the commands that need libtorch. They run in a separate process.
#include <c10/util/Logging.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/base/limits_of_the_process.h"
#include "core/base/one_line.h"
#include "runtime/allocator/counting_allocator.h"
#include "runtime/program/commands.h"

namespace {

[[gnu::constructor(101)]] void begin() {
    rematlas::end_with_a_line_at_limits();
}

}  // namespace

int main(int argc, char** argv) {
    using namespace rematlas;
    // An error is printed as one line. Warnings of libtorch are printed only if TORCH_CPP_LOG_LEVEL is set.
    constexpr int errors = 2;
    if (!std::getenv("TORCH_CPP_LOG_LEVEL")) FLAGS_caffe2_log_level = errors;
    CountingAllocator::install();
    CLI::App app("Captures models and trains with plans", "rematlas");
    app.require_subcommand(1);
    const std::string_view command = argc > 1 ? argv[1] : "";
    if (!command.starts_with("-") && command != "capture" && command != "run" && command != "links") {
        std::fprintf(stderr, "rematlas: unknown command '%s': expected capture, run or links\n",
                     on_one_line(argv[1] ? argv[1] : "").c_str());
        return static_cast<int>(Exit::wrong_input);
    }
    Body body;
    add_capture_command(app, body);
    add_run_command(app, body);
    add_links_command(app, body);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        std::fputs(app.help().c_str(), stdout);
        return 0;
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "rematlas: %s\n", on_one_line(error.what()).c_str());
        return static_cast<int>(Exit::wrong_input);
    }
    const Result<Exit> exit = body();
    if (exit) return static_cast<int>(*exit);
    std::fprintf(stderr, "rematlas: %s\n", on_one_line(exit.error().message).c_str());
    return static_cast<int>(exit.error().kind == ErrorKind::negative ? Exit::negative : Exit::wrong_input);
}
