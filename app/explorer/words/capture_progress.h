// What a capture is doing, for people: words for its stages, a share that only grows, the time that is left.
//
//     CaptureProgress progress;
//     const CaptureProgress::State now = progress.at("profile", 0.4, clock.elapsed());
#pragma once

#include <QString>

namespace rematlas::explorer {

class CaptureProgress {
  public:
    struct State {
        QString words;         ///< "Measuring the time of each operation, about 20 s left"
        double fraction = -1;  ///< of the whole capture; below 0: it is not known
    };

    /// `stage` and `fraction` as a capture tells them, below 0 where it tells no fraction; `elapsed`:
    /// milliseconds since the capture began.
    State at(const QString& stage, double fraction, qint64 elapsed);
    /// What was told last, as of now. A capture that tells no fraction is told with the time that it took so
    /// far: "Running one training step and noting what it does, 12 s".
    State now(qint64 elapsed) const;

  private:
    double reached_ = -1;  ///< below 0: no fraction was told
    QString words_;        ///< of the stage; empty: none was told
};

}  // namespace rematlas::explorer
