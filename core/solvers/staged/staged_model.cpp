#include "core/solvers/staged/staged_model.h"

#include <algorithm>
#include <numeric>

namespace rematlas {
namespace {

constexpr double kObjectiveOfStep = 1000, kBudgetInRows = 1000;
constexpr std::size_t kMostOps = 600;

/// Returns `room` rounded down to a multiple of the unit. No schedule can use the bytes that are cut off.
/// With them, a rounding error could make a library accept the next multiple.
std::int64_t usable(std::int64_t room, std::int64_t unit) {
    return room > 0 ? room / unit * unit : room;
}

}  // namespace

/// A row of the integer program while it is built. Variables with known values are added to its constant.
struct StagedModel::Row {
    std::vector<std::pair<int, double>> entries;
    double constant = 0;

    void add(const Variable& variable, double factor) {
        if (variable.column >= 0)
            entries.emplace_back(variable.column, factor);
        else
            constant += factor * variable.constant;
    }
    /// Adds the row lower <= constant + entries <= upper.
    void store(MilpModel& model, double lower, double upper) const {
        model.add_row(lower - constant, upper - constant, entries);
    }
};

bool StagedModel::fits(const FlatGraph& graph) {
    return required_once(graph).size() <= kMostOps;
}

std::int64_t StagedModel::byte_unit(const FlatGraph& graph) {
    std::int64_t unit = 0;
    for (int t = 0; t < graph.tensor_count; ++t)
        if (graph.producer[t] >= 0) unit = std::gcd(unit, graph.bytes[t]);
    for (std::int64_t bytes : graph.workspace) unit = std::gcd(unit, bytes);
    return std::max<std::int64_t>(unit, 1);
}

StagedModel::StagedModel(const FlatGraph& graph, std::int64_t budget, const StagedModelOptions& options)
    : graph_(graph), unit_(byte_unit(graph)), room_(budget - graph.resident_bytes) {
    if (options.held.empty()) room_ = usable(room_, unit_);
    place_ops();
    std::int64_t base = 0;
    for (int op : ops_) base += graph.time[op];
    time_scale_ = kObjectiveOfStep / static_cast<double>(std::max<std::int64_t>(base, 1));
    byte_scale_ = kBudgetInRows / static_cast<double>(std::max<std::int64_t>(room_, 1));
    most_alive_ = {-1, kBudgetInRows};
    if (options.most_time) {
        const std::int64_t least = least_peak(graph).bytes.value - graph.resident_bytes;
        most_alive_.column = milp_.add_column(
            {.lower = least < room_ ? static_cast<double>(least) * byte_scale_ : kBudgetInRows,
             .upper = kBudgetInRows,
             .cost = 1});
    } else {
        milp_.offset = static_cast<double>(base) * time_scale_;
    }
    limit_reruns(options.most_time.value_or(options.below) - base);
    add_columns();
    // Times are integers, so half a nanosecond more admits no further schedule. Without it, a rounding error
    // could exclude a schedule.
    if (options.most_time) add_time_row((static_cast<double>(*options.most_time - base) + 0.5) * time_scale_);
    for (int stage = 0; stage < static_cast<int>(ops_.size()) && !options.stop.stop_requested(); ++stage)
        add_stage(stage, options.held.empty() ? StageBytes{} : options.held[stage]);
}

void StagedModel::place_ops() {
    ops_ = required_once(graph_);
    place_of_.assign(static_cast<std::size_t>(graph_.op_count), -1);
    for (std::size_t place = 0; place < ops_.size(); ++place)
        place_of_[ops_[place]] = static_cast<int>(place);
    reads_.resize(ops_.size());
    makes_.resize(ops_.size());
    for (std::size_t place = 0; place < ops_.size(); ++place) {
        for (int id : graph_.outputs[ops_[place]]) {
            Tensor tensor{.id = id,
                          .maker = static_cast<int>(place),
                          .users = {},
                          .bytes = graph_.bytes[id],
                          .result = graph_.is_result[id] != 0,
                          .last_first_use = -1,
                          .last_use = -1};
            for (int user : graph_.users[id])
                if (place_of_[user] >= 0) tensor.users.push_back(place_of_[user]);
            std::sort(tensor.users.begin(), tensor.users.end());
            const int index = static_cast<int>(tensors_.size());
            makes_[place].push_back(index);
            for (int user : tensor.users) reads_[user].push_back(index);
            if (!tensor.users.empty()) tensor.last_first_use = tensor.users.back();
            tensors_.push_back(std::move(tensor));
        }
    }
}

/// Finds, for each op, the last stage in which a rerun can be useful: the last stage in which an op can read
/// its outputs. The loop goes from the last op to the first, so the readers are handled before the op.
void StagedModel::limit_reruns(std::int64_t slack) {
    const int end = static_cast<int>(ops_.size());
    last_rerun_.assign(ops_.size(), -1);
    for (int place = end - 1; place >= 0; --place) {
        int last = place;
        for (int index : makes_[place]) {
            Tensor& tensor = tensors_[index];
            tensor.last_use = tensor.result ? end : tensor.last_first_use;
            for (int user : tensor.users) tensor.last_use = std::max(tensor.last_use, last_rerun_[user]);
            last = std::max(last, std::min(tensor.last_use, end - 1));
        }
        const bool may = graph_.recomputable[ops_[place]] && graph_.time[ops_[place]] <= slack;
        last_rerun_[place] = may ? last : place;
    }
}

StagedModel::Variable StagedModel::run(int stage, int place) const {
    if (place == stage) return {-1, 1};
    if (place > stage || stage > last_rerun_[place]) return {-1, 0};
    return {run_columns_[stage][place], 0};
}

/// Returns the variable that is 1 if the tensor is kept at the beginning of the stage. A `stage` equal to the
/// number of ops means the end of the step.
StagedModel::Variable StagedModel::kept(int stage, int index) const {
    const Tensor& tensor = tensors_[index];
    const int end = static_cast<int>(ops_.size());
    if (stage <= tensor.maker || stage > tensor.last_use) return {-1, 0};
    if (stage == end) return {-1, 1};
    const bool remade = last_rerun_[tensor.maker] > tensor.maker;
    const bool needed = tensor.result || stage <= tensor.last_first_use;
    if (!remade && needed) return {-1, 1};
    return {kept_columns_[stage][index], 0};
}

StagedModel::Variable StagedModel::freed(int stage, int index, int use) const {
    const auto& columns = freed_columns_[stage][index];
    return {columns.empty() ? -1 : columns[use], 0};
}

/// Returns the variable that is 1 if the tensor is freed right after the op at `place`. The variable has no
/// column if the tensor cannot be freed there.
StagedModel::Variable StagedModel::freed_after(int stage, int index, int place) const {
    const Tensor& tensor = tensors_[index];
    if (tensor.maker == place) return freed(stage, index, 0);
    const auto use = std::find(tensor.users.begin(), tensor.users.end(), place) - tensor.users.begin();
    return freed(stage, index, static_cast<int>(use) + 1);
}

void StagedModel::add_columns() {
    const int end = static_cast<int>(ops_.size()), tensors = static_cast<int>(tensors_.size());
    run_columns_.assign(ops_.size(), std::vector<int>(ops_.size(), -1));
    kept_columns_.assign(ops_.size(), std::vector<int>(tensors_.size(), -1));
    freed_columns_.assign(ops_.size(), std::vector<std::vector<int>>(tensors_.size()));
    alive_columns_.assign(ops_.size(), std::vector<int>(ops_.size(), -1));
    for (int stage = 0; stage < end; ++stage) {
        for (int place = 0; place < stage; ++place) {
            if (stage > last_rerun_[place]) continue;
            const double cost =
                most_alive_.column < 0 ? static_cast<double>(graph_.time[ops_[place]]) * time_scale_ : 0;
            run_columns_[stage][place] =
                milp_.add_column({.lower = 0, .upper = 1, .cost = cost, .integer = true});
        }
        for (int index = 0; index < tensors; ++index) {
            const Tensor& tensor = tensors_[index];
            if (stage <= tensor.maker || stage > tensor.last_use) continue;
            const bool remade = last_rerun_[tensor.maker] > tensor.maker;
            const bool needed = tensor.result || stage <= tensor.last_first_use;
            if (remade || !needed)
                kept_columns_[stage][index] =
                    milp_.add_column({.lower = 0, .upper = 1, .cost = 0, .integer = true});
        }
    }
    for (int stage = 0; stage < end; ++stage) {
        for (int index = 0; index < tensors; ++index) {
            const Tensor& tensor = tensors_[index];
            const Variable next = kept(stage + 1, index);
            const bool stays = next.column < 0 && next.constant == 1;
            if (stage < tensor.maker || stays) continue;
            auto& columns = freed_columns_[stage][index];
            columns.assign(tensor.users.size() + 1, -1);
            for (std::size_t use = 0; use < columns.size(); ++use) {
                const Variable runs = run(stage, use == 0 ? tensor.maker : tensor.users[use - 1]);
                if (runs.column >= 0 || runs.constant > 0)
                    columns[use] = milp_.add_column({.lower = 0, .upper = 1});
            }
        }
        for (int place = 0; place <= stage; ++place) {
            const Variable runs = run(stage, place);
            if (runs.column >= 0 || runs.constant > 0)
                alive_columns_[stage][place] = milp_.add_column({.lower = 0, .upper = kBudgetInRows});
        }
    }
}

/// Limits the total time of all reruns.
void StagedModel::add_time_row(double most) {
    Row time;
    double all = 0;
    for (const std::vector<int>& stage : run_columns_) {
        for (std::size_t place = 0; place < stage.size(); ++place) {
            const double taken = static_cast<double>(graph_.time[ops_[place]]) * time_scale_;
            if (stage[place] < 0 || taken == 0) continue;
            time.add({stage[place], 0}, taken);
            all += taken;
        }
    }
    if (all > most) time.store(milp_, -kInfinite, most);
}

/// Adds the rows of a tensor in a stage. A tensor that is present at the beginning of the stage or is made
/// during the stage is freed at most once. It is present at the end of the stage if it is not freed.
void StagedModel::add_balance(int stage, const Tensor& tensor, int index) {
    const Variable before = kept(stage, index), after = kept(stage + 1, index),
                   made = run(stage, tensor.maker);
    Row once;
    once.add(before, 1), once.add(made, 1);
    Row present = once;  // whether the tensor is present where the next user runs
    if (once.entries.size() > 1) once.store(milp_, -kInfinite, 1);
    for (std::size_t use = 0; use <= tensor.users.size(); ++use) {
        const int place = use == 0 ? tensor.maker : tensor.users[use - 1];
        const Variable runs = run(stage, place);
        if (use > 0 && (runs.column >= 0 || runs.constant > 0)) {
            Row row = present;
            row.add(runs, -1);
            if (!row.entries.empty() || row.constant < 0) row.store(milp_, 0, kInfinite);
        }
        const Variable gone = freed(stage, index, static_cast<int>(use));
        if (gone.column < 0) continue;
        if (runs.column >= 0) {
            Row tied;
            tied.add(runs, 1), tied.add(gone, -1);
            tied.store(milp_, 0, kInfinite);
        }
        present.add(gone, -1);
    }
    present.add(after, -1);
    if (!present.entries.empty() || present.constant != 0) present.store(milp_, 0, 0);
}

void StagedModel::add_memory(int stage, const StageBytes& held) {
    const auto beside = [&](std::int64_t bytes) {
        return static_cast<double>(room_ - usable(room_ - bytes, unit_)) * byte_scale_;
    };
    Row alive;  // bytes of the tensors alive before the next op
    for (std::size_t index = 0; index < tensors_.size(); ++index)
        alive.add(kept(stage, static_cast<int>(index)),
                  static_cast<double>(tensors_[index].bytes) * byte_scale_);
    for (int place = 0; place <= stage; ++place) {
        const int column = alive_columns_[stage][place];
        if (column < 0) continue;
        const Variable runs = run(stage, place);
        const int op = ops_[place];
        double outputs = 0;
        for (int index : makes_[place]) outputs += static_cast<double>(tensors_[index].bytes) * byte_scale_;
        Row during = alive;
        during.add(runs, outputs + static_cast<double>(graph_.workspace[op]) * byte_scale_);
        Row after = alive;
        after.add(runs, outputs);
        for (const auto* list : {&makes_[place], &reads_[place]})
            for (int index : *list)
                after.add(freed_after(stage, index, place),
                          -static_cast<double>(tensors_[index].bytes) * byte_scale_);
        save_in_place(stage, place, during);
        during.add(most_alive_, -1);
        during.store(milp_, -kInfinite, -beside(place < stage ? held.before : held.during));
        after.add({column, 0}, -1);
        after.store(milp_, 0, 0);
        alive = Row{{{column, 1.0}}, 0};
        if (place == stage && held.after > 0)
            milp_.columns[column].upper = kBudgetInRows - beside(held.after);
    }
}

/// Subtracts from `during` the bytes that running in place saves. An op runs in place if every tensor that it
/// overwrites is freed right after it.
void StagedModel::save_in_place(int stage, int place, Row& during) {
    double saved = 0;
    InPlace run{-1, {}};
    for (const FlatGraph::Pair& pair : graph_.inplace_pairs(ops_[place])) {
        saved += static_cast<double>(pair.saved) * byte_scale_;
        for (int index : reads_[place])
            if (tensors_[index].id == pair.in) run.freed.push_back(freed_after(stage, index, place).column);
    }
    if (saved == 0 || std::find(run.freed.begin(), run.freed.end(), -1) != run.freed.end()) return;
    run.column = run.freed.front();
    if (run.freed.size() > 1) {
        run.column = milp_.add_column({.lower = 0, .upper = 1});
        for (int freed : run.freed) Row{{{run.column, 1}, {freed, -1}}, 0}.store(milp_, -kInfinite, 0);
        in_place_.push_back(run);
    }
    during.add({run.column, 0}, -saved);
}

void StagedModel::add_stage(int stage, const StageBytes& held) {
    for (std::size_t index = 0; index < tensors_.size(); ++index)
        if (tensors_[index].maker <= stage) add_balance(stage, tensors_[index], static_cast<int>(index));
    add_memory(stage, held);
}

RunSequence StagedModel::decode(std::span<const double> values) const {
    RunSequence runs;
    for (int stage = 0; stage < static_cast<int>(ops_.size()); ++stage)
        for (int place = 0; place <= stage; ++place)
            if (value(run(stage, place), values) > 0.5) runs.push_back(ops_[place]);
    return runs;
}

std::optional<RunSequence> StagedModel::round(std::span<const double> values,
                                              const std::vector<double>& threshold) const {
    const int end = static_cast<int>(ops_.size());
    const auto keeps = [&](int stage, int index) {
        const double share = value(kept(stage, index), values);
        return share > 0 && share >= threshold[index];
    };
    RunSequence runs;
    std::vector<std::uint8_t> here(tensors_.size(), 0);
    for (int stage = 0; stage < end; ++stage) {
        std::vector<std::uint8_t> needed(ops_.size(), 0);
        needed[stage] = true;
        for (std::size_t index = 0; index < tensors_.size(); ++index)
            if (!here[index] && tensors_[index].maker <= stage && keeps(stage + 1, static_cast<int>(index)))
                needed[tensors_[index].maker] = true;
        for (int place = stage; place >= 0; --place) {
            if (!needed[place]) continue;
            if (place < stage && !graph_.recomputable[ops_[place]]) return std::nullopt;
            for (int index : reads_[place])
                if (!here[index]) needed[tensors_[index].maker] = true;
        }
        for (int place = 0; place <= stage; ++place) {
            if (!needed[place]) continue;
            runs.push_back(ops_[place]);
            for (int index : makes_[place]) here[index] = true;
        }
        for (std::size_t index = 0; index < tensors_.size(); ++index)
            here[index] = here[index] && keeps(stage + 1, static_cast<int>(index));
    }
    return runs;
}

std::vector<double> StagedModel::kept_shares(std::span<const double> values) const {
    std::vector<double> shares;
    for (const std::vector<int>& stage : kept_columns_)
        for (int column : stage)
            if (column >= 0) shares.push_back(values[column]);
    return shares;
}

std::optional<std::vector<double>> StagedModel::encode(const RunSequence& runs) const {
    const int end = static_cast<int>(ops_.size());
    std::vector<std::vector<std::uint8_t>> ran(ops_.size(), std::vector<std::uint8_t>(ops_.size(), 0));
    int stage = 0;
    for (int op : runs) {
        const int place = place_of_[op];
        if (place < 0 || place > stage || stage == end || ran[stage][place]) return std::nullopt;
        ran[stage][place] = true;
        if (place == stage) ++stage;
    }
    if (stage != end) return std::nullopt;

    std::vector<double> values(milp_.columns.size(), 0);
    const auto set = [&](int column, double to) {
        if (column >= 0) values[column] = to;
        return column >= 0;
    };
    for (int t = 0; t < end; ++t)
        for (int place = 0; place < t; ++place)
            if (ran[t][place] && !set(run_columns_[t][place], 1)) return std::nullopt;
    for (int index = 0; index < static_cast<int>(tensors_.size()); ++index) {
        const Tensor& tensor = tensors_[index];
        // The loop goes backwards. `wanted`: whether the tensor is read next, before it is made again.
        bool wanted = tensor.result;
        for (int t = end - 1; t >= tensor.maker; --t) {
            for (int use = static_cast<int>(tensor.users.size()); use >= 0; --use) {
                const int place = use == 0 ? tensor.maker : tensor.users[use - 1];
                if (place > t || !ran[t][place]) continue;
                if (!wanted && !set(freed(t, index, use).column, 1)) return std::nullopt;
                wanted = use > 0;
            }
            if (t > tensor.maker && wanted) {
                const Variable before = kept(t, index);
                if (!set(before.column, 1) && before.constant != 1) return std::nullopt;
            } else if (t > tensor.maker) {
                const Variable before = kept(t, index);
                if (before.column < 0 && before.constant == 1) return std::nullopt;
            }
        }
    }
    if (most_alive_.column >= 0)
        values[most_alive_.column] =
            static_cast<double>(cost_of(graph_, runs).peak - graph_.resident_bytes) * byte_scale_;
    // Sets the columns of the bytes after each op. The library checks these values against the budget.
    for (int t = 0; t < end; ++t) {
        double alive = 0;
        for (int index = 0; index < static_cast<int>(tensors_.size()); ++index)
            alive += value(kept(t, index), values) * static_cast<double>(tensors_[index].bytes) * byte_scale_;
        for (int place = 0; place <= t; ++place) {
            const double runs_here = value(run(t, place), values);
            for (int index : makes_[place])
                alive += runs_here * static_cast<double>(tensors_[index].bytes) * byte_scale_;
            for (const auto* list : {&makes_[place], &reads_[place]})
                for (int index : *list)
                    alive -= value(freed_after(t, index, place), values) *
                             static_cast<double>(tensors_[index].bytes) * byte_scale_;
            set(alive_columns_[t][place], alive);
        }
    }
    for (const InPlace& run : in_place_) {
        values[run.column] = 1;
        for (int freed : run.freed) values[run.column] = std::min(values[run.column], values[freed]);
    }
    return values;
}

}  // namespace rematlas
