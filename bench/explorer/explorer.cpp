// Measures the response times of the explorer's window with one graph, and for how long the window does not
// respond to the user.
//
//     bench_explorer GRAPH.graph.json | layered:OPS | irregular:OPS  [RUNS]
//
// Rows:
//     open       from the file to the first picture
//     one        from the request to the picture in which the collapsed block with the most ops is expanded,
//                after the window had time to prepare this picture
//     one cold   the same without preparation
//     all        from the request to the picture in which every op is shown
//     select     from the selection of an op to the picture that marks the op
//     hover      while the pointer moves across the view
//     ROW busy   for each row above: the longest turn of the event loop, in processor time
//     stall      the longest turn of the event loop in all of these measurements, except "one cold"
//     busy       the same in processor time; on an idle machine the stall would be as long
//     ahead      from the first picture until the picture of "one" is prepared
//     items      number of items in the picture of "all"
//     rss        memory of the program at the end
//
// `layered` is a deep network of equal layers, `irregular` a random graph without any structure. This program
// makes both of them, from a fixed seed. The window is 1280x800, off-screen. The results in bench/results
// were measured on two processors that eight programs shared, so their wall times are up to several times
// those of a quiet machine.
#include <QApplication>
#include <QMouseEvent>
#include <QTemporaryDir>
#include <QThread>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <random>
#include <string>

#include "app/explorer/look/theme.h"
#include "app/explorer/window/main_window.h"
#include "core/graph/graph_file.h"
#include "tests/viz/layered_graph.h"
#include "viz/layout/cluster_layout.h"
#include "viz/layout/layout_programs.h"

namespace {

using namespace rematlas;
using Clock = std::chrono::steady_clock;

/// Returns the processor time that this thread has used so far.
Clock::duration worked() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// The longest turn of the event loop, in wall time and in processor time.
struct Stall {
    Clock::duration waited{}, busy{};

    template <class Turn>
    void take(Turn turn) {
        const Clock::time_point begin = Clock::now();
        const Clock::duration before = worked();
        turn();
        waited = std::max(waited, Clock::now() - begin);
        busy = std::max(busy, worked() - before);
    }
};

double milliseconds(Clock::duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
}

/// Returns a graph without modules. Each forward op reads the output of the previous op. A third of the ops
/// also read a near op, and a few read a distant op. Each forward op has a gradient op.
Graph irregular_graph(int ops) {
    std::mt19937 random(1);
    const auto one_in = [&](int n) { return random() % static_cast<unsigned>(n) == 0; };
    Graph graph;
    graph.name = "irregular";
    std::vector<TensorId> made{graph.tensors.push_back({"input", Bytes(1024), TensorKind::input})};
    const auto add = [&](std::vector<TensorId> inputs, Phase phase) {
        std::sort(inputs.begin(), inputs.end());
        inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
        const bool backward = phase == Phase::backward;
        Op op;
        op.name = backward ? "gradient" : "op";
        op.phase = phase;
        op.time = Nanoseconds(1000 + random() % 9000);
        op.inputs = std::move(inputs);
        op.outputs = {graph.tensors.push_back({op.name + std::to_string(graph.ops.size()),
                                               Bytes((1 + random() % 64) << 10),
                                               backward ? TensorKind::gradient : TensorKind::activation})};
        const TensorId out = op.outputs.front();
        graph.ops.push_back(std::move(op));
        return out;
    };
    for (int i = 0; i < ops / 2; ++i) {
        std::vector<TensorId> inputs{made.back()};
        if (one_in(3))
            inputs.push_back(made[made.size() - 1 - random() % std::min<std::size_t>(8, made.size())]);
        if (one_in(20)) inputs.push_back(made[random() % made.size()]);
        made.push_back(add(inputs, Phase::forward));
    }
    TensorId gradient;
    for (int i = ops / 2; i-- > 0;) {
        std::vector<TensorId> inputs = graph.ops[OpId(i)].inputs;
        if (gradient.valid()) inputs.push_back(gradient);
        gradient = add(inputs, Phase::backward);
        graph.ops[OpId(static_cast<std::int64_t>(graph.ops.size()) - 1)].of = OpId(i);
    }
    graph.results = {gradient};
    return graph;
}

double resident_mib() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmRSS:")) return std::atof(line.c_str() + 6) / 1024;
    return 0;
}

class Bench {
  public:
    explicit Bench(std::string name) : name_(std::move(name)), window_(nullptr) {
        window_.resize(1280, 800);
        window_.show();
        turn_until([] { return true; });
    }

    void run(const QString& path, int number) {
        run_ = number;
        LadderController& ladder = window_.session().ladder;
        Clock::time_point shown{}, ready{};
        QObject here;
        QObject::connect(&ladder, &LadderController::changed, &here, [&] {
            if (ladder.ladder()) shown = Clock::now();
        });
        QObject::connect(&ladder.ahead(), &explorer::LaddersAhead::ready, &here, [&] {
            if (ready == Clock::time_point()) ready = Clock::now();
        });
        time("open", [&] { window_.open({path}); });
        if (!ladder.ladder()) {
            std::fprintf(stderr, "%s: %s\n", name_.c_str(), window_.last_error().toUtf8().data());
            std::exit(1);
        }
        turn_until([&] { return !ladder.ahead().running(); });
        QObject::disconnect(&ladder, nullptr, &here, nullptr);
        if (ready > shown) row("ahead", milliseconds(ready - shown), "ms");
        time("one", [&] { ladder.expand_block(some_block()); });
        time("all", [&] { ladder.set_depth(ladder.full_depth()); });
        const auto& items = ladder.ladder()->view.items;
        row("items", static_cast<double>(items.size()), "items");
        time("select", [&] { window_.session().selection.select(Selected::of(items[items.size() / 3].op)); });
        time("hover", [&] { hover(); });
        row("stall", milliseconds(stall_.waited), "ms");
        row("busy", milliseconds(stall_.busy), "ms");
        row("rss", resident_mib(), "MiB");
    }

    /// Expands a block in a window that has prepared no picture.
    void run_cold(const QString& path, int number) {
        run_ = number;
        LadderController& ladder = window_.session().ladder;
        ladder.set_layout_function(
            [shapes = std::make_shared<LayoutCache>(), programs = std::make_shared<LayoutPrograms>()](
                const LayoutRequest& request, std::stop_token stop) {
                LayoutLimits limits{.stop = std::move(stop)};
                limits.programs = programs;
                return layout_by_clusters(request, *shapes, limits);
            });
        window_.open({path});
        turn_until([&] {
            return ladder.ladder() && !window_.session().busy() && !window_.session().probe.running();
        });
        time("one cold", [&] { ladder.expand_block(some_block()); });
    }

  private:
    using LadderController = explorer::LadderController;
    using Selected = explorer::Selected;

    void row(const char* what, double value, const char* unit) {
        std::printf("%s %s,%d,%.1f,%s\n", name_.c_str(), what, run_, value, unit);
        std::fflush(stdout);
    }

    template <class Act>
    void time(const char* what, Act act) {
        longest_ = {};
        const Clock::time_point begin = Clock::now();
        longest_.take(act);
        explorer::Session& session = window_.session();
        turn_until([&] { return !session.opening() && !session.ladder.running(); });
        row(what, milliseconds(Clock::now() - begin), "ms");
        turn_until([&] { return !session.busy() && !session.probe.running(); });
        row((std::string(what) + " busy").c_str(), milliseconds(longest_.busy), "ms");
        stall_.waited = std::max(stall_.waited, longest_.waited);
        stall_.busy = std::max(stall_.busy, longest_.busy);
    }

    /// Runs the event loop until the condition holds and the window is repainted.
    void turn_until(const std::function<bool()>& holds) {
        const Clock::time_point last = Clock::now() + std::chrono::minutes(2);
        for (int quiet = 0; quiet < 2 && Clock::now() < last;) {
            longest_.take([] {
                QCoreApplication::processEvents(QEventLoop::AllEvents, 1);
                QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
            });
            quiet = holds() ? quiet + 1 : 0;
            if (quiet == 0) QThread::msleep(1);
        }
    }

    /// Returns the collapsed block with the most ops in the first picture.
    BlockId some_block() {
        const auto& items = window_.session().ladder.ladder()->view.items;
        const auto most = std::max_element(items.begin(), items.end(), [](const auto& a, const auto& b) {
            return (a.block.valid() ? a.op_count : 0) < (b.block.valid() ? b.op_count : 0);
        });
        return most->block;
    }

    void hover() {
        QWidget* view = window_.graph_view().viewport();
        for (int x = 0; x < view->width(); x += 20) {
            QMouseEvent move(QEvent::MouseMove, QPointF(x, view->height() / 2.0), Qt::NoButton, Qt::NoButton,
                             Qt::NoModifier);
            QCoreApplication::sendEvent(view, &move);
        }
    }

    std::string name_;
    int run_ = 0;
    Stall longest_, stall_;  ///< longest turn of the current measurement, and of all measurements
    explorer::MainWindow window_;
};

/// Returns the file to open. If the graph is made here, it is written into `folder`.
QString graph_file(const std::string& what, const QTemporaryDir& folder) {
    const std::size_t colon = what.find(':');
    if (colon == std::string::npos) return QString::fromStdString(what);
    const int ops = std::atoi(what.c_str() + colon + 1);
    // Each layer has eight ops, and three ops are outside of layers.
    Graph graph =
        what.starts_with("layered") ? LayeredGraph::make((ops - 3) / 8) : irregular_graph(std::max(ops, 2));
    const QString path = folder.filePath("bench.graph.json");
    if (const auto written = write_graph(graph, path.toStdString()); !written) {
        std::fprintf(stderr, "%s\n", written.error().message.c_str());
        std::exit(1);
    }
    return path;
}

std::string name_of(const std::string& what) {
    std::string name = what.substr(what.rfind('/') + 1);
    name = name.substr(0, name.find(".graph.json"));
    std::replace(name.begin(), name.end(), ':', ' ');
    return name;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fputs("usage: bench_explorer GRAPH.graph.json|layered:OPS|irregular:OPS [RUNS]\n", stderr);
        return 2;
    }
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication app(argc, argv);
    explorer::theme::apply(app);
    QTemporaryDir folder;
    const QString path = graph_file(argv[1], folder);
    const int runs = argc > 2 ? std::atoi(argv[2]) : 1;
    for (int run = 1; run <= runs; ++run) Bench(name_of(argv[1])).run(path, run);
    for (int run = 1; run <= runs; ++run) Bench(name_of(argv[1])).run_cold(path, run);
    return 0;
}
