#include "runtime/device/measure_host.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "core/base/sizes.h"
#include "runtime/model/model.h"

namespace rematlas {
namespace {

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
        std::array<double, 5> seconds{};
        for (double& each : seconds) {
            const auto began = std::chrono::steady_clock::now();
            run();
            each = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        }
        std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
        return std::max(seconds[seconds.size() / 2], kLeastSeconds);
    }

  private:
    void run() {
        at::_fused_adamw_(parameters_, gradients_, averages_, squares_, {}, steps_, 1e-3, 0.9, 0.999, 0.01,
                          1e-8, false, false);
    }

    std::vector<at::Tensor> parameters_, gradients_, averages_, squares_, steps_;
};

}  // namespace

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
