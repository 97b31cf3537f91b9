// Shows the progress of a command on standard error: on a terminal as a line that is overwritten, for other
// programs as JSON lines.
#pragma once

#include <string>
#include <string_view>

namespace rematlas {

class ProgressLine {
  public:
    enum class Form { none, terminal, json };
    explicit ProgressLine(Form form) : form_(form) {}
    ~ProgressLine() { clear(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    /// Prints the progress, at most once for each stage and percent. As JSON: {"stage": "profile",
    /// "fraction": 0.4}.
    void show(std::string_view stage, double fraction);
    void clear();

  private:
    Form form_;
    std::string stage_;
    int percent_ = -1;
    bool line_open_ = false;
};

/// `--progress-json` overrides `--quiet`. Without these flags, progress is shown only on a terminal.
ProgressLine::Form progress_form(bool quiet, bool json);

}  // namespace rematlas
