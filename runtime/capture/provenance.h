// Where in the model's source an op comes from.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rematlas {

/// Finds the path of the module that the TorchScript interpreter runs, e.g. `layer1.0.conv1`; empty for the
/// root.
///
/// The interpreter names a member of a ModuleList by its index alone; the list is found in the module's own
/// tree, by index and type. Where two lists of one module would fit, they are taken to run one after the
/// other.
class ModulePaths {
  public:
    explicit ModulePaths(torch::jit::Module root) : root_(std::move(root)) {}

    /// Of the op that runs on this thread.
    std::string current();

  private:
    struct Frame {
        std::string name, type;
    };
    struct Found {
        torch::jit::Module module;
        std::string path;
    };
    std::string resolve(const std::vector<Frame>& frames);
    std::optional<Found> child_of(const Found& parent, const Frame& frame);

    torch::jit::Module root_;
    struct Cursor {
        std::size_t list = 0;
        long index = 0;
    };
    std::map<std::string, Cursor> cursors_;  ///< per module with several lists that fit
};

/// "model.py:12", the innermost line of the model's source that runs on this thread; empty outside it.
std::string current_source_line();

}  // namespace rematlas
