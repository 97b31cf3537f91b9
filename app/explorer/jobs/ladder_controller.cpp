#include "app/explorer/jobs/ladder_controller.h"

#include <algorithm>
#include <optional>

#include "app/explorer/words/qt_ruler.h"
#include "app/explorer/words/wording.h"
#include "viz/layout/cluster_layout.h"
#include "viz/layout/layout_programs.h"
#include "viz/paint/blocks_painter.h"

namespace rematlas::explorer {
namespace {

constexpr std::chrono::seconds longest_layout(60);

/// Caches the layouts of all frames; a frame surrounds an expanded block. Ladders that are made before a user
/// asks for them share this cache, but use layout programs of their own. These programs have a low priority,
/// because a program inherits the priority of the thread that starts it.
struct FrameLayouts {
    std::shared_ptr<LayoutCache> shapes = std::make_shared<LayoutCache>();
    std::shared_ptr<LayoutPrograms> programs =
        std::make_shared<LayoutPrograms>(2, LayoutLimits{.time = longest_layout});

    LadderController::LayoutFunction function(std::shared_ptr<LayoutPrograms> running) const {
        return [shapes = shapes, running = std::move(running)](const LayoutRequest& request,
                                                               std::stop_token stop) {
            LayoutLimits limits;
            limits.time = longest_layout;
            limits.stop = std::move(stop);
            limits.programs = running;
            return layout_by_clusters(request, *shapes, limits);
        };
    }
};

LayoutRequest request_for(const BlockView& view) {
    return layout_request(view, item_sizes(view, qt_ruler()), title_sizes(view, qt_ruler()));
}

/// Ladders are made ahead for the expected block and for at most this many other blocks. Each of these
/// ladders shows its block expanded.
constexpr std::size_t most_ahead = 4;

/// The first picture of a graph has at most this many items, even if more items would fit. Only the picture
/// of the first level may have more.
constexpr std::size_t most_at_first = 400;

/// Makes the requested ladder, without its layout.
Ladder asked_ladder(const GraphPtr& graph, const SchedulePtr& schedule, ExpandedBlocks expanded, int depth) {
    Ladder ladder;
    ladder.graph = graph;
    ladder.schedule = schedule;
    ladder.view = make_block_view(graph->graph, graph->graph.blocks, expanded,
                                  schedule ? &schedule->decisions : nullptr);
    ladder.expanded = std::move(expanded);
    ladder.depth = depth;
    ladder.item_of = ladder.view.item_of;
    ladder.cluster_of = ladder.view.cluster_of;
    return ladder;
}

/// Returns a ladder with the same layout and the decisions of another schedule.
LadderPtr recoloured_ladder(const Ladder& ladder, const SchedulePtr& schedule) {
    auto other = std::make_shared<Ladder>(ladder);
    other->schedule = schedule;
    other->view = make_block_view(ladder.graph->graph, ladder.graph->graph.blocks, ladder.expanded,
                                  schedule ? &schedule->decisions : nullptr);
    return other;
}

/// Makes the requested ladder with its layout. Fails if the layout fails.
Result<Ladder> made_ladder(const GraphPtr& graph, const SchedulePtr& schedule, ExpandedBlocks expanded,
                           int depth, const LadderController::LayoutFunction& lay_out,
                           const std::stop_token& stop) {
    Ladder ladder = asked_ladder(graph, schedule, std::move(expanded), depth);
    Result<Layout> layout = lay_out(request_for(ladder.view), stop);
    if (!layout) return layout.error();
    ladder.layout = layout.take();
    return ladder;
}

Result<LadderPtr> shared(Result<Ladder> made) {
    if (!made) return made.error();
    return std::make_shared<const Ladder>(made.take());
}

/// Returns the ladder of the deepest level that fits into 1.5 times the size `room`. Returns the first
/// level's ladder if no level fits.
Result<Ladder> first_ladder(const GraphPtr& graph, const SchedulePtr& schedule, Size room,
                            const LadderController::LayoutFunction& lay_out, const std::stop_token& stop) {
    const Blocks& blocks = graph->graph.blocks;
    std::optional<Ladder> best;
    for (int depth = 1; depth <= std::max(1, rematlas::full_depth(blocks)); ++depth) {
        Ladder ladder = asked_ladder(graph, schedule, expanded_to_depth(blocks, depth), depth);
        if (best && ladder.view.items.size() > most_at_first) break;
        Result<Layout> layout = lay_out(request_for(ladder.view), stop);
        if (!layout && !best) return layout.error();
        if (!layout) break;
        ladder.layout = layout.take();
        const Size size = ladder.layout.size;
        if (best && (size.height > 1.5 * room.height || size.width > 1.5 * room.width)) break;
        best = std::move(ladder);
    }
    return std::move(*best);
}

}  // namespace

LadderController::LadderController() {
    const FrameLayouts frames;
    set_layout_function(frames.function(frames.programs), frames.function(nullptr));
    settled_.setSingleShot(true);
    settled_.setInterval(50);
    connect(&settled_, &QTimer::timeout, this, &LadderController::look_ahead);
    connect(&job_, &BackgroundJob::finished, this, &LadderController::finished);
}

void LadderController::set_layout_function(LayoutFunction function, LayoutFunction ahead) {
    ahead_.clear();
    lay_out_ = std::move(function);
    lay_out_ahead_ = std::move(ahead);
}

void LadderController::set_graph(GraphPtr graph) {
    job_.cancel();
    ahead_.clear();
    expected_ = {};
    graph_ = std::move(graph);
    schedule_.reset();
    ladder_.reset();
    expanded_ = {};
    emit changed();
    runs_ = graph_ ? runs_of(graph_->graph.blocks) : BlockRuns();
    if (graph_) show_first();
}

void LadderController::set_room(Size room) {
    if (room == room_) return;
    room_ = room;
    if (first_ && job_.running()) show_first();
}

void LadderController::set_schedule(SchedulePtr schedule) {
    if (schedule && schedule->graph != graph_) schedule.reset();
    schedule_ = std::move(schedule);
    if (!ladder_) return;  // the running layout takes the new schedule when it is ready
    ladder_ = recoloured_ladder(*ladder_, schedule_);
    emit recoloured();
}

void LadderController::set_depth(int depth) {
    if (!graph_) return;
    depth_ = std::clamp(depth, 0, full_depth());
    expanded_ = expanded_to_depth(graph_->graph.blocks, depth_);
    lay_out();
}

int LadderController::full_depth() const {
    return graph_ ? rematlas::full_depth(graph_->graph.blocks) : 0;
}

bool LadderController::is_expanded(BlockId block) const {
    return graph_ && rematlas::is_expanded(graph_->graph.blocks, expanded_, block);
}

std::vector<BlockId> LadderController::folded_with(BlockId block) const {
    return graph_ ? folded_run(graph_->graph.blocks, runs_, expanded_, block) : std::vector<BlockId>();
}

bool LadderController::can_fold(BlockId block) const {
    return runs_.first.contains(block) && expanded_.unfolded.contains(runs_.first[block]);
}

void LadderController::fold(BlockId block) {
    if (!can_fold(block)) return;
    const BlockId first = runs_.first[block];
    for (BlockId member : graph_->graph.blocks.ids())
        if (runs_.first[member] == first) rematlas::collapse(graph_->graph.blocks, expanded_, member);
    expanded_.unfolded.erase(first);
    lay_out();
}

void LadderController::toggle(BlockId block) {
    if (!is_expanded(block)) return expand_block(block);
    rematlas::collapse(graph_->graph.blocks, expanded_, block);
    lay_out();
}

/// Returns the requested set of expanded blocks with this block added. If the block is part of a folded run,
/// only unfolds the run, so that each of its blocks becomes a separate item.
ExpandedBlocks LadderController::with_expanded(BlockId block) const {
    ExpandedBlocks expanded = expanded_;
    if (folded_with(block).empty()) {
        rematlas::expand(graph_->graph.blocks, expanded, block);
    } else {
        expanded.unfolded.insert(runs_.first[block]);
    }
    return expanded;
}

void LadderController::expand_block(BlockId block) {
    if (!graph_ || !graph_->graph.blocks.contains(block)) return;
    expanded_ = with_expanded(block);
    lay_out();
}

void LadderController::expand_all(BlockId block) {
    if (!graph_ || !graph_->graph.blocks.contains(block)) return;
    std::vector<BlockId> open = folded_with(block);
    if (open.empty()) open.push_back(block);
    while (!open.empty()) {
        const BlockId at = open.back();
        open.pop_back();
        rematlas::expand(graph_->graph.blocks, expanded_, at);
        const std::vector<BlockId>& children = graph_->graph.blocks[at].children;
        open.insert(open.end(), children.begin(), children.end());
    }
    lay_out();
}

void LadderController::reveal(const Selected& selected) {
    if (!graph_ || selected.empty()) return;
    BlockId inner = selected.block;
    if (selected.op.valid()) {
        inner = graph_->block_of[selected.op];
    } else if (graph_->graph.blocks.contains(selected.block)) {
        inner = graph_->graph.blocks[selected.block].parent;
    }
    bool more = false;
    for (BlockId block : ancestry(*graph_, inner)) {
        if (is_expanded(block)) continue;
        rematlas::expand(graph_->graph.blocks, expanded_, block);
        more = true;
    }
    if (selected.block.valid() && !folded_with(selected.block).empty()) {
        expanded_.unfolded.insert(runs_.first[selected.block]);
        more = true;
    }
    if (more) lay_out();
}

std::vector<int> LadderController::items_of(const Selected& selected) const {
    if (!ladder_ || selected.empty()) return {};
    if (selected.op.valid()) {
        const int item = ladder_->item_of.contains(selected.op) ? ladder_->item_of[selected.op] : -1;
        return item < 0 ? std::vector<int>{} : std::vector<int>{item};
    }
    if (!graph_->graph.blocks.contains(selected.block)) return {};
    std::vector<int> items;
    for (OpId op : ops_under(*graph_, selected.block)) items.push_back(ladder_->item_of[op]);
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
    return items;
}

bool LadderController::shows_asked() const {
    return ladder_ && ladder_->graph == graph_ && ladder_->expanded == expanded_;
}

/// Sets the requested blocks and level to the blocks and the level of the shown ladder.
void LadderController::forget_asked() {
    if (!ladder_) return;
    expanded_ = ladder_->expanded;
    depth_ = ladder_->depth;
}

void LadderController::cancel() {
    if (!job_.running()) return;
    job_.cancel();
    forget_asked();
    look_ahead();
}

void LadderController::expect(BlockId block) {
    if (block == expected_) return;
    expected_ = block;
    settled_.start();
}

/// Returns blocks that a user is likely to expand next. The expected block comes first, if it is collapsed;
/// then the forward blocks with the most ops, because their layouts take longest.
std::vector<BlockId> LadderController::likely_blocks() const {
    std::vector<const BlockViewItem*> items;
    std::vector<BlockId> likely;
    for (const BlockViewItem& item : ladder_->view.items) {
        if (!item.block.valid() || item.op.valid()) continue;
        if (item.block == expected_) likely.push_back(expected_);
        if (item.phase != Phase::backward) items.push_back(&item);
    }
    const std::size_t count = std::min(most_ahead, items.size());
    std::partial_sort(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count), items.end(),
                      [](const auto* a, const auto* b) { return a->op_count > b->op_count; });
    for (std::size_t i = 0; i < count; ++i) likely.push_back(items[i]->block);
    return likely;
}

void LadderController::look_ahead() {
    if (!lay_out_ahead_ || job_.running() || !shows_asked()) return;
    std::vector<ExpandedBlocks> wanted;
    for (BlockId block : likely_blocks()) wanted.push_back(with_expanded(block));
    ahead_.want(std::move(wanted),
                [graph = graph_, schedule = schedule_, depth = depth_, lay_out = lay_out_ahead_](
                    const ExpandedBlocks& expanded, std::stop_token stop) {
                    return made_ladder(graph, schedule, expanded, depth, lay_out, stop);
                });
}

void LadderController::lay_out() {
    first_ = false;
    if (shows_asked()) {
        job_.cancel();
        return look_ahead();
    }
    const LadderPtr ready = ahead_.find(expanded_);
    ahead_.pause();
    if (ready)
        return start([ready, schedule = schedule_](std::stop_token) -> Result<LadderPtr> {
            return ready->schedule == schedule ? ready : recoloured_ladder(*ready, schedule);
        });
    start([graph = graph_, schedule = schedule_, expanded = expanded_, depth = depth_,
           lay_out = lay_out_](std::stop_token stop) {
        return shared(made_ladder(graph, schedule, expanded, depth, lay_out, stop));
    });
}

void LadderController::show_first() {
    first_ = true;
    start([graph = graph_, schedule = schedule_, room = room_, lay_out = lay_out_](std::stop_token stop) {
        return shared(first_ladder(graph, schedule, room, lay_out, stop));
    });
}

void LadderController::start(Make make) {
    job_.start([this, make = std::move(make)](std::stop_token stop) {
        const Result<LadderPtr> made = make(stop);
        if (!made) {
            return BackgroundJob::Delivery([this, message = text(made.error().message)] {
                forget_asked();
                emit failed(message);
            });
        }
        return BackgroundJob::Delivery([this, ready = *made] {
            ladder_ = ready;
            forget_asked();
            if (ladder_->schedule != schedule_) set_schedule(schedule_);
            emit changed();
            look_ahead();
        });
    });
    emit started();
}

}  // namespace rematlas::explorer
