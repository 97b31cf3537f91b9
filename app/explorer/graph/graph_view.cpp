#include "app/explorer/graph/graph_view.h"

#include <QContextMenuEvent>
#include <QGraphicsScene>
#include <QHelpEvent>
#include <QMenu>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "app/explorer/graph/graph_legend.h"
#include "app/explorer/graph/graph_minimap.h"
#include "app/explorer/graph/graph_tips.h"
#include "app/explorer/look/pin_menu.h"
#include "app/explorer/look/qt_canvas.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/look/view_keys.h"
#include "app/explorer/models/item_notes.h"
#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

constexpr double least_zoom = 0.01, most_zoom = 4;

}  // namespace

GraphView::GraphView(Session& session)
    : session_(session), layer_(new GraphLayer), minimap_(new GraphMinimap(*this)) {
    auto* scene = new QGraphicsScene(this);
    scene->setItemIndexMethod(QGraphicsScene::NoIndex);
    layer_->setFlag(QGraphicsItem::ItemUsesExtendedStyleOption);
    scene->addItem(layer_);
    setScene(scene);
    setFrameShape(QFrame::NoFrame);
    setTransformationAnchor(QGraphicsView::NoAnchor);
    setResizeAnchor(QGraphicsView::NoAnchor);
    setViewportUpdateMode(QGraphicsView::SmartViewportUpdate);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);  // the minimap shows the visible part instead
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    make_keys();
    theme::on_change(this, [this] { viewport()->update(); });
    connect(&session_.ladder, &LadderController::changed, this, &GraphView::show_ladder);
    connect(&session_.ladder, &LadderController::recoloured, this, &GraphView::show_ladder);
    connect(&session_, &Session::graph_changed, this, [this] { first_ = true; });
    connect(&session_, &Session::blocks_changed, this, [this] { first_ = true; });
    connect(&session_, &Session::schedule_changed, this, [this] {
        layer_->set_has_schedule(session_.schedule() != nullptr);
        minimap_->refresh();
    });
    connect(&session_.selection, &Selection::range_changed, this, &GraphView::show_notes);
    connect(&session_.pins, &PinList::changed, this, &GraphView::show_notes);
    connect(&session_.selection, &Selection::changed, this, &GraphView::show_selection);
    connect(&session_.selection, &Selection::cursor_moved, this, [this](int step) {
        const SchedulePtr& schedule = session_.schedule();
        const LadderPtr& ladder = layer_->ladder();
        int item = -1;
        if (schedule && ladder && step >= 0 && schedule->schedule.steps[step].runs()) {
            item = ladder->item_of[schedule->schedule.steps[step].op()];
        }
        layer_->set_running(item);
    });
}

void GraphView::set_coloring(ItemColors colors) {
    colors_ = colors;
    show_colors();
}

void GraphView::show_colors() {
    const LadderPtr& ladder = layer_->ladder();
    if (colors_ == ItemColors::decision || colors_ == ItemColors::phase) {
        layer_->set_coloring(colors_ == ItemColors::decision ? Coloring::decision : Coloring::phase);
    } else {
        const SchedulePtr schedule = ladder && ladder->schedule ? ladder->schedule : session_.all_kept();
        const bool fits = ladder && schedule && schedule->graph == ladder->graph;
        heat_ = fits ? item_heat(*ladder, *schedule, colors_) : ItemHeat();
        layer_->set_coloring(heat_.shares.empty() ? Coloring::phase : Coloring::heat, heat_.shares);
    }
    minimap_->refresh();
    viewport()->update();
}

void GraphView::show_ladder() {
    const LadderPtr ladder = session_.ladder.ladder();
    const bool relayout = !ladder || !layer_->ladder() || !(ladder->layout == layer_->ladder()->layout);
    layer_->set_ladder(ladder);
    if (relayout) {
        show_columns(std::max(1, layer_->columns().count()));
        show_selection();
        if (ladder && first_) {
            first_ = false;
            fit_width();
        } else if (ladder && !anchor_.empty()) {
            keep_in_place(anchor_, anchor_position_);
        }
        anchor_ = {};
        if (ladder && layer_->items_in(mapToScene(viewport()->rect()).boundingRect()).empty()) fit_width();
    }
    show_notes();
    show_colors();
}

void GraphView::show_notes() {
    const LadderPtr& ladder = layer_->ladder();
    if (!ladder) return;
    layer_->set_notes(
        item_notes(*ladder, session_.schedule().get(), session_.selection.range(), session_.pins.pins()));
    viewport()->update();
}

void GraphView::keep_in_place(const Selected& anchor, const QPointF& viewport_position) {
    const std::vector<int> items = session_.ladder.items_of(anchor);
    QRectF rect;
    for (int item : items) rect |= layer_->item_rect(item);
    if (rect.isNull()) return;
    const QPointF shift = mapFromScene(QPointF(rect.center().x(), rect.top())) - viewport_position;
    horizontalScrollBar()->setValue(horizontalScrollBar()->value() + static_cast<int>(shift.x()));
    verticalScrollBar()->setValue(verticalScrollBar()->value() + static_cast<int>(shift.y()));
}

void GraphView::show_selection() {
    const Selected& selected = session_.selection.current();
    const LadderPtr& ladder = layer_->ladder();
    const int cluster =
        ladder && ladder->cluster_of.contains(selected.block) ? ladder->cluster_of[selected.block] : -1;
    if (selected.block.valid()) session_.ladder.expect(selected.block);
    // An expanded block is marked by its frame, not by its items.
    layer_->set_marked(cluster >= 0 ? std::vector<int>{} : session_.ladder.items_of(selected), cluster);
    const QRectF rect = layer_->marked_rect();
    if (!rect.isNull() && !mapToScene(viewport()->rect()).boundingRect().intersects(rect))
        centerOn(rect.center());
    viewport()->update();
}

void GraphView::zoom(double factor) {
    const double target = std::clamp(transform().m11() * factor, least_zoom, most_zoom);
    const QPointF center = mapToScene(viewport()->rect().center());
    setTransform(QTransform::fromScale(target, target));
    centerOn(center);
    emit zoomed();
}

void GraphView::show_columns(int count) {
    const bool are_others = count != layer_->columns().count();
    layer_->set_columns(count);
    // The scene has margins on all sides, so that any item can be scrolled to the middle.
    scene()->setSceneRect(layer_->boundingRect().adjusted(-400, -200, 400, 400));
    if (are_others) minimap_->refresh();
}

void GraphView::fit_width() {
    show_columns(1);
    const QRectF bounds = layer_->boundingRect();
    if (bounds.isEmpty()) return;
    // The minimap must not cover the graph.
    const double room = std::max(200.0, viewport()->width() - minimap_->width() - 24.0);
    const double scale = std::clamp(room / bounds.width(), 0.35, 1.1);
    const bool beside = bounds.width() * scale > viewport()->width() - 2.0 * minimap_->width() - 48.0;
    setTransform(QTransform::fromScale(scale, scale));
    const double shift = beside ? (viewport()->width() - room) / 2 / scale : 0;
    centerOn(bounds.center().x() + shift, bounds.top() + viewport()->height() / scale / 2 - 4);
    emit zoomed();
}

void GraphView::fit_all() {
    if (!layer_->ladder()) return;
    // The legend must not cover the graph. The minimap is hidden while the whole graph is in view.
    const double height = std::max(100.0, viewport()->height() - legend_height_ - 12);
    show_columns(
        columns_for(layer_->ladder()->layout.size, {static_cast<double>(viewport()->width()), height}));
    const QRectF bounds = layer_->boundingRect();
    const double scale = std::clamp(std::min(viewport()->width() / bounds.width(), height / bounds.height()),
                                    least_zoom, 1.25);
    setTransform(QTransform::fromScale(scale, scale));
    centerOn(bounds.center().x(), bounds.center().y() + (viewport()->height() - height) / 2 / scale);
    emit zoomed();
}

void GraphView::center_selection() {
    const QRectF rect = layer_->marked_rect();
    if (rect.isNull()) return;
    if (transform().m11() < 0.5) setTransform(QTransform::fromScale(0.9, 0.9));
    // A forward item and its backward twin belong together, so the view shows both.
    QRectF both = rect;
    for (int item : layer_->marked()) {
        const int twin = layer_->ladder()->view.items[item].twin;
        if (twin >= 0) both |= layer_->item_rect(twin);
    }
    const double room = viewport()->width() / transform().m11();
    centerOn(both.width() < room ? both.center().x() : rect.center().x(), rect.center().y());
    emit zoomed();
}

void GraphView::walk(int direction) {
    const LadderPtr& ladder = layer_->ladder();
    if (!ladder || ladder->view.items.empty()) return;
    if (layer_->marked().size() != 1)
        return select_item(layer_->marked().empty() ? 0 : layer_->marked().front());
    const int at = layer_->marked().front();
    int next = -1;
    if (direction == 0) next = ladder->view.items[at].twin;
    for (const BlockViewEdge& edge : ladder->view.edges) {
        if (next >= 0 || direction == 0) break;
        const bool forward = direction > 0;
        const bool chain = edge.role != EdgeRole::rung;
        if (chain && forward && edge.from == at) next = edge.to;
        if (chain && !forward && edge.to == at) next = edge.from;
    }
    if (next >= 0) select_item(next);
}

void GraphView::select_item(int index) {
    const BlockViewItem& item = layer_->ladder()->view.items[static_cast<std::size_t>(index)];
    session_.selection.select(selected_of(item));
}

void GraphView::wheelEvent(QWheelEvent* event) {
    const double factor = std::pow(1.0015, event->angleDelta().y());
    const double target = std::clamp(transform().m11() * factor, least_zoom, most_zoom);
    const QPointF under = event->position();
    const QPointF before = mapToScene(under.toPoint());
    setTransform(QTransform::fromScale(target, target));
    const QPointF shift = mapFromScene(before) - under;
    horizontalScrollBar()->setValue(horizontalScrollBar()->value() + static_cast<int>(shift.x()));
    verticalScrollBar()->setValue(verticalScrollBar()->value() + static_cast<int>(shift.y()));
    event->accept();
    emit zoomed();
}

void GraphView::mousePressEvent(QMouseEvent* event) {
    press_ = event->pos();
    panning_ = false;
    event->accept();
}

void GraphView::mouseMoveEvent(QMouseEvent* event) {
    if (event->buttons() & (Qt::LeftButton | Qt::MiddleButton)) {
        const QPoint delta = event->pos() - press_;
        if (!panning_ && delta.manhattanLength() < 5) return;
        panning_ = true;
        viewport()->setCursor(Qt::ClosedHandCursor);
        horizontalScrollBar()->setValue(horizontalScrollBar()->value() - delta.x());
        verticalScrollBar()->setValue(verticalScrollBar()->value() - delta.y());
        press_ = event->pos();
        return;
    }
    const GraphHit hit = hit_at(event->pos());
    const bool is_something = hit.item >= 0 || hit.title || hit.edge >= 0;
    viewport()->setCursor(is_something ? Qt::PointingHandCursor : Qt::ArrowCursor);
    if (hit.item >= 0) session_.ladder.expect(layer_->ladder()->view.items[hit.item].block);
}

void GraphView::mouseReleaseEvent(QMouseEvent* event) {
    if (!panning_ && event->button() == Qt::LeftButton) select_at(event->pos());
    panning_ = false;
    viewport()->setCursor(Qt::ArrowCursor);
}

void GraphView::select_at(const QPoint& position) {
    const GraphHit hit = hit_at(position);
    Selected selected;
    if (hit.item >= 0) {
        const BlockViewItem& item = layer_->ladder()->view.items[hit.item];
        selected = selected_of(item);
    } else if (hit.title) {
        selected = Selected::of(layer_->ladder()->view.clusters[hit.cluster].block);
    }
    session_.selection.select(selected);
    if (hit.edge < 0) return layer_->set_marked_edge(-1);
    const BlockViewEdge& edge = layer_->ladder()->view.edges[static_cast<std::size_t>(hit.edge)];
    layer_->set_marked({std::min(edge.from, edge.to), std::max(edge.from, edge.to)}, -1);
    layer_->set_marked_edge(hit.edge);
}

/// Returns the item, frame or arrow at the position. An arrow can be hit from a fixed number of pixels away,
/// at any zoom.
GraphHit GraphView::hit_at(const QPoint& position) const {
    return layer_->hit(mapToScene(position), 5 / transform().m11());
}

BlockId GraphView::block_at(const QPoint& position, QRectF* place) const {
    const LadderPtr& ladder = layer_->ladder();
    if (!ladder) return {};
    const GraphHit hit = layer_->hit(mapToScene(position));
    if (hit.item >= 0) {
        if (place) *place = layer_->item_rect(hit.item);
        return ladder->view.items[hit.item].block;
    }
    if (!hit.title) return {};
    if (place) *place = layer_->cluster_rect(hit.cluster);
    return ladder->view.clusters[hit.cluster].block;
}

void GraphView::anchor_at(BlockId block, const QRectF& place) {
    anchor_ = Selected::of(block);
    anchor_position_ = mapFromScene(QPointF(place.center().x(), place.top()));
}

void GraphView::mouseDoubleClickEvent(QMouseEvent* event) {
    QRectF place;
    const BlockId block = block_at(event->pos(), &place);
    if (!block.valid()) return;
    anchor_at(block, place);
    session_.ladder.toggle(block);
}

void GraphView::contextMenuEvent(QContextMenuEvent* event) {
    select_at(event->pos());
    QRectF place;
    const BlockId block = block_at(event->pos(), &place);
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    LadderController& ladder = session_.ladder;
    if (block.valid()) {
        const bool expanded = ladder.is_expanded(block);
        const bool run = !ladder.folded_with(block).empty();
        menu->addAction(expanded ? tr("Collapse with its twin")
                        : run    ? tr("Show the equal blocks")
                                 : tr("Expand with its twin"),
                        this, [this, block, place] {
                            anchor_at(block, place);
                            session_.ladder.toggle(block);
                        });
        if (ladder.can_fold(block)) {
            menu->addAction(tr("Fold equal blocks into one"), this, [this, block, place] {
                anchor_at(block, place);
                session_.ladder.fold(block);
            });
        }
        menu->addAction(tr("Expand everything inside"), this, [this, block, place] {
            anchor_at(block, place);
            session_.ladder.expand_all(block);
        });
        menu->addSeparator();
    }
    add_pin_actions(*menu, session_);
    menu->addAction(tr("Fit width"), this, &GraphView::fit_width);
    menu->addAction(tr("Fit all"), this, &GraphView::fit_all);
    if (!session_.selection.current().empty())
        menu->addAction(tr("Centre the selection"), this, &GraphView::center_selection);
    menu->popup(event->globalPos());
}

void GraphView::make_keys() {
    auto* keys = new ViewKeys(*this, tr("Graph"));
    keys->add({Qt::Key_Down}, tr("Go on along the edges"), [this] { walk(1); });
    keys->add({Qt::Key_Up}, tr("Go back along the edges"), [this] { walk(-1); });
    keys->add({Qt::Key_Left, Qt::Key_Right}, tr("Go to the twin on the other side"), [this] { walk(0); });
    keys->add({Qt::Key_Return}, tr("Expand or collapse the block, with its twin"), [this] {
        if (session_.selection.current().block.valid())
            session_.ladder.toggle(session_.selection.current().block);
    });
    keys->add({Qt::Key_Home, Qt::Key_Space}, tr("Show all"), [this] { fit_all(); });
    keys->add({Qt::Key_Plus}, tr("Zoom in"), [this] { zoom(1.25); });
    keys->add({Qt::Key_Minus}, tr("Zoom out"), [this] { zoom(0.8); });
    keys->add({Qt::Key_Escape}, tr("Select nothing"), [this] { session_.selection.clear(); });
    keys->tell(tr("Click"), tr("Select"));
    keys->tell(tr("Double click"), tr("Expand or collapse the block, with its twin"));
    keys->tell(tr("Wheel"), tr("Zoom"));
    keys->tell(tr("Drag"), tr("Move the picture"));
}

bool GraphView::viewportEvent(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QGraphicsView::viewportEvent(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const GraphHit hit = hit_at(help->pos());
    if (hit.edge >= 0) {
        const BlockView& view = layer_->ladder()->view;
        const BlockViewEdge& edge = view.edges[static_cast<std::size_t>(hit.edge)];
        QToolTip::showText(help->globalPos(), edge_tip(view, edge, session_.schedule() != nullptr),
                           viewport());
    } else if (hit.item >= 0) {
        const Ladder& ladder = *layer_->ladder();
        QToolTip::showText(help->globalPos(), item_tip(ladder.graph->graph, ladder.view.items[hit.item]),
                           viewport());
    } else if (hit.title) {
        QToolTip::showText(help->globalPos(), text(layer_->ladder()->view.clusters[hit.cluster].path),
                           viewport());
    } else {
        QToolTip::hideText();
    }
    return true;
}

void GraphView::resizeEvent(QResizeEvent* event) {
    QGraphicsView::resizeEvent(event);
    session_.ladder.set_room(
        {static_cast<double>(viewport()->width()), static_cast<double>(viewport()->height())});
    minimap_->place();
    minimap_->follow();
}

void GraphView::scrollContentsBy(int dx, int dy) {
    QGraphicsView::scrollContentsBy(dx, dy);
    viewport()->update();  // repaints everything, because the legend must not scroll with the picture
    minimap_->follow();
}

void GraphView::drawBackground(QPainter* painter, const QRectF& rect) {
    painter->fillRect(rect, to_qt(theme::paper().page));
}

void GraphView::drawForeground(QPainter* painter, const QRectF&) {
    painter->save();
    // The legend is laid out in pixels of the view. An exported picture can have several dots for each pixel.
    const double dots = painter->worldTransform().m11() / transform().m11();
    painter->setWorldTransform(QTransform::fromScale(dots, dots));
    QtCanvas canvas(*painter);
    legend_height_ =
        paint_legend(canvas, legend_of(*layer_, heat_),
                     {static_cast<double>(viewport()->width()), static_cast<double>(viewport()->height())});
    painter->restore();
}

}  // namespace rematlas::explorer
