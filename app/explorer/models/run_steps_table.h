// The steps of a training run as a table, which grows with the run.
#pragma once

#include "app/explorer/models/figures_table.h"
#include "core/planning/run_steps.h"

namespace rematlas::explorer {

class RunStepsTable : public FiguresTable {
    Q_OBJECT
  public:
    explicit RunStepsTable(QObject* parent = nullptr);

    /// `run` must live as long as the table, or until another run is set. If `run` is null, the table has no
    /// rows.
    void set_run(const RunSteps* run);
    /// Adds rows for new steps of the run.
    void grow();

  protected:
    int rows() const override { return rows_; }

  private:
    const RunStep& at(int row) const { return run_->steps[static_cast<std::size_t>(row)]; }

    const RunSteps* run_ = nullptr;
    int rows_ = 0;
};

}  // namespace rematlas::explorer
