// A child process that ends with the explorer, however the explorer ends: nobody needs a capture whose
// window is gone.
#pragma once

#include <QProcess>

namespace rematlas::explorer {

/// It ends, too, once the thread is over that has started it.
class TiedProcess : public QProcess {
    Q_OBJECT
  public:
    using QProcess::QProcess;

  protected:
    void setupChildProcess() override;
};

}  // namespace rematlas::explorer
