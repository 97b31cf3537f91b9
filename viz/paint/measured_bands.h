// Measured memory by the places in the user's code that allocated it, reduced to the columns that a picture
// can show.
//
//     const MeasuredBands bands = measured_bands(measured, device);
//     const BandColumns columns = columns_of(bands, from, to, 800);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/snapshots/measured_memory.h"
#include "viz/paint/lane_data.h"

namespace rematlas {

/// `device` must outlive the object.
struct MeasuredBands {
    const MeasuredDevice* device = nullptr;
    /// Names of the bands from the bottom: memory that no event of the trace allocates, the places with the
    /// most bytes at the peak, and all other places.
    std::vector<std::string> names = {};
    std::vector<std::uint8_t> band_of = {};  ///< for each block: the index of its band
    TraceMoment peak = 0;

    double length() const { return static_cast<double>(device->allocated.size()); }
};

MeasuredBands measured_bands(const MeasuredMemory& measured, const MeasuredDevice& device,
                             std::size_t most_places = 8);

/// Returns the bytes of each band at a moment. Their sum is the allocated bytes.
std::vector<std::int64_t> bytes_by_band(const MeasuredBands& bands, TraceMoment moment);

/// Neighbouring moments that share a column of the picture. The picture shows the moment with the most
/// allocated bytes.
struct BandColumn {
    double begin = 0, end = 0;  ///< moments
    TraceMoment shown = 0;
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;  ///< the most reserved bytes at any of these moments; 0 if unknown
};

struct BandColumns {
    std::vector<BandColumn> columns;
    std::vector<std::vector<std::int64_t>> bytes;  ///< by band, then by column
};

/// Returns at most `most` columns for the moments from `from` to `to`. Cost: linear in the blocks and in the
/// shown moments.
BandColumns columns_of(const MeasuredBands& bands, double from, double to, std::size_t most);

/// Returns the memory of a plan as a curve over a measured step. The peak of the plan is placed at the
/// measured peak, and the plan begins and ends with the measured step. The measured step begins and ends at
/// the lowest memory before and after the peak. The search for this memory ends when memory has fallen by
/// half of its range and then rises again by two fifths of the fall. `planned` has the bytes at each step of
/// the plan. The result is empty if the measured memory never changes.
std::vector<MemoryPoint> laid_over(const std::vector<std::int64_t>& planned,
                                   const std::vector<std::int64_t>& allocated);

}  // namespace rematlas
