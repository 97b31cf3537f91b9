#include "viz/paint/palette.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "viz/paint/blocks_painter.h"
#include "viz/paint/layers_painter.h"

namespace rematlas {
namespace {

using palette::Paper;

constexpr std::array kPhases = {Phase::forward, Phase::loss, Phase::backward, Phase::optimizer};
constexpr std::array kDecisions = {Decision::keep, Decision::recompute, Decision::offload};
const std::pair<const char*, const Paper*> kPapers[] = {{"light", &palette::kLight},
                                                        {"dark", &palette::kDark}};

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

/// Matrices that turn linear light into the linear light that an eye sees: an eye with all cones, and eyes
/// that lack one kind of cone (Machado, Oliveira and Fernandes 2009, full severity).
const std::pair<const char*, Matrix> kEyes[] = {
    {"all cones", {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}},
    {"protanopia",
     {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}}},
    {"deuteranopia",
     {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}}},
    {"tritanopia",
     {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}}}};

Triple linear(const Color& color) {
    auto of = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
    return {of(color.red), of(color.green), of(color.blue)};
}

Triple times(const Matrix& matrix, const Triple& v) {
    Triple out{};
    for (std::size_t i = 0; i < 3; ++i)
        out[i] = matrix[i][0] * v[0] + matrix[i][1] * v[1] + matrix[i][2] * v[2];
    return out;
}

double luminance(const Color& color) {
    Triple v = linear(color);
    return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2];
}

/// Returns the contrast ratio of two colours as defined by the Web Content Accessibility Guidelines: 1 to 21.
double contrast(const Color& a, const Color& b) {
    double high = std::max(luminance(a), luminance(b)), low = std::min(luminance(a), luminance(b));
    return (high + 0.05) / (low + 0.05);
}

/// Returns the CIE L*a*b* colour of linear light.
Triple lab(Triple v) {
    for (double& c : v) c = std::clamp(c, 0.0, 1.0);
    const Matrix to_xyz = {{{0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}}};
    Triple xyz = times(to_xyz, v);
    auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
    double x = f(xyz[0] / 0.9505), y = f(xyz[1]), z = f(xyz[2] / 1.089);
    return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

/// Returns the difference of two colours as an eye with this matrix sees them. A difference of 2.3 is just
/// visible if the colours are side by side.
double difference(const Matrix& eye, const Color& a, const Color& b) {
    Triple p = lab(times(eye, linear(a))), q = lab(times(eye, linear(b)));
    return std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

void expect_apart(const std::string& what, const std::vector<Color>& colors, double least) {
    for (const auto& [eye, matrix] : kEyes)
        for (std::size_t i = 0; i < colors.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                EXPECT_GT(difference(matrix, colors[i], colors[j]), least)
                    << what << ", " << eye << ", " << j << " and " << i;
}

TEST(Palette, DecisionsCanBeToldApartByAllEyesOnBothPapers) {
    for (const auto& [name, paper] : kPapers) {
        std::vector<Color> colors;
        for (Decision decision : kDecisions) colors.push_back(paper->of(decision));
        expect_apart(name, colors, 20);
    }
}

TEST(Palette, PhasesCanBeToldApartByAllEyesOnBothPapers) {
    for (const auto& [name, paper] : kPapers) {
        std::vector<Color> colors;
        for (Phase phase : kPhases) colors.push_back(paper->of(phase));
        expect_apart(name, colors, 14);
    }
}

/// Layers that touch must differ clearly, because readers compare neighbouring layers.
TEST(Palette, LayersThatTouchDifferOnBothPapers) {
    for (const auto& [name, paper] : kPapers) {
        MemoryStack stack(10, {.kind = MemoryLayer::Kind::module, .name = "", .during = {}});
        for (std::size_t i = 1; i < stack.size(); ++i) {
            const Color below = layer_color(stack, i - 1, *paper), above = layer_color(stack, i, *paper);
            EXPECT_GT(difference(kEyes[0].second, below, above), 22) << name << ", layer " << i;
            EXPECT_GE(contrast(paper->ink, above), 4.5) << name << ", layer " << i;
        }
    }
}

TEST(Palette, CurvesCanBeToldApart) {
    constexpr std::size_t shapes = 5;     // points of curves have five shapes by turns
    constexpr double just_visible = 2.3;  // if the colours are side by side
    for (std::size_t i = 0; i < std::size(palette::kCurves); ++i)
        for (std::size_t j = 0; j < i; ++j) {
            EXPECT_GT(difference(kEyes[0].second, palette::kCurves[i], palette::kCurves[j]), 13)
                << j << " and " << i;
            if ((i - j) % shapes != 0) continue;
            for (const auto& [eye, matrix] : kEyes)
                EXPECT_GT(difference(matrix, palette::kCurves[i], palette::kCurves[j]), just_visible)
                    << eye << ", " << j << " and " << i;
        }
}

TEST(Palette, HeatRisesForAllEyesOnBothPapers) {
    for (const auto& [name, paper] : kPapers) {
        std::vector<Color> colors;
        for (const double heat : {0.0, 0.5, 1.0}) colors.push_back(heat_color(heat, *paper));
        expect_apart(name, colors, 13);
        for (int i = 0; i < 20; ++i) {
            const double away =
                difference(kEyes[0].second, heat_color(0, *paper), heat_color(i / 20.0, *paper));
            EXPECT_LT(away,
                      difference(kEyes[0].second, heat_color(0, *paper), heat_color((i + 1) / 20.0, *paper)))
                << name << ", " << i;
        }
    }
}

TEST(Palette, DataStandsOutFromThePage) {
    for (const auto& [name, paper] : kPapers) {
        for (Phase phase : kPhases) EXPECT_GT(contrast(paper->of(phase), paper->page), 2.2) << name;
        for (Decision decision : kDecisions) EXPECT_GT(contrast(paper->of(decision), paper->page), 3) << name;
        EXPECT_GT(contrast(paper->line, paper->page), 2) << name;
    }
}

TEST(Palette, TextCanBeReadOnBothPapers) {
    for (const auto& [name, paper] : kPapers) {
        for (const Color& ground : {paper->page, paper->panel})
            for (const Color& text : {paper->ink, paper->quiet, paper->budget})
                EXPECT_GE(contrast(text, ground), 4.5) << name;
        EXPECT_GE(contrast(paper->ink, paper->mark), 4.5) << name;
        for (Phase phase : kPhases)
            EXPECT_GE(contrast(paper->ink, paper->pale(paper->of(phase), paper->bar)), 4.5) << name;
        for (Decision decision : kDecisions) {
            EXPECT_GE(contrast(paper->ink, paper->pale(paper->of(decision), paper->bar)), 4.5) << name;
            EXPECT_GE(contrast(paper->text(paper->of(decision)), paper->panel), 4.5) << name;
        }
        for (const Color& curve : palette::kCurves)
            EXPECT_GE(contrast(paper->text(paper->data(curve)), paper->page), 4.5) << name;
    }
}

}  // namespace
}  // namespace rematlas
