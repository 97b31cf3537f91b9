#include "app/explorer/graph/graph_tips.h"

#include <QCoreApplication>

#include "app/explorer/words/wording.h"
#include "viz/paint/blocks_painter.h"

namespace rematlas::explorer {
namespace {

struct GraphTips {
    Q_DECLARE_TR_FUNCTIONS(GraphTips)
};

}  // namespace

QString item_tip(const Graph& graph, const BlockViewItem& item) {
    QString tip = text(item.path.empty() ? item.label : item.path);
    tip += QStringLiteral("\n%1, %2").arg(phase_text(item.phase), text(item_caption(item)));
    if (item.op.valid()) {
        for (TensorId made : graph.ops[item.op].outputs)
            if (const QString layout = layout_text(graph, made); !layout.isEmpty()) tip += "\n" + layout;
        const std::string& source = graph.ops[item.op].source;
        if (!source.empty()) tip += GraphTips::tr("\nline %1").arg(text(source));
    } else if (item.block.valid()) {
        const auto found = graph.module_classes.find(item.path);
        if (found != graph.module_classes.end()) tip += QStringLiteral("\n%1").arg(text(found->second));
    }
    if (!item.run.empty()) {
        tip += GraphTips::tr("\n%1 equal blocks as one; a double click shows them").arg(item.run.size());
    } else if (item.repeats > 1) {
        tip += GraphTips::tr("\n%1 equal blocks").arg(item.repeats);
    }
    if (item.runs > 0) {
        tip += GraphTips::tr("\nkept %1, recomputed %2, offloaded %3")
                   .arg(bytes_text(item.made.kept), bytes_text(item.made.recomputed),
                        bytes_text(item.made.offloaded));
    }
    return tip;
}

QString edge_tip(const BlockView& view, const BlockViewEdge& edge, bool with_schedule) {
    const auto name = [&](int item) { return text(item_title(view.items[static_cast<std::size_t>(item)])); };
    QString tip = GraphTips::tr("%1 to %2").arg(name(edge.from), name(edge.to));
    const QString bytes = bytes_text(edge.bytes.total());
    tip += edge.tensors == 1 ? GraphTips::tr("\n1 tensor, %1").arg(bytes)
                             : GraphTips::tr("\n%1 tensors, %2").arg(edge.tensors).arg(bytes);
    if (with_schedule && edge.bytes.total().value > 0)
        tip += GraphTips::tr("\nkept %1, recomputed %2, offloaded %3")
                   .arg(bytes_text(edge.bytes.kept), bytes_text(edge.bytes.recomputed),
                        bytes_text(edge.bytes.offloaded));
    return tip;
}

}  // namespace rematlas::explorer
