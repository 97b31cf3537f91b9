// Names that the examples at the top of core's headers use without defining them (header_examples_test.py).
// Examples of other folders use these names too. The names are only declared, because the compiler checks the
// examples but nothing runs them.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/ids.h"
#include "core/base/links.h"
#include "core/base/result.h"
#include "core/graph/flat_graph.h"
#include "core/graph/graph.h"
#include "core/graph/graph_file.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/schedule.h"
#include "core/schedule/simulate.h"
#include "core/solvers/rotor/rotor.h"
#include "core/solving/solver.h"

namespace rematlas::example_names {

using namespace std::chrono_literals;

/// Represents `...`: a value of any type.
struct Anything {
    template <class T>
    operator T() const;
};
extern const Anything anything;

/// The return type of an example's function. It accepts any value.
struct Returned {
    Returned();
    template <class T>
    Returned(T&& value);
};

/// Represents the use of values in an example.
template <class... Values>
void use(const Values&... values);
template <class Size>
void allocate(Size arena);
void print(const std::string& text);

extern const Graph graph;
extern const FlatGraph flat;
extern const Problem problem;
/// A number of bytes. Examples can pass it to functions that take `Bytes` or an integer.
struct Amount {
    operator Bytes() const;
    operator std::int64_t() const;
};
extern const Amount budget;
extern const Limits limits;
extern const Progress progress;
extern const Deadline deadline;
extern const Schedule schedule;
extern const Solution solution;
extern const RunSequence runs;
extern const Links links;
extern const std::unique_ptr<Solver> solver;
extern const std::filesystem::path path;
extern const OpId op;
extern const TensorId tensor;
extern const nlohmann::json json;
extern const std::uint64_t seed;
extern const int threads;

}  // namespace rematlas::example_names
