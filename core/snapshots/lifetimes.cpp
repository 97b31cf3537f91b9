#include "core/snapshots/lifetimes.h"

namespace rematlas {

void BlockLifetimes::begin(const MeasuredBlock& block) {
    const auto at = static_cast<std::uint32_t>(blocks_.size());
    const auto [open, is_new] = open_.try_emplace(block.address, at);
    if (!is_new) {
        blocks_[open->second].until = block.from;
        ++lost_frees_;
        open->second = at;
    }
    blocks_.push_back(block);
}

void BlockLifetimes::end(std::uint64_t address, Bytes bytes, TraceMoment moment) {
    const auto open = open_.find(address);
    if (open == open_.end()) {
        blocks_.push_back({.address = address, .bytes = bytes, .from = 0, .until = moment});
        return;
    }
    blocks_[open->second].until = moment;
    open_.erase(open);
}

void BlockLifetimes::stays(const MeasuredBlock& block) {
    seen_at_end_.insert(block.address);
    const auto open = open_.find(block.address);
    if (open == open_.end())
        stayed_.push_back(block);
    else if (!blocks_[open->second].stack.valid())
        blocks_[open->second].stack = block.stack;
}

BlockLifetimes::Ended BlockLifetimes::finish(TraceMoment last, bool all_stay) {
    Ended ended;
    for (const auto& [address, at] : open_) {
        blocks_[at].until = last + 1;
        if (!all_stay || seen_at_end_.contains(address)) continue;
        ++ended.gaps.missing_blocks;
        ended.gaps.missing += blocks_[at].bytes;
    }
    for (MeasuredBlock block : stayed_) {
        block.from = 0;
        block.until = last + 1;
        blocks_.push_back(block);
    }
    for (const MeasuredBlock& block : blocks_) {
        if (block.from != 0) continue;
        ended.gaps.before += block.bytes;
        if (!block.stack.valid()) ended.gaps.before_unplaced += block.bytes;
    }
    ended.gaps.lost_frees = lost_frees_;
    ended.blocks = std::move(blocks_);
    return ended;
}

std::vector<std::int64_t> levels_of(const std::vector<MeasuredBlock>& blocks, std::size_t moments) {
    std::vector<std::int64_t> levels(moments, 0);
    for (const MeasuredBlock& block : blocks) {
        levels[block.from] += block.bytes.value;
        if (block.until < moments) levels[block.until] -= block.bytes.value;
    }
    for (std::size_t i = 1; i < moments; ++i) levels[i] += levels[i - 1];
    return levels;
}

}  // namespace rematlas
