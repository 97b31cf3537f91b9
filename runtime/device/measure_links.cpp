#include "runtime/device/measure_links.h"

#include <ATen/ops/full.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/base/median.h"
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

}  // namespace rematlas
