#include "app/explorer/jobs/tied_process.h"

#include <gtest/gtest.h>

#include <QFile>
#include <memory>
#include <thread>

#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

/// Says whether the process runs. A zombie, which has ended but was not waited for, does not run.
bool is_running(qint64 process) {
    QFile file(QStringLiteral("/proc/%1/stat").arg(process));
    if (!file.open(QIODevice::ReadOnly)) return false;
    const QByteArray stat = file.readAll();
    return stat.mid(stat.lastIndexOf(')') + 2, 1) != "Z";
}

TEST(TiedProcess, EndsWithWhatHasStartedIt) {
    std::unique_ptr<TiedProcess> process;
    qint64 id = 0;
    bool was_running = false;
    std::thread([&] {
        process = std::make_unique<TiedProcess>();
        process->start("sleep", {"60"});
        if (!process->waitForStarted()) return;
        id = process->processId();
        was_running = is_running(id);
    }).join();
    ASSERT_GT(id, 0);
    EXPECT_TRUE(was_running);
    EXPECT_TRUE(eventually([&] { return !is_running(id); }));
}

}  // namespace
}  // namespace rematlas::explorer
