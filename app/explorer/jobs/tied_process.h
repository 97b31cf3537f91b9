// A child process that ends when the explorer ends, in whatever way: nobody needs a capture without its
// window.
#pragma once

#include <QProcess>

namespace rematlas::explorer {

/// The process also ends when the thread that has started it ends.
class TiedProcess : public QProcess {
    Q_OBJECT
  public:
    using QProcess::QProcess;

  protected:
    void setupChildProcess() override;
};

}  // namespace rematlas::explorer
