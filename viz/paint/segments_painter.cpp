#include <algorithm>

#include "core/base/sizes.h"
#include "viz/paint/measured_painter.h"
#include "viz/paint/words.h"

namespace rematlas {
namespace {

constexpr double kSegmentRow = 16, kSegmentGap = 4, kSegmentNumbers = 84;

Color color_of(const HeldBlock& block, const palette::Paper& paper) {
    return block.allocated ? paper.pale(paper.data(palette::kBlue), 0.35)
                           : paper.pale(paper.data(palette::kOrange), 0.35);
}

void paint_segment(Canvas& canvas, const SegmentsScene& scene, const HeldSegment& segment, const Rect& row) {
    const double scale = row.width / static_cast<double>(std::max<std::int64_t>(1, segment.bytes.value));
    canvas.rectangle(row, scene.paper.panel, Pen{scene.paper.line, 0.8});
    double painted_to = row.x;  // a block is left out if it ends less than half a point right of this
    for (const HeldBlock& block : segment.blocks) {
        if (!block.allocated && !block.awaiting) continue;
        if (block.address < segment.address) continue;
        const double right = row.x + row.width;
        const double begin =
            std::min(right, row.x + static_cast<double>(block.address - segment.address) * scale);
        const double end = std::min(right, begin + static_cast<double>(block.bytes.value) * scale);
        if (end - painted_to < 0.5) continue;
        canvas.rectangle(
            {std::max(begin, painted_to), row.y + 1, end - std::max(begin, painted_to), row.height - 2},
            color_of(block, scene.paper));
        painted_to = end;
    }
}

}  // namespace

void paint_segments(Canvas& canvas, const SegmentsScene& scene) {
    std::vector<const HeldSegment*> segments;
    for (const HeldSegment& segment : scene.device.segments) segments.push_back(&segment);
    std::stable_sort(segments.begin(), segments.end(),
                     [](const HeldSegment* a, const HeldSegment* b) { return a->bytes > b->bytes; });
    TextStyle style{.size = scene.text_size, .color = scene.paper.quiet, .align = Align::right};
    const double width = std::max(10.0, scene.rect.width - kSegmentNumbers - 14);
    double y = scene.rect.y;
    std::size_t shown = 0;
    for (; shown < segments.size(); ++shown, y += kSegmentRow + kSegmentGap) {
        const bool last = shown + 1 == segments.size();
        if (y + (last ? 1 : 2) * kSegmentRow > scene.rect.y + scene.rect.height) break;
        const HeldSegment& segment = *segments[shown];
        const double share = static_cast<double>(segment.bytes.value) /
                             static_cast<double>(std::max<std::int64_t>(1, segments.front()->bytes.value));
        const double left = scene.rect.x + kSegmentNumbers;
        canvas.text({left - 8, y + kSegmentRow / 2 + style.size * 0.36}, format_bytes(segment.bytes), style);
        paint_segment(canvas, scene, segment, {left, y, std::max(2.0, width * share), kSegmentRow});
    }
    if (shown == segments.size()) return;
    style.align = Align::left;
    canvas.text({scene.rect.x + kSegmentNumbers, y + kSegmentRow / 2 + style.size * 0.36},
                filled(say("Picture", "and %1 more"), {std::to_string(segments.size() - shown)}), style);
}

}  // namespace rematlas
