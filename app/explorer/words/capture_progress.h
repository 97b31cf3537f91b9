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
        QString words;        ///< "Measuring the time of each operation, about 20 s left"
        double fraction = 0;  ///< of the whole capture
    };

    /// `stage` and `fraction` as the runtime tells them; `elapsed`: milliseconds since the capture began.
    State at(const QString& stage, double fraction, qint64 elapsed);

  private:
    double reached_ = 0;
};

}  // namespace rematlas::explorer
