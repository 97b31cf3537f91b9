#include "viz/layout/sections.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace rematlas {

namespace {

constexpr int kMostTogether = 60;  // a frame with more direct members than this is cut
constexpr int kPerSection = 24;

/// A direct member of a frame: an item or another frame.
struct SectionMember {
    bool is_cluster = false;
    int index = -1;
    int first_item = 0;
};

class SectionCutter {
  public:
    explicit SectionCutter(const LayoutRequest& request)
        : request_(request),
          members_(request.clusters.size() + 1),
          section_of_item_(request.items.size(), -1),
          section_of_cluster_(request.clusters.size(), -1),
          left_of_(request.items.size(), -1),
          upward_(request.items.size(), 0) {}

    SectionedRequest cut() {
        find_partners();
        find_members();
        cut_sheet();
        for (std::size_t i = 0; i < request_.clusters.size(); ++i) {
            const int c = static_cast<int>(i), twin = request_.clusters[i].twin;
            if (twin < 0 || request_.clusters[twin].twin != c)
                cut_frames(members_of(c), {}, {c, -1});
            else if (twin > c)
                cut_frames(members_of(c), members_of(twin), {c, twin});
        }
        return numbered();
    }

  private:
    /// One piece of a frame: the frame (-1: the sheet, that is, the whole drawing), its side of the ladder,
    /// and the number of the piece.
    struct Section {
        int frame, side, number;
        auto operator<=>(const Section&) const = default;
    };

    std::vector<SectionMember>& members_of(int cluster) { return members_[cluster + 1]; }

    void find_partners() {
        for (const LayoutEdge& edge : request_.edges) {
            if (edge.role == EdgeRole::up) upward_[edge.from] = upward_[edge.to] = 1;
            if (edge.role == EdgeRole::rung || edge.role == EdgeRole::free)
                left_of_[edge.to] = std::max(left_of_[edge.to], edge.from);
        }
        for (const LayoutEdge& edge : request_.edges)
            if (edge.role == EdgeRole::rung && edge.weight > 1) left_of_[edge.to] = edge.from;
        for (const LayoutPair& pair : request_.pairs) left_of_[pair.right] = pair.left;
    }

    void find_members() {
        std::vector<int> first(request_.clusters.size(), static_cast<int>(request_.items.size()));
        for (std::size_t i = request_.items.size(); i-- > 0;) {
            const int item = static_cast<int>(i);
            members_of(request_.items[i].cluster).push_back({false, item, item});
            for (int c = request_.items[i].cluster; c >= 0; c = request_.clusters[c].parent) first[c] = item;
        }
        for (std::size_t c = 0; c < request_.clusters.size(); ++c)
            members_of(request_.clusters[c].parent).push_back({true, static_cast<int>(c), first[c]});
        for (auto& members : members_)
            std::sort(members.begin(), members.end(), [](const SectionMember& a, const SectionMember& b) {
                return std::pair(a.first_item, a.index) < std::pair(b.first_item, b.index);
            });
    }

    /// Cuts the sheet. Its right side has the items of the backward chain and the items that have a left
    /// partner (`left_of_`); its left side has all other direct members.
    void cut_sheet() {
        std::vector<SectionMember> left, right;
        for (const SectionMember& m : members_of(-1))
            (!m.is_cluster && (left_of_[m.index] >= 0 || upward_[m.index]) ? right : left).push_back(m);
        cut_frames(left, right, {-1, -1});
    }

    void cut_frames(const std::vector<SectionMember>& left, const std::vector<SectionMember>& right,
                    std::array<int, 2> frames) {
        const int longer = static_cast<int>(std::max(left.size(), right.size()));
        if (longer <= kMostTogether) return;
        const int count = (longer + kPerSection - 1) / kPerSection;
        for (std::size_t i = 0; i < left.size(); ++i)
            assign(left[i], {frames[0], 0, static_cast<int>(i * count / left.size())});
        // The right side runs upwards, so its first members go into the last section. A member without a
        // partner goes into the section of the member before it.
        int number = count - 1;
        for (const SectionMember& m : right) {
            const int section = partner_section(m);
            if (section >= 0 && sections_[section].frame == frames[0]) number = sections_[section].number;
            assign(m, {frames[1], 1, number});
        }
    }

    int partner_section(const SectionMember& m) const {
        if (m.is_cluster) {
            const int twin = request_.clusters[m.index].twin;
            return twin < 0 ? -1 : section_of_cluster_[twin];
        }
        return left_of_[m.index] < 0 ? -1 : section_of_item_[left_of_[m.index]];
    }

    void assign(const SectionMember& m, Section section) {
        const auto [place, fresh] = known_.try_emplace(section, static_cast<int>(sections_.size()));
        if (fresh) sections_.push_back(section);
        (m.is_cluster ? section_of_cluster_ : section_of_item_)[m.index] = place->second;
    }

    /// Returns the request with sections. Sections come right after the frame that was cut, so that parents
    /// still come before their children.
    SectionedRequest numbered() {
        SectionedRequest result{request_, std::vector<int>(request_.clusters.size(), -1)};
        std::vector<int> place(sections_.size(), -1);
        std::vector<LayoutCluster>& clusters = result.request.clusters;
        clusters.clear();
        for (int c = -1; c < static_cast<int>(request_.clusters.size()); ++c) {
            if (c >= 0) {
                result.cluster_of[c] = static_cast<int>(clusters.size());
                clusters.push_back(request_.clusters[c]);
                clusters.back().parent =
                    home(section_of_cluster_[c], request_.clusters[c].parent, place, result);
            }
            for (auto at = known_.lower_bound({c, 0, 0}); at != known_.end() && at->first.frame == c; ++at) {
                place[at->second] = static_cast<int>(clusters.size());
                clusters.push_back({.parent = c < 0 ? -1 : result.cluster_of[c], .title = {}});
            }
        }
        for (std::size_t c = 0; c < request_.clusters.size(); ++c)
            if (const int twin = request_.clusters[c].twin; twin >= 0)
                clusters[result.cluster_of[c]].twin = result.cluster_of[twin];
        for (const auto& [section, index] : known_) {
            const int frame = section.frame < 0 ? -1 : request_.clusters[section.frame].twin;
            const auto twin = known_.find({frame, 1 - section.side, section.number});
            if (twin != known_.end()) clusters[place[index]].twin = place[twin->second];
        }
        for (std::size_t i = 0; i < request_.items.size(); ++i)
            result.request.items[i].cluster =
                home(section_of_item_[i], request_.items[i].cluster, place, result);
        return result;
    }

    static int home(int section, int cluster, const std::vector<int>& place, const SectionedRequest& result) {
        if (section >= 0) return place[section];
        return cluster < 0 ? -1 : result.cluster_of[cluster];
    }

    const LayoutRequest& request_;
    std::vector<std::vector<SectionMember>> members_;  ///< members of the sheet, then of each cluster
    std::vector<int> section_of_item_, section_of_cluster_;
    /// For each item: its left partner; -1: none. If the item is the right item of a pair, the partner is the
    /// left item of the pair. Otherwise it is the start of an edge of role `rung` with a weight above 1 that
    /// ends at the item. If no such edge exists, it is the last item from which an edge of role `rung` or
    /// `free` leads to the item.
    std::vector<int> left_of_;
    std::vector<char> upward_;  ///< for each item: whether it is in the backward chain
    std::vector<Section> sections_;
    std::map<Section, int> known_;
};

}  // namespace

SectionedRequest with_sections(const LayoutRequest& request) {
    SectionedRequest result = SectionCutter(request).cut();
    // The sections of a very long frame can be so many that the frame is too long again. Then the next round
    // cuts the frame into sections of sections.
    for (std::size_t before = request.clusters.size(); result.request.clusters.size() > before;) {
        before = result.request.clusters.size();
        SectionedRequest further = SectionCutter(result.request).cut();
        for (int& cluster : result.cluster_of) cluster = further.cluster_of[cluster];
        result.request = std::move(further.request);
    }
    return result;
}

}  // namespace rematlas
