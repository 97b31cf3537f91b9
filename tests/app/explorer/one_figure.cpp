#include "tests/app/explorer/one_figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/explorer/look/theme.h"
#include "app/explorer/words/wording.h"

namespace rematlas::explorer {

void expect_one_figure(MainWindow& window) {
    Session& session = window.session();
    if (!session.graph()) return;
    // The label has no-break spaces between numbers and units. They are replaced, because other texts have
    // normal spaces.
    const std::string answer =
        window.findChild<QLabel*>("answer")->text().replace(QChar::Nbsp, ' ').toStdString();
    const PlanList& plans = session.plans;
    for (int row = 0; row < plans.rowCount(); ++row) {
        const std::optional<double> bound = session.answers().bound_of(*plans.plan(row).schedule);
        EXPECT_EQ(plans.index(row, PlanList::bound).data().toString(),
                  bound ? overhead_text(*bound) : QString());
        if (bound) {
            EXPECT_LE(*bound, plans.plan(row).schedule->overhead * (1 + 1e-9)) << "a plan is below its bound";
        }
    }
    if (!session.schedule() || !session.schedule()->ok()) return;
    const Schedule& shown = session.schedule()->schedule;
    const std::optional<double> bound = session.answers().bound_of(shown);
    // After a failed search the label says why it failed, until the question changes.
    const bool tells_a_failure =
        answer.starts_with("<span style='color:" + theme::danger.name().toStdString());
    if (bound && !is_none(gap_above(shown.overhead, *bound)) && !tells_a_failure) {
        EXPECT_THAT(answer, testing::HasSubstr(overhead_text(*bound).toStdString()));
    }
    for (const SweepCurve& curve : session.sweep.sweep().curves)
        for (const SweepPoint& point : curve.points) {
            const auto known =
                session.answers().known().bound({point.budget, curve.copies, session.sweep.sweep().pins});
            if (!known || point.status == "infeasible") continue;
            ASSERT_TRUE(point.bound);
            EXPECT_GE(point.bound->overhead, *known) << curve.solver;
        }
}

}  // namespace rematlas::explorer
