// Tests files and solvers of another machine. A stand-in for ssh runs the commands on this machine.
#include <gtest/gtest.h>

#include "app/explorer/jobs/remote_host.h"
#include "app/explorer/jobs/remote_solve.h"
#include "core/base/files.h"
#include "tests/app/explorer/remote_fixture.h"

namespace rematlas::explorer {
namespace {

TEST(RemoteFiles, AreNamedByHostAndPath) {
    const Result<RemoteFile> file = remote_file("ssh://me@gpu-1.example:2222/data/x.graph.json");
    ASSERT_TRUE(file);
    EXPECT_EQ(file->host, (RemoteHost{"me@gpu-1.example", 2222}));
    EXPECT_EQ(file->path, "/data/x.graph.json");
    EXPECT_EQ(remote_file("ssh://gpu/~/x.graph.json")->path, "x.graph.json");
    for (const char* wrong :
         {"ssh://", "ssh:///x", "ssh://-oProxyCommand=touch/x", "ssh://me@-x/x", "ssh://a b/x",
          "ssh://gpu:99999/x", "ssh://gpu", "ssh://gpu;ls/x", "ssh://gpu/a\nb"})
        EXPECT_FALSE(remote_file(wrong)) << wrong;
}

class RemoteSolves : public RemoteMachine {
  protected:
    /// Solves for the budget, which must fail, and returns the error message.
    QString failure(Bytes budget) {
        QString said;
        const auto connection = QObject::connect(&session().solver, &SolveController::failed, window.get(),
                                                 [&](const QString& message) { said = message; });
        session().solve_for(budget);
        EXPECT_TRUE(eventually([&] { return idle(); }));
        QObject::disconnect(connection);
        return said;
    }
};

TEST_F(RemoteSolves, ItsGraphIsOpenedAndItsSolversAnswer) {
    use_rematlas();
    const QString graph = write_chain(folder, 8, "it's a $(chain)");
    open(there(graph));
    ASSERT_TRUE(session().graph()) << window->last_error().toStdString();
    EXPECT_EQ(session().graph()->text, *read_file(graph.toStdString()));
    ASSERT_TRUE(session().solver.host());
    session().set_solve_settings({.time = std::chrono::seconds(2)});
    session().budget.set_text("60%");
    session().solve_for(session().budget.budget());
    ASSERT_TRUE(eventually([&] { return idle(); }));
    ASSERT_TRUE(session().schedule()) << window->last_error().toStdString();
    EXPECT_TRUE(session().schedule()->ok());
    EXPECT_LE(session().schedule()->schedule.peak, session().budget.budget());
    EXPECT_EQ(hosts().count("gpu\n"), 2) << "one for the file, one for the solver";
}

TEST_F(RemoteSolves, ABudgetTooSmallIsToldAsOfThisMachine) {
    use_rematlas();
    const QString graph = write_chain(folder, 8);
    std::vector<NoScheduleReport> reports;
    QObject::connect(&session().solver, &SolveController::infeasible, window.get(),
                     [&](const NoScheduleReport& report) { reports.push_back(report); });
    for (const QString& path : {graph, there(graph)}) {
        open(path);
        ASSERT_TRUE(session().graph());
        const std::size_t before = reports.size();
        session().solve_for(Bytes(1000));
        ASSERT_TRUE(eventually([&] { return reports.size() > before && idle(); }));
    }
    const NoScheduleReport &here = reports.front(), &there = reports.back();
    EXPECT_TRUE(there.headline.contains("No schedule fits")) << there.headline.toStdString();
    EXPECT_EQ(there.headline, here.headline);
    EXPECT_FALSE(there.dominant.empty());
    EXPECT_EQ(there.dominant, here.dominant);
    EXPECT_EQ(there.op, here.op);
    EXPECT_EQ(there.place, here.place);
    EXPECT_EQ(there.heaviest, here.heaviest);
    EXPECT_EQ(there.rest, here.rest);
    EXPECT_EQ(there.over, here.over);
}

TEST_F(RemoteSolves, WhatIsMissingThereIsToldWithWhatToDo) {
    open(there(folder.filePath("none.graph.json")));
    EXPECT_TRUE(window->last_error().contains("No such file")) << window->last_error().toStdString();
    open("ssh://away/x.graph.json");
    EXPECT_TRUE(window->last_error().contains("no route")) << window->last_error().toStdString();
    EXPECT_TRUE(window->last_error().contains("password"));
    write_program("rematlas", "exit 127\n");
    open(there(write_chain(folder, 4)));
    ASSERT_TRUE(session().graph());
    EXPECT_TRUE(failure(session().graph()->full_peak).contains("not in the PATH"));
}

TEST_F(RemoteSolves, AnAnswerForAnotherGraphIsNotTaken) {
    use_rematlas();
    const QString other = write_chain(folder, 5, "other");
    write_program("rematlas", QByteArray("shift 2\nexec '") + REMATLAS_PROGRAM + "' solve '" +
                                  other.toUtf8() + "' \"$@\"\n");
    open(there(write_chain(folder, 4)));
    const int before = session().plans.rowCount();
    EXPECT_TRUE(failure(Bytes(4 * session().graph()->full_peak.value)).contains("another graph"));
    EXPECT_EQ(session().plans.rowCount(), before);
}

TEST_F(RemoteSolves, AnAnswerBeyondTheBudgetIsNotTaken) {
    write_program("rematlas", QByteArray("graph=$2\nshift 4\nexec '") + REMATLAS_PROGRAM +
                                  "' solve \"$graph\" --budget 100% \"$@\"\n");
    open(there(write_chain(folder, 8)));
    const int before = session().plans.rowCount();
    const QString said = failure(Bytes(session().graph()->full_peak.value * 7 / 10));
    EXPECT_TRUE(said.contains("checker refuses")) << said.toStdString();
    EXPECT_EQ(session().plans.rowCount(), before);
}

TEST_F(RemoteSolves, ItsSolversEndWhenTheyAreCancelled) {
    write_program("rematlas", "exec sleep 60\n");
    open(there(write_chain(folder, 4)));
    session().solve_for(session().graph()->full_peak);
    EXPECT_TRUE(session().solver.running());
    session().cancel_all();
    EXPECT_TRUE(eventually([&] { return idle(); }));
}

TEST_F(RemoteSolves, AGraphOfThisMachineIsSolvedHere) {
    open(there(write_chain(folder, 4)));
    ASSERT_TRUE(session().solver.host());
    open(write_chain(folder, 6, "here"));
    EXPECT_FALSE(session().solver.host());
}

}  // namespace
}  // namespace rematlas::explorer
