// Finds the module and the source line of a Python model that an op comes from.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/model/places.h"

namespace rematlas {

/// Hooks of each module call `enter` before its forward and `leave` after it. `line` reads the
/// source line from the interpreter's frames.
class PythonPlaces final : public Places {
  public:
    void enter(std::string path, std::string class_name) {
        modules_.push_back({std::move(path), std::move(class_name)});
    }
    void leave() {
        if (!modules_.empty()) modules_.pop_back();
    }

    ModuleName module() override { return modules_.empty() ? ModuleName() : modules_.back(); }
    /// Returns the innermost line in the model's own source, outside torch and Rematlas. Cost: one or two
    /// microseconds.
    std::string line() override;

  private:
    std::vector<ModuleName> modules_;
};

}  // namespace rematlas
