// A child process that a thread waits for, and kills when the thread is to stop.
#pragma once

#include <QProcess>
#include <stop_token>

namespace rematlas::explorer {

/// Waits until the process, which has started, is over. Returns false if `stop` came first: the process is
/// killed then. For threads other than the GUI's.
inline bool is_over_before(QProcess& process, const std::stop_token& stop) {
    constexpr int between_looks = 50, to_die = 2000;  // milliseconds
    while (!process.waitForFinished(between_looks)) {
        if (process.state() == QProcess::NotRunning) break;
        if (!stop.stop_requested()) continue;
        process.kill();
        process.waitForFinished(to_die);
        return false;
    }
    return true;
}

}  // namespace rematlas::explorer
