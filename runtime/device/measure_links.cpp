#include "runtime/device/measure_links.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/base/median.h"
#include "core/base/sizes.h"
#include "runtime/device/copies.h"
#include "runtime/model/model.h"

namespace rematlas {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t small_bytes = 64;
constexpr int small_copies = 256;
constexpr int most_of_the_other_way = 64;  // limit on the copies in the other direction per timed copy; in
                                           // known links, the two speeds differ by a smaller factor

double seconds_since(Clock::time_point began) {
    return std::chrono::duration<double>(Clock::now() - began).count();
}

class LinkMeter {
  public:
    LinkMeter(DeviceRuntime& device, const LinkMeasurement& how, CopyQueues& copies, PinnedSlab& slab)
        : device_(device), how_(how), copies_(copies), bytes_(static_cast<std::size_t>(how.bytes.value)) {
        const auto options = c10::TensorOptions().dtype(c10::ScalarType::Byte).device(device.device());
        std::memset(slab.data(), 1, slab.bytes());
        for (std::size_t way = 0; way < 2; ++way) {
            on_device_[way] = at::full({how.bytes.value}, 2, options);
            on_host_[way] = static_cast<char*>(slab.data()) + way * bytes_;
        }
        device.synchronize();
    }

    Links measure() {
        Links links;
        time(CopyQueue::out, how_.copies, bytes_), time(CopyQueue::in, how_.copies, bytes_);  // warms up
        links.to_host_bytes_per_second =
            figure([&] { return speed(time(CopyQueue::out, how_.copies, bytes_)); });
        links.to_device_bytes_per_second =
            figure([&] { return speed(time(CopyQueue::in, how_.copies, bytes_)); });
        links.to_host_contended_bytes_per_second = std::min(
            figure([&] { return speed(time_contended(CopyQueue::out)); }), links.to_host_bytes_per_second);
        links.to_device_contended_bytes_per_second = std::min(
            figure([&] { return speed(time_contended(CopyQueue::in)); }), links.to_device_bytes_per_second);
        const double latency =
            std::max(figure([&] { return time(CopyQueue::out, small_copies, small_bytes); }),
                     figure([&] { return time(CopyQueue::in, small_copies, small_bytes); })) /
            small_copies;
        links.copy_latency = Nanoseconds(std::llround(latency * 1e9));
        const double least =
            7 * latency * std::min(links.to_host_bytes_per_second, links.to_device_bytes_per_second);
        links.least_copy =
            Bytes(std::int64_t{1} << std::clamp(std::lround(std::log2(std::max(least, 1.0))), 0L, 40L));
        return links;
    }

  private:
    template <class Measure>
    double figure(Measure&& measure) {
        std::vector<double> figures;
        for (int round = 0; round < how_.rounds; ++round) {
            figures.push_back(measure());
            if (how_.progress) how_.progress(double(++done_) / (6 * how_.rounds));
        }
        return upper_median(std::move(figures));
    }

    double speed(double seconds) const {
        return double(how_.copies) * double(bytes_) / std::max(seconds, 1e-9);
    }

    void copy(CopyQueue queue, std::size_t bytes) {
        const std::size_t way = queue == CopyQueue::out ? 0 : 1;
        if (queue == CopyQueue::out)
            copies_.copy_out(on_host_[way], on_device_[way].const_data_ptr(), bytes);
        else
            copies_.copy_in(on_device_[way].mutable_data_ptr(), on_host_[way], bytes);
    }

    double time(CopyQueue queue, int count, std::size_t bytes) {
        const auto began = Clock::now();
        for (int i = 0; i < count; ++i) copy(queue, bytes);
        copies_.synchronize(queue);
        return seconds_since(began);
    }

    /// Times copies while the other direction is busy. Doubles the number of copies in the other direction
    /// until that direction is still busy when the timed copies are done.
    double time_contended(CopyQueue queue) {
        const CopyQueue other = queue == CopyQueue::out ? CopyQueue::in : CopyQueue::out;
        for (int more = 2;; more *= 2) {
            const auto began = Clock::now();
            for (int i = 0; i < how_.copies; ++i) {
                copy(queue, bytes_);
                for (int k = 0; k < more; ++k) copy(other, bytes_);
            }
            copies_.synchronize(queue);
            const double mine = seconds_since(began);
            copies_.synchronize(other);
            if (seconds_since(began) > 1.05 * mine || more >= most_of_the_other_way) return mine;
        }
    }

    DeviceRuntime& device_;
    const LinkMeasurement& how_;
    CopyQueues& copies_;
    std::size_t bytes_;
    at::Tensor on_device_[2];  ///< one for each direction: out, in
    char* on_host_[2];
    int done_ = 0;
};

constexpr std::int64_t kSmall = 64;    // elements
constexpr double kBytesMoved = 7 * 4;  // per element: four tensors are read and three are written
constexpr double kLeastSeconds = 1e-9;

class TimedUpdate {
  public:
    explicit TimedUpdate(std::int64_t elements) {
        const auto options = c10::TensorOptions().dtype(c10::ScalarType::Float);
        for (std::vector<at::Tensor>* tensors : {&parameters_, &gradients_, &averages_, &squares_})
            tensors->push_back(at::full({elements}, 1e-3, options));
        steps_.push_back(at::full({}, 1, options));
    }

    double median_seconds() {
        run();  // the first run touches the memory
        std::vector<double> seconds(5);
        for (double& each : seconds) {
            const auto began = Clock::now();
            run();
            each = seconds_since(began);
        }
        return std::max(upper_median(std::move(seconds)), kLeastSeconds);
    }

  private:
    void run() {
        at::_fused_adamw_(parameters_, gradients_, averages_, squares_, {}, steps_, 1e-3, 0.9, 0.999, 0.01,
                          1e-8, false, false);
    }

    std::vector<at::Tensor> parameters_, gradients_, averages_, squares_, steps_;
};

}  // namespace

Result<Links> measure_links(DeviceRuntime& device, const LinkMeasurement& how) {
    Result<std::unique_ptr<CopyQueues>> copies = open_copies(device);
    if (!copies) return copies.error();
    Result<std::unique_ptr<PinnedSlab>> slab =
        open_slab(device, 2 * static_cast<std::size_t>(how.bytes.value));
    if (!slab) return slab.error();
    try {
        return LinkMeter(device, how, **copies, **slab).measure();
    } catch (const std::exception& error) {
        return Error{device.name() + ": " + one_line(error), ErrorKind::failure};
    }
}

Result<HostProfile> measure_host(Bytes bytes) {
    try {
        const std::int64_t elements = std::max<std::int64_t>(bytes.value / 4, 1);
        const double small = TimedUpdate(kSmall).median_seconds();
        const double large = TimedUpdate(elements).median_seconds();
        const std::string how = "measured: fused AdamW updates of " + format_bytes(bytes) +
                                " of f32 parameters with " + std::to_string(at::get_num_threads()) +
                                " threads, the median of five";
        HostProfile host{.name =
                             "a measured host with " + std::to_string(at::get_num_threads()) + " threads"};
        host.cores = at::get_num_threads();
        host.memory = Bytes(std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE));
        host.memory_bytes_per_second = kBytesMoved * static_cast<double>(elements) / large;
        host.launch = Nanoseconds(static_cast<std::int64_t>(small * 1e9));
        host.sources = {{"cores", "threads that libtorch has"},
                        {"memory_bytes", "of this machine, as it says itself"},
                        {"memory_bytes_per_second", how},
                        {"launch_ns", "measured: the same of " + std::to_string(kSmall) + " numbers"}};
        return host;
    } catch (const std::exception& error) {
        return Error{"the host: " + one_line(error), ErrorKind::failure};
    }
}

}  // namespace rematlas
