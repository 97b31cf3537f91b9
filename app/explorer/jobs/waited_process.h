// Waits for a child process, and kills it when the waiting thread must stop.
#pragma once

#include <QProcess>
#include <stop_token>

namespace rematlas::explorer {

/// Waits until the process, which must have been started, has ended, and returns true. If `stop` is requested
/// before the end, kills the process and returns false. Must not be called from the GUI's thread.
inline bool is_over_before(QProcess& process, const std::stop_token& stop) {
    // Two times in milliseconds: between two checks of `stop`, and for a killed process to end.
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
