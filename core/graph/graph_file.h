// Reads and writes `NAME.graph.json`.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace rematlas {

/// Reads and validates a graph. Malformed input is refused with one line that names the file and the field.
/// Sets `sha256`.
Result<Graph> read_graph(const std::filesystem::path& path);
Result<Graph> parse_graph(std::string_view text, std::string_view name);

/// Returns the text of the file, which ends with a newline.
std::string graph_text(const Graph& graph);

/// Writes the file whole or not at all, and sets `graph.sha256` to the digest of the written text.
Result<void> write_graph(Graph& graph, const std::filesystem::path& path);

/// Returns the `*.graph.json` in `folder` whose digest is `digest`. Fails if there is none.
Result<std::filesystem::path> find_graph_file(const std::filesystem::path& folder, std::string_view digest);

/// Returns one block in the form used in files.
nlohmann::json block_json(BlockId id, const Block& block);

}  // namespace rematlas
