#include "runtime/program/progress_line.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace rematlas {

void ProgressLine::show(std::string_view stage, double fraction) {
    const int percent = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * 100);
    if (form_ == Form::none || (stage == stage_ && percent == percent_)) return;
    stage_ = stage;
    percent_ = percent;
    if (form_ == Form::json) {
        std::fprintf(stderr, "{\"stage\": \"%s\", \"fraction\": %.2f}\n", stage_.c_str(), percent / 100.0);
    } else {
        std::fprintf(stderr, "\r%-10s %3d %%\033[K", stage_.c_str(), percent);
        line_open_ = true;
    }
    std::fflush(stderr);
}

void ProgressLine::clear() {
    if (!line_open_) return;
    std::fprintf(stderr, "\r\033[K");
    std::fflush(stderr);
    line_open_ = false;
}

ProgressLine::Form progress_form(bool quiet, bool json) {
    if (json) return ProgressLine::Form::json;
    return !quiet && isatty(STDERR_FILENO) ? ProgressLine::Form::terminal : ProgressLine::Form::none;
}

}  // namespace rematlas
