// A canvas that records the painted items, for tests of painters.
#pragma once

#include <string>
#include <vector>

#include "viz/paint/canvas.h"

namespace rematlas {

class RecordingCanvas : public Canvas {
  public:
    struct Box {
        Rect rect;
        std::optional<Color> fill;
        std::optional<Pen> pen;
    };
    struct Line {
        Path path;
        std::optional<Color> fill;
        std::optional<Pen> pen;
    };
    struct Text {
        Point at;
        std::string text;
        TextStyle style;
    };
    std::vector<Box> boxes;
    std::vector<Line> paths;
    std::vector<Text> texts;
    std::vector<std::string> tooltips;
    int open = 0;     ///< groups that were not ended
    int clipped = 0;  ///< clips that were not ended

    void rectangle(const Rect& rect, std::optional<Color> fill, const std::optional<Pen>& pen,
                   double) override {
        boxes.push_back({rect, fill, pen});
    }
    void path(const Path& path, std::optional<Color> fill, const std::optional<Pen>& pen) override {
        paths.push_back({path, fill, pen});
    }
    void text(Point at, std::string_view text, const TextStyle& style) override {
        texts.push_back({at, std::string(text), style});
    }
    /// Every character is 0.6 times as wide as the text size.
    double text_width(std::string_view text, const TextStyle& style) const override {
        return 0.6 * style.size * static_cast<double>(text.size());
    }
    void begin(std::string_view tooltip) override {
        tooltips.emplace_back(tooltip);
        ++open;
    }
    void end() override { --open; }
    void clip(const Rect&) override { ++clipped; }
    void unclip() override { --clipped; }

    std::size_t calls() const { return boxes.size() + paths.size() + texts.size(); }
    bool says(const std::string& part) const {
        for (const Text& t : texts)
            if (t.text.find(part) != std::string::npos) return true;
        return false;
    }
};

inline bool same_hue(const Color& a, const Color& b) {
    return a.red == b.red && a.green == b.green && a.blue == b.blue;
}

}  // namespace rematlas
