// A fixture for tests on a CUDA device. The tests are skipped if there is no device, and fail if it cannot be
// opened.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "runtime/device/device.h"

namespace rematlas::test {

/// Returns the device, which is opened once per process, or an error if there is no device.
inline const Result<std::unique_ptr<DeviceRuntime>>& opened_gpu() {
    static const Result<std::unique_ptr<DeviceRuntime>> device = open_device("cuda");
    return device;
}

/// Returns a function of the software stand-in for a GPU (tests/simgpu/control.h), or null on a real GPU.
template <class Function>
Function* stand_in(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

class Gpu : public ::testing::Test {
  protected:
    void SetUp() override {
        if (opened_gpu()) return;
        const bool there_is_one =
            std::filesystem::exists("/dev/nvidia0") || std::getenv("REMATLAS_NEEDS_GPU");
        if (there_is_one) FAIL() << "there is a GPU: " << opened_gpu().error().message;
        GTEST_SKIP() << opened_gpu().error().message;
    }
    DeviceRuntime& device() const { return **opened_gpu(); }
    c10::TensorOptions floats() const {
        return c10::TensorOptions().dtype(c10::ScalarType::Float).device(device().device());
    }
};

}  // namespace rematlas::test
