#include "app/explorer/window/capture_dialog.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QFontDatabase>
#include <QHBoxLayout>
#include <QPushButton>
#include <QScrollBar>
#include <QVBoxLayout>
#include <utility>

#include "app/explorer/look/theme.h"

namespace rematlas::explorer {

CaptureDialog::CaptureDialog(const QString& title, const QString& about, CaptureController& capture,
                             RecentFiles& recent, QWidget* parent)
    : QDialog(parent),
      capture_(capture),
      recent_(recent),
      form_(new QFormLayout),
      output_(new QLineEdit),
      error_(theme::danger_label()),
      where_(new QToolButton),
      browse_(theme::boxed_button(tr("Choose"))),
      traceback_(new QPlainTextEdit) {
    setWindowTitle(tr("Capture a model"));
    setAttribute(Qt::WA_DeleteOnClose);
    form_->setVerticalSpacing(10);
    form_->setHorizontalSpacing(14);
    error_->setObjectName("capture_error");
    error_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    auto* start = buttons->addButton(tr("Capture"), QDialogButtonBox::AcceptRole);
    start->setObjectName("start_capture");
    start->setProperty("primary", true);
    start->setDefault(true);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(20, 18, 20, 18);
    layout->setSpacing(12);
    layout->addWidget(theme::heading(title));
    layout->addWidget(theme::quiet_label(about, true));
    layout->addLayout(form_);
    layout->addWidget(error_);
    layout->addLayout(make_details());
    layout->addWidget(buttons);
    setMinimumWidth(560);
    show_error({});
    connect(buttons, &QDialogButtonBox::accepted, this, &CaptureDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &CaptureDialog::reject);
}

/// Makes the part with the traceback. It is folded at first, because most users only need the sentence above
/// it.
QLayout* CaptureDialog::make_details() {
    where_->setObjectName("capture_where");
    where_->setText(tr("Where in the program"));
    where_->setCheckable(true);
    where_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    where_->setArrowType(Qt::RightArrow);
    traceback_->setObjectName("capture_traceback");
    traceback_->setAccessibleName(where_->text());
    traceback_->setReadOnly(true);
    traceback_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    traceback_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    traceback_->setLineWrapMode(QPlainTextEdit::NoWrap);
    traceback_->setTabChangesFocus(true);
    traceback_->setFixedHeight(120);
    connect(where_, &QToolButton::toggled, this, [this](bool open) {
        where_->setArrowType(open ? Qt::DownArrow : Qt::RightArrow);
        traceback_->setVisible(open);
        layout()->activate();
        resize(width(), sizeHint().height());
        traceback_->verticalScrollBar()->setValue(traceback_->verticalScrollBar()->maximum());
    });
    auto* column = new QVBoxLayout;
    column->setSpacing(theme::gap);
    column->addWidget(where_);
    column->addWidget(traceback_);
    return column;
}

void CaptureDialog::add_graph_row(const QString& proposed) {
    output_->setObjectName("graph_file");
    output_->setText(proposed);
    auto* row = new QHBoxLayout;
    row->setSpacing(theme::gap);
    row->addWidget(output_);
    row->addWidget(browse_);
    form_->addRow(tr("Graph file"), row);
    connect(browse_, &QToolButton::clicked, this, [this] {
        const QString path = QFileDialog::getSaveFileName(this, tr("Graph file"), output_->text(),
                                                          tr("Training graphs (*.graph.json)"));
        if (path.isEmpty()) return;
        output_->setText(path);
        overwrite_ = path;  // the file dialog has asked whether to replace the file
    });
}

void CaptureDialog::set_host(const RemoteHost& host, const QString& proposed, const QStringList& known) {
    host_ = host;
    folder_there_ = QFileInfo(proposed).path();
    known_there_ = known;
    if (output_->text().isEmpty()) output_->setText(proposed);
    browse_->hide();
}

QString CaptureDialog::graph_file() const {
    const QString typed = output_->text().trimmed();
    if (!host_ || typed.isEmpty()) return typed;
    return QDir::cleanPath(typed.startsWith('/') ? typed : folder_there_ + '/' + typed);
}

bool CaptureDialog::is_there(const QString& graph) const {
    return host_ ? known_there_.contains(graph) : QFileInfo::exists(graph);
}

void CaptureDialog::show_error(const QString& words, const QString& traceback) {
    error_->setText(words);
    error_->setVisible(!words.isEmpty());
    where_->setChecked(false);
    where_->setVisible(!traceback.isEmpty());
    traceback_->setPlainText(traceback);
    traceback_->hide();
    fit_height();
}

QString CaptureDialog::why_not() const {
    if (const QString why = problem(); !why.isEmpty()) return why;
    if (graph_file().isEmpty()) return tr("Say where the graph file goes.");
    if (may_replace() || !is_there(graph_file())) return {};
    return tr("%1 is there already, and schedules and sweeps may belong to it. Press Capture again to "
              "replace it.")
        .arg(QFileInfo(graph_file()).fileName());
}

void CaptureDialog::fit_height() {
    layout()->invalidate();
    layout()->activate();
    const int needed =
        layout()->hasHeightForWidth() ? layout()->totalHeightForWidth(width()) : sizeHint().height();
    if (needed > height()) resize(width(), needed);
}

void CaptureDialog::go_on() {
    if (std::exchange(is_waiting_, false)) accept();
}

void CaptureDialog::accept() {
    is_waiting_ = is_asking();
    if (is_waiting_) return show_error({});
    const QString why = why_not();
    show_error(why);
    if (!why.isEmpty()) {
        if (problem().isEmpty()) overwrite_ = graph_file();
        return;
    }
    hide();
    capture_.cancel();  // ends a capture of another dialog, before this dialog listens to signals
    connect(&capture_, &CaptureController::failed, this, &CaptureDialog::show_failure);
    connect(&capture_, &CaptureController::captured, this, [this] {
        remember();
        deleteLater();
    });
    connect(&capture_, &CaptureController::finished, this, [this](bool cancelled) {
        if (cancelled) deleteLater();
    });
    start(capture_);
}

void CaptureDialog::show_failure(const QString& message, const QString& traceback) {
    disconnect(&capture_, nullptr, this, nullptr);
    show_error(words_for(message), traceback);
    open();
}

}  // namespace rematlas::explorer
