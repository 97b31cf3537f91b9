// A child process that ends whenever the explorer ends, even if the explorer crashes. A capture would be of
// no use without the explorer's window.
#pragma once

#include <QProcess>

namespace rematlas::explorer {

/// The process also ends when the thread that started it ends.
class TiedProcess : public QProcess {
    Q_OBJECT
  public:
    using QProcess::QProcess;

  protected:
    void setupChildProcess() override;
};

}  // namespace rematlas::explorer
