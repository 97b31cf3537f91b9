#include "app/explorer/words/wording.h"

#include <QCoreApplication>
#include <cmath>

#include "core/base/sizes.h"
#include "viz/paint/blocks_painter.h"

namespace rematlas::explorer {

namespace {

/// Says whether the character is invisible and changes the direction of the text around it.
bool turns_the_order(QChar c) {
    const ushort code = c.unicode();
    return code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

QString text(std::string_view utf8) {
    QString shown = QString::fromUtf8(utf8.data(), static_cast<int>(utf8.size()));
    for (int i = shown.size() - 1; i >= 0; --i)
        if (turns_the_order(shown[i]))
            shown.replace(i, 1, QStringLiteral("\\u%1").arg(shown[i].unicode(), 4, 16, QLatin1Char('0')));
    return shown;
}

QString bytes_text(Bytes bytes) {
    return text(format_bytes(bytes));
}

QString precise_bytes(Bytes bytes) {
    static const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    double value = static_cast<double>(bytes.value);
    while (value >= 1024 && unit < 4) {
        value /= 1024;
        ++unit;
    }
    if (unit == 0) return QStringLiteral("%1 B").arg(bytes.value);
    const int decimals = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
    const double scale = std::pow(10.0, decimals);
    return QStringLiteral("%1 %2")
        .arg(std::ceil(value * scale - 1e-9) / scale, 0, 'f', decimals)
        .arg(units[unit]);
}

QString time_text(Nanoseconds time) {
    return text(format_duration(time));
}

QString percent_text(double share) {
    const double percent = share * 100;
    return QString::number(percent, 'f', percent >= 99.95 ? 0 : 1) + QStringLiteral(" %");
}

QString overhead_text(double overhead) {
    return QStringLiteral("%1%2 %").arg(overhead < 1 ? "" : "+").arg((overhead - 1) * 100, 0, 'f', 2);
}

QString signed_time(Nanoseconds time) {
    return time.value < 0 ? QStringLiteral("-") + time_text(-time) : QStringLiteral("+") + time_text(time);
}

QString signed_bytes(Bytes bytes) {
    return bytes.value < 0 ? QStringLiteral("-") + bytes_text(-bytes)
                           : QStringLiteral("+") + bytes_text(bytes);
}

QString decision_text(Decision decision) {
    static constexpr const char* words[] = {QT_TRANSLATE_NOOP("Decision", "kept"),
                                            QT_TRANSLATE_NOOP("Decision", "recomputed"),
                                            QT_TRANSLATE_NOOP("Decision", "offloaded")};
    return QCoreApplication::translate("Decision", words[static_cast<std::size_t>(decision)]);
}

QString phase_text(Phase phase) {
    static constexpr const char* words[] = {
        QT_TRANSLATE_NOOP("Phase", "forward"), QT_TRANSLATE_NOOP("Phase", "loss"),
        QT_TRANSLATE_NOOP("Phase", "backward"), QT_TRANSLATE_NOOP("Phase", "optimizer")};
    return QCoreApplication::translate("Phase", words[static_cast<std::size_t>(phase)]);
}

QString kind_text(TensorKind kind) {
    static constexpr const char* words[] = {
        QT_TRANSLATE_NOOP("TensorKind", "parameter"),      QT_TRANSLATE_NOOP("TensorKind", "buffer"),
        QT_TRANSLATE_NOOP("TensorKind", "input"),          QT_TRANSLATE_NOOP("TensorKind", "constant"),
        QT_TRANSLATE_NOOP("TensorKind", "activation"),     QT_TRANSLATE_NOOP("TensorKind", "gradient"),
        QT_TRANSLATE_NOOP("TensorKind", "optimizer_state")};
    return QCoreApplication::translate("TensorKind", words[static_cast<std::size_t>(kind)]);
}

QString status_text(const std::string& status) {
    if (status == "optimal") return QCoreApplication::translate("Status", "best possible");
    if (status == "feasible") return QCoreApplication::translate("Status", "found");
    if (status == "infeasible") return QCoreApplication::translate("Status", "nothing fits");
    return text(status);
}

QString short_op_name(const Op& op) {
    const std::size_t colons = op.name.rfind("::");
    return text(colons == std::string::npos ? std::string_view(op.name)
                                            : std::string_view(op.name).substr(colons + 2));
}

QString numbered_op(const LoadedGraph& graph, OpId op) {
    return QStringLiteral("%1 #%2").arg(short_op_name(graph.graph.ops[op])).arg(op.value);
}

QString block_name(const LoadedGraph& graph, BlockId block) {
    const Block& b = graph.graph.blocks[block];
    if (!b.name.empty()) return text(numbered_block(b.name, b.path));
    if (!b.path.empty()) return text(b.path);
    return phase_text(graph.facts[block].phase);
}

QString tensor_name(const LoadedGraph& graph, TensorId tensor) {
    const Tensor& t = graph.graph.tensors[tensor];
    if (!t.name.empty()) return text(t.name);
    const OpId producer = graph.producer[tensor];
    return producer.valid() ? QCoreApplication::translate("Tensor", "%1 of op %2")
                                  .arg(short_op_name(graph.graph.ops[producer]))
                                  .arg(producer.value)
                            : QCoreApplication::translate("Tensor", "tensor %1").arg(tensor.value);
}

QString layout_text(const Graph& graph, TensorId tensor) {
    const auto& layout = graph.tensors[tensor].layout;
    return layout ? text(to_string(*layout)) : QString();
}

QString source_text(const LoadedGraph& graph, TensorId tensor) {
    const OpId producer = graph.producer[tensor];
    return producer.valid() ? text(graph.graph.ops[producer].source) : QString();
}

QString module_text(const Graph& graph, const std::string& path) {
    const auto found = graph.module_classes.find(path);
    return found == graph.module_classes.end()
               ? text(path)
               : QStringLiteral("%1 (%2)").arg(text(path), text(found->second));
}

}  // namespace rematlas::explorer
