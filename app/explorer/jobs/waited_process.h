// Waits for a child process, and kills it when the waiting thread must stop.
#pragma once

#include <QProcess>
#include <stop_token>

namespace rematlas::explorer {

/// Waits until the process, which must have been started, is over. Returns false if `stop` was requested
/// first; the process is then killed. Must not be called from the GUI's thread.
inline bool is_over_before(QProcess& process, const std::stop_token& stop) {
    // Milliseconds between two checks of `stop`, and until a killed process must have ended.
    constexpr int between_looks = 50, to_die = 2000;
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
