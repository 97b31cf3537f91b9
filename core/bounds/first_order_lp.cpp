#include "core/bounds/first_order_lp.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rematlas {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double length(const Vector& a) {
    return std::sqrt(dot(a, a));
}

/// The scaled matrix, stored both by rows and by columns.
class Matrix {
  public:
    explicit Matrix(const MilpModel& programme)
        : row_begin_(programme.row_begin), row_index_(programme.index), row_value_(programme.value) {
        column_begin_.assign(programme.columns.size() + 1, 0);
        for (int j : row_index_) ++column_begin_[j + 1];
        std::partial_sum(column_begin_.begin(), column_begin_.end(), column_begin_.begin());
        std::vector<int> next(column_begin_.begin(), column_begin_.end() - 1);
        column_index_.resize(row_index_.size());
        place_.resize(row_index_.size());
        for (std::size_t i = 0; i < rows(); ++i) {
            for (int e = row_begin_[i]; e < row_begin_[i + 1]; ++e) {
                place_[e] = next[row_index_[e]]++;
                column_index_[place_[e]] = static_cast<int>(i);
            }
        }
        column_value_.resize(row_value_.size());
        copy_to_columns();
    }

    std::size_t rows() const { return row_begin_.size() - 1; }
    std::size_t columns() const { return column_begin_.size() - 1; }

    double row_times(std::size_t i, const Vector& x) const {
        double sum = 0;
        for (int e = row_begin_[i]; e < row_begin_[i + 1]; ++e) sum += row_value_[e] * x[row_index_[e]];
        return sum;
    }
    double column_times(std::size_t j, const Vector& y) const {
        double sum = 0;
        for (int e = column_begin_[j]; e < column_begin_[j + 1]; ++e)
            sum += column_value_[e] * y[column_index_[e]];
        return sum;
    }

    /// A number for each row and each column: the largest absolute value. If `norms` is called with `sums`:
    /// the sum of the absolute values.
    struct Norms {
        Vector row, column;
    };
    Norms norms(bool sums) const {
        Norms found{Vector(rows(), 0), Vector(columns(), 0)};
        for (std::size_t i = 0; i < rows(); ++i) {
            for (int e = row_begin_[i]; e < row_begin_[i + 1]; ++e) {
                const double size = std::abs(row_value_[e]);
                double &row = found.row[i], &column = found.column[row_index_[e]];
                row = sums ? row + size : std::max(row, size);
                column = sums ? column + size : std::max(column, size);
            }
        }
        return found;
    }

    void scale(const Vector& by_row, const Vector& by_column) {
        for (std::size_t i = 0; i < rows(); ++i) {
            for (int e = row_begin_[i]; e < row_begin_[i + 1]; ++e)
                row_value_[e] *= by_row[i] * by_column[row_index_[e]];
        }
        copy_to_columns();
    }

  private:
    void copy_to_columns() {
        for (std::size_t e = 0; e < row_value_.size(); ++e) column_value_[place_[e]] = row_value_[e];
    }

    std::vector<int> row_begin_, row_index_;
    Vector row_value_;
    std::vector<int> column_begin_, column_index_, place_;
    Vector column_value_;
};

struct LpPoint {
    Vector x, y;
};

class Iteration {
  public:
    Iteration(const MilpModel& programme, const FirstOrderLimits& limits)
        : programme_(programme), limits_(limits), matrix_(programme) {
        row_scale_.assign(matrix_.rows(), 1);
        column_scale_.assign(matrix_.columns(), 1);
        const Vector no_scale(matrix_.columns(), 1);
        scale_by(inverse(matrix_.norms(false).row), no_scale);
        for (int i = 0; i < 10; ++i) {
            const Matrix::Norms largest = matrix_.norms(false);
            scale_by(inverse_root(largest.row), inverse_root(largest.column));
        }
        const Matrix::Norms sums = matrix_.norms(true);
        scale_by(inverse_root(sums.row), inverse_root(sums.column));
        set_up();
    }

    DualBest run() {
        best_.value = dual_value(programme_, Vector(matrix_.rows(), 0));
        best_.multipliers.assign(matrix_.rows(), 0);
        if (matrix_.rows() == 0) return std::move(best_);
        while (best_.iterations < limits_.iterations && !limits_.stop()) {
            step();
            ++best_.iterations;
            if (best_.iterations % kLook == 0 && !look()) return std::move(best_);
        }
        look();
        return std::move(best_);
    }

  private:
    static constexpr int kLook = 50, kPatience = 2000;
    static constexpr double kSufficient = 0.2, kNecessary = 0.8, kLongRun = 0.36;

    static Vector inverse(Vector v) {
        for (double& a : v) a = a > 0 ? 1 / a : 1;
        return v;
    }
    static Vector inverse_root(Vector v) {
        for (double& a : v) a = a > 0 ? 1 / std::sqrt(a) : 1;
        return v;
    }
    void scale_by(const Vector& by_row, const Vector& by_column) {
        matrix_.scale(by_row, by_column);
        for (std::size_t i = 0; i < by_row.size(); ++i) row_scale_[i] *= by_row[i];
        for (std::size_t j = 0; j < by_column.size(); ++j) column_scale_[j] *= by_column[j];
    }

    void set_up() {
        double all = 0;
        for (const MilpColumn& column : programme_.columns) all += column.cost;
        cost_unit_ = all > 0 ? all / 100 : 1;
        for (std::size_t j = 0; j < matrix_.columns(); ++j) {
            cost_.push_back(programme_.columns[j].cost / cost_unit_ * column_scale_[j]);
            upper_.push_back(1 / column_scale_[j]);
        }
        for (std::size_t i = 0; i < matrix_.rows(); ++i)
            least_.push_back(programme_.row_lower[i] * row_scale_[i]);
        step_ = 0.998 / std::max(1.02 * norm(), 1e-12);
        const double sides = length(least_), costs = length(cost_);
        weight_ = sides > 0 && costs > 0 ? costs / sides : 1;
        at_ = image_ = start_ = {Vector(matrix_.columns(), 0), Vector(matrix_.rows(), 0)};
    }

    /// Returns the largest singular value of the scaled matrix, by the power method.
    double norm() const {
        Vector x(matrix_.columns()), y(matrix_.rows());
        for (std::size_t j = 0; j < x.size(); ++j) x[j] = 1 + static_cast<double>(j % 7) / 7;
        double size = 0;
        for (int i = 0; i < 40; ++i) {
            const double scale = 1 / std::max(length(x), 1e-300);
            for (double& a : x) a *= scale;
            for (std::size_t r = 0; r < y.size(); ++r) y[r] = matrix_.row_times(r, x);
            for (std::size_t j = 0; j < x.size(); ++j) x[j] = matrix_.column_times(j, y);
            size = std::sqrt(length(x));
        }
        return size;
    }

    /// Makes one step of the hybrid gradient method to `image_`. Then restarts from `image_` if a restart is
    /// due. Otherwise reflects `at_` at `image_` and pulls it towards the point of the last restart. The pull
    /// gets weaker with each step since that restart.
    void step() {
        const double primal = step_ / weight_, dual = step_ * weight_;
        double moved_x = 0, moved_y = 0;
        ahead_.resize(at_.x.size());
        for (std::size_t j = 0; j < at_.x.size(); ++j) {
            const double gradient = cost_[j] - matrix_.column_times(j, at_.y);
            image_.x[j] = std::clamp(at_.x[j] - primal * gradient, 0.0, upper_[j]);
            ahead_[j] = 2 * image_.x[j] - at_.x[j];
            moved_x += (image_.x[j] - at_.x[j]) * (image_.x[j] - at_.x[j]);
        }
        for (std::size_t i = 0; i < at_.y.size(); ++i) {
            const double slack = least_[i] - matrix_.row_times(i, ahead_);
            image_.y[i] = std::max(at_.y[i] + dual * slack, 0.0);
            moved_y += (image_.y[i] - at_.y[i]) * (image_.y[i] - at_.y[i]);
        }
        const double residual = std::sqrt(moved_x * weight_ + moved_y / weight_);
        if (run_ == 0) first_residual_ = residual;
        if (restart_is_due(residual)) return restart();
        last_residual_ = residual;
        const double share = static_cast<double>(run_ + 1) / static_cast<double>(run_ + 2);
        pull(at_.x, image_.x, start_.x, share);
        pull(at_.y, image_.y, start_.y, share);
        ++run_;
    }

    static void pull(Vector& at, const Vector& image, const Vector& start, double share) {
        for (std::size_t i = 0; i < at.size(); ++i)
            at[i] = share * (2 * image[i] - at[i]) + (1 - share) * start[i];
    }

    bool restart_is_due(double residual) const {
        if (run_ == 0) return false;
        return residual <= kSufficient * first_residual_ ||
               (residual <= kNecessary * first_residual_ && residual > last_residual_) ||
               run_ >= kLongRun * best_.iterations + kLook;
    }

    void restart() {
        const double dx = distance(image_.x, start_.x), dy = distance(image_.y, start_.y);
        if (dx > 1e-12 && dy > 1e-12) weight_ = std::sqrt(weight_ * dy / dx);
        at_ = image_;
        start_ = image_;
        run_ = 0;
        last_residual_ = std::numeric_limits<double>::infinity();
    }

    static double distance(const Vector& a, const Vector& b) {
        double sum = 0;
        for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
        return std::sqrt(sum);
    }

    /// Evaluates the multipliers. Returns false if the search should end.
    bool look() {
        Vector multipliers(matrix_.rows());
        for (std::size_t i = 0; i < multipliers.size(); ++i)
            multipliers[i] = image_.y[i] * row_scale_[i] * cost_unit_;
        if (limits_.improve) limits_.improve(multipliers);
        DualValue value = dual_value(programme_, multipliers);
        if (value.infeasible || value.bound > best_.value.bound) {
            best_.value = std::move(value);
            best_.multipliers = std::move(multipliers);
        }
        if (best_.value.infeasible || best_.value.bound >= limits_.enough) return false;
        const double bound = static_cast<double>(best_.value.bound);
        if (best_.iterations < next_check_) return true;
        next_check_ = best_.iterations + kPatience;
        const bool gains = bound > checked_ * (1 + limits_.least_gain);
        checked_ = bound;
        return gains;
    }

    const MilpModel& programme_;
    const FirstOrderLimits& limits_;
    Matrix matrix_;
    Vector row_scale_, column_scale_, cost_, upper_, least_;
    double cost_unit_ = 1, step_ = 0, weight_ = 1;
    LpPoint at_, image_, start_;
    Vector ahead_;
    double first_residual_ = 0, last_residual_ = std::numeric_limits<double>::infinity();
    int run_ = 0, next_check_ = kPatience;
    double checked_ = 0;
    DualBest best_;
};

}  // namespace

DualBest solve_relaxation(const MilpModel& programme, const FirstOrderLimits& limits) {
    return Iteration(programme, limits).run();
}

}  // namespace rematlas
