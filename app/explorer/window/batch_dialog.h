// Asks what another batch size would cost, and which batch size is the largest that fits. The dialog stays
// open while an answer is computed, and the window can be used meanwhile.
#pragma once

#include <QDialog>
#include <QDoubleSpinBox>
#include <QElapsedTimer>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QToolButton>

#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class BatchDialog : public QDialog {
    Q_OBJECT
  public:
    explicit BatchDialog(Session& session, QWidget* parent = nullptr);

  private:
    void set_up_fields();
    void set_up_answer();
    QFormLayout* questions();
    void lay_out();
    void connect_all();
    void ask(std::int64_t batch);
    void show_answer(const BatchAnswer& answer);
    void show_failure(const QString& message);
    void set_asking(bool asking);
    void open_answer();

    Session& session_;
    BatchQuestion about_;  ///< the question about the open graph
    BatchAnswer answer_;
    QLineEdit *model_, *budget_;
    QPlainTextEdit* inputs_;
    QToolButton* browse_;
    QDoubleSpinBox* most_;
    QSpinBox* batch_;
    QPushButton *one_, *largest_, *cancel_, *open_;
    QLabel *headline_, *detail_, *error_;
    QProgressBar* working_;
    QElapsedTimer asked_;
};

}  // namespace rematlas::explorer
