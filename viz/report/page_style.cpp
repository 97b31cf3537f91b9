#include "viz/report/page_style.h"

#include <cmath>
#include <cstdio>

#include "viz/paint/palette.h"
#include "viz/report/report_files.h"

namespace rematlas {
namespace {

using palette::Paper;

std::string hex_of(const Color& color) {
    const auto part = [](double x) { return static_cast<unsigned>(std::lround(255 * x)); };
    char text[8];
    std::snprintf(text, sizeof text, "#%02x%02x%02x", part(color.red), part(color.green), part(color.blue));
    return text;
}

/// Returns the colours as CSS custom properties, which the style sheet and the script read.
std::string colours_of(const Paper& paper) {
    std::string out;
    const auto add = [&](const std::string& name, const Color& color) {
        out += "--" + name + ":" + hex_of(color) + ";";
    };
    add("page", paper.page);
    add("ink", paper.ink);
    add("quiet", paper.quiet);
    add("line", paper.line);
    add("grid", paper.grid);
    add("panel", paper.panel);
    add("budget", paper.budget);
    add("mark", paper.mark);
    for (const Phase phase : {Phase::forward, Phase::loss, Phase::backward, Phase::optimizer})
        add(std::string(to_string(phase)), paper.of(phase));
    add("keep", paper.of(Decision::keep));
    add("recompute", paper.of(Decision::recompute));
    add("offload", paper.of(Decision::offload));
    for (std::size_t i = 0; i < palette::kCurves.size(); ++i)
        add("curve-" + std::to_string(i), paper.data(palette::kCurves[i]));
    out += "--curves:" + std::to_string(palette::kCurves.size()) + ";";
    char part[16];
    std::snprintf(part, sizeof part, "%.2f", paper.bar);
    return out + "--bar-part:" + part + ";";
}

}  // namespace

/// Returns the style sheet. With it, the page has the colours for dark paper on a dark screen, unless the
/// reader chose light paper. A reader with a light screen can choose dark paper.
std::string page_style(PageUse use) {
    const std::string light = colours_of(palette::kLight), dark = colours_of(palette::kDark);
    std::string out = "\n:root{color-scheme:light;" + light +
                      "}\n@media screen and (prefers-color-scheme:dark){" +
                      ":root:not([data-paper=light]){color-scheme:dark;" + dark + "}}\n" +
                      "@media screen{:root[data-paper=dark]{color-scheme:dark;" + dark + "}}\n";
    for (int percent = 0; percent <= 100; ++percent)
        out += ".part-" + std::to_string(percent) + "{--part:" + std::to_string(percent) + "%}";
    // The swatches of legends have these classes.
    for (std::size_t i = 0; i < palette::kCurves.size(); ++i) {
        const std::string name = "curve-" + std::to_string(i);
        out += "." + name + "{background:var(--" + name + ")}";
    }
    return out + "\n" + report_style(use);
}

}  // namespace rematlas
