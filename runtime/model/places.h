// Tells from where in the model's source an op comes.
#pragma once

#include <string>

namespace rematlas {

/// A module of the model, by name.
struct ModuleName {
    std::string path;        ///< e.g. `layer1.0.conv1`; empty for the root
    std::string class_name;  ///< e.g. `Conv2d`; may be empty
};

/// The place of the op that runs on this thread.
class Places {
  public:
    virtual ~Places() = default;
    virtual ModuleName module() = 0;  ///< the innermost module whose forward calls the op
    virtual std::string line() = 0;   ///< "model.py:12", innermost in the model's own source; may be empty
};

}  // namespace rematlas
