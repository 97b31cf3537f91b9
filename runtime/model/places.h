// Where in the model's source an op comes from.
#pragma once

#include <string>

namespace rematlas {

/// Of the op that runs on this thread.
class Places {
  public:
    virtual ~Places() = default;
    virtual std::string module() = 0;  ///< path of the module, e.g. `layer1.0.conv1`; empty for the root
    virtual std::string line() = 0;    ///< "model.py:12", innermost in the model's own source; may be empty
};

}  // namespace rematlas
