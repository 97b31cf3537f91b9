#include "app/explorer/session/ladder_controller.h"

#include <algorithm>
#include <optional>

#include "app/explorer/session/qt_ruler.h"
#include "app/explorer/session/wording.h"
#include "viz/layout/cluster_layout.h"
#include "viz/paint/blocks_painter.h"

namespace rematlas::explorer {
namespace {

/// Remembers the shapes of all frames that it has laid out.
LadderController::LayoutFunction layout_in_frames() {
    return [shapes = std::make_shared<LayoutCache>()](const LayoutRequest& request, std::stop_token stop) {
        LayoutLimits limits;
        limits.time = std::chrono::seconds(60);
        limits.stop = std::move(stop);
        return layout_by_clusters(request, *shapes, limits);
    };
}

LayoutRequest request_for(const BlockView& view) {
    return layout_request(view, item_sizes(view, qt_ruler()), title_sizes(view, qt_ruler()));
}

/// More items than this are too many for a first picture, whatever their sizes.
constexpr std::size_t most_at_first = 400;

/// A ladder as it is asked for, without its layout.
Ladder asked_ladder(const GraphPtr& graph, const SchedulePtr& schedule, ExpandedBlocks expanded, int depth) {
    Ladder ladder;
    ladder.graph = graph;
    ladder.view = make_block_view(graph->graph, graph->graph.blocks, expanded,
                                  schedule ? &schedule->decisions : nullptr);
    ladder.expanded = std::move(expanded);
    ladder.depth = depth;
    ladder.item_of = ladder.view.item_of;
    ladder.cluster_of = ladder.view.cluster_of;
    return ladder;
}

/// The deepest level that fits one and a half times into the room; the first one if none does.
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

LadderController::LadderController(QObject* parent) : QObject(parent), lay_out_(layout_in_frames()) {
    connect(&job_, &BackgroundJob::finished, this, &LadderController::finished);
}

void LadderController::set_graph(GraphPtr graph) {
    job_.cancel();
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
    if (!ladder_) return;  // the layout that is under way takes the schedule when it arrives
    auto ladder = std::make_shared<Ladder>(*ladder_);
    ladder->view = make_block_view(graph_->graph, graph_->graph.blocks, ladder->expanded,
                                   schedule_ ? &schedule_->decisions : nullptr);
    ladder_ = ladder;
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
    if (is_expanded(block)) {
        collapse_block(block);
    } else {
        expand_block(block);
    }
}

void LadderController::expand_block(BlockId block) {
    if (!graph_ || !graph_->graph.blocks.contains(block)) return;
    if (folded_with(block).empty()) {
        rematlas::expand(graph_->graph.blocks, expanded_, block);
    } else {
        expanded_.unfolded.insert(runs_.first[block]);
    }
    lay_out();
}

void LadderController::collapse_block(BlockId block) {
    if (!graph_ || !graph_->graph.blocks.contains(block)) return;
    rematlas::collapse(graph_->graph.blocks, expanded_, block);
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

/// What is shown is all there is to ask for more or less of.
void LadderController::forget_asked() {
    if (!ladder_) return;
    expanded_ = ladder_->expanded;
    depth_ = ladder_->depth;
}

void LadderController::cancel() {
    if (!job_.running()) return;
    job_.cancel();
    forget_asked();
}

void LadderController::lay_out() {
    first_ = false;
    if (shows_asked()) return job_.cancel();
    start([graph = graph_, schedule = schedule_, expanded = expanded_, depth = depth_,
           lay_out = lay_out_](std::stop_token stop) -> Result<Ladder> {
        Ladder ladder = asked_ladder(graph, schedule, expanded, depth);
        Result<Layout> layout = lay_out(request_for(ladder.view), stop);
        if (!layout) return layout.error();
        ladder.layout = layout.take();
        return ladder;
    });
}

void LadderController::show_first() {
    first_ = true;
    start([graph = graph_, schedule = schedule_, room = room_, lay_out = lay_out_](std::stop_token stop) {
        return first_ladder(graph, schedule, room, lay_out, stop);
    });
}

void LadderController::start(std::function<Result<Ladder>(std::stop_token)> make) {
    job_.start([this, schedule = schedule_, make = std::move(make)](std::stop_token stop) {
        Result<Ladder> made = make(stop);
        if (!made) {
            return BackgroundJob::Delivery([this, message = text(made.error().message)] {
                forget_asked();
                emit failed(message);
            });
        }
        auto ready = std::make_shared<const Ladder>(made.take());
        return BackgroundJob::Delivery([this, schedule, ready] {
            ladder_ = ready;
            forget_asked();
            if (schedule_ != schedule) set_schedule(schedule_);
            emit changed();
        });
    });
    emit started();
}

}  // namespace rematlas::explorer
