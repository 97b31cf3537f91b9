#include "app/explorer/jobs/tied_process.h"

#include <sys/prctl.h>

#include <csignal>

namespace rematlas::explorer {

void TiedProcess::setupChildProcess() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

}  // namespace rematlas::explorer
