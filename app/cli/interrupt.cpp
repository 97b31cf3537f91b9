#include "app/cli/interrupt.h"

#include <csignal>

namespace rematlas {
namespace {

std::stop_source interrupt;

}  // namespace

std::stop_token catch_interrupt() {
    std::signal(SIGINT, [](int) {
        interrupt.request_stop();
        std::signal(SIGINT, SIG_DFL);
    });
    return interrupt.get_token();
}

}  // namespace rematlas
