#include "tests/app/explorer/training_chain.h"

#include <QCoreApplication>
#include <QThread>

#include "core/base/files.h"
#include "core/graph/graph_file.h"

namespace rematlas::explorer {
namespace {

TensorId add_tensor(Graph& graph, const std::string& name, Bytes bytes, TensorKind kind) {
    return graph.tensors.push_back({.name = name, .bytes = bytes, .kind = kind});
}

OpId add_op(Graph& graph, const std::string& name, Nanoseconds time, std::vector<TensorId> inputs,
            TensorId output, Phase phase, const std::string& module) {
    Op op;
    op.name = name;
    op.time = time;
    op.inputs = std::move(inputs);
    op.outputs = {output};
    op.phase = phase;
    op.module = module;
    return graph.ops.push_back(op);
}

}  // namespace

Graph training_chain(int layers, Bytes bytes, Nanoseconds time) {
    Graph graph;
    graph.name = "chain";
    TensorId last = add_tensor(graph, "input", bytes, TensorKind::input);
    std::vector<TensorId> weights, convolved, activated{last};
    std::vector<OpId> forward;
    for (int i = 0; i < layers; ++i) {
        const std::string module = "layers." + std::to_string(i);
        weights.push_back(
            add_tensor(graph, "weight" + std::to_string(i), Bytes(1024), TensorKind::parameter));
        convolved.push_back(add_tensor(graph, "conv" + std::to_string(i), bytes, TensorKind::activation));
        forward.push_back(add_op(graph, "aten::convolution", time, {last, weights[i]}, convolved[i],
                                 Phase::forward, module + ".conv"));
        last = add_tensor(graph, "relu" + std::to_string(i), bytes, TensorKind::activation);
        activated.push_back(last);
        forward.push_back(
            add_op(graph, "aten::relu", time, {convolved[i]}, last, Phase::forward, module + ".relu"));
    }
    TensorId gradient = add_tensor(graph, "loss_gradient", bytes, TensorKind::gradient);
    add_op(graph, "rematlas::output_gradients", time, {last}, gradient, Phase::loss, "");
    for (int i = layers - 1; i >= 0; --i) {
        const std::string module = "layers." + std::to_string(i);
        TensorId next = add_tensor(graph, "relu_gradient" + std::to_string(i), bytes, TensorKind::gradient);
        OpId op = add_op(graph, "aten::threshold_backward", time, {gradient, convolved[i]}, next,
                         Phase::backward, module + ".relu");
        graph.ops[op].of = forward[2 * i + 1];
        gradient = add_tensor(graph, "conv_gradient" + std::to_string(i), bytes, TensorKind::gradient);
        op = add_op(graph, "aten::convolution_backward", time, {next, activated[i], weights[i]}, gradient,
                    Phase::backward, module + ".conv");
        graph.ops[op].of = forward[2 * i];
    }
    graph.results = {gradient};
    return graph;
}

GraphPtr loaded_chain(int layers, const std::optional<Device>& device) {
    Graph chain = training_chain(layers);
    chain.device = device;
    const std::string text = graph_text(chain);
    Result<Graph> graph = parse_graph(text, "chain");
    graph->sha256 = sha256(text);
    return prepare_graph(graph.take(), text, "chain.graph.json");
}

QString write_chain(const QTemporaryDir& folder, int layers, const QString& name, Bytes bytes,
                    Nanoseconds time) {
    const QString path = folder.filePath(name + ".graph.json");
    Graph graph = training_chain(layers, bytes, time);
    const Result<void> written = write_graph(graph, path.toStdString());
    return written ? path : QString();
}

void process_events() {
    QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    QThread::msleep(5);
}

}  // namespace rematlas::explorer
