#include "viz/paint/layers_painter.h"

#include <algorithm>
#include <cmath>

#include "viz/paint/memory_curve.h"
#include "viz/paint/words.h"

namespace rematlas {

namespace {

using namespace palette;

/// Mean bytes in each column of the picture. A column is one point wide.
using Columns = std::vector<double>;

class LayersPainter {
  public:
    LayersPainter(Canvas& canvas, const ScheduleScene& scene, const SchedulePlaces& places)
        : canvas_(canvas),
          scene_(scene),
          memory_(scene.data.memory),
          places_(places),
          width_(static_cast<std::size_t>(std::max(1.0, std::floor(places.memory.width)))) {}

    void paint() {
        areas();
        Columns below(width_, 0);
        for (const MemoryLayer& layer : *scene_.stack) {
            const Columns own = columns_of(layer);
            name(layer, own, below);
            for (std::size_t i = 0; i < width_; ++i) below[i] += own[i];
        }
    }

  private:
    /// Paints the area of each layer together with everything below the layer, the top layer first. The next
    /// area then covers everything except the layer's own part.
    void areas() {
        const MemoryStack& stack = *scene_.stack;
        std::vector<MemoryPoint> upto = memory_;
        Path outline;
        for (std::size_t i = stack.size(); i-- > 0;) {
            const std::vector<Point> top = staircase(upto, scene_.data.length, places_.x, places_.y);
            if (i + 1 == stack.size()) outline = line_through(top);
            canvas_.begin(stack[i].name);
            canvas_.path(area_under(top, places_.memory.y + places_.memory.height),
                         layer_color(stack, i, scene_.paper), Pen{scene_.paper.panel, 0.8});
            canvas_.end();
            for (MemoryPoint& point : upto) point.bytes -= bytes_at(stack[i], point);
        }
        canvas_.path(outline, {}, Pen{scene_.paper.ink, 0.8});
    }

    static std::int64_t bytes_at(const MemoryLayer& layer, const MemoryPoint& point) {
        return layer.during[static_cast<std::size_t>(point.step)];
    }

    Columns columns_of(const MemoryLayer& layer) const {
        Columns columns(width_, 0);
        for (std::size_t i = 0; i < memory_.size(); ++i) {
            const double end = i + 1 < memory_.size() ? memory_[i + 1].x : scene_.data.length;
            const double from = column_of(memory_[i].x), to = column_of(end);
            for (auto c = static_cast<std::size_t>(from); c < width_ && static_cast<double>(c) < to; ++c) {
                const double share =
                    std::min(to, static_cast<double>(c) + 1) - std::max(from, static_cast<double>(c));
                columns[c] += share * static_cast<double>(bytes_at(layer, memory_[i]));
            }
        }
        return columns;
    }

    double column_of(double x) const {
        return std::clamp(places_.x.at(x) - places_.memory.x, 0.0, static_cast<double>(width_));
    }

    /// Paints the name of the layer at the place where the layer's mean height over the width of the name is
    /// largest. Paints nothing if this height is too small for the name.
    void name(const MemoryLayer& layer, const Columns& own, const Columns& below) {
        const TextStyle style{.size = scene_.text_size, .color = scene_.paper.ink, .align = Align::center};
        const std::string words = layer_name(layer);
        const auto room = static_cast<std::size_t>(canvas_.text_width(words, style) + 12);
        if (room >= width_) return;
        double sum = 0, under = 0, most = -1, under_most = 0;
        std::size_t best = 0;
        for (std::size_t i = 0; i < width_; ++i) {
            sum += own[i];
            under += below[i];
            if (i >= room) {
                sum -= own[i - room];
                under -= below[i - room];
            }
            if (i + 1 < room || sum <= most) continue;
            most = sum;
            under_most = under;
            best = i + 1 - room;
        }
        const double bytes = most / static_cast<double>(room), low = under_most / static_cast<double>(room);
        if (places_.y.at(0) - places_.y.at(bytes) < style.size + 3) return;
        const double middle = (places_.y.at(low) + places_.y.at(low + bytes)) / 2;
        canvas_.text({places_.memory.x + static_cast<double>(best) + static_cast<double>(room) / 2,
                      middle + style.size * 0.36},
                     words, style);
    }

    Canvas& canvas_;
    const ScheduleScene& scene_;
    const std::vector<MemoryPoint>& memory_;
    const SchedulePlaces& places_;
    std::size_t width_;
};

}  // namespace

std::string layer_name(const MemoryLayer& layer) {
    if (layer.kind == MemoryLayer::Kind::resident) return say("Picture", "resident");
    if (layer.kind == MemoryLayer::Kind::workspace) return say("Picture", "workspace");
    return layer.name;
}

Color layer_color(const MemoryStack& stack, std::size_t layer, const palette::Paper& paper) {
    if (stack[layer].kind == MemoryLayer::Kind::resident) return paper.pale(paper.data(kGrey), paper.bar);
    if (stack[layer].kind == MemoryLayer::Kind::workspace) return paper.pale(paper.data(kGrey), 0.75);
    std::size_t place = 0;
    for (std::size_t i = 0; i < layer; ++i) place += stack[i].kind == MemoryLayer::Kind::module ? 1 : 0;
    const Color part = kCurves[std::min(place, kCurves.size() - 1)];
    return paper.pale(paper.data(part), std::max(0.5, paper.bar));
}

void paint_layers(Canvas& canvas, const ScheduleScene& scene, const SchedulePlaces& places) {
    LayersPainter(canvas, scene, places).paint();
}

}  // namespace rematlas
