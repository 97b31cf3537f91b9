// The ladder graph on the screen: which blocks are expanded, the view that follows from it, and its layout
// from the worker program.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <functional>
#include <memory>

#include "app/explorer/jobs/background_job.h"
#include "app/explorer/jobs/ladders_ahead.h"
#include "app/explorer/loaded/ladder.h"
#include "app/explorer/loaded/selection.h"

namespace rematlas::explorer {

class LadderController : public QObject {
    Q_OBJECT
  public:
    explicit LadderController(QObject* parent = nullptr);

    /// Starts a layout with as many levels expanded as fit one and a half times into the room there is. Null
    /// clears.
    void set_graph(GraphPtr graph);
    /// Size of the view at zoom 1. It counts until the first picture of a graph is there.
    void set_room(Size room);
    /// New colours on the same layout. Null: none. A schedule of another graph is ignored.
    void set_schedule(SchedulePtr schedule);

    /// Twins follow each other. A run that is folded shows its blocks; `fold` makes it one item again.
    void toggle(BlockId block);
    void fold(BlockId block);
    /// The blocks that are shown as one item with this one; empty: it stands alone.
    std::vector<BlockId> folded_with(BlockId block) const;
    bool can_fold(BlockId block) const;  ///< it is in a run that shows its blocks
    void expand_block(BlockId block);
    void collapse_block(BlockId block);
    /// The block, all blocks inside, and their twins.
    void expand_all(BlockId block);
    void set_depth(int depth);
    /// Expands what hides the selected block or op.
    void reveal(const Selected& selected);
    /// What was asked for; after a layout that failed or was cancelled, what is shown.
    bool is_expanded(BlockId block) const;
    int depth() const { return depth_; }
    int full_depth() const;

    /// This block is likely to be expanded next: the pointer is over it, or it is selected.
    void expect(BlockId block);

    void cancel();  ///< the picture shown stays
    bool running() const { return job_.running(); }
    LadderPtr ladder() const { return ladder_; }
    const SchedulePtr& schedule() const { return schedule_; }

    /// Indices of the items that show the selection or parts of it.
    std::vector<int> items_of(const Selected& selected) const;

    using LayoutFunction = std::function<Result<Layout>(const LayoutRequest&, std::stop_token)>;
    /// Tests replace the worker program with these. `ahead` lays out what has not been asked for yet; without
    /// it nothing is made ahead.
    void set_layout_function(LayoutFunction function, LayoutFunction ahead = nullptr);
    const LaddersAhead& ahead() const { return ahead_; }

  signals:
    void started();
    void changed();     ///< a new ladder
    void recoloured();  ///< the same layout with other decisions
    void failed(const QString& message);
    void finished(bool cancelled);

  private:
    void lay_out();
    void show_first();
    using Make = std::function<Result<LadderPtr>(std::stop_token)>;
    void start(Make make);
    void forget_asked();
    bool shows_asked() const;
    ExpandedBlocks with_expanded(BlockId block) const;
    std::vector<BlockId> likely_blocks() const;
    void look_ahead();

    GraphPtr graph_;
    SchedulePtr schedule_;
    ExpandedBlocks expanded_;  ///< asked for
    int depth_ = 1;            ///< the same
    BlockRuns runs_;
    Size room_{1280, 800};
    bool first_ = false;  ///< the first picture of the graph is being made
    LadderPtr ladder_;
    BlockId expected_;
    QTimer settled_;  ///< the pointer has been where it is for a moment
    LayoutFunction lay_out_, lay_out_ahead_;
    LaddersAhead ahead_;
    BackgroundJob job_;
};

}  // namespace rematlas::explorer
