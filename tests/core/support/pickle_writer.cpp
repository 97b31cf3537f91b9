#include "tests/core/support/pickle_writer.h"

#include <bit>
#include <cstdint>
#include <map>

namespace rematlas {
namespace {

using nlohmann::ordered_json;

class PickleWriter {
  public:
    explicit PickleWriter(const PickleStyle& style) : style_(style) {}

    std::string whole(const ordered_json& value) {
        write(value, {});
        out_ += '.';
        std::string head = {'\x80', static_cast<char>(style_.protocol)};
        if (style_.protocol >= 4) {
            head += '\x95';
            for (int i = 0; i < 8; ++i) head += static_cast<char>(out_.size() >> (8 * i));
        }
        return head + out_;
    }

  private:
    void number(std::uint64_t value, int bytes) {
        for (int i = 0; i < bytes; ++i) out_ += static_cast<char>(value >> (8 * i));
    }

    void write_integer(std::int64_t value) {
        if (value >= 0 && value < 256) {
            out_ += 'K';
            number(static_cast<std::uint64_t>(value), 1);
        } else if (value >= 0 && value < 65536) {
            out_ += 'M';
            number(static_cast<std::uint64_t>(value), 2);
        } else if (value >= INT32_MIN && value <= INT32_MAX) {
            out_ += 'J';
            number(static_cast<std::uint64_t>(value), 4);
        } else {
            out_ += '\x8a';
            out_ += '\x08';
            number(static_cast<std::uint64_t>(value), 8);
        }
    }

    void write_text(const std::string& text) {
        if (known("text " + text)) return;
        if (style_.protocol >= 4 && text.size() < 256) {
            out_ += '\x8c';
            number(text.size(), 1);
        } else {
            out_ += 'X';
            number(text.size(), 4);
        }
        out_ += text;
        remember("text " + text);
    }

    /// Says whether the memo has `what`; if so, writes the opcode that fetches it.
    bool known(const std::string& what) {
        const auto found = memo_.find(what);
        if (found == memo_.end() || !style_.memo) return false;
        out_ += found->second < 256 ? 'h' : 'j';
        number(found->second, found->second < 256 ? 1 : 4);
        return true;
    }

    void remember(const std::string& what) {
        if (!style_.memo) return;
        if (!what.empty()) memo_[what] = next_;
        if (style_.protocol >= 4) {
            out_ += '\x94';
        } else {
            out_ += next_ < 256 ? 'q' : 'r';
            number(next_, next_ < 256 ? 1 : 4);
        }
        ++next_;
    }

    /// Writes `count` items in batches; `write_one(i)` writes item i. Each batch ends with the opcode that
    /// adds its items to the container below them on the stack.
    template <class WriteOne>
    void fill(std::size_t count, std::size_t batch, const char* codes, const WriteOne& write_one) {
        for (std::size_t begin = 0; begin < count; begin += batch) {
            const std::size_t end = std::min(count, begin + batch);
            const bool single = end == begin + 1 && !style_.memo_after;
            if (!single) out_ += '(';
            for (std::size_t i = begin; i < end; ++i) write_one(i);
            out_ += codes[single ? 0 : 1];
        }
    }

    void write_tuple(const ordered_json& items) {
        const bool small = items.size() < 4;
        if (!small) out_ += '(';
        for (const ordered_json& item : items) write(item, {});
        constexpr char kSmall[] = {')', '\x85', '\x86', '\x87'};
        out_ += small ? kSmall[items.size()] : 't';
        if (!items.empty()) remember("");
    }

    void write_container(const ordered_json& value, bool shared) {
        const std::string what = shared ? value.dump() : "";
        if (shared && known(what)) return;
        out_ += value.is_array() ? ']' : '}';
        if (!style_.memo_after) remember(what);
        if (value.is_array()) {
            fill(value.size(), style_.batch, "ae",
                 [&](std::size_t i) { write(value[i], shared ? "frames" : ""); });
        } else {
            const auto items = value.items();
            auto at = items.begin();
            fill(value.size(), value.size(), "su", [&](std::size_t) {
                write_text(at.key());
                write(at.value(), at.key());
                ++at;
            });
        }
        if (style_.memo_after) remember(what);
    }

    void write(const ordered_json& value, const std::string& key) {
        if (value.is_null()) {
            out_ += 'N';
        } else if (value.is_boolean()) {
            out_ += value.get<bool>() ? '\x88' : '\x89';
        } else if (value.is_number_integer()) {
            write_integer(value.get<std::int64_t>());
        } else if (value.is_number()) {
            const auto bits = std::bit_cast<std::uint64_t>(value.get<double>());
            out_ += 'G';
            for (int i = 7; i >= 0; --i) out_ += static_cast<char>(bits >> (8 * i));
        } else if (value.is_string()) {
            write_text(value.get<std::string>());
        } else if (value.is_array() && key.ends_with("_id")) {
            write_tuple(value);
        } else {
            write_container(value, key == "frames");
        }
    }

    PickleStyle style_;
    std::string out_;
    std::map<std::string, std::uint64_t> memo_;
    std::uint64_t next_ = 0;
};

}  // namespace

nlohmann::ordered_json json_list(const std::vector<nlohmann::ordered_json>& items) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const nlohmann::ordered_json& item : items) all.push_back(item);
    return all;
}

std::string pickled(const nlohmann::ordered_json& value, const PickleStyle& style) {
    return PickleWriter(style).whole(value);
}

}  // namespace rematlas
