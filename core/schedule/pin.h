// A pin: a decision about ops or tensors that the user makes in place of the solver.
//
//     Result<Pin> pin = parse_pin("blocks.*.attn=recompute");
//     solve(graph, {.budget = budget, .pins = {*pin}});
//
// A pattern is one of these:
// - the path of a module: it matches the forward ops of the module and of the modules inside it;
// - the name of a tensor: it matches the op that makes the tensor;
// - `#369`: it matches the op with this number.
// A `*` stands for any characters except a dot, so that `blocks.*.attn` matches the attention of every block.
// A pattern always matches a whole path or name.
//
// A pin requires this of a schedule:
// - keep: a matched op does not run a second time. Its outputs stay on the device until their last use, or
//   are fetched from the host.
// - recompute: the outputs of a matched op are not kept from the forward pass to the backward pass. If an op
//   reads one of these outputs after the last op of the loss, the output must have been made again since that
//   last op. A pin on a module applies to its inner tensors. If an op outside the module reads a tensor in
//   the forward pass, or if the tensor is a result of the step, the solver decides about the tensor, as with
//   torch.utils.checkpoint around the module. A pin on an op or a tensor applies no matter which ops read the
//   tensor.
//
// core/pins turns pins into a graph for any solver; core/checking/check_pins.h checks that a schedule obeys
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace rematlas {

enum class PinKind { keep, recompute };

/// Returns the word for files and the command line.
std::string_view to_string(PinKind kind);

struct Pin {
    std::string pattern;
    PinKind kind = PinKind::keep;
    bool operator==(const Pin&) const = default;
};

using Pins = std::vector<Pin>;

/// Returns text such as "blocks.*.attn=recompute".
std::string to_string(const Pin& pin);

/// Parses text in the form of `to_string`. Errors: no pattern, or neither keep nor recompute after the last
/// '='.
Result<Pin> parse_pin(std::string_view text);

/// Makes a pin from the two words in a file. Errors: an empty pattern, an unknown decision.
Result<Pin> pin_of(std::string_view pattern, std::string_view kind);

}  // namespace rematlas
