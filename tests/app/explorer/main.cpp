// Runs all tests of the explorer. They need no display.
//
// With `--sweep GRAPH` this program sweeps until it is killed, and prints the key of each plan that it has
// found and stored.
#include <gtest/gtest.h>

#include <QApplication>
#include <QTextStream>

#include "app/explorer/look/theme.h"
#include "app/explorer/session/session.h"

namespace {

int sweep_until_killed(const QString& graph) {
    rematlas::explorer::Session session;
    QTextStream out(stdout);
    const auto start = [&] {
        session.sweep.start(session.graph(), {"chen-greedy", "dtr", "atlas"}, 100, std::chrono::minutes(5));
    };
    QObject::connect(&session, &rematlas::explorer::Session::all_opened, start);
    QObject::connect(&session.plans, &rematlas::explorer::PlanList::plan_added, [&](int row) {
        if (session.plans.plan(row).origin != rematlas::explorer::PlanRow::Origin::swept) return;
        session.journal.flush();
        out << session.plans.plan(row).key << Qt::endl;
    });
    session.open({graph});
    return QApplication::exec();
}

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();  // a list of the tests needs no application
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication app(argc, argv);
    if (argc == 3 && std::string_view(argv[1]) == "--sweep") return sweep_until_killed(argv[2]);
    rematlas::explorer::theme::apply(app);
    return RUN_ALL_TESTS();
}
