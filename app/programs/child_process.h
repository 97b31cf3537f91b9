// Runs a program and reads its output. Gives up if the program hangs.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace rematlas {

struct ChildRun {
    int start_error = 0;      ///< errno if the program could not be started
    bool hung = false;        ///< the program ran past the limit and was killed
    int status = 0;           ///< the status that waitpid returned
    std::string out, errors;  ///< the first 64 MiB of standard output and of standard error

    bool ended_well() const;
    /// Returns how the run ended, in words that can be written after the program's name: "ran", "gave no
    /// answer in 30 s", "was ended by signal 11 (Segmentation fault)", "ended with status 127", "cannot
    /// start: No such file or directory".
    std::string how_it_ended(std::chrono::seconds limit) const;
};

/// Runs the command with empty standard input. Returns at the latest a second after `limit`, even if the
/// program cannot be killed.
ChildRun run_child(const std::vector<std::string>& words, std::chrono::seconds limit);

}  // namespace rematlas
