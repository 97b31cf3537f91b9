// A child process that ends whenever the explorer ends, also if the explorer crashes. Without its window a
// capture would be of no use.
#pragma once

#include <QProcess>

namespace rematlas::explorer {

/// Ends also when the thread that has started it ends.
class TiedProcess : public QProcess {
    Q_OBJECT
  public:
    using QProcess::QProcess;

  protected:
    void setupChildProcess() override;
};

}  // namespace rematlas::explorer
