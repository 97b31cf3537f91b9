#include "runtime/eviction/op_facts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/capture/op_traits.h"
#include "runtime/eviction/list_call.h"

namespace rematlas {
namespace {

OpFacts::Kind kind_of(const c10::OperatorHandle& op) {
    static constexpr std::array<std::string_view, 8> takers{
        "aten::set_",          "aten::resize_",  "aten::resize_as_",  "aten::_resize_output_",
        "aten::record_stream", "aten::set_data", "aten::_coalesced_", "aten::resize_as_sparse_"};
    const auto& schema = op.schema();
    const std::string& name = schema.name();
    if (std::find(takers.begin(), takers.end(), name) != takers.end()) return OpFacts::Kind::takes_memory;
    if (name.rfind("c10d", 0) == 0 || name.rfind("_c10d", 0) == 0) return OpFacts::Kind::takes_memory;
    if (name == "aten::_lazy_clone") return OpFacts::Kind::copies_lazily;
    if (name.rfind("aten::", 0) != 0) return OpFacts::Kind::runs_once;
    // For composite operators such as contiguous(), the schema marks the result as a view, but the result can
    // also be a copy.
    const bool settled = !op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
    if ((settled && makes_views(schema)) || op.hasTag(at::Tag::inplace_view)) return OpFacts::Kind::looks;
    if (makes_uninitialized(name)) return OpFacts::Kind::fills_later;
    return OpFacts::Kind::computes;
}

}  // namespace

OpFacts facts_of(const c10::OperatorHandle& op) {
    const auto& schema = op.schema();
    OpFacts facts{.kind = kind_of(op),
                  .random = op.hasTag(at::Tag::nondeterministic_seeded),
                  .returns = schema.returns().size(),
                  .looks_at_first = ignores_contents(schema.name(), 0, {}, 0),
                  .may_write_hidden = may_write_hidden(schema.name()),
                  .overwrites = overwrites_everything(schema.name(), schema.overload_name()),
                  .by_item = goes_item_by_item(schema)};
    const bool only_notes = schema.name() == "aten::record_stream";  // its schema says that it writes, but it
                                                                     // does not
    for (const c10::Argument& argument : schema.arguments())
        facts.writes.push_back(!only_notes && argument.alias_info() && argument.alias_info()->isWrite());
    return facts;
}

}  // namespace rematlas
