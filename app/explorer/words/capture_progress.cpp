#include "app/explorer/words/capture_progress.h"

#include <QCoreApplication>
#include <algorithm>
#include <array>
#include <cmath>

namespace rematlas::explorer {
namespace {

struct CaptureStage {
    const char* name;
    const char* words;
    double begins, ends;  ///< shares of the whole capture between which the stage usually runs
};

constexpr std::array stages{
    CaptureStage{"load", QT_TRANSLATE_NOOP("CaptureProgress", "Loading the model"), 0, 0.05},
    CaptureStage{"record",
                 QT_TRANSLATE_NOOP("CaptureProgress", "Running one training step and noting what it does"),
                 0.05, 0.3},
    CaptureStage{"check",
                 QT_TRANSLATE_NOOP("CaptureProgress", "Checking that the noted step gives the same results"),
                 0.3, 0.45},
    CaptureStage{"profile", QT_TRANSLATE_NOOP("CaptureProgress", "Measuring the time of each operation"),
                 0.45, 0.98},
    CaptureStage{"write", QT_TRANSLATE_NOOP("CaptureProgress", "Writing the graph"), 0.98, 1},
    CaptureStage{"send", QT_TRANSLATE_NOOP("CaptureProgress", "Fetching the graph"), 1, 1},
};

/// Share of the capture that must be done before its end can be estimated
constexpr double least_to_guess_from = 0.15;
/// Milliseconds that must have passed before the end is estimated
constexpr qint64 least_time_to_guess_from = 2000;
constexpr qint64 least_time_to_tell = 1000;  ///< milliseconds that must have passed before the time so far is
                                             ///< shown

/// Says how much time is left. The time is rounded to steps, so that the words do not change all the time.
QString words_for_time_left(double milliseconds) {
    const auto rounded = [](double value, int step) {
        return std::max(step, static_cast<int>(std::ceil(value / step)) * step);
    };
    const double seconds = milliseconds / 1000;
    if (seconds < 55)
        return QCoreApplication::translate("CaptureProgress", "about %1 s left").arg(rounded(seconds, 5));
    return QCoreApplication::translate("CaptureProgress", "about %1 min left").arg(rounded(seconds / 60, 1));
}

QString words_for_time_taken(qint64 milliseconds) {
    const qint64 seconds = milliseconds / 1000;
    if (seconds < 60) return QCoreApplication::translate("CaptureProgress", "%1 s").arg(seconds);
    return QCoreApplication::translate("CaptureProgress", "%1 min %2 s").arg(seconds / 60).arg(seconds % 60);
}

}  // namespace

CaptureProgress::State CaptureProgress::at(const QString& stage, double fraction, qint64 elapsed) {
    const auto* const known = std::find_if(stages.begin(), stages.end(),
                                           [&](const CaptureStage& one) { return stage == one.name; });
    const bool is_known = known != stages.end();  // a newer runtime can report other stages
    words_ = is_known ? QCoreApplication::translate("CaptureProgress", known->words) : stage;
    if (is_known && fraction >= 0) {
        const double within = std::min(fraction, 1.0);
        reached_ = std::max(reached_, known->begins + within * (known->ends - known->begins));
    }
    return now(elapsed);
}

CaptureProgress::State CaptureProgress::now(qint64 elapsed) const {
    State state{
        words_.isEmpty() ? QCoreApplication::translate("CaptureProgress", "Capturing the model") : words_,
        reached_};
    if (reached_ >= least_to_guess_from && reached_ < 1 && elapsed >= least_time_to_guess_from)
        state.words += ", " + words_for_time_left(static_cast<double>(elapsed) * (1 - reached_) / reached_);
    else if (reached_ < 0 && elapsed >= least_time_to_tell)
        state.words += ", " + words_for_time_taken(elapsed);
    return state;
}

}  // namespace rematlas::explorer
