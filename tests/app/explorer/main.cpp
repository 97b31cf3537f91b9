// All tests of the explorer run without a display.
#include <gtest/gtest.h>

#include <QApplication>

#include "app/explorer/look/theme.h"

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();  // needs no application
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication app(argc, argv);
    rematlas::explorer::theme::apply(app);
    return RUN_ALL_TESTS();
}
