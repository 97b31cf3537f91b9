#include "app/explorer/window/batch_dialog.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QVBoxLayout>

#include "app/explorer/look/theme.h"
#include "app/explorer/words/wording.h"

namespace rematlas::explorer {

BatchDialog::BatchDialog(Session& session, QWidget* parent)
    : QDialog(parent),
      session_(session),
      about_(question_about(*session.graph())),
      model_(new QLineEdit(about_.capture.model)),
      budget_(new QLineEdit(precise_bytes(session.budget.budget()))),
      inputs_(new QPlainTextEdit(about_.capture.inputs.join('\n'))),
      browse_(theme::boxed_button(tr("Choose"))),
      most_(new QDoubleSpinBox),
      batch_(new QSpinBox),
      one_(new QPushButton(tr("&What if"))),
      largest_(new QPushButton(tr("Find the &largest"))),
      cancel_(new QPushButton(tr("&Cancel"))),
      open_(new QPushButton(tr("&Open it"))),
      headline_(theme::plain_label()),
      detail_(theme::quiet_label({}, true)),
      error_(theme::plain_label()),
      working_(new QProgressBar) {
    set_up_fields();
    set_up_answer();
    lay_out();
    connect_all();
    set_asking(false);
    open_->hide();
    error_->hide();
    if (about_.capture.model.isEmpty())
        show_failure(
            tr("This graph does not tell where its model is. Choose a model file, or capture the step in "
               "Python at another batch and open that graph."));
}

void BatchDialog::set_up_fields() {
    setWindowTitle(tr("Batch size"));
    setMinimumWidth(560);
    model_->setObjectName("batch_model");
    model_->setPlaceholderText(tr("a model file that takes any batch"));
    inputs_->setObjectName("batch_inputs");
    inputs_->setPlaceholderText("f32[B,3,224,224]");
    inputs_->setFixedHeight(72);
    inputs_->setTabChangesFocus(true);
    budget_->setObjectName("batch_budget");
    most_->setObjectName("batch_most");
    most_->setRange(0, 1000);
    most_->setSuffix(tr(" % more time"));
    most_->setSpecialValueText(tr("any time"));
    most_->setDecimals(0);
    batch_->setObjectName("batch_size");
    batch_->setRange(1, 1 << 20);
    batch_->setValue(static_cast<int>(std::max<std::int64_t>(1, 2 * batch_of(*session_.graph()))));
    batch_->setAccessibleName(tr("Batch size"));
}

void BatchDialog::set_up_answer() {
    one_->setObjectName("batch_one");
    largest_->setObjectName("batch_largest");
    largest_->setProperty("primary", true);
    cancel_->setObjectName("batch_cancel");
    open_->setObjectName("batch_open");
    headline_->setObjectName("batch_headline");
    headline_->setWordWrap(true);
    QFont bold = headline_->font();
    bold.setWeight(QFont::DemiBold);
    headline_->setFont(bold);
    detail_->setObjectName("batch_detail");
    error_->setObjectName("batch_error");
    working_->setObjectName("batch_working");
    working_->setAccessibleName(tr("Progress"));
    working_->setTextVisible(false);
    working_->setRange(0, 0);
    error_->setWordWrap(true);
    error_->setTextInteractionFlags(Qt::TextSelectableByMouse);
}

QFormLayout* BatchDialog::questions() {
    auto* model_row = new QHBoxLayout;
    model_row->addWidget(model_);
    model_row->addWidget(browse_);
    auto* within_row = new QHBoxLayout;
    within_row->setSpacing(theme::gap);
    within_row->addWidget(budget_, 1);
    auto* at_most = theme::quiet_label(tr("at most"));
    within_row->addWidget(at_most);
    within_row->addWidget(most_);
    auto* form = new QFormLayout;
    form->setVerticalSpacing(10);
    form->setHorizontalSpacing(14);
    form->addRow(tr("Model"), model_row);
    form->addRow(tr("&Inputs"), inputs_);
    form->addRow({}, theme::quiet_label(tr("B stands for the batch.")));
    form->addRow(tr("Budget"), within_row);
    return form;
}

void BatchDialog::lay_out() {
    auto* asking = new QHBoxLayout;
    asking->addWidget(one_);
    asking->addWidget(batch_);
    asking->addStretch();
    asking->addWidget(cancel_);
    asking->addWidget(largest_);
    auto* answering = new QHBoxLayout;
    answering->addWidget(headline_, 1);
    answering->addWidget(open_);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(20, 18, 20, 18);
    layout->setSpacing(12);
    layout->addWidget(theme::heading(text(session_.graph()->graph.name)));
    layout->addWidget(theme::quiet_label(
        tr("The model is captured with other batches, each in a process of its own. What is open "
           "stays as it is."),
        true));
    layout->addLayout(questions());
    layout->addLayout(asking);
    layout->addWidget(working_);
    layout->addLayout(answering);
    layout->addWidget(detail_);
    layout->addWidget(error_);
}

void BatchDialog::connect_all() {
    connect(browse_, &QToolButton::clicked, this, [this] {
        const QString file =
            QFileDialog::getOpenFileName(this, tr("Model"), model_->text(), tr("Models (*.pt *.pth *.pt2)"));
        if (!file.isEmpty()) model_->setText(file);
    });
    connect(one_, &QPushButton::clicked, this, [this] { ask(batch_->value()); });
    connect(largest_, &QPushButton::clicked, this, [this] { ask(0); });
    connect(cancel_, &QPushButton::clicked, &session_.batch, &BatchController::cancel);
    connect(open_, &QPushButton::clicked, this, &BatchDialog::open_answer);
    connect(&session_.batch, &BatchController::progressed, this, [this](const QString& words) {
        detail_->setText(tr("%1 (%2 s so far)").arg(words).arg(asked_.elapsed() / 1000));
    });
    connect(&session_.batch, &BatchController::answered, this, &BatchDialog::show_answer);
    connect(&session_.batch, &BatchController::failed, this, &BatchDialog::show_failure);
    connect(&session_.batch, &BatchController::finished, this, [this](bool cancelled) {
        set_asking(false);
        if (cancelled) detail_->clear();
    });
    connect(this, &QDialog::finished, &session_.batch, &BatchController::cancel);
}

void BatchDialog::set_asking(bool asking) {
    one_->setEnabled(!asking);
    largest_->setEnabled(!asking);
    cancel_->setVisible(asking);
    working_->setVisible(asking);
}

void BatchDialog::ask(std::int64_t batch) {
    BatchQuestion question = about_;
    question.batch = batch;
    question.capture.model = model_->text().trimmed();
    question.capture.inputs = inputs_->toPlainText().split('\n', Qt::SkipEmptyParts);
    if (!QFileInfo(question.capture.model).isFile())
        return show_failure(tr("%1: no such file").arg(question.capture.model));
    const Result<Budget> budget = parse_budget(budget_->text().toStdString());
    if (!budget) return show_failure(text(budget.error().message));
    const Result<Bytes> bytes = bytes_of(*budget, step_bytes(session_.graph()->flat));
    if (!bytes) return show_failure(text(bytes.error().message));
    question.budget = *bytes;
    if (most_->value() > 0) question.max_overhead = 1 + most_->value() / 100;
    error_->hide();
    open_->hide();
    headline_->clear();
    detail_->setText(tr("Asking"));
    asked_.start();
    set_asking(true);
    session_.batch.ask(question);
}

void BatchDialog::show_answer(const BatchAnswer& answer) {
    answer_ = answer;
    headline_->setText(answer.headline);
    detail_->setText(answer.detail);
    open_->setVisible(answer.graph != nullptr);
}

void BatchDialog::show_failure(const QString& message) {
    QPalette red = error_->palette();
    red.setColor(QPalette::WindowText, theme::danger);
    error_->setPalette(red);
    error_->setText(message);
    error_->show();
    headline_->clear();
    detail_->clear();
    open_->hide();
}

void BatchDialog::open_answer() {
    const Result<QStringList> files = keep_answer(answer_, model_->text().trimmed());
    if (!files) return show_failure(text(files.error().message));
    session_.open(*files);
    accept();
}

}  // namespace rematlas::explorer
