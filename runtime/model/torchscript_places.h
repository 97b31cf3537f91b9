// Says where in a TorchScript model an op comes from.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model/places.h"

namespace rematlas {

/// The place is read from the TorchScript interpreter.
///
/// The interpreter names a member of a ModuleList only by its index. The list is found in the module's own
/// tree, by the index and the type of its member. If several lists of one module have such a member, they are
/// assumed to run one after the other.
class TorchScriptPlaces final : public Places {
  public:
    explicit TorchScriptPlaces(torch::jit::Module root) : root_(std::move(root)) {}

    ModuleName module() override;
    std::string line() override;

  private:
    struct Frame {
        std::string name, type;
    };
    struct Found {
        torch::jit::Module module;
        std::string path;
    };
    ModuleName resolve(const std::vector<Frame>& frames);
    std::optional<Found> child_of(const Found& parent, const Frame& frame);

    torch::jit::Module root_;
    struct Cursor {
        std::size_t list = 0;
        long index = 0;
    };
    /// By module path: the ModuleList whose members run now. Needed where several ModuleLists of the module
    /// have a member with the same name and type.
    std::map<std::string, Cursor> cursors_;
};

}  // namespace rematlas
