#include "app/explorer/jobs/capture_controller.h"

#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>

#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

/// Writes a shell script that stands in for the runtime and reports its progress in the same way.
QString write_program(const QTemporaryDir& folder, const QByteArray& body) {
    const QString path = folder.filePath("runtime");
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return {};
    file.write("#!/bin/sh\n" + body);
    file.close();
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return path;
}

CaptureRequest request() {
    CaptureRequest asked;
    asked.model = "m.pt", asked.inputs = QStringList{"f32[2,3]"}, asked.output = "m.graph.json";
    return asked;
}

TEST(CaptureController, PassesInputsAndOptionsAsTheRuntimeWantsThem) {
    CaptureRequest asked = request();
    asked.inputs << "i64[4]<10";
    asked.loss = "mean";
    EXPECT_EQ(CaptureController::arguments(asked),
              (QStringList{"capture", "m.pt", "--input", "f32[2,3]", "--input", "i64[4]<10", "--loss", "mean",
                           "-o", "m.graph.json", "--progress-json"}));
    asked = request();
    asked.device = "meta";
    asked.device_profile = "h200";
    EXPECT_EQ(CaptureController::arguments(asked),
              (QStringList{"capture", "m.pt", "--input", "f32[2,3]", "--device", "meta", "--device-profile",
                           "h200", "-o", "m.graph.json", "--progress-json"}));
}

TEST(CaptureController, ReportsProgressAndTheGraphFile) {
    QTemporaryDir folder;
    CaptureController capture;
    capture.set_program(write_program(folder,
                                      "echo '{\"stage\": \"record\", \"fraction\": 0.25}' >&2\n"
                                      "printf '{\"stage\": \"profile\", \"fraction\": 0.9}' >&2\nexit 0\n"));
    QSignalSpy progressed(&capture, &CaptureController::progressed),
        captured(&capture, &CaptureController::captured);
    capture.start(request());
    ASSERT_TRUE(eventually([&] { return captured.count() == 1; }));
    EXPECT_EQ(captured.front().front().toString(), "m.graph.json");
    ASSERT_EQ(progressed.count(), 2) << "a last line without its end counts too";
    EXPECT_TRUE(progressed[0][0].toString().startsWith("Running one training step"));
    EXPECT_LT(progressed[0][1].toDouble(), progressed[1][1].toDouble())
        << "of the whole capture, not of a stage";
}

TEST(CaptureController, ShowsTheLastWordsOfARefusedCapture) {
    QTemporaryDir folder;
    CaptureController capture;
    capture.set_program(write_program(folder,
                                      "echo '{\"stage\": \"forward\", \"fraction\": 0.1}' >&2\n"
                                      "echo 'm.pt: aten::foo is not supported' >&2\nexit 2\n"));
    QSignalSpy failed(&capture, &CaptureController::failed), captured(&capture, &CaptureController::captured);
    capture.start(request());
    ASSERT_TRUE(eventually([&] { return failed.count() == 1; }));
    EXPECT_TRUE(failed.front().front().toString().contains("aten::foo"));
    EXPECT_EQ(captured.count(), 0);
}

TEST(CaptureController, WhatALibrarySaysAfterTheErrorDoesNotHideIt) {
    QTemporaryDir folder;
    CaptureController capture;
    capture.set_program(write_program(folder,
                                      "echo 'Warning: before' >&2\n"
                                      "echo 'rematlas: m.pt: aten::foo is not supported' >&2\n"
                                      "echo 'a library says goodbye' >&2\nexit 2\n"));
    QSignalSpy failed(&capture, &CaptureController::failed);
    capture.start(request());
    ASSERT_TRUE(eventually([&] { return failed.count() == 1; }));
    EXPECT_TRUE(failed.front().front().toString().contains("aten::foo"));
}

TEST(CaptureController, SurvivesACrash) {
    QTemporaryDir folder;
    CaptureController capture;
    capture.set_program(write_program(folder, "kill -SEGV $$\n"));
    QSignalSpy failed(&capture, &CaptureController::failed);
    capture.start(request());
    ASSERT_TRUE(eventually([&] { return failed.count() == 1; }));
    EXPECT_FALSE(capture.running());
}

TEST(CaptureController, CancelKillsTheChildAndSaysNothing) {
    QTemporaryDir folder;
    CaptureController capture;
    capture.set_program(write_program(folder, "exec sleep 600\n"));
    QSignalSpy failed(&capture, &CaptureController::failed), finished(&capture, &CaptureController::finished);
    capture.start(request());
    ASSERT_TRUE(eventually([&] { return capture.running(); }));
    capture.cancel();
    EXPECT_FALSE(capture.running());
    ASSERT_EQ(finished.count(), 1);
    EXPECT_TRUE(finished.front().front().toBool());
    EXPECT_EQ(failed.count(), 0);
}

TEST(CaptureController, SaysWhenTheProgramCannotBeStarted) {
    CaptureController capture;
    capture.set_program("/nonexistent/runtime");
    QSignalSpy failed(&capture, &CaptureController::failed);
    capture.start(request());
    EXPECT_TRUE(eventually([&] { return failed.count() == 1; }));
}

}  // namespace
}  // namespace rematlas::explorer
