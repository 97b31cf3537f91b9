// The strip above the graph: says whether the step fits a card, and how much time a plan costs.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QWidget>

#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class AnswerStrip : public QWidget {
    Q_OBJECT
  public:
    explicit AnswerStrip(Session& session);

  signals:
    void batch_requested();  ///< emitted when the user asks what another batch size would cost

  protected:
    void resizeEvent(QResizeEvent* event) override;

  private:
    void fit_height();
    void choose(int index);
    void refresh();
    void act();

    Session& session_;
    QLabel* title_;
    QComboBox* card_;
    QLabel *headline_, *detail_, *conditions_;
    QPushButton* action_;
    int plan_ = PlanList::none;
    bool solves_ = false;  ///< whether the button solves; else it shows a plan
};

}  // namespace rematlas::explorer
