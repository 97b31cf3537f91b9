#include "app/explorer/measured/measured_window.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/explorer/look/qt_canvas.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/words/wording.h"
#include "core/snapshots/planned_peak.h"

namespace rematlas::explorer {
namespace {

constexpr int differences_tab = 2;

/// Draws the allocator's segments of one device.
class SegmentsView : public QWidget {
  public:
    SegmentsView() {
        setObjectName("measured_segments");
        setAccessibleName(MeasuredWindow::tr("Segments of the allocator"));
    }

    void set_device(MeasurementPtr measurement, std::size_t device) {
        measurement_ = std::move(measurement);
        device_ = device;
        update();
    }

  protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        painter.fillRect(rect(), theme::base);
        if (!measurement_) return;
        const MeasuredDevice& device = measurement_->memory.devices[device_];
        if (device.segments.empty()) {
            painter.setPen(theme::muted);
            painter.drawText(rect(), Qt::AlignCenter, MeasuredWindow::tr("This file names no segments."));
            return;
        }
        QtCanvas canvas(painter);
        paint_segments(canvas, {.device = device,
                                .rect = {0, theme::gap, double(width()), double(height() - 2 * theme::gap)},
                                .paper = theme::paper()});
    }

  private:
    MeasurementPtr measurement_;
    std::size_t device_ = 0;
};

}  // namespace

MeasuredWindow::MeasuredWindow(Session& session, QWidget* parent)
    : QWidget(parent, Qt::Window),
      session_(session),
      view_(new MeasuredView),
      blocks_(new MeasuredBlocks(this)),
      differences_(new PeakDifferencesTable(this)),
      devices_(new QComboBox),
      headline_(theme::plain_label()),
      unknown_(theme::quiet_label({}, true)),
      compared_(theme::quiet_label({}, true)),
      tabs_(new QTabWidget),
      segments_(new SegmentsView) {
    setObjectName("measured_window");
    resize(1280, 800);
    tabs_->setDocumentMode(true);
    add_table(blocks_, tr("Blocks at the cursor"), "measured_blocks", {300, 90, 90, 90, 130, 200});
    tabs_->addTab(segments_, tr("Segments"));
    add_table(differences_, tr("Against the plan"), "measured_differences", {140, 100, 80, 600});
    tabs_->setTabVisible(differences_tab, false);
    QWidget* split = theme::split(Qt::Vertical, view_, tabs_);
    QVBoxLayout* layout = theme::plain_column(this);
    layout->addWidget(make_bar());
    layout->addWidget(split, 1);
    connect(view_, &MeasuredView::cursor_moved, this, &MeasuredWindow::show_cursor);
    connect(devices_, qOverload<int>(&QComboBox::activated), this, &MeasuredWindow::show_device);
    connect(&session_, &Session::schedule_changed, this, &MeasuredWindow::show_plan);
}

QWidget* MeasuredWindow::make_bar() {
    headline_->setObjectName("measured_headline");
    unknown_->setObjectName("measured_unknown");
    compared_->setObjectName("measured_compared");
    devices_->setAccessibleName(tr("Device"));
    devices_->hide();
    auto* peak = new QPushButton(tr("Go to the peak"));
    connect(peak, &QPushButton::clicked, this, [this] {
        if (measurement_) view_->set_cursor(peak_moment(device().allocated));
    });
    auto* row = new QHBoxLayout;
    row->setSpacing(theme::gap);
    row->addWidget(devices_);
    row->addWidget(headline_, 1);
    row->addWidget(peak);
    auto* bar = new QWidget;
    auto* column = new QVBoxLayout(bar);
    column->setContentsMargins(theme::margin, theme::gap, theme::margin, theme::gap);
    column->setSpacing(theme::gap / 2);
    column->addLayout(row);
    column->addWidget(compared_);
    column->addWidget(unknown_);
    return bar;
}

void MeasuredWindow::add_table(QAbstractItemModel* model, const QString& title, const QString& name,
                               std::initializer_list<int> widths) {
    auto* sorted = new QSortFilterProxyModel(this);
    sorted->setSourceModel(model);
    sorted->setSortRole(FiguresTable::value_role);
    QTreeView* table = theme::sortable_list(*sorted, widths);
    table->setObjectName(name);
    table->setAccessibleName(title);
    tabs_->addTab(table, title);
}

void MeasuredWindow::open(const QString& path) {
    setWindowTitle(tr("%1: measured memory").arg(QFileInfo(path).fileName()));
    headline_->setText(tr("Reading %1 ...").arg(path));
    reading_.start([this, path](std::stop_token stop) -> BackgroundJob::Delivery {
        const auto read =
            std::make_shared<Result<MeasurementPtr>>(load_measurement(path.toStdString(), std::move(stop)));
        return [this, read] {
            if (*read) {
                show_measurement(**read);
                return emit opened();
            }
            headline_->setText(text(read->error().message));
            emit failed(text(read->error().message));
        };
    });
}

const MeasuredDevice& MeasuredWindow::device() const {
    return measurement_->memory.devices[static_cast<std::size_t>(devices_->currentIndex())];
}

/// Shows the device with the highest peak first, because users are most often interested in it.
void MeasuredWindow::show_measurement(MeasurementPtr measurement) {
    measurement_ = std::move(measurement);
    devices_->clear();
    std::int64_t highest = -1;
    int chosen = 0;
    for (const MeasuredDevice& each : measurement_->memory.devices) {
        const std::int64_t peak = each.allocated[peak_moment(each.allocated)];
        if (peak > highest) {
            highest = peak;
            chosen = devices_->count();
        }
        devices_->addItem(text(each.name));
    }
    devices_->setCurrentIndex(chosen);
    devices_->setVisible(devices_->count() > 1);
    show_device();
}

void MeasuredWindow::show_device() {
    const auto number = static_cast<std::size_t>(devices_->currentIndex());
    const Bytes peak(device().allocated[peak_moment(device().allocated)]);
    QString headline = tr("%1: %2 allocated at the peak").arg(text(device().name), bytes_text(peak));
    if (!device().reserved.empty()) {
        const Bytes reserved(device().reserved[peak_moment(device().reserved)]);
        headline = tr("%1, %2 reserved at most").arg(headline, bytes_text(reserved));
    }
    headline_->setText(headline);
    unknown_->setText(what_is_not_known());
    static_cast<SegmentsView*>(segments_)->set_device(measurement_, number);
    view_->set_device(measurement_, number);
    show_plan();
}

void MeasuredWindow::show_cursor() {
    blocks_->show_at(measurement_, static_cast<std::size_t>(devices_->currentIndex()), view_->cursor());
}

QString MeasuredWindow::what_is_not_known() const {
    const TraceGaps& gaps = device().gaps;
    QStringList told;
    if (gaps.before.value > 0)
        told << tr("The trace begins with %1 allocated, of which it does not say where %2 were allocated.")
                    .arg(bytes_text(gaps.before), bytes_text(gaps.before_unplaced));
    if (gaps.rounding)
        told << tr("Bytes are as requested; at the end the allocator's blocks are larger by %1.")
                    .arg(bytes_text(*gaps.rounding));
    if (gaps.lost_frees > 0 || gaps.missing_blocks > 0 || gaps.reserved_short.value > 0)
        told << tr("Events are missing, so that levels can be too high or too low.");
    return told.join(' ');
}

/// Draws the plan that the main window shows, if any, over the measurement.
void MeasuredWindow::show_plan() {
    if (!measurement_) return;
    const SchedulePtr& plan = session_.schedule();
    const bool playable = plan && !plan->simulation.steps.empty();
    view_->set_plan(playable ? plan : nullptr);
    compared_->setVisible(playable);
    tabs_->setTabVisible(differences_tab, playable);
    if (!playable) return;
    const TraceMoment peak = peak_moment(device().allocated);
    const Bytes measured(device().allocated[peak]), planned = plan->simulation.peak;
    differences_->set_differences(
        peak_differences(planned_during(plan->graph->graph, plan->schedule, plan->simulation.peak_step),
                         measurement_->memory, device(), peak));
    compared_->setText(
        tr("The plan foretells %1 at its peak, measured are %2 (%3). Its curve lies over the step "
           "of the measured peak, peak on peak.")
            .arg(bytes_text(planned), bytes_text(measured), signed_bytes(measured - planned)));
}

}  // namespace rematlas::explorer
