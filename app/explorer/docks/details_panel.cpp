#include "app/explorer/docks/details_panel.h"

#include <QUrl>
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "app/explorer/look/theme.h"
#include "app/explorer/words/wording.h"
#include "viz/block_view/block_view.h"

namespace rematlas::explorer {
namespace {

QString escaped(std::string_view utf8) {
    return text(utf8).toHtmlEscaped();
}

class Html {
  public:
    Html& title(const QString& main, const QString& sub) {
        out_ += QStringLiteral(
                    "<div style='font-size:15px; font-weight:600'>%1</div><div style='color:%2'>%3</div>")
                    .arg(main, theme::muted.name(), sub);
        return *this;
    }
    Html& section(const QString& name) {
        close();
        out_ += QStringLiteral("<div style='margin-top:10px; color:%1; font-weight:600'>%2</div>")
                    .arg(theme::muted.name(), name);
        return *this;
    }
    Html& row(const QString& name, const QString& value) {
        if (!open_) out_ += "<table cellspacing='0' cellpadding='2' width='100%'>";
        open_ = true;
        out_ += QStringLiteral("<tr><td>%1</td><td align='right'>%2</td></tr>").arg(name, value);
        return *this;
    }
    QString done() {
        close();
        return out_;
    }

  private:
    void close() {
        if (open_) out_ += "</table>";
        open_ = false;
    }
    QString out_;
    bool open_ = false;
};

QString op_link(const LoadedGraph& graph, OpId op) {
    return QStringLiteral(
               "<a href='op:%1' style='text-decoration:none'>%2 <span style='color:%3'>#%1</span></a>")
        .arg(op.value)
        .arg(short_op_name(graph.graph.ops[op]).toHtmlEscaped(), theme::muted.name());
}

QString block_link(const LoadedGraph& graph, BlockId block) {
    return QStringLiteral("<a href='block:%1' style='text-decoration:none'>%2</a>")
        .arg(block.value)
        .arg(block_name(graph, block).toHtmlEscaped());
}

void add_tensors(Html& html, const LoadedGraph& graph, const LoadedSchedule* schedule,
                 const std::vector<TensorId>& tensors) {
    constexpr std::size_t most = 40;
    for (std::size_t i = 0; i < std::min(most, tensors.size()); ++i) {
        const Tensor& tensor = graph.graph.tensors[tensors[i]];
        const OpId producer = graph.producer[tensors[i]];
        QString name =
            producer.valid() ? op_link(graph, producer) : tensor_name(graph, tensors[i]).toHtmlEscaped();
        // Shows the decision for a tensor that is not kept, else the kind of the tensor.
        const bool kept =
            !schedule || !producer.valid() || schedule->decisions.tensors[tensors[i]] == Decision::keep;
        const Decision decision = kept ? Decision::keep : schedule->decisions.tensors[tensors[i]];
        name += QStringLiteral(" <span style='color:%1'>%2</span>")
                    .arg(kept ? theme::muted.name() : theme::text_of(decision).name(),
                         kept ? kind_text(tensor.kind) : decision_text(decision));
        if (tensor.layout)
            name += QStringLiteral("<br><span style='color:%1'>%2</span>")
                        .arg(theme::muted.name(), layout_text(graph.graph, tensors[i]).toHtmlEscaped());
        html.row(name, bytes_text(tensor.bytes));
    }
    if (tensors.size() > most) html.row(DetailsPanel::tr("and %1 more").arg(tensors.size() - most), {});
}

QString op_html(const LoadedGraph& graph, const LoadedSchedule* schedule, OpId id) {
    const Op& op = graph.graph.ops[id];
    Html html;
    html.title(text(op.name).toHtmlEscaped(),
               op.module.empty() ? DetailsPanel::tr("op %1").arg(id.value)
                                 : DetailsPanel::tr("op %1 in %2")
                                       .arg(id.value)
                                       .arg(module_text(graph.graph, op.module).toHtmlEscaped()));
    if (!op.source.empty())
        html.row(
            op.phase == Phase::backward ? DetailsPanel::tr("Backward of the line") : DetailsPanel::tr("Line"),
            escaped(op.source));
    html.section(DetailsPanel::tr("Cost"));
    html.row(DetailsPanel::tr("Phase"), phase_text(op.phase));
    html.row(DetailsPanel::tr("Time of one run"), time_text(op.time));
    html.row(DetailsPanel::tr("Made"), bytes_text(bytes_made(graph.graph, id)));
    if (op.workspace.value > 0) html.row(DetailsPanel::tr("Workspace"), bytes_text(op.workspace));
    if (graph.block_of[id].valid())
        html.row(DetailsPanel::tr("Block"), block_link(graph, graph.block_of[id]));
    if (op.of) html.row(DetailsPanel::tr("Gradient of"), op_link(graph, *op.of));
    if (op.random) html.row(DetailsPanel::tr("Random"), DetailsPanel::tr("draws from a generator"));
    if (!op.recomputable)
        html.row(DetailsPanel::tr("Recomputable"), DetailsPanel::tr("no, runs exactly once"));
    if (schedule) {
        const int runs = schedule->decisions.runs[id];
        html.section(DetailsPanel::tr("Schedule"));
        html.row(DetailsPanel::tr("Decision"),
                 QStringLiteral("<span style='color:%1'>%2</span>")
                     .arg(theme::text_of(schedule->ops[id]).name(), decision_text(schedule->ops[id])));
        html.row(DetailsPanel::tr("Runs"), QString::number(runs));
    }
    if (!op.outputs.empty())
        add_tensors(html.section(DetailsPanel::tr("Makes")), graph, schedule, op.outputs);
    if (!op.inputs.empty()) add_tensors(html.section(DetailsPanel::tr("Reads")), graph, schedule, op.inputs);
    return html.done();
}

QString block_html(const LoadedGraph& graph, const LoadedSchedule* schedule, BlockId id) {
    const Block& block = graph.graph.blocks[id];
    const BlockFacts& facts = graph.facts[id];
    Html html;
    html.title(block_name(graph, id).toHtmlEscaped(), module_text(graph.graph, block.path).toHtmlEscaped());
    html.section(DetailsPanel::tr("One run of each op"));
    html.row(DetailsPanel::tr("Phase"), phase_text(facts.phase));
    html.row(DetailsPanel::tr("Ops"), QString::number(facts.ops));
    html.row(DetailsPanel::tr("Time"), time_text(facts.time));
    html.row(DetailsPanel::tr("Made"), bytes_text(facts.made));
    if (facts.repeats > 1) html.row(DetailsPanel::tr("Equal blocks"), QString::number(facts.repeats));
    if (block.twin.valid()) {
        html.row(facts.phase == Phase::forward ? DetailsPanel::tr("Backward twin")
                                               : DetailsPanel::tr("Forward twin"),
                 block_link(graph, block.twin));
    }
    if (block.parent.valid()) html.row(DetailsPanel::tr("Within"), block_link(graph, block.parent));
    if (schedule) {
        html.section(DetailsPanel::tr("Schedule"));
        html.row(DetailsPanel::tr("Time spent again"), percent_text(recomputed_share(*schedule, id)));
    }
    std::vector<TensorId> heaviest;
    for (OpId op : ops_under(graph, id)) {
        heaviest.insert(heaviest.end(), graph.graph.ops[op].outputs.begin(),
                        graph.graph.ops[op].outputs.end());
    }
    const auto heavier = [&](TensorId a, TensorId b) {
        return graph.graph.tensors[a].bytes > graph.graph.tensors[b].bytes;
    };
    std::stable_sort(heaviest.begin(), heaviest.end(), heavier);
    if (heaviest.size() > 12) heaviest.resize(12);
    if (!heaviest.empty())
        add_tensors(html.section(DetailsPanel::tr("Heaviest tensors made here")), graph, schedule, heaviest);
    return html.done();
}

void add_provenance(Html& html, const Graph& graph) {
    if (!graph.provenance || !graph.provenance->is_object() || graph.provenance->empty()) return;
    html.section(DetailsPanel::tr("Captured from"));
    for (const auto& [key, value] : graph.provenance->items()) {
        QString shown = text(value.is_string() ? value.get<std::string>() : value.dump());
        if (shown.size() > 90) shown = shown.left(87) + "...";
        html.row(escaped(key), shown.toHtmlEscaped());
    }
}

QString graph_html(const LoadedGraph& graph, const LoadedSchedule* schedule) {
    Html html;
    html.title(escaped(graph.graph.name), DetailsPanel::tr("one training step"));
    html.section(DetailsPanel::tr("Step without recomputation"));
    html.row(DetailsPanel::tr("Ops"), QString::number(graph.graph.ops.size()));
    html.row(DetailsPanel::tr("Tensors"), QString::number(graph.graph.tensors.size()));
    html.row(DetailsPanel::tr("Time"), time_text(Nanoseconds(graph.flat.base_time)));
    html.row(DetailsPanel::tr("Peak"), bytes_text(graph.full_peak));
    html.row(DetailsPanel::tr("Always resident"), bytes_text(Bytes(graph.flat.resident_bytes)));
    // This bound is for schedules that leave residents on the device. The schedule that is shown may move
    // residents to the host, and then its peak may be below the bound.
    if (!schedule || schedule->report.peak >= graph.least.bytes)
        html.row(DetailsPanel::tr("No schedule below"), bytes_text(graph.least.bytes));
    if (schedule && !schedule->simulation.steps.empty()) {
        const auto op = schedule->schedule.steps[schedule->simulation.peak_step];
        html.section(DetailsPanel::tr("Schedule shown"));
        html.row(DetailsPanel::tr("Steps"), QString::number(schedule->schedule.steps.size()));
        html.row(DetailsPanel::tr("Peak"), bytes_text(schedule->simulation.peak));
        if (op.runs()) html.row(DetailsPanel::tr("Peak reached in"), op_link(graph, op.op()));
    }
    html.section(DetailsPanel::tr("Bytes by kind"));
    std::array<Bytes, 7> kinds{};
    for (const Tensor& tensor : graph.graph.tensors)
        kinds[static_cast<std::size_t>(tensor.kind)] += tensor.bytes;
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        if (kinds[kind].value > 0)
            html.row(kind_text(static_cast<TensorKind>(kind)), bytes_text(kinds[kind]));
    }
    add_provenance(html, graph.graph);
    return html.done();
}

}  // namespace

QString details_html(const LoadedGraph& graph, const LoadedSchedule* schedule, const Selected& selected) {
    if (graph.graph.ops.contains(selected.op)) return op_html(graph, schedule, selected.op);
    if (graph.graph.blocks.contains(selected.block)) return block_html(graph, schedule, selected.block);
    return graph_html(graph, schedule);
}

DetailsPanel::DetailsPanel(Session& session) : session_(session) {
    setOpenLinks(false);
    this->document()->setDocumentMargin(theme::margin);
    theme::on_change(this, [this] { refresh(); });
    connect(this, &QTextBrowser::anchorClicked, this, &DetailsPanel::follow);
    connect(&session_, &Session::graph_changed, this, &DetailsPanel::refresh);
    connect(&session_, &Session::blocks_changed, this, &DetailsPanel::refresh);
    connect(&session_, &Session::schedule_changed, this, &DetailsPanel::refresh);
    connect(&session_.selection, &Selection::changed, this, &DetailsPanel::refresh);
    refresh();
}

void DetailsPanel::refresh() {
    if (!session_.graph()) {
        setHtml(QStringLiteral("<span style='color:%1'>%2</span>")
                    .arg(theme::muted.name(),
                         tr("Facts about the graph, and about the block or op you select, appear here.")));
        return;
    }
    setHtml(details_html(*session_.graph(), session_.schedule().get(), session_.selection.current()));
}

void DetailsPanel::follow(const QUrl& link) {
    const int id = link.path().toInt();
    if (link.scheme() == "op") session_.selection.select(Selected::of(OpId(id)));
    if (link.scheme() == "block") session_.selection.select(Selected::of(BlockId(id)));
}

}  // namespace rematlas::explorer
