// A window for a measurement of memory by torch. It shows memory over time, the tensors alive at the cursor,
// the allocator's segments with their gaps, and the plan of the main window drawn over the measurement.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QTabWidget>
#include <QWidget>

#include "app/explorer/jobs/background_job.h"
#include "app/explorer/measured/measured_view.h"
#include "app/explorer/models/measured_blocks.h"
#include "app/explorer/models/peak_differences_table.h"
#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class MeasuredWindow : public QWidget {
    Q_OBJECT
  public:
    /// The session must outlive this window.
    explicit MeasuredWindow(Session& session, QWidget* parent = nullptr);

    /// Reads the file in the background; emits `failed` if it cannot be read.
    void open(const QString& path);
    bool reading() const { return reading_.running(); }
    MeasuredView& view() { return *view_; }
    const MeasuredBlocks& blocks() const { return *blocks_; }
    const PeakDifferencesTable& differences() const { return *differences_; }

  signals:
    void opened();
    void failed(const QString& message);

  private:
    QWidget* make_bar();
    void add_table(QAbstractItemModel* model, const QString& title, const QString& name,
                   std::initializer_list<int> widths);
    void show_measurement(MeasurementPtr measurement);
    void show_device();
    void show_cursor();
    void show_plan();
    const MeasuredDevice& device() const;
    QString what_is_not_known() const;

    Session& session_;
    BackgroundJob reading_;
    MeasurementPtr measurement_;
    MeasuredView* view_;
    MeasuredBlocks* blocks_;
    PeakDifferencesTable* differences_;
    QComboBox* devices_;
    QLabel *headline_, *unknown_, *compared_;
    QTabWidget* tabs_;
    QWidget* segments_;
};

}  // namespace rematlas::explorer
