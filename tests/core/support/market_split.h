// An integer program for which feasible points are found at once, but a proof takes very long.
#pragma once

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "core/milp/milp.h"

namespace rematlas {

/// Four equations over thirty columns of 0 and 1. The cost is the difference between the two sides of each
/// equation, summed over the equations (market split: Cornuejols and Dawande 1998).
inline MilpModel market_split() {
    std::mt19937 random(4);
    MilpModel model;
    std::vector<std::pair<int, double>> rows[4];
    double sums[4] = {};
    for (int i = 0; i < 30; ++i) {
        const int column = model.add_column({.lower = 0, .upper = 1, .integer = true});
        for (int row = 0; row < 4; ++row) {
            rows[row].emplace_back(column, static_cast<double>(random() % 100));
            sums[row] += rows[row].back().second;
        }
    }
    for (int row = 0; row < 4; ++row) {
        rows[row].emplace_back(model.add_column({.cost = 1}), 1.0);
        rows[row].emplace_back(model.add_column({.cost = 1}), -1.0);
        const double half = std::floor(sums[row] / 2);
        model.add_row(half, half, rows[row]);
    }
    model.offset = 1;
    return model;
}

}  // namespace rematlas
