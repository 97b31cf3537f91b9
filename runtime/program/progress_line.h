// Shows the progress of a command on standard error: as a line that is overwritten on a terminal, or as
// JSON lines for a program that watches.
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

    /// JSON: {"stage": "profile", "fraction": 0.4}. At most one line per stage and percent.
    void show(std::string_view stage, double fraction);
    void clear();

  private:
    Form form_;
    std::string stage_;
    int percent_ = -1;
    bool line_open_ = false;
};

/// `--progress-json` wins over `--quiet`; without either, progress goes to a terminal only.
ProgressLine::Form progress_form(bool quiet, bool json);

}  // namespace rematlas
