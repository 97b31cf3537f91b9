// Stand-ins for the layout program, and a request for them.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "viz/layout/layout.h"

namespace rematlas {

/// A shell script that replaces the worker. The file exists as long as the object.
class Script {
  public:
    explicit Script(const std::string& body)
        : path_(testing::TempDir() + "layout_stand_in_" + std::to_string(::getpid()) + "_" +
                std::to_string(count_++)) {
        std::ofstream(path_) << "#!/bin/sh\n" << body << "\n";
        chmod(path_.c_str(), 0700);
    }
    ~Script() { std::remove(path_.c_str()); }
    std::filesystem::path path() const { return path_; }

  private:
    static inline int count_ = static_cast<int>(getpid()) * 100;
    std::string path_;
};

/// Makes a request with a chain of items and, beside the chain, a gradient for each item.
inline LayoutRequest ladder(int rungs) {
    LayoutRequest request;
    for (int i = 0; i < 2 * rungs; ++i) request.items.push_back({{80, 30}});
    for (int i = 0; i < rungs; ++i) {
        if (i + 1 < rungs) request.edges.push_back({i, i + 1, EdgeRole::down});
        if (i + 1 < rungs) request.edges.push_back({rungs + i + 1, rungs + i, EdgeRole::up});
        request.edges.push_back({i, rungs + i, EdgeRole::rung, 8});
    }
    return request;
}

}  // namespace rematlas
