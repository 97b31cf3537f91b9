// A program that is run for what it says, and that is not waited for when it hangs.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace rematlas {

struct ChildRun {
    int start_error = 0;      ///< errno, where the program could not be started
    bool hung = false;        ///< it ran past the limit and was killed
    int status = 0;           ///< as waitpid tells it
    std::string out, errors;  ///< the first MiB that it wrote to standard output and standard error

    bool ended_well() const;
    /// How the run ended, in words that follow the program's name: "ran", "gave no answer in 30 s", "was
    /// ended by signal 11 (Segmentation fault)", "ended with status 127", "cannot start: No such file or
    /// directory".
    std::string how_it_ended(std::chrono::seconds limit) const;
};

/// Runs the words with nothing on standard input. Returns after `limit` and a second at the latest, also
/// where the program cannot be killed.
ChildRun run_child(const std::vector<std::string>& words, std::chrono::seconds limit);

}  // namespace rematlas
