// Tells users what a capture is doing: words for its stage, the share that is done, and the time that is
// left. The share never falls.
//
//     CaptureProgress progress;
//     const CaptureProgress::State now = progress.at("profile", 0.4, clock.elapsed());
#pragma once

#include <QString>

namespace rematlas::explorer {

class CaptureProgress {
  public:
    struct State {
        QString words;         ///< for example "Measuring the time of each operation, about 20 s left"
        double fraction = -1;  ///< share of the whole capture that is done; negative if unknown
    };

    /// Returns the state after a report of the capture. `stage` and `fraction` are the reported values;
    /// `fraction` is negative if none was reported. `elapsed`: milliseconds since the capture began.
    State at(const QString& stage, double fraction, qint64 elapsed);
    /// Returns the state after the last report, with the time updated. If the capture reports no fraction,
    /// the words contain the time that has passed: "Running one training step and noting what it does, 12 s".
    State now(qint64 elapsed) const;

  private:
    double reached_ = -1;  ///< share of the capture that is done; negative if no fraction was reported
    QString words_;        ///< words for the stage; empty if no stage was reported
};

}  // namespace rematlas::explorer
