// Where in a Python model an op comes from.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/model/places.h"

namespace rematlas {

/// The module is what hooks around each module's forward say; the line is asked of the interpreter.
class PythonPlaces final : public Places {
  public:
    void enter(std::string path, std::string class_name) {
        modules_.push_back({std::move(path), std::move(class_name)});
    }
    void leave() {
        if (!modules_.empty()) modules_.pop_back();
    }

    ModuleName module() override { return modules_.empty() ? ModuleName() : modules_.back(); }
    /// The innermost line outside of torch. Takes a microsecond or two.
    std::string line() override;

  private:
    std::vector<ModuleName> modules_;
};

}  // namespace rematlas
