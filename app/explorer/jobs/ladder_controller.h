// Controls the ladder graph on the screen. Stores which blocks are expanded, makes a view of the graph with
// these blocks, and lets a worker program lay out the view.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <functional>

#include "app/explorer/jobs/background_job.h"
#include "app/explorer/jobs/ladders_ahead.h"
#include "app/explorer/loaded/ladder.h"
#include "app/explorer/loaded/selection.h"

namespace rematlas::explorer {

class LadderController : public QObject {
    Q_OBJECT
  public:
    LadderController();

    /// Shows a graph. Expands as many levels as fit into 1.5 times the size given to `set_room`. If `graph`
    /// is null, clears the ladder.
    void set_graph(GraphPtr graph);
    /// Sets the size of the view at zoom 1. Only the first picture of a graph depends on this size.
    void set_room(Size room);
    /// Colours the same layout by the decisions of a schedule. If `schedule` is null or of another graph, no
    /// decisions are shown.
    void set_schedule(SchedulePtr schedule);

    /// Expands or collapses the block and its twin. If the block is in a folded run of equal blocks, shows
    /// the blocks of the run one by one instead. `fold` makes such a run one item again.
    void toggle(BlockId block);
    void fold(BlockId block);
    /// Returns the blocks that are in one folded item with this block; empty if the block is not in such an
    /// item.
    std::vector<BlockId> folded_with(BlockId block) const;
    bool can_fold(BlockId block) const;  ///< whether the block is in a run whose blocks are shown one by one
    void expand_block(BlockId block);
    /// Expands the block, all blocks inside, and their twins.
    void expand_all(BlockId block);
    void set_depth(int depth);
    /// Expands the blocks that hide the selected block or op.
    void reveal(const Selected& selected);
    /// Says whether the block is expanded in the picture that was requested last. If the layout of this
    /// picture fails or is cancelled, the shown picture counts as requested last.
    bool is_expanded(BlockId block) const;
    int depth() const { return depth_; }
    int full_depth() const;

    /// Must be called when the user is likely to expand this block next, because the pointer is over the
    /// block or the block is selected.
    void expect(BlockId block);

    void cancel();  ///< cancels the layout; the picture that is shown stays
    bool running() const { return job_.running(); }
    LadderPtr ladder() const { return ladder_; }
    const SchedulePtr& schedule() const { return schedule_; }

    /// Returns the indices of the items that show the selected block or op, or parts of the block.
    std::vector<int> items_of(const Selected& selected) const;

    using LayoutFunction = std::function<Result<Layout>(const LayoutRequest&, std::stop_token)>;
    /// Replaces the worker program, for tests. `ahead` makes the layouts that nobody has requested yet. If
    /// `ahead` is null, no ladder is made ahead.
    void set_layout_function(LayoutFunction function, LayoutFunction ahead = nullptr);
    const LaddersAhead& ahead() const { return ahead_; }

  signals:
    void started();
    void changed();     ///< emitted when there is a new ladder
    void recoloured();  ///< emitted when the layout is the same, but decisions changed
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
    bool first_ = false;  ///< whether the first picture of the graph is being made
    LadderPtr ladder_;
    BlockId expected_;
    QTimer settled_;  ///< fires when the expected block has not changed for a moment
    LayoutFunction lay_out_, lay_out_ahead_;
    LaddersAhead ahead_;
    BackgroundJob job_;
};

}  // namespace rematlas::explorer
