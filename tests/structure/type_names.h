// The names of types in C++ sources, found by reading them: no compiler is asked.
//
//     std::vector<TypeDefinition> types = types_in(text, "core/graph/graph.h");
//     for (const std::string& fault : doubles(types)) ...
//
// A type is what class, struct, union, enum or `using X =` defines at the scope of a namespace. Forward
// declarations, specializations and members of classes are none. Both branches of an #if are read.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rematlas::test {

struct TypeDefinition {
    /// The namespaces around it, the outermost first. One without a name is that of its file: "(FILE)".
    std::vector<std::string> scope;
    std::string name;
    std::string place;  ///< "FILE:LINE"
};

/// Throws std::runtime_error where the braces of the text do not match: what follows would be read wrongly.
std::vector<TypeDefinition> types_in(std::string_view text, const std::string& file);

/// Of all .h and .cpp files in these folders of `root`. Throws as `types_in` does.
std::vector<TypeDefinition> types_under(const std::filesystem::path& root,
                                        const std::vector<std::string>& folders);

/// "rematlas::X: core/a.h:3, viz/b.cpp:7", for each name that one namespace gives to several types.
std::vector<std::string> doubles(const std::vector<TypeDefinition>& types);

/// "rematlas::explorer::X (app/a.h:3) hides rematlas::X (core/b.h:7)", for each name that an outer namespace
/// has too.
std::vector<std::string> hiding(const std::vector<TypeDefinition>& types);

}  // namespace rematlas::test
