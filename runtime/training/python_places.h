// Where in a Python model an op comes from.
#pragma once

#include <string>
#include <vector>

#include "runtime/model/places.h"

namespace rematlas {

/// The module path is what hooks around each module's forward say; the line is asked of the interpreter.
class PythonPlaces final : public Places {
  public:
    void enter(std::string path) { paths_.push_back(std::move(path)); }
    void leave() {
        if (!paths_.empty()) paths_.pop_back();
    }

    std::string module() override { return paths_.empty() ? std::string() : paths_.back(); }
    /// The innermost line outside of torch. Takes tens of microseconds.
    std::string line() override;

  private:
    std::vector<std::string> paths_;
};

}  // namespace rematlas
