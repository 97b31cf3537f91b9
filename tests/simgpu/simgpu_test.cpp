// Tests the stand-in for a GPU without libtorch: streams, events, recordings and memory must work, and the
// stand-in must detect errors of programs.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/simgpu/control.h"
#include "tests/simgpu/engine.h"

/// Makes the stand-in load no kernels of libtorch.
extern "C" void simgpu_without_torch() {}

namespace {

using ::testing::HasSubstr;

constexpr std::size_t mebibyte = 1 << 20;

struct Stream {
    Stream() { EXPECT_EQ(cudaStreamCreateWithPriority(&handle, cudaStreamNonBlocking, 0), cudaSuccess); }
    ~Stream() { EXPECT_EQ(cudaStreamDestroy(handle), cudaSuccess); }
    cudaStream_t handle = nullptr;
};

struct Event {
    Event() { EXPECT_EQ(cudaEventCreate(&handle), cudaSuccess); }
    ~Event() { EXPECT_EQ(cudaEventDestroy(handle), cudaSuccess); }
    cudaEvent_t handle = nullptr;
};

struct DeviceBytes {
    explicit DeviceBytes(std::size_t bytes) { EXPECT_EQ(cudaMalloc(&data, bytes), cudaSuccess); }
    ~DeviceBytes() { EXPECT_EQ(cudaFree(data), cudaSuccess); }
    unsigned char& operator[](std::size_t i) { return static_cast<unsigned char*>(data)[i]; }
    void* data = nullptr;
};

struct PinnedBytes {
    explicit PinnedBytes(std::size_t bytes) { EXPECT_EQ(cudaHostAlloc(&data, bytes, 0), cudaSuccess); }
    ~PinnedBytes() { EXPECT_EQ(cudaFreeHost(data), cudaSuccess); }
    unsigned char& operator[](std::size_t i) { return static_cast<unsigned char*>(data)[i]; }
    void* data = nullptr;
};

/// Submits work of the given virtual time that adds one to each byte.
void add_one(const Stream& stream, void* data, std::size_t bytes, double nanoseconds = 1000) {
    simgpu::Work work;
    work.name = "add one";
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    work.accesses = {{begin, begin + bytes, false}, {begin, begin + bytes, true}};
    work.nanoseconds = nanoseconds;
    work.run = [=] {
        for (std::size_t i = 0; i < bytes; ++i) ++static_cast<unsigned char*>(data)[i];
    };
    EXPECT_EQ(simgpu::submit(stream.handle, std::move(work)), cudaSuccess);
}

void wait_for(const Stream& stream, const Stream& other) {
    Event event;
    EXPECT_EQ(cudaEventRecord(event.handle, other.handle), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(stream.handle, event.handle, 0), cudaSuccess);
}

class StandIn : public ::testing::Test {
  protected:
    void SetUp() override {
        simgpu_stop_at_races(0);
        simgpu_drop_wait(0);
        ASSERT_TRUE(simgpu_set_order("eager"));
        simgpu_races();
    }
};

class StandInOrder : public StandIn, public ::testing::WithParamInterface<const char*> {
  protected:
    void SetUp() override {
        StandIn::SetUp();
        ASSERT_TRUE(simgpu_set_order(GetParam()));
    }

    /// Streams weights through two slots: a stream copies weights in, a stream computes with them, and a
    /// stream copies the results out. Returns the results that arrived.
    std::vector<int> stream_through_two_slots(int steps) {
        constexpr std::size_t bytes = mebibyte;
        Stream in, compute, out;
        PinnedBytes source(bytes), sink(bytes * static_cast<std::size_t>(steps));
        DeviceBytes slots(2 * bytes), results(2 * bytes);
        std::memset(source.data, 1, bytes);
        Event arrived[2], used[2], left[2];
        for (int step = 0; step < steps; ++step) {
            const int slot = step % 2;
            unsigned char *weights = &slots[slot * bytes], *result = &results[slot * bytes];
            if (step >= 2) cudaStreamWaitEvent(in.handle, used[slot].handle, 0);
            cudaMemcpyAsync(weights, source.data, bytes, cudaMemcpyHostToDevice, in.handle);
            cudaEventRecord(arrived[slot].handle, in.handle);
            cudaStreamWaitEvent(compute.handle, arrived[slot].handle, 0);
            if (step >= 2) cudaStreamWaitEvent(compute.handle, left[slot].handle, 0);
            cudaMemcpyAsync(result, weights, bytes, cudaMemcpyDeviceToDevice, compute.handle);
            add_one(compute, result, bytes, 100'000);
            cudaEventRecord(used[slot].handle, compute.handle);
            cudaStreamWaitEvent(out.handle, used[slot].handle, 0);
            cudaMemcpyAsync(&sink[static_cast<std::size_t>(step) * bytes], result, bytes,
                            cudaMemcpyDeviceToHost, out.handle);
            cudaEventRecord(left[slot].handle, out.handle);
        }
        EXPECT_EQ(cudaStreamSynchronize(out.handle), cudaSuccess);
        std::vector<int> arrivals;
        for (int step = 0; step < steps; ++step)
            arrivals.push_back(sink[static_cast<std::size_t>(step) * bytes]);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        return arrivals;
    }
};

TEST_P(StandInOrder, WorkOfAStreamRunsInTurnAndIsDoneWhenItIsWaitedFor) {
    Stream stream;
    DeviceBytes data(mebibyte);
    cudaMemsetAsync(data.data, 5, mebibyte, stream.handle);
    add_one(stream, data.data, mebibyte);
    ASSERT_EQ(cudaStreamSynchronize(stream.handle), cudaSuccess);
    EXPECT_EQ(data[0], 6);
    EXPECT_EQ(data[mebibyte - 1], 6);
    EXPECT_EQ(simgpu_races(), 0);
}

TEST_P(StandInOrder, StreamsThatWaitForEachOtherHaveNoRaces) {
    EXPECT_EQ(stream_through_two_slots(6), std::vector<int>(6, 2));
    EXPECT_EQ(simgpu_races(), 0) << simgpu_last_race();
}

/// Leaves out one wait at a time. Most missing waits change no values, so only the detection of races can
/// show them.
TEST_P(StandInOrder, EveryWaitThatIsLeftOutIsReported) {
    const long before = simgpu_waits();
    stream_through_two_slots(6);
    const long waits = simgpu_waits() - before;
    ASSERT_EQ(waits, 20);
    for (long left_out = 1; left_out <= waits; ++left_out) {
        simgpu_races();
        simgpu_drop_wait(left_out);
        stream_through_two_slots(6);
        EXPECT_GT(simgpu_races(), 0) << left_out;
    }
}

TEST_P(StandInOrder, CopiesOverlapWithWorkInVirtualTime) {
    const double began = simgpu_time(), computed = simgpu_busy(0, 0), in = simgpu_busy(0, 1),
                 out = simgpu_busy(0, 2);
    stream_through_two_slots(12);
    simgpu_synchronize();
    const double took = simgpu_time() - began;
    const double longest =
        std::max({simgpu_busy(0, 0) - computed, simgpu_busy(0, 1) - in, simgpu_busy(0, 2) - out});
    const double all = simgpu_busy(0, 0) - computed + simgpu_busy(0, 1) - in + simgpu_busy(0, 2) - out;
    EXPECT_GE(took, longest);
    EXPECT_LE(took, 1.15 * longest);
    EXPECT_LT(took, 0.8 * all);
}

TEST_P(StandInOrder, EventsTellVirtualTime) {
    Stream stream;
    Event begin, end;
    DeviceBytes data(mebibyte);
    cudaEventRecord(begin.handle, stream.handle);
    add_one(stream, data.data, mebibyte, 3'000'000);
    cudaEventRecord(end.handle, stream.handle);
    ASSERT_EQ(cudaEventSynchronize(end.handle), cudaSuccess);
    float milliseconds = 0;
    ASSERT_EQ(cudaEventElapsedTime(&milliseconds, begin.handle, end.handle), cudaSuccess);
    EXPECT_NEAR(milliseconds, 3, 1e-3);
}

TEST_P(StandInOrder, CapturedWorkRunsWhenItIsLaunchedAndAsOften) {
    Stream stream, side;
    DeviceBytes data(mebibyte);
    cudaMemsetAsync(data.data, 0, mebibyte, stream.handle);
    ASSERT_EQ(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    add_one(stream, data.data, mebibyte);
    wait_for(side, stream);  // from here on, `side` takes part in the recording
    add_one(side, data.data, mebibyte);
    wait_for(stream, side);
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream.handle, &graph), cudaSuccess);
    cudaGraphExec_t program = nullptr;
    ASSERT_EQ(cudaGraphInstantiateWithFlags(&program, graph, 0), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream.handle), cudaSuccess);
    EXPECT_EQ(data[7], 0);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(cudaGraphLaunch(program, stream.handle), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream.handle), cudaSuccess);
    EXPECT_EQ(data[7], 6);
    cudaGraphExecDestroy(program), cudaGraphDestroy(graph);
    EXPECT_EQ(simgpu_races(), 0) << simgpu_last_race();
}

INSTANTIATE_TEST_SUITE_P(Orders, StandInOrder, ::testing::Values("eager", "lazy", "seeded:1", "seeded:2"),
                         [](const auto& info) {
                             std::string name = info.param;
                             std::erase(name, ':');
                             return name;
                         });

TEST_F(StandIn, LazyWorkWaitsUntilSomebodyDoes) {
    ASSERT_TRUE(simgpu_set_order("lazy"));
    Stream stream, other;
    DeviceBytes data(mebibyte);
    cudaMemsetAsync(data.data, 1, mebibyte, stream.handle);
    EXPECT_EQ(data[0], 0xff) << "fresh memory is filled with 0xff";
    EXPECT_EQ(cudaStreamQuery(stream.handle), cudaErrorNotReady);
    EXPECT_EQ(cudaStreamSynchronize(other.handle), cudaSuccess);
    EXPECT_EQ(data[0], 0xff);
    wait_for(other, stream);
    cudaMemsetAsync(&data[1], 2, 1, other.handle);
    EXPECT_EQ(cudaStreamSynchronize(other.handle), cudaSuccess);
    EXPECT_EQ(data[0], 1);
    EXPECT_EQ(data[1], 2);
}

TEST_F(StandIn, RacesNameBothSides) {
    Stream one, other;
    DeviceBytes data(mebibyte);
    add_one(one, data.data, mebibyte);
    cudaMemsetAsync(&data[mebibyte / 2], 0, 1, other.handle);
    EXPECT_EQ(simgpu_races(), 1);
    EXPECT_THAT(simgpu_last_race(), AllOf(HasSubstr("a memset on stream"), HasSubstr("add one on stream"),
                                          HasSubstr("nothing orders them")));
    add_one(other, &data[0], 1);
    EXPECT_EQ(simgpu_races(), 1);
}

TEST_F(StandIn, TheHostOrdersWhatItHasWaitedFor) {
    Stream one, other;
    DeviceBytes data(mebibyte);
    add_one(one, data.data, mebibyte);
    ASSERT_EQ(cudaStreamSynchronize(one.handle), cudaSuccess);
    add_one(other, data.data, mebibyte);
    EXPECT_EQ(simgpu_races(), 0) << simgpu_last_race();
}

TEST_F(StandIn, RacesWithinARecordingAreFound) {
    Stream stream, side;
    DeviceBytes data(mebibyte);
    ASSERT_EQ(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    wait_for(side, stream);
    add_one(stream, data.data, mebibyte);
    add_one(side, data.data, mebibyte);
    wait_for(stream, side);
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream.handle, &graph), cudaSuccess);
    cudaGraphDestroy(graph);
    EXPECT_GT(simgpu_races(), 0);
}

TEST_F(StandIn, WhatMustNotHappenWhileSomethingRecordsSpoilsIt) {
    Stream stream, side;
    cudaGraph_t graph = nullptr;
    void* data = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&data, 1), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(cudaStreamEndCapture(stream.handle, &graph), cudaErrorStreamCaptureInvalidated);
    ASSERT_EQ(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream.handle), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(cudaStreamEndCapture(stream.handle, &graph), cudaErrorStreamCaptureInvalidated);
    ASSERT_EQ(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeGlobal), cudaSuccess);
    wait_for(side, stream);
    DeviceBytes* none = nullptr;
    (void)none;
    add_one(side, &graph, 1);
    EXPECT_EQ(cudaStreamEndCapture(stream.handle, &graph), cudaErrorStreamCaptureUnjoined);
    (void)cudaGetLastError();
}

TEST_F(StandIn, MemoryHasAHardEndAndAscends) {
    simgpu_set_memory(256 * static_cast<long long>(mebibyte));
    const long long used = simgpu_used(0);
    void *first = nullptr, *second = nullptr, *third = nullptr;
    ASSERT_EQ(cudaMalloc(&first, 100 * mebibyte), cudaSuccess);
    EXPECT_EQ(simgpu_used(0) - used, 100 * static_cast<long long>(mebibyte));
    EXPECT_EQ(cudaMalloc(&second, 100 * mebibyte), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&second, mebibyte), cudaSuccess);
    ASSERT_EQ(cudaFree(first), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&third, mebibyte), cudaSuccess);
    EXPECT_GT(third, second);
    EXPECT_EQ(cudaFree(second), cudaSuccess);
    EXPECT_EQ(cudaFree(third), cudaSuccess);
    EXPECT_EQ(simgpu_used(0), used);
    simgpu_set_memory(8LL << 30);
}

TEST_F(StandIn, PageableMemoryIsOverWithTheCall) {
    ASSERT_TRUE(simgpu_set_order("lazy"));
    Stream stream;
    DeviceBytes data(mebibyte);
    std::vector<unsigned char> host(mebibyte, 3);
    cudaMemcpyAsync(data.data, host.data(), mebibyte, cudaMemcpyHostToDevice, stream.handle);
    std::memset(host.data(), 4, mebibyte);  // the copy has read the values already, at the call
    cudaMemcpyAsync(host.data(), data.data, mebibyte, cudaMemcpyDeviceToHost, stream.handle);
    EXPECT_EQ(host[0], 3);
    PinnedBytes pinned(mebibyte);
    std::memset(pinned.data, 5, mebibyte);
    cudaMemcpyAsync(data.data, pinned.data, mebibyte, cudaMemcpyHostToDevice, stream.handle);
    std::memset(pinned.data, 6, mebibyte);  // too early: the copy will read pinned memory only when it runs
    ASSERT_EQ(cudaStreamSynchronize(stream.handle), cudaSuccess);
    EXPECT_EQ(data[0], 6);
}

TEST_F(StandIn, RegisteredMemoryIsPinnedUntilItIsGivenBack) {
    std::vector<unsigned char> host(mebibyte);
    const long long before = simgpu_pinned();
    ASSERT_EQ(cudaHostRegister(host.data(), host.size(), 0), cudaSuccess);
    EXPECT_EQ(simgpu_pinned() - before, static_cast<long long>(mebibyte));
    EXPECT_EQ(cudaHostRegister(host.data(), host.size(), 0), cudaErrorHostMemoryAlreadyRegistered);
    EXPECT_EQ(cudaHostUnregister(host.data()), cudaSuccess);
    EXPECT_EQ(cudaHostUnregister(host.data()), cudaErrorHostMemoryNotRegistered);
    EXPECT_EQ(simgpu_pinned(), before);
}

TEST_F(StandIn, AnErrorWithinWorkStays) {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_EXIT(
        {
            Stream stream;
            simgpu::Work work;
            work.name = "out of range";
            work.run = [] { throw std::out_of_range("index 9"); };
            simgpu::submit(stream.handle, std::move(work));
            const bool stays = cudaStreamSynchronize(stream.handle) == cudaErrorAssert &&
                               cudaStreamSynchronize(stream.handle) == cudaErrorAssert;
            std::_Exit(stays ? 7 : 1);
        },
        ::testing::ExitedWithCode(7), "out of range: index 9");
}

}  // namespace
