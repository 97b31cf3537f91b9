#include <algorithm>
#include <bit>
#include <set>

#include "core/base/sizes.h"
#include "viz/paint/axis.h"
#include "viz/paint/blocks_painter.h"
#include "viz/paint/painters.h"
#include "viz/paint/palette.h"

namespace rematlas {

namespace {

using namespace palette;

constexpr double kMargin = 24;
constexpr double kHeader = 92;

const TextStyle kLegend{.size = 9.5, .color = kLight.ink};

/// Draws one picture. The functions for its parts share the data members.
class BlockPainter {
  public:
    BlockPainter(const BlockPicture& picture, PictureFormat format)
        : picture_(picture),
          heaviest_(heaviest_edge(picture.view)),
          width_(std::max(picture.layout.size.width, 640.0) + 2 * kMargin),
          canvas_(make_canvas(format, {width_, picture.layout.size.height + kHeader + 2 * kMargin},
                              picture.graph.name)) {}

    Result<std::string> paint() {
        header();
        double left = (width_ - picture_.layout.size.width) / 2;
        paint_blocks(*canvas_, {.view = picture_.view,
                                .layout = picture_.layout,
                                .with_schedule = picture_.schedule != nullptr,
                                .origin = {left, kMargin + kHeader}});
        return canvas_->finish();
    }

  private:
    void header() {
        const Graph& graph = picture_.graph;
        double room = width_ - 2 * kMargin;
        TextStyle title{.size = 16, .bold = true};
        canvas_->text({kMargin, kMargin + 14}, fitted(*canvas_, graph.name, title, room), title);
        std::string about = std::to_string(graph.ops.size()) + " ops in " +
                            std::to_string(picture_.view.items.size()) + " items";
        if (picture_.full_depth > 0)
            about +=
                ", depth " + std::to_string(picture_.depth) + " of " + std::to_string(picture_.full_depth);
        if (const Schedule* s = picture_.schedule) {
            about += "   ·   " + s->solver;
            if (s->budget.value > 0) about += ", budget " + format_bytes(s->budget);
            about += ", peak " + format_bytes(s->peak) + ", time " + format_overhead(s->overhead);
        }
        TextStyle quiet{.size = 10.5, .color = kLight.quiet};
        canvas_->text({kMargin, kMargin + 32}, fitted(*canvas_, about, quiet, room), quiet);
        legend(kMargin + 52);
    }

    void legend(double y) {
        double x = kMargin;
        std::set<Phase> phases;
        for (const BlockViewItem& item : picture_.view.items) phases.insert(item.phase);
        if (picture_.schedule) {
            phases.erase(Phase::forward);
            x = swatch(x, y, of(Decision::keep), "forward, kept");
            x = swatch(x, y, of(Decision::recompute), "recomputed");
            if (any_offloaded()) x = swatch(x, y, of(Decision::offload), "offloaded");
        }
        for (Phase phase : phases) x = swatch(x, y, of(phase), std::string(to_string(phase)));
        x = kMargin;
        double row = y + 18;
        for (double part : {0.04, 0.3, 1.0}) {
            // Powers of two are easy to read as sizes.
            auto bytes = static_cast<std::int64_t>(
                std::bit_floor(static_cast<std::uint64_t>(part * static_cast<double>(heaviest_))));
            if (bytes <= 0) continue;
            canvas_->line({x, row - 3}, {x + 22, row - 3},
                          {kLight.line.shade(0.2), edge_width(bytes, heaviest_)});
            std::string text = format_bytes(Bytes(bytes));
            canvas_->text({x + 28, row}, text, kLegend);
            x += 28 + picture_ruler().text_width(text, kLegend) + 18;
        }
        if (picture_.schedule && heaviest_ > 0) {
            canvas_->line({x, row - 3}, {x + 22, row - 3}, {of(Decision::recompute), 1.6, {5, 3}});
            canvas_->text({x + 28, row}, "recomputed before its use", kLegend);
        }
    }

    double swatch(double x, double y, Color color, const std::string& name) {
        canvas_->rectangle({x, y - 8.5, 14, 10}, color.tint(0.72), Pen{color, 1.2}, 2.5);
        canvas_->text({x + 20, y}, name, kLegend);
        return x + 20 + picture_ruler().text_width(name, kLegend) + 18;
    }

    bool any_offloaded() const {
        return std::any_of(picture_.view.items.begin(), picture_.view.items.end(),
                           [](const BlockViewItem& item) { return item.made.offloaded.value > 0; });
    }

    const BlockPicture& picture_;
    std::int64_t heaviest_;
    double width_;
    std::unique_ptr<PictureCanvas> canvas_;
};

}  // namespace

Result<std::string> draw_blocks(const BlockPicture& picture, PictureFormat format) {
    return BlockPainter(picture, format).paint();
}

}  // namespace rematlas
