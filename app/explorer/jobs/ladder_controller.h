// Controls the ladder graph on the screen: which blocks are expanded, the view that follows from that, and
// the layout that the worker program makes.
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

    /// Starts a layout with as many levels expanded as fit into one and a half times the room. A null graph
    /// clears the ladder.
    void set_graph(GraphPtr graph);
    /// Sets the size of the view at zoom 1. The size only matters for the first picture of a graph.
    void set_room(Size room);
    /// Colours the same layout by another schedule; null: by none. A schedule of another graph counts as
    /// null.
    void set_schedule(SchedulePtr schedule);

    /// Expands or collapses the block and its twin. If the block is in a folded run of blocks, the blocks of
    /// the run are shown one by one; `fold` makes the run one item again.
    void toggle(BlockId block);
    void fold(BlockId block);
    /// Returns the blocks that are shown as one item together with this one; empty if it is shown alone.
    std::vector<BlockId> folded_with(BlockId block) const;
    bool can_fold(BlockId block) const;  ///< whether the block is in a run whose blocks are shown one by one
    void expand_block(BlockId block);
    void collapse_block(BlockId block);
    /// Expands the block, all blocks inside, and their twins.
    void expand_all(BlockId block);
    void set_depth(int depth);
    /// Expands the blocks that hide the selected block or op.
    void reveal(const Selected& selected);
    /// Says whether the request expands the block. After a layout that failed or was cancelled, the request
    /// is again what is shown.
    bool is_expanded(BlockId block) const;
    int depth() const { return depth_; }
    int full_depth() const;

    /// Called when this block is likely to be expanded next: the pointer is over it, or it is selected.
    void expect(BlockId block);

    void cancel();  ///< keeps the picture that is shown
    bool running() const { return job_.running(); }
    LadderPtr ladder() const { return ladder_; }
    const SchedulePtr& schedule() const { return schedule_; }

    /// Returns the indices of the items that show the selection or parts of it.
    std::vector<int> items_of(const Selected& selected) const;

    using LayoutFunction = std::function<Result<Layout>(const LayoutRequest&, std::stop_token)>;
    /// Tests replace the worker program with these functions. `ahead` lays out ladders that nobody has
    /// requested yet; if it is null, no ladder is made ahead.
    void set_layout_function(LayoutFunction function, LayoutFunction ahead = nullptr);
    const LaddersAhead& ahead() const { return ahead_; }

  signals:
    void started();
    void changed();     ///< there is a new ladder
    void recoloured();  ///< the same layout has other decisions
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
    ExpandedBlocks expanded_;  ///< the blocks that are requested as expanded
    int depth_ = 1;            ///< the requested level
    BlockRuns runs_;
    Size room_{1280, 800};
    bool first_ = false;  ///< the first picture of the graph is being made
    LadderPtr ladder_;
    BlockId expected_;
    QTimer settled_;  ///< fires when the expected block has not changed for a moment
    LayoutFunction lay_out_, lay_out_ahead_;
    LaddersAhead ahead_;
    BackgroundJob job_;
};

}  // namespace rematlas::explorer
