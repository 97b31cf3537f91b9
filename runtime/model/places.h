// The place in the model's source that an op comes from.
#pragma once

#include <string>

namespace rematlas {

/// A module of the model, by name.
struct ModuleName {
    std::string path;        ///< e.g. `layer1.0.conv1`; empty for the root
    std::string class_name;  ///< e.g. `Conv2d`; may be empty
};

/// Says where the op that runs on this thread comes from.
class Places {
  public:
    virtual ~Places() = default;
    virtual ModuleName module() = 0;  ///< the innermost module whose forward calls the op
    virtual std::string line() = 0;   ///< e.g. "model.py:12": the innermost line in the model's own source;
                                      ///< may be empty
};

}  // namespace rematlas
