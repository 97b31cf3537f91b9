#include "app/explorer/session/ladder_controller.h"

#include <algorithm>

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

Ladder indexed(GraphPtr graph, BlockView view) {
    Ladder ladder;
    ladder.graph = std::move(graph);
    ladder.view = std::move(view);
    ladder.item_of = IdVector<OpId, int>(ladder.graph->graph.ops.size(), -1);
    ladder.cluster_of = IdVector<BlockId, int>(ladder.graph->graph.blocks.size(), -1);
    for (std::size_t i = 0; i < ladder.view.items.size(); ++i) {
        const BlockViewItem& item = ladder.view.items[i];
        if (item.op.valid()) {
            ladder.item_of[item.op] = static_cast<int>(i);
        } else {
            for (OpId op : ops_under(*ladder.graph, item.block)) ladder.item_of[op] = static_cast<int>(i);
        }
    }
    for (std::size_t i = 0; i < ladder.view.clusters.size(); ++i) {
        ladder.cluster_of[ladder.view.clusters[i].block] = static_cast<int>(i);
    }
    return ladder;
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
    expanded_.clear();
    emit changed();
    if (graph_) set_depth(depth_for(graph_->graph.blocks));
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
    if (!graph_ || !graph_->graph.blocks.contains(block)) return false;
    return expanded_.contains(block) || expanded_.contains(graph_->graph.blocks[block].twin);
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
    rematlas::expand(graph_->graph.blocks, expanded_, block);
    lay_out();
}

void LadderController::collapse_block(BlockId block) {
    if (!graph_ || !graph_->graph.blocks.contains(block)) return;
    rematlas::collapse(graph_->graph.blocks, expanded_, block);
    lay_out();
}

void LadderController::expand_all(BlockId block) {
    if (!graph_ || !graph_->graph.blocks.contains(block)) return;
    std::vector<BlockId> open{block};
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
    if (shows_asked()) return job_.cancel();
    job_.start([this, graph = graph_, expanded = expanded_, depth = depth_,
                lay_out = lay_out_](std::stop_token stop) {
        Ladder ladder = indexed(graph, make_block_view(graph->graph, graph->graph.blocks, expanded));
        ladder.expanded = expanded;
        ladder.depth = depth;
        Result<Layout> layout = lay_out(request_for(ladder.view), stop);
        if (!layout) {
            return BackgroundJob::Delivery([this, message = text(layout.error().message)] {
                forget_asked();
                emit failed(message);
            });
        }
        ladder.layout = layout.take();
        auto ready = std::make_shared<const Ladder>(std::move(ladder));
        return BackgroundJob::Delivery([this, ready] {
            ladder_ = ready;
            if (schedule_) set_schedule(schedule_);
            emit changed();
        });
    });
    emit started();
}

}  // namespace rematlas::explorer
