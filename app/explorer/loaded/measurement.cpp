#include "app/explorer/loaded/measurement.h"

namespace rematlas::explorer {

Result<MeasurementPtr> load_measurement(const std::filesystem::path& path, std::stop_token stop) {
    Result<MeasuredMemory> memory = read_measured_memory(path, std::move(stop));
    if (!memory) return memory.error();
    const auto loaded = std::make_shared<Measurement>(Measurement{path, memory.take()});
    for (const MeasuredDevice& device : loaded->memory.devices)
        loaded->bands.push_back(measured_bands(loaded->memory, device));
    return MeasurementPtr(loaded);
}

}  // namespace rematlas::explorer
