#include "app/explorer/window/welcome_page.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/explorer/look/theme.h"

namespace rematlas::explorer {

WelcomePage::WelcomePage(RecentFiles& recent) : recent_(recent), list_(new QListWidget) {
    theme::set_on_page(*this);

    auto* logo = new QLabel;
    logo->setPixmap(theme::icon("rematlas").pixmap(64, 64));
    auto* title = new QLabel(tr("Rematlas"));
    QFont font = title->font();
    font.setPixelSize(30);
    font.setWeight(QFont::DemiBold);
    title->setFont(font);
    auto* open = new QPushButton(tr("Open a model or graph"));
    open->setProperty("primary", true);
    auto* hint = theme::quiet_label(
        tr("or drop a file on this window: a model (.pt, .pt2, or .py with a function that returns it),\n"
           "a training graph (.graph.json), a schedule (.schedule.json), a sweep (.sweep.json)\n"
           "or a plan (.plan)."));
    recent_box_ = new QWidget;
    auto* recent_layout = new QVBoxLayout(recent_box_);
    recent_layout->setContentsMargins(0, 24, 0, 0);
    recent_layout->addWidget(theme::heading(tr("Recent files")));
    recent_layout->addWidget(list_);
    list_->setFrameShape(QFrame::NoFrame);
    list_->setAccessibleName(tr("Recent files"));
    list_->setMinimumHeight(210);

    auto* middle = new QWidget;
    middle->setFixedWidth(640);
    auto* column = new QVBoxLayout(middle);
    column->setSpacing(10);
    column->addStretch(2);
    column->addWidget(logo);
    column->addWidget(title);
    column->addWidget(theme::quiet_label(
        tr("See what the memory of a training step is spent on, and plan it under a budget\n"
           "by recomputing and offloading, with the same gradients.")));
    column->addSpacing(10);
    auto* sample = new QPushButton(tr("Look at a sample"));
    sample->setObjectName("open_sample");
    sample->setToolTip(tr("A small GPT, captured on a CPU"));
    auto* ways = new QHBoxLayout;
    ways->addWidget(open);
    ways->addWidget(sample);
    ways->addStretch();
    column->addLayout(ways);
    column->addWidget(hint);
    column->addWidget(make_work_box());
    column->addWidget(recent_box_);
    column->addStretch(3);
    auto* row = new QHBoxLayout(this);
    row->addStretch(1);
    row->addWidget(middle);
    row->addStretch(1);

    connect(open, &QPushButton::clicked, this, &WelcomePage::open_requested);
    connect(sample, &QPushButton::clicked, this, &WelcomePage::sample_requested);
    connect(list_, &QListWidget::itemActivated, this,
            [this](QListWidgetItem* item) { emit file_requested(item->data(Qt::UserRole).toString()); });
    connect(list_, &QListWidget::itemClicked, this,
            [this](QListWidgetItem* item) { emit file_requested(item->data(Qt::UserRole).toString()); });
    connect(&recent_, &RecentFiles::changed, this, &WelcomePage::show_recent);
    show_recent();
}

QWidget* WelcomePage::make_work_box() {
    work_box_ = new QWidget;
    work_ = theme::plain_label();
    work_bar_ = new QProgressBar;
    work_bar_->setTextVisible(false);
    work_bar_->setRange(0, 1000);
    auto* cancel = new QPushButton(tr("Cancel"));
    auto* row = new QHBoxLayout;
    row->setSpacing(theme::margin);
    row->addWidget(work_bar_, 1);
    row->addWidget(cancel);
    auto* layout = new QVBoxLayout(work_box_);
    layout->setContentsMargins(0, 20, 0, 0);
    layout->addWidget(work_);
    layout->addLayout(row);
    work_box_->hide();
    connect(cancel, &QPushButton::clicked, this, &WelcomePage::cancel_requested);
    return work_box_;
}

void WelcomePage::show_working(const QString& what, double fraction) {
    work_->setText(what);
    work_bar_->setRange(0, fraction < 0 ? 0 : 1000);
    if (fraction >= 0) work_bar_->setValue(static_cast<int>(fraction * 1000));
    work_box_->show();
}

void WelcomePage::hide_working() {
    work_box_->hide();
}

void WelcomePage::show_recent() {
    list_->clear();
    for (const QString& path : recent_.paths()) {
        // All recent files have absolute names: a path, or ssh://host/path.
        auto* item = new QListWidgetItem(
            QStringLiteral("%1   in %2").arg(path.section('/', -1), path.section('/', 0, -2)));
        item->setData(Qt::UserRole, path);
        item->setToolTip(path);
        list_->addItem(item);
    }
    recent_box_->setVisible(list_->count() > 0);
}

}  // namespace rematlas::explorer
