#include "app/explorer/docks/block_tree_view.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QToolButton>
#include <algorithm>

#include "app/explorer/look/pin_menu.h"
#include "app/explorer/look/qt_canvas.h"
#include "app/explorer/look/theme.h"

namespace rematlas::explorer {
namespace {

/// If a search has more matches than this, the tree is not expanded.
constexpr std::size_t most_to_open = 2000;

/// Draws a dot before the name. The dot has the colour of the decision if there is a schedule, else the
/// colour of the phase.
class NameDelegate : public QStyledItemDelegate {
  public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        const int decision = index.data(BlockTreeModel::decision_role).toInt();
        const QColor color =
            decision >= 0 ? theme::of(static_cast<Decision>(decision))
                          : theme::of(static_cast<Phase>(index.data(BlockTreeModel::phase_role).toInt()));
        option->features |= QStyleOptionViewItem::HasDecoration;
        option->icon = theme::dot(color);
        option->decorationSize = QSize(12, 12);
    }
};

/// Draws a bar below the number of bytes that a row holds at the peak. The bar's length shows the row's share
/// of all bytes that are held at the peak.
class ShareDelegate : public QStyledItemDelegate {
  public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        QStyledItemDelegate::paint(painter, option, index);
        const double share = index.data(BlockTreeModel::share_role).toDouble();
        if (share <= 0) return;
        const QRectF cell = QRectF(option.rect).adjusted(3, 0, -3, -2);
        const double width = std::max(1.5, cell.width() * std::min(share, 1.0));
        painter->fillRect(QRectF(cell.right() - width, cell.bottom() - 3, width, 3),
                          to_qt(theme::paper().data(palette::kBlue)));
    }
};

/// Draws a bar with three parts: the bytes that are kept, recomputed and offloaded.
class FateDelegate : public QStyledItemDelegate {
  public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        option->text.clear();
    }
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        QStyledItemDelegate::paint(painter, option, index);
        const QVariantList bytes = index.data(BlockTreeModel::fate_role).toList();
        double all = 0;
        for (const QVariant& part : bytes) all += part.toDouble();
        if (all <= 0) return;
        const QRectF bar =
            QRectF(option.rect)
                .adjusted(6, option.rect.height() / 2.0 - 4, -6, -option.rect.height() / 2.0 + 4);
        double x = bar.left();
        int i = 0;
        for (const Decision decision : {Decision::keep, Decision::recompute, Decision::offload}) {
            const double width = bar.width() * bytes[i++].toDouble() / all;
            painter->fillRect(QRectF(x, bar.top(), width, bar.height()), theme::of(decision));
            x += width;
        }
    }
};

}  // namespace

BlockTreeView::BlockTreeView(Session& session)
    : session_(session),
      model_(new BlockTreeModel(this)),
      filter_(new BlockFilterModel(this)),
      search_(new QLineEdit),
      count_(theme::quiet_label({})),
      partition_(new QComboBox),
      tree_(new QTreeView) {
    setMinimumWidth(200);
    filter_->setSourceModel(model_);
    search_->setPlaceholderText(tr("Search blocks and operators"));
    search_->setToolTip(tr("Enter goes from match to match, also in the graph"));
    search_->setObjectName("search");
    search_->setClearButtonEnabled(true);
    search_->addAction(theme::icon("search"), QLineEdit::LeadingPosition);
    auto* order = new QToolButton;
    order->setIcon(theme::icon("order"));
    order->setToolTip(tr("Back to execution order"));
    order->setAccessibleName(tr("Execution order"));

    tree_->setModel(filter_);
    tree_->setItemDelegateForColumn(BlockTreeModel::name, new NameDelegate(tree_));
    tree_->setItemDelegateForColumn(BlockTreeModel::peak, new ShareDelegate(tree_));
    tree_->setItemDelegateForColumn(BlockTreeModel::fate, new FateDelegate(tree_));
    tree_->setAccessibleName(tr("Blocks"));
    search_->setAccessibleName(tr("Search blocks and operators"));
    tree_->setUniformRowHeights(true);
    tree_->setSortingEnabled(true);
    tree_->setExpandsOnDoubleClick(false);
    tree_->setAllColumnsShowFocus(true);
    tree_->setIndentation(14);
    open_pin_menu_on(*tree_, session_);
    tree_->header()->setSortIndicator(-1, Qt::AscendingOrder);
    tree_->header()->setStretchLastSection(false);
    filter_->sort(-1);

    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(theme::gap, theme::gap, theme::gap, theme::gap);
    bar->addWidget(search_);
    count_->setObjectName("match_count");
    bar->addWidget(count_);
    bar->addWidget(order);
    QVBoxLayout* layout = theme::plain_column(this);
    layout->addLayout(bar);
    layout->addWidget(make_partition_row());
    layout->addWidget(tree_);
    tree_->setMinimumHeight(theme::least_list);

    connect(order, &QToolButton::clicked, this, [this] {
        tree_->header()->setSortIndicator(-1, Qt::AscendingOrder);
        filter_->sort(-1);
    });
    connect(search_, &QLineEdit::textChanged, this, &BlockTreeView::apply_search);
    connect(search_, &QLineEdit::returnPressed, this, &BlockTreeView::go_to_next_match);
    connect(tree_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& index) {
                if (!following_) session_.selection.select(model_->selected_at(filter_->mapToSource(index)));
            });
    connect(tree_, &QTreeView::activated, this, [this](const QModelIndex& index) {
        session_.selection.reveal(model_->selected_at(filter_->mapToSource(index)));
    });
    connect(&session_, &Session::graph_changed, this, &BlockTreeView::show_graph);
    connect(&session_, &Session::blocks_changed, this, &BlockTreeView::show_graph);
    connect(&session_, &Session::schedule_changed, this, [this] {
        model_->set_schedule(session_.schedule());
        filter_->columns_changed(BlockTreeModel::peak, BlockTreeModel::extra);
    });
    connect(&session_.selection, &Selection::range_changed, model_, &BlockTreeModel::set_range);
    connect(&session_.selection, &Selection::changed, this, &BlockTreeView::show_selection);
}

QWidget* BlockTreeView::make_partition_row() {
    struct Choice {
        QString title, meaning;
        std::optional<Partition> partition;
    };
    const Choice choices[] = {
        {tr("the graph's own"), tr("The file's blocks, else module paths and structure"), std::nullopt},
        {tr("modules"), tr("Module paths alone"), Partition::modules},
        {tr("articulation points"), tr("Where one tensor at most is read across, as Rockmate cuts"),
         Partition::articulation},
        {tr("bottom-up merging"), tr("Small neighbours with small interfaces together, as HiRemate merges"),
         Partition::bottom_up},
        {tr("repeats"), tr("What stands several times in a row"), Partition::repeats},
    };
    partition_->setObjectName("partition");
    partition_->setAccessibleName(tr("Blocks by"));
    partition_->setToolTip(tr("Where blocks begin and end, here and in the picture"));
    for (const Choice& choice : choices) {
        partition_->addItem(choice.title);
        partition_->setItemData(partition_->count() - 1, choice.meaning, Qt::ToolTipRole);
    }
    std::vector<std::optional<Partition>> partitions;
    for (const Choice& choice : choices) partitions.push_back(choice.partition);
    connect(partition_, qOverload<int>(&QComboBox::currentIndexChanged), this, [this, partitions](int index) {
        session_.set_partition(partitions[static_cast<std::size_t>(index)]);
    });
    connect(&session_, &Session::partition_changed, this, [this, partitions] {
        const auto chosen = std::find(partitions.begin(), partitions.end(), session_.partition());
        const QSignalBlocker quiet(partition_);
        partition_->setCurrentIndex(static_cast<int>(chosen - partitions.begin()));
    });
    auto* title = theme::quiet_label(tr("Blocks by"));
    title->setBuddy(partition_);
    auto* row = new QWidget;
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(theme::gap, 0, theme::gap, theme::gap);
    layout->addWidget(title);
    layout->addWidget(partition_, 1);
    return row;
}

void BlockTreeView::focus_search() {
    search_->setFocus(Qt::ShortcutFocusReason);
    search_->selectAll();
}

void BlockTreeView::show_graph() {
    following_ = true;
    search_->clear();
    model_->set_graph(session_.graph());
    following_ = false;
    tree_->expandToDepth(0);
    const int widths[] = {168, 92, 64, 86, 76, 50, 80, 76, 82};
    for (int column = 0; column < BlockTreeModel::column_count; ++column)
        tree_->setColumnWidth(column, widths[column]);
}

void BlockTreeView::show_selection(const Selected& selected) {
    following_ = true;
    const QModelIndex index = filter_->mapFromSource(model_->index_of(selected));
    if (index.isValid()) {
        tree_->setCurrentIndex(index);
        tree_->scrollTo(index);
    } else {
        tree_->clearSelection();
        tree_->setCurrentIndex({});
    }
    following_ = false;
    show_count();
}

std::vector<QModelIndex> BlockTreeView::matches() const {
    std::vector<QModelIndex> found, open;
    const auto push_children = [&](const QModelIndex& parent) {
        for (int row = filter_->rowCount(parent); row-- > 0;) open.push_back(filter_->index(row, 0, parent));
    };
    push_children({});
    while (!open.empty()) {
        const QModelIndex at = open.back();
        open.pop_back();
        if (filter_->matches(at)) found.push_back(at);
        push_children(at);
    }
    return found;
}

/// Goes to the next match of the search. Goes to the first match if the current row is the last match or no
/// match.
void BlockTreeView::go_to_next_match() {
    if (filter_->words().isEmpty()) return;
    const std::vector<QModelIndex> found = matches();
    if (found.empty()) return;
    const auto current = std::find(found.begin(), found.end(), tree_->currentIndex().siblingAtColumn(0));
    const auto next = current == found.end() || current + 1 == found.end() ? found.begin() : current + 1;
    tree_->setCurrentIndex(*next);
    session_.selection.reveal(model_->selected_at(filter_->mapToSource(*next)));
}

void BlockTreeView::show_count() {
    if (filter_->words().isEmpty()) return count_->clear();
    const std::vector<QModelIndex> found = matches();
    const auto current = std::find(found.begin(), found.end(), tree_->currentIndex().siblingAtColumn(0));
    count_->setText(current == found.end()
                        ? tr("%1 found").arg(found.size())
                        : tr("%1 of %2").arg(current - found.begin() + 1).arg(found.size()));
}

void BlockTreeView::apply_search(const QString& words) {
    following_ = true;
    filter_->set_search(words);
    following_ = false;
    if (!filter_->words().isEmpty()) {
        // A few letters match nearly all rows of a large graph. Users then expand the rows that they want.
        if (matches().size() <= most_to_open) tree_->expandAll();
    } else {
        tree_->collapseAll();
        tree_->expandToDepth(0);
        show_selection(session_.selection.current());
    }
    show_count();
}

}  // namespace rematlas::explorer
