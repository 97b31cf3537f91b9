// The published logs of DTR's experiments: one JSON object per line.
//
//     Result<Trace> trace = read_trace_log("resnet32.log");
//
//     {"INSTRUCTION":"CONSTANT","NAME":"w"}                followed by the MEMORY line of w
//     {"INSTRUCTION":"CALL","NAME":"mm","ARGS":["x","w"],"RESULT":["y"],"TIME":"340"}
//                                                          followed by MEMORY and ALIAS for each result
//     {"INSTRUCTION":"MEMORY","NAME":"y","MEMORY":"4096"}
//     {"INSTRUCTION":"ALIAS","NAME":"y","ALIAS":"-1"}      position of the argument whose storage it shares
//     {"INSTRUCTION":"MUTATE","NAME":"add_","ARGS":["y","x"],"MUTATE":[0],"TIME":"12"}
//     {"INSTRUCTION":"COPY","DST":"z","SRC":"y"}           z is another name of y's tensor
//     {"INSTRUCTION":"COPY_FROM","DST":"z","SRC":"y"}      z drops its tensor and names y's tensor
//     {"INSTRUCTION":"RELEASE","NAME":"y"}
//     {"INSTRUCTION":"ANNOTATE","ANNOTATION":"START"}      earlier lines are not part of the trace
//
// As in the paper, constants are never evicted, a mutation makes new tensors and storages with the same bytes
// (copy on write), releases of undefined names are ignored, and tensors that still have a name at the end
// must be on the device then. Numbers may be written as strings.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/dtr/trace.h"

namespace rematlas {

/// Errors name the file and the line.
Result<Trace> read_trace_log(const std::filesystem::path& path);
Result<Trace> parse_trace_log(std::string_view text, const std::string& name);

}  // namespace rematlas
