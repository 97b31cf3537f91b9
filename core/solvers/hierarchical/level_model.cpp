#include "core/solvers/hierarchical/level_model.h"

#include <algorithm>
#include <memory>
#include <tuple>

namespace rematlas::hierarchical {

LevelModel::LevelModel(const Level& level, std::int64_t budget) : level_(level) {
    std::int64_t time = 1;
    for (int b = 0; b < level.size(); ++b) time += level.options(b).front().time();
    time_scale_ = 1000.0 / static_cast<double>(time);
    byte_scale_ = 1000.0 / static_cast<double>(std::max<std::int64_t>(budget, 1));
    budget_ = static_cast<double>(budget - level.always_bytes()) * byte_scale_;
    add_runs();
    find_fixed();
    add_kept();
    for (int stage = 0; stage < stages(); ++stage) add_stage(stage);
}

/// Says whether a block can run forward in a stage. It can do so from its own forward stage to its own
/// backward stage. A block that must never advance (`Level::runs_forward_once`) can run forward only in its
/// own forward stage.
bool LevelModel::may_run(int stage, int block) const {
    return stage >= block && stage <= (level_.runs_forward_once(block) ? block : backward_stage(block));
}

void LevelModel::add_runs() {
    advance_.assign(stages(), std::vector<int>(level_.size(), -1));
    save_.assign(stages(), std::vector<std::vector<int>>(level_.size()));
    for (int stage = 0; stage < stages(); ++stage) {
        for (int b = 0; b < level_.size(); ++b) {
            if (!may_run(stage, b)) continue;
            const double cost = static_cast<double>(level_.advance(b).forward_time) * time_scale_;
            if (!level_.runs_forward_once(b))
                advance_[stage][b] =
                    milp_.add_column({.lower = 0, .upper = 1, .cost = cost, .integer = true});
            for (const BlockOption& option : level_.options(b))
                save_[stage][b].push_back(
                    milp_.add_column({.lower = 0,
                                      .upper = 1,
                                      .cost = static_cast<double>(option.time()) * time_scale_,
                                      .integer = true}));
        }
    }
    for (int b = 0; b < level_.size(); ++b) {
        MilpSum saves;
        for (int stage = b; stage <= backward_stage(b); ++stage)
            for (const int column : save_[stage][b]) saves.add(column);
        milp_.add_row(1, 1, saves.columns);
    }
}

/// Finds the first and the last stage of the tensors that backward visits and `outside` make. Each of these
/// tensors is made once and stays until its last reader.
void LevelModel::find_fixed() {
    made_.assign(level_.tensor_count(), -1);
    last_read_.assign(level_.tensor_count(), -1);
    const auto note = [&](const Level::Interface& interface, int stage) {
        for (const int t : interface.makes)
            if (level_.maker(t) < 0) made_[t] = stage;
        for (const int t : interface.reads)
            if (level_.maker(t) < 0) last_read_[t] = std::max(last_read_[t], stage);
    };
    if (level_.has_outside()) note(level_.outside(), level_.size());
    for (int b = 0; b < level_.size(); ++b)
        for (std::size_t k = 0; k < level_.options(b).size(); ++k)
            note(level_.backward(b, static_cast<int>(k)), backward_stage(b));
    for (const int t : level_.results())
        if (level_.maker(t) < 0) last_read_[t] = stages();
}

void LevelModel::add_kept() {
    kept_.assign(stages() + 1, std::vector<int>(level_.tensor_count(), -1));
    for (int t = 0; t < level_.tensor_count(); ++t) {
        if (level_.maker(t) < 0) continue;
        const auto& results = level_.results();
        const bool result = std::find(results.begin(), results.end(), t) != results.end();
        for (int stage = level_.maker(t) + 1; stage <= stages(); ++stage) {
            const bool end = stage == stages();
            if (end && !result) continue;
            kept_[stage][t] =
                milp_.add_column({.lower = end ? 1.0 : 0.0, .upper = 1, .cost = 0, .integer = true});
            // A kept tensor existed when the previous stage began, or the previous stage made it.
            MilpSum from;
            from.add(kept_[stage][t]);
            from.add(kept(stage - 1, t), -1);
            from.add(runs(stage - 1, level_.maker(t)), -1);
            add_row(milp_, -kInfinite, from, 0);
        }
    }
}

MilpSum LevelModel::runs(int stage, int block) const {
    MilpSum sum;
    if (advance_[stage][block] >= 0) sum.add(advance_[stage][block]);
    for (const int column : save_[stage][block]) sum.add(column);
    return sum;
}

MilpSum LevelModel::chosen(int block, int option) const {
    MilpSum sum;
    for (int stage = block; may_run(stage, block); ++stage) sum.add(save_[stage][block][option]);
    return sum;
}

MilpSum LevelModel::kept(int stage, int tensor) const {
    MilpSum sum;
    if (kept_[stage][tensor] >= 0) sum.add(kept_[stage][tensor]);
    return sum;
}

MilpSum LevelModel::saved_before(int stage, int block) const {
    MilpSum sum;
    for (int b = 0; b < level_.size() && backward_stage(b) >= stage; ++b) {
        for (int at = b; at <= std::min(stage, backward_stage(b)); ++at) {
            if (at == stage && b >= block) continue;
            for (std::size_t k = 0; k < save_[at][b].size(); ++k)
                sum.add(save_[at][b][k], static_cast<double>(level_.options(b)[k].saved) * byte_scale_);
        }
    }
    return sum;
}

void LevelModel::add_stage(int stage) {
    for (int b = 0; b < level_.size(); ++b) {
        if (!may_run(stage, b)) continue;
        const double least = stage == b ? 1 : 0;
        milp_.add_row(least, 1, runs(stage, b).columns);
    }
    add_reads(stage);
    add_memory(stage);
}

/// Adds rows for the tensors that the visits of the stage read. Each such tensor must have been kept for the
/// stage or be made earlier in the stage.
void LevelModel::add_reads(int stage) {
    const auto need = [&](const MilpSum& reader, int tensor) {
        MilpSum lacking = reader;
        lacking.add(kept(stage, tensor), -1);
        lacking.add(runs(stage, level_.maker(tensor)), -1);
        add_row(milp_, -kInfinite, lacking, 0);
    };
    for (int b = 0; b < level_.size(); ++b) {
        if (!may_run(stage, b)) continue;
        for (const int t : level_.forward(b).reads)
            if (level_.maker(t) >= 0) need(runs(stage, b), t);
    }
    if (is_forward(stage)) return;
    if (is_outside(stage)) {
        for (const int t : level_.outside().reads) need({.columns = {}, .constant = 1}, t);
        return;
    }
    const int block = backward_block(stage);
    for (int t = 0; t < level_.tensor_count(); ++t) {
        if (level_.maker(t) < 0) continue;
        MilpSum reader;
        for (std::size_t k = 0; k < level_.options(block).size(); ++k) {
            const auto& reads = level_.backward(block, static_cast<int>(k)).reads;
            if (std::find(reads.begin(), reads.end(), t) != reads.end())
                reader.add(chosen(block, static_cast<int>(k)));
        }
        if (!reader.columns.empty()) need(reader, t);
    }
}

std::vector<MilpSum> LevelModel::needs_after(int stage, int block, int tensor) const {
    std::vector<MilpSum> needs;
    for (int b = block + 1; b < level_.size(); ++b) {
        const auto& reads = level_.forward(b).reads;
        if (may_run(stage, b) && std::find(reads.begin(), reads.end(), tensor) != reads.end())
            needs.push_back(runs(stage, b));
    }
    if (is_outside(stage)) {
        const auto& reads = level_.outside().reads;
        if (std::find(reads.begin(), reads.end(), tensor) != reads.end())
            needs.push_back({.columns = {}, .constant = 1});
    } else if (!is_forward(stage)) {
        const int reader = backward_block(stage);
        MilpSum sum;
        for (std::size_t k = 0; k < level_.options(reader).size(); ++k) {
            const auto& reads = level_.backward(reader, static_cast<int>(k)).reads;
            if (std::find(reads.begin(), reads.end(), tensor) != reads.end())
                sum.add(chosen(reader, static_cast<int>(k)));
        }
        if (!sum.columns.empty()) needs.push_back(std::move(sum));
    }
    if (kept_[stage + 1][tensor] >= 0) needs.push_back(kept(stage + 1, tensor));
    return needs;
}

/// Adds a row for each possible visit of the stage: the tensors that exist and the further bytes that the
/// visit takes must together fit the budget.
void LevelModel::add_memory(int stage) {
    double fixed = 0;
    for (int t = 0; t < level_.tensor_count(); ++t)
        if (level_.maker(t) < 0 && made_[t] >= 0 && made_[t] < stage && last_read_[t] >= stage)
            fixed += static_cast<double>(level_.bytes(t)) * byte_scale_;
    // By tensor: 1 if the tensor exists right before the current visit.
    std::vector<MilpSum> there(level_.tensor_count());
    for (int t = 0; t < level_.tensor_count(); ++t)
        if (level_.maker(t) >= 0) there[t] = kept(stage, t);
    const auto add_visit = [&](int block, const MilpSum& visit) {
        MilpSum held = visit;
        held.constant += fixed;
        for (int t = 0; t < level_.tensor_count(); ++t)
            held.add(there[t], static_cast<double>(level_.bytes(t)) * byte_scale_);
        held.add(saved_before(stage, block));
        add_row(milp_, -kInfinite, held, budget_);
    };
    for (int b = 0; b < level_.size(); ++b) {
        if (may_run(stage, b)) {
            MilpSum visit;
            if (advance_[stage][b] >= 0)
                visit.add(advance_[stage][b],
                          static_cast<double>(level_.advance(b).forward_peak) * byte_scale_);
            for (std::size_t k = 0; k < save_[stage][b].size(); ++k)
                visit.add(save_[stage][b][k],
                          static_cast<double>(level_.options(b)[k].forward_peak) * byte_scale_);
            add_visit(b, visit);
        }
        // A tensor that this block or an earlier block passes on exists after the visit only if it has a
        // later use.
        for (int t = 0; t < level_.tensor_count(); ++t) {
            if (level_.maker(t) < 0 || level_.maker(t) > b) continue;
            const std::vector<MilpSum> needs = needs_after(stage, b, t);
            if (needs.size() <= 1) {
                there[t] = needs.empty() ? MilpSum{} : needs.front();
                continue;
            }
            const int column = milp_.add_column({.lower = 0, .upper = 1});
            alive_.push_back({column, stage, b, t});
            for (MilpSum need : needs) {
                need.add(column, -1);
                add_row(milp_, -kInfinite, need, 0);
            }
            there[t] = {};
            there[t].add(column);
        }
    }
    if (is_forward(stage)) return;
    MilpSum visit;
    if (is_outside(stage)) {
        visit.constant = static_cast<double>(level_.workspace()) * byte_scale_;
        for (const int t : level_.outside().makes)
            visit.constant += static_cast<double>(level_.bytes(t)) * byte_scale_;
    } else {
        const int block = backward_block(stage);
        for (std::size_t k = 0; k < level_.options(block).size(); ++k)
            visit.add(chosen(block, static_cast<int>(k)),
                      static_cast<double>(level_.backward_bytes(block, static_cast<int>(k))) * byte_scale_);
    }
    add_visit(level_.size(), visit);
}

LevelSchedule LevelModel::decode(std::span<const double> values) const {
    LevelSchedule schedule{.visits = {}, .option = std::vector<std::int32_t>(level_.size(), 0)};
    for (int stage = 0; stage < stages(); ++stage) {
        for (int b = 0; b < level_.size(); ++b) {
            if (advance_[stage][b] >= 0 && values[advance_[stage][b]] > 0.5)
                schedule.visits.push_back({b, Visit::Kind::advance});
            for (std::size_t k = 0; k < save_[stage][b].size(); ++k) {
                if (values[save_[stage][b][k]] <= 0.5) continue;
                schedule.visits.push_back({b, Visit::Kind::save});
                schedule.option[b] = static_cast<std::int32_t>(k);
            }
        }
        if (is_outside(stage)) schedule.visits.push_back({level_.size(), Visit::Kind::outside});
        if (!is_forward(stage) && !is_outside(stage))
            schedule.visits.push_back({backward_block(stage), Visit::Kind::backward});
    }
    return schedule;
}

double LevelModel::value(const MilpSum& sum, std::span<const double> values) const {
    double value = sum.constant;
    for (const auto& [column, factor] : sum.columns) value += factor * values[column];
    return value;
}

std::optional<std::vector<double>> LevelModel::encode(const LevelSchedule& schedule) const {
    std::vector<double> values(milp_.columns.size(), 0);
    int stage = 0;
    const auto visited = [&](int at, int block) { return value(runs(at, block), values) > 0.5; };
    for (const Visit& visit : schedule.visits) {
        if (stage >= stages()) return std::nullopt;
        if (visit.kind == Visit::Kind::outside || visit.kind == Visit::Kind::backward) {
            const bool own = visit.kind == Visit::Kind::outside ? is_outside(stage)
                                                                : !is_forward(stage) && !is_outside(stage) &&
                                                                      backward_block(stage) == visit.block;
            if (!own) return std::nullopt;
            ++stage;
            continue;
        }
        if (!may_run(stage, visit.block) || visited(stage, visit.block)) return std::nullopt;
        if (visit.kind == Visit::Kind::advance && level_.runs_forward_once(visit.block)) return std::nullopt;
        if (visit.kind == Visit::Kind::advance)
            values[advance_[stage][visit.block]] = 1;
        else
            values[save_[stage][visit.block][schedule.option[visit.block]]] = 1;
        if (is_forward(stage) && stage == visit.block) ++stage;
    }
    if (stage != stages()) return std::nullopt;
    // A tensor must be kept for a stage if the stage does not make it, and a visit of the stage reads it or
    // the next stage keeps it. The loop goes from the last stage to the first.
    for (int t = 0; t < level_.tensor_count(); ++t) {
        if (level_.maker(t) < 0) continue;
        for (int at = stages(); at-- > 0;) {
            if (kept_[at + 1][t] >= 0 && milp_.columns[kept_[at + 1][t]].lower > 0.5)
                values[kept_[at + 1][t]] = 1;
            if (kept_[at][t] < 0) continue;
            bool needed = false;
            const int maker = level_.maker(t);
            for (const MilpSum& need : needs_after(at, visited(at, maker) ? level_.size() : -1, t))
                needed = needed || (!visited(at, maker) && value(need, values) > 0.5);
            values[kept_[at][t]] = needed;
        }
    }
    for (const Alive& alive : alive_)
        for (const MilpSum& need : needs_after(alive.stage, alive.block, alive.tensor))
            values[alive.column] = std::max(values[alive.column], value(need, values));
    return values;
}

/// Says whether the schedule fits and runs each block forward once with its fastest option.
static bool cannot_be_better(const Level& level, const LevelCost& cost) {
    std::int64_t least = 0;
    for (int b = 0; b < level.size(); ++b) least += level.options(b).front().time();
    return cost.executable && cost.excess == 0 && cost.time <= least;
}

LevelSchedule solve_programme(const Level& level, LevelSchedule start, std::int64_t budget,
                              const ProgrammeLimits& limits, const Deadline& deadline) {
    if (deadline.passed() || cannot_be_better(level, level.cost_of(start, budget))) return start;
    const auto model = std::make_shared<const LevelModel>(level, budget);
    const auto rank = [&](const LevelSchedule& schedule) {
        const LevelCost cost = level.cost_of(schedule, budget);
        return std::tuple(!cost.executable, cost.excess, cost.time);
    };
    std::vector<double> point;
    if (std::get<1>(rank(start)) == 0)
        if (auto encoded = model->encode(start)) point = *std::move(encoded);
    // This pointer shares the ownership of the whole model.
    run_programme(std::shared_ptr<const MilpModel>(model, &model->milp()), std::move(point), limits, deadline,
                  [&](std::span<const double> values) {
                      LevelSchedule found = model->decode(values);
                      if (rank(found) < rank(start)) start = std::move(found);
                  });
    return start;
}

}  // namespace rematlas::hierarchical
