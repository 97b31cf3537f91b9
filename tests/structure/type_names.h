// Finds the names of types in C++ sources by reading the text, without a compiler.
//
//     std::vector<TypeDefinition> types = types_in(text, "core/graph/graph.h");
//     for (const std::string& fault : doubles(types)) ...
//
// A type is each name that class, struct, union, enum or `using X =` defines in a namespace. Forward
// declarations, specializations and members of classes do not count. Both branches of an #if are read.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rematlas::test {

struct TypeDefinition {
    /// The namespaces around the type, the outermost first. An unnamed namespace is called after its file:
    /// "(FILE)".
    std::vector<std::string> scope;
    std::string name;
    std::string place;  ///< "FILE:LINE"
};

/// Returns the types of a text. Throws std::runtime_error if the braces do not match, because the rest of the
/// text could not be read correctly.
std::vector<TypeDefinition> types_in(std::string_view text, const std::string& file);

/// Returns the types of all .h and .cpp files in these folders of `root`. Throws as `types_in` does.
std::vector<TypeDefinition> types_under(const std::filesystem::path& root,
                                        const std::vector<std::string>& folders);

/// Returns a line for each name that several types in one namespace have:
/// "rematlas::X: core/a.h:3, viz/b.cpp:7".
std::vector<std::string> doubles(const std::vector<TypeDefinition>& types);

/// Returns a line for each type whose name a type in an outer namespace also has:
/// "rematlas::explorer::X (app/a.h:3) hides rematlas::X (core/b.h:7)".
std::vector<std::string> hiding(const std::vector<TypeDefinition>& types);

}  // namespace rematlas::test
