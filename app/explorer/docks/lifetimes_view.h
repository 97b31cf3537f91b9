// Shows the tensors that are held at the cursor as bars over time. The bars are sorted by their bytes, or by
// their bytes times the longest time in which no op uses the tensor.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QWidget>
#include <memory>

#include "app/explorer/docks/lifetimes_picture.h"
#include "app/explorer/models/lifetime_rows.h"
#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class LifetimesView : public QWidget {
    Q_OBJECT
  public:
    explicit LifetimesView(Session& session);

    LifetimesPicture& picture() { return *picture_; }
    const LifetimeBars& bars() const { return picture_->bars(); }

  signals:
    void bars_changed();

  private:
    void show_schedule();
    void show_bars(TensorId always = {});
    void show_asked(const LifetimesOf& of);
    QString headline() const;

    Session& session_;
    std::unique_ptr<LifetimeRows> rows_;  ///< null if there is nothing to show
    QLabel* headline_;
    QComboBox *order_, *part_;
    LifetimesPicture* picture_;
};

}  // namespace rematlas::explorer
