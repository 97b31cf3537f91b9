// Measured memory, told apart by the places in the user's code that allocated it, and thinned out to
// what a picture can show.
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

/// The device must outlive it.
struct MeasuredBands {
    const MeasuredDevice* device = nullptr;
    /// From the bottom: what no event allocates, the places with the most bytes at the peak, all other
    /// places.
    std::vector<std::string> names = {};
    std::vector<std::uint8_t> band_of = {};  ///< for each block
    TraceMoment peak = 0;

    double length() const { return static_cast<double>(device->allocated.size()); }
};

MeasuredBands measured_bands(const MeasuredMemory& measured, const MeasuredDevice& device,
                             std::size_t most_places = 8);

/// What each band holds at a moment; together what is allocated.
std::vector<std::int64_t> bytes_by_band(const MeasuredBands& bands, TraceMoment moment);

/// Neighbouring moments that share a column of the picture, which shows the one with the most allocated.
struct BandColumn {
    double begin = 0, end = 0;  ///< moments
    TraceMoment shown = 0;
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;  ///< the most; 0 where unknown
};

struct BandColumns {
    std::vector<BandColumn> columns;
    std::vector<std::vector<std::int64_t>> bytes;  ///< for each band, of each column
};

/// Of the moments from `from` to `to`, at most `most` columns. Cost: linear in the blocks and the
/// moments shown.
BandColumns columns_of(const MeasuredBands& bands, double from, double to, std::size_t most);

/// The memory of a plan over measured moments: peak on peak, and its begin and end where the measured
/// step begins and ends. That is where memory is lowest on each side of the peak, once it has fallen by
/// half of its range and before it rises again by two fifths of the way back. `planned`: bytes for each
/// step of the plan. Empty where the measured memory never changes.
std::vector<MemoryPoint> laid_over(const std::vector<std::int64_t>& planned,
                                   const std::vector<std::int64_t>& allocated);

}  // namespace rematlas
