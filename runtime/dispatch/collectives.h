// Facts about collectives: ops by which the processes of one training exchange data. A collective returns
// before its data has arrived, and its results may be read only after a wait. Each process of a group must
// run the group's collectives in the same order.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <string>
#include <string_view>

namespace rematlas {

/// Says whether the op is a functional collective (`_c10d_functional::all_reduce`), or a collective that
/// writes to its first argument (`c10d::allreduce_`). A wait is not a collective.
bool is_collective(std::string_view op);
/// Says whether the op waits for the result of a functional collective.
bool waits_for_collective(std::string_view op);
/// Says whether the op exchanges data with other processes in a way that no plan can repeat: between two
/// processes, or with several tensors at a time.
bool exchanges_data_otherwise(std::string_view op);
/// Says whether the op only wraps the result of a functional collective into an object that waits for the
/// result when it is used.
bool wraps_result(std::string_view op);
/// Says whether the kernel writes to the first argument although the schema does not declare this.
bool writes_to_first_argument(std::string_view op);
/// Returns the position of the process group among the arguments of a collective.
std::size_t group_argument(const c10::FunctionSchema& schema);
/// Returns the name of the process group. `group`: the argument of a collective, a name or an object.
std::string name_of_group(const c10::IValue& group);

}  // namespace rematlas
