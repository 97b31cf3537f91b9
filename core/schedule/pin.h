// A pin: a decision that the user takes away from the solver.
//
//     Result<Pin> pin = parse_pin("blocks.*.attn=recompute");
//     solve(graph, {.budget = budget, .pins = {*pin}});
//
// What a pattern matches:
// - the path of a module: the forward ops of that module, those of the modules inside it included;
// - the name of a tensor: the op that makes it;
// - `#369`: the op with that number.
// A `*` stands for any characters but a dot, so that `blocks.*.attn` is the attention of every block. A
// pattern always matches a whole path or name.
//
// What a pin asks of a schedule:
// - keep: a matched op does not run a second time. Its outputs stay until their last use, or come back from
//   the host.
// - recompute: the outputs of a matched op are not handed over from the forward pass to the backward pass.
//   After the last op of the loss has run, an op that reads such a tensor reads a value that was made after
//   this. For a module, the pin holds for its inner tensors: a tensor that an op outside the module reads in
//   the forward pass, or that is a result of the step, stays the solver's decision. torch.utils.checkpoint
//   around the module does the same. For an op or a tensor that is named, the pin holds whichever ops read
//   the tensor.
//
// core/pins turns pins into a graph that any solver can work on; core/checking/check_pins.h checks them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace rematlas {

enum class PinKind { keep, recompute };

/// The word in files and on the command line.
std::string_view to_string(PinKind kind);

struct Pin {
    std::string pattern;
    PinKind kind = PinKind::keep;
    bool operator==(const Pin&) const = default;
};

using Pins = std::vector<Pin>;

/// Returns text such as "blocks.*.attn=recompute".
std::string to_string(const Pin& pin);

/// The reverse of `to_string`. Errors: no pattern, or neither keep nor recompute after the last '='.
Result<Pin> parse_pin(std::string_view text);

/// Makes a pin of the two words of a file. Errors: an empty pattern, a decision that is not known.
Result<Pin> pin_of(std::string_view pattern, std::string_view kind);

}  // namespace rematlas
