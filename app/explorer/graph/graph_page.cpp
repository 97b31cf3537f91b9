#include "app/explorer/graph/graph_page.h"

#include <QHBoxLayout>
#include <QTimer>
#include <QVBoxLayout>

#include "app/explorer/look/theme.h"

namespace rematlas::explorer {

GraphPage::GraphPage(Session& session)
    : session_(session),
      view_(new GraphView(session)),
      notice_(new QWidget(this)),
      message_(theme::plain_label()),
      bar_(new QProgressBar),
      cancel_(new QPushButton(tr("Cancel"))) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(view_);

    notice_->setObjectName("notice");
    cancel_->setObjectName("close_notice");
    notice_->setAttribute(Qt::WA_StyledBackground);
    message_->setWordWrap(true);
    message_->setAlignment(Qt::AlignCenter);
    bar_->setRange(0, 0);
    bar_->setTextVisible(false);
    auto* column = new QVBoxLayout(notice_);
    column->setContentsMargins(20, 16, 20, 16);
    column->setSpacing(10);
    column->addWidget(message_);
    column->addWidget(bar_);
    column->addWidget(cancel_, 0, Qt::AlignCenter);
    notice_->hide();

    connect(&session_.selection, &Selection::reveal_requested, this, [this](const Selected& selected) {
        session_.ladder.reveal(selected);
        view_->center_selection();
    });
    LadderController& ladder = session_.ladder;
    connect(cancel_, &QPushButton::clicked, this, [this] {
        session_.ladder.cancel();
        notice_->hide();
    });
    connect(&ladder, &LadderController::started, this, [this] {
        // The notice appears with a delay: most layouts take an instant, and a notice that flashes up would
        // only disturb.
        QTimer::singleShot(250, this, [this] {
            if (session_.ladder.running()) show_notice(tr("Laying out the graph"), true);
        });
    });
    connect(&ladder, &LadderController::changed, notice_, &QWidget::hide);
    connect(&ladder, &LadderController::failed, this, [this](const QString& error) {
        show_notice(tr("The graph could not be laid out: %1\n\nTree, solving and schedules work without it.")
                        .arg(error),
                    false);
    });
    connect(&ladder, &LadderController::finished, this, [this](bool cancelled) {
        if (cancelled && !session_.ladder.running()) notice_->hide();
    });
}

void GraphPage::show_notice(const QString& message, bool working) {
    message_->setText(message);
    bar_->setVisible(working);
    cancel_->setText(working ? tr("Cancel") : tr("Close"));
    notice_->show();
    notice_->raise();
    place_notice();
}

void GraphPage::place_notice() {
    notice_->setFixedWidth(std::min(380, width() - 40));
    notice_->adjustSize();
    notice_->move((width() - notice_->width()) / 2, (height() - notice_->height()) / 3);
}

void GraphPage::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    place_notice();
}

}  // namespace rematlas::explorer
