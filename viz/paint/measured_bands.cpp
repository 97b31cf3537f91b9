#include "viz/paint/measured_bands.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "viz/paint/words.h"

namespace rematlas {
namespace {

constexpr std::size_t kMostBands = 100;
constexpr double kRisesAgain = 0.4;  ///< a rise by this share of the preceding fall begins the next step

/// The indices at which the step with the peak begins, has its peak, and ends.
struct RiseAndFall {
    std::size_t rise = 0, peak = 0, fall = 0;
};

/// Returns the place of the lowest level from `peak` towards `end`. The search ends where memory rises again
/// by `kRisesAgain` of its fall from the peak. A rise counts only after memory has fallen by more than
/// `half`, so that small changes near the peak do not end the search.
template <class Iterator>
Iterator valley_before(Iterator peak, Iterator end, double half) {
    Iterator lowest = peak;
    for (Iterator at = peak; at != end; ++at) {
        const double fallen = static_cast<double>(*peak) - static_cast<double>(*lowest);
        const double risen = static_cast<double>(*at) - static_cast<double>(*lowest);
        if (fallen > half && risen > kRisesAgain * fallen) break;
        if (*at < *lowest) lowest = at;
    }
    return lowest;
}

RiseAndFall around_peak(const std::vector<std::int64_t>& levels) {
    const auto [least, highest] = std::minmax_element(levels.begin(), levels.end());
    const double half = (static_cast<double>(*highest) - static_cast<double>(*least)) / 2;
    // The first moment with the highest level; `peak_moment` chooses the same moment.
    const auto top = std::find(levels.begin(), levels.end(), *highest);
    const auto before = std::make_reverse_iterator(std::next(top));
    RiseAndFall found{.peak = static_cast<std::size_t>(top - levels.begin())};
    found.rise = found.peak - static_cast<std::size_t>(valley_before(before, levels.rend(), half) - before);
    found.fall = static_cast<std::size_t>(valley_before(top, levels.end(), half) - levels.begin());
    return found;
}

/// Maps `at` from the range `from` .. `to` to the range `begin` .. `end`. Returns `end` if the first range is
/// empty.
double between(double at, double from, double to, double begin, double end) {
    return to > from ? begin + (at - from) / (to - from) * (end - begin) : end;
}

std::size_t column_at(TraceMoment moment, TraceMoment first, std::size_t moments, std::size_t count) {
    return static_cast<std::size_t>(moment - first) * count / moments;
}

std::vector<BandColumn> empty_columns(const MeasuredDevice& device, TraceMoment first, TraceMoment last,
                                      std::size_t count) {
    std::vector<BandColumn> columns(count);
    const std::size_t moments = last - first;
    for (std::size_t c = 0; c < count; ++c) {
        // `column_at` is `c` for the moments from `begin` to `end` - 1.
        const auto begin = first + static_cast<TraceMoment>((c * moments + count - 1) / count);
        const auto end = first + static_cast<TraceMoment>(((c + 1) * moments + count - 1) / count);
        BandColumn& column = columns[c];
        column = {.begin = static_cast<double>(begin), .end = static_cast<double>(end), .shown = begin};
        for (TraceMoment moment = begin; moment < end; ++moment) {
            if (device.allocated[moment] > device.allocated[column.shown]) column.shown = moment;
            if (!device.reserved.empty())
                column.reserved = std::max(column.reserved, device.reserved[moment]);
        }
        column.allocated = device.allocated[column.shown];
    }
    return columns;
}

/// Adds to the lowest band the allocated bytes that belong to no block of the trace.
void add_unnamed(const std::vector<BandColumn>& columns, std::vector<std::vector<std::int64_t>>& bytes) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
        std::int64_t named = 0;
        for (const std::vector<std::int64_t>& band : bytes) named += band[c];
        bytes[0][c] += std::max<std::int64_t>(0, columns[c].allocated - named);
    }
}

}  // namespace

MeasuredBands measured_bands(const MeasuredMemory& measured, const MeasuredDevice& device,
                             std::size_t most_places) {
    MeasuredBands bands{.device = &device, .peak = peak_moment(device.allocated)};
    bands.names.push_back(say("Picture", "there before the trace begins"));
    std::map<FrameId, std::uint8_t> band_of_place;
    for (const PlaceShare& share : alive_by_place(measured, device, bands.peak)) {
        if (share.before || bands.names.size() > std::min(most_places, kMostBands)) continue;
        band_of_place[share.place] = static_cast<std::uint8_t>(bands.names.size());
        bands.names.push_back(share.place.valid() ? share_name(measured, share)
                                                  : say("Picture", "no frames recorded"));
    }
    const auto others = static_cast<std::uint8_t>(bands.names.size());
    bands.names.push_back(say("Picture", "all other places"));
    bands.band_of.reserve(device.blocks.size());
    for (const MeasuredBlock& block : device.blocks) {
        const PlaceShare share = share_of(measured, block);
        const auto band = band_of_place.find(share.place);
        bands.band_of.push_back(share.before ? 0 : band == band_of_place.end() ? others : band->second);
    }
    return bands;
}

std::vector<std::int64_t> bytes_by_band(const MeasuredBands& bands, TraceMoment moment) {
    std::vector<std::int64_t> bytes(bands.names.size(), 0);
    std::int64_t named = 0;
    for (std::size_t i = 0; i < bands.device->blocks.size(); ++i) {
        const MeasuredBlock& block = bands.device->blocks[i];
        if (!block.alive_at(moment)) continue;
        bytes[bands.band_of[i]] += block.bytes.value;
        named += block.bytes.value;
    }
    bytes[0] += std::max<std::int64_t>(0, bands.device->allocated[moment] - named);
    return bytes;
}

BandColumns columns_of(const MeasuredBands& bands, double from, double to, std::size_t most) {
    const MeasuredDevice& device = *bands.device;
    const auto first = static_cast<TraceMoment>(std::clamp(std::floor(from), 0.0, bands.length() - 1));
    const auto last = static_cast<TraceMoment>(std::clamp(std::ceil(to), first + 1.0, bands.length()));
    const std::size_t moments = last - first, count = std::clamp<std::size_t>(most, 1, moments);
    BandColumns out{.columns = empty_columns(device, first, last, count), .bytes = {}};
    out.bytes.assign(bands.names.size(), std::vector<std::int64_t>(count + 1, 0));
    // Returns the first column that shows this moment or a later one.
    const auto column_from = [&](TraceMoment moment) {
        if (moment <= first) return std::size_t{0};
        if (moment >= last) return count;
        const std::size_t c = column_at(moment, first, moments, count);
        return out.columns[c].shown < moment ? c + 1 : c;
    };
    for (std::size_t i = 0; i < device.blocks.size(); ++i) {
        const MeasuredBlock& block = device.blocks[i];
        if (block.until <= first || block.from >= last) continue;
        std::vector<std::int64_t>& band = out.bytes[bands.band_of[i]];
        band[column_from(block.from)] += block.bytes.value;
        band[column_from(block.until)] -= block.bytes.value;
    }
    for (std::vector<std::int64_t>& band : out.bytes) {
        for (std::size_t c = 1; c < count; ++c) band[c] += band[c - 1];
        band.pop_back();
    }
    add_unnamed(out.columns, out.bytes);
    return out;
}

std::vector<MemoryPoint> laid_over(const std::vector<std::int64_t>& planned,
                                   const std::vector<std::int64_t>& allocated) {
    if (planned.empty() || allocated.empty()) return {};
    const RiseAndFall measured = around_peak(allocated);
    if (measured.rise == measured.fall) return {};
    const auto highest = std::max_element(planned.begin(), planned.end());
    const auto peak = static_cast<double>(highest - planned.begin());
    const auto end = static_cast<double>(planned.size() - 1), top = static_cast<double>(measured.peak);
    std::vector<MemoryPoint> points;
    for (std::size_t step = 0; step < planned.size(); ++step) {
        const auto at = static_cast<double>(step);
        const double x = at <= peak ? between(at, 0, peak, static_cast<double>(measured.rise), top)
                                    : between(at, peak, end, top, static_cast<double>(measured.fall));
        points.push_back({x, planned[step], static_cast<int>(step)});
    }
    return points;
}

}  // namespace rematlas
