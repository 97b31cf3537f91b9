#include "tests/structure/type_names.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>

namespace rematlas::test {
namespace {

struct Token {
    std::string_view text;
    int line = 0;
};

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

/// Splits a text into words, numbers and signs. A literal becomes its opening quote only; comments and
/// preprocessor lines are dropped.
class Tokens {
  public:
    explicit Tokens(std::string_view text) : text_(text) {
        while (at_ < text_.size()) read();
    }
    std::vector<Token> all;

  private:
    bool starts(std::string_view with) const { return text_.substr(at_).starts_with(with); }

    void skip(std::size_t count) {
        for (const std::size_t end = std::min(text_.size(), at_ + count); at_ < end; ++at_)
            line_ += text_[at_] == '\n';
    }

    /// Skips past the next `mark`, or to the end if there is none.
    void skip_past(std::string_view mark, std::size_t from) {
        const std::size_t end = text_.find(mark, from);
        skip(end == std::string_view::npos ? text_.size() : end + mark.size() - at_);
    }

    void read() {
        const char c = text_[at_];
        if (c == '\n' || std::isspace(static_cast<unsigned char>(c))) {
            begins_line_ = begins_line_ || c == '\n';
            return skip(1);
        }
        if (starts("//")) return skip_past("\n", at_), void(begins_line_ = true);
        if (starts("/*")) return skip_past("*/", at_ + 2);
        if (c == '#' && begins_line_) return skip_directive();
        begins_line_ = false;
        if (c == '"' || c == '\'') return read_literal(c);
        if (is_word(c)) return read_word();
        add(starts("::") || starts("->") ? 2 : 1);
    }

    void skip_directive() {
        while (at_ < text_.size() && text_[at_] != '\n') {
            if (starts("/*"))
                skip_past("*/", at_ + 2);
            else
                skip(starts("\\\n") ? 2 : 1);
        }
    }

    void add(std::size_t length) {
        all.push_back({text_.substr(at_, length), line_});
        skip(length);
    }

    void read_literal(char quote) {
        add(1);
        while (at_ < text_.size() && text_[at_] != quote) skip(text_[at_] == '\\' ? 2 : 1);
        skip(1);
    }

    void read_word() {
        const bool is_number = std::isdigit(static_cast<unsigned char>(text_[at_]));
        std::size_t length = 1;
        const auto goes_on = [&](char c) { return is_word(c) || (is_number && (c == '\'' || c == '.')); };
        while (at_ + length < text_.size() && goes_on(text_[at_ + length])) ++length;
        const std::string_view word = text_.substr(at_, length);
        const bool is_raw = word.ends_with('R') && length <= 3 && text_.substr(at_ + length).starts_with('"');
        if (!is_raw) return add(length);
        const std::size_t open = text_.find('(', at_);
        const std::string mark =
            ")" + std::string(text_.substr(at_ + length + 1, open - at_ - length - 1)) + "\"";
        all.push_back({"\"", line_});
        skip_past(mark, open);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int line_ = 1;
    bool begins_line_ = true;
};

using Declaration = std::span<const Token>;

bool is_class_key(std::string_view word) {
    return word == "class" || word == "struct" || word == "union" || word == "enum";
}

/// Returns 1 if the token is an opening bracket, -1 if it is a closing one, else 0.
int opens(std::string_view text, std::string_view open, std::string_view close) {
    return text.size() == 1 ? int(open.find(text) != open.npos) - int(close.find(text) != close.npos) : 0;
}

/// Drops the brackets at the beginning of the tokens, with their content. Inside round brackets, < and >
/// count as comparisons.
Declaration after_brackets(Declaration tokens) {
    int depth = 0, angles = 0;
    while (!tokens.empty()) {
        depth += opens(tokens.front().text, "([", ")]");
        if (depth == 0) angles += opens(tokens.front().text, "<", ">");
        tokens = tokens.subspan(1);
        if (depth <= 0 && angles <= 0) break;
    }
    return tokens;
}

/// Drops any `template <...>` at the beginning, and a `requires` clause.
Declaration without_template(Declaration tokens) {
    while (!tokens.empty() && tokens.front().text == "template") tokens = after_brackets(tokens.subspan(1));
    if (tokens.empty() || tokens.front().text != "requires") return tokens;
    const auto key = std::find_if(tokens.begin(), tokens.end(), [](const Token& token) {
        return is_class_key(token.text) || token.text == "using";
    });
    return tokens.subspan(static_cast<std::size_t>(key - tokens.begin()));
}

/// Returns the name of the type that is defined by the body after these tokens; nullopt if the body defines
/// no type. `tokens` must end before the opening brace.
std::optional<Token> defined_by_body(Declaration tokens) {
    tokens = without_template(tokens);
    if (tokens.empty() || !is_class_key(tokens.front().text)) return {};
    std::optional<Token> name;
    for (tokens = tokens.subspan(1); !tokens.empty() && tokens.front().text != ":";) {
        const std::string_view text = tokens.front().text;
        if (text == "[" || text == "alignas" || text == "__attribute__") {  // attributes
            tokens = after_brackets(text == "[" ? tokens : tokens.subspan(1));
            continue;
        }
        // `<`: a specialization; `::`: a member of a class; `(`: a function that returns a class.
        if (text == "<" || text == "::" || text == "(") return {};
        if (is_word(text.front()) && !is_class_key(text) && text != "final") name = tokens.front();
        tokens = tokens.subspan(1);
    }
    return name;
}

/// Returns X if the tokens before a semicolon are `using X = ...`.
std::optional<Token> defined_by_alias(Declaration tokens) {
    tokens = without_template(tokens);
    const bool is_alias = tokens.size() > 3 && tokens[0].text == "using" && tokens[2].text == "=";
    return is_alias ? std::optional(tokens[1]) : std::nullopt;
}

/// Reads declarations in namespaces; skips the bodies of classes and functions.
class Reader {
  public:
    Reader(std::string_view text, const std::string& file) : tokens_(text), file_(file) {}

    std::vector<TypeDefinition> read() {
        for (; at_ < tokens_.all.size(); ++at_) {
            const std::string_view text = tokens_.all[at_].text;
            if (text == "{") {
                open();
            } else if (text == "}") {
                if (opened_.empty()) fail();
                scope_.resize(opened_.back());
                opened_.pop_back();
                begin();
            } else if (text == ";") {
                note(defined_by_alias(declaration()));
                begin();
            }
        }
        if (!opened_.empty()) fail();
        return std::move(found_);
    }

  private:
    Declaration declaration() const { return std::span(tokens_.all).subspan(begin_, at_ - begin_); }

    void open() {
        const Declaration before = declaration();
        const auto space = std::find_if(before.begin(), before.end(),
                                        [](const Token& token) { return token.text == "namespace"; });
        if (space != before.end()) return enter(before.subspan(space - before.begin() + 1));
        if (before.size() == 2 && before[0].text == "extern") return enter({}, /*is_named=*/true);
        if (!is_after_type_) {
            const std::optional<Token> type = defined_by_body(before);
            note(type);
            is_after_type_ = type.has_value();
        }
        pass_over_body();
        if (!is_after_type_) begin();
    }

    /// Begins the next declaration.
    void begin() {
        begin_ = at_ + 1;
        is_after_type_ = false;
    }

    void enter(Declaration names, bool is_named = false) {
        opened_.push_back(scope_.size());
        for (const Token& name : names)
            if (is_word(name.text.front())) scope_.emplace_back(name.text);
        if (names.empty() && !is_named) scope_.push_back("(" + file_ + ")");
        begin();
    }

    void pass_over_body() {
        for (int depth = 0; at_ < tokens_.all.size(); ++at_) {
            depth += opens(tokens_.all[at_].text, "{", "}");
            if (depth == 0) return;
        }
        fail();
    }

    void note(const std::optional<Token>& name) {
        if (name)
            found_.push_back({scope_, std::string(name->text), file_ + ":" + std::to_string(name->line)});
    }

    [[noreturn]] void fail() const { throw std::runtime_error(file_ + ": the braces do not match"); }

    Tokens tokens_;
    std::string file_;
    std::size_t at_ = 0, begin_ = 0;  ///< the current token, and the first token of its declaration
    bool is_after_type_ = false;      ///< whether a type was just defined; variables of this type can then
                                      ///< follow, up to a semicolon
    std::vector<std::string> scope_;
    std::vector<std::size_t> opened_;  ///< for each open brace: the number of names in `scope_` before it
    std::vector<TypeDefinition> found_;
};

std::string full_name(const std::vector<std::string>& scope, const std::string& name) {
    std::string full;
    for (const std::string& space : scope) full += space + "::";
    return full + name;
}

}  // namespace

std::vector<TypeDefinition> types_in(std::string_view text, const std::string& file) {
    return Reader(text, file).read();
}

std::vector<TypeDefinition> types_under(const std::filesystem::path& root,
                                        const std::vector<std::string>& folders) {
    std::vector<std::filesystem::path> files;
    for (const std::string& folder : folders)
        for (const auto& file : std::filesystem::recursive_directory_iterator(root / folder))
            if (file.path().extension() == ".h" || file.path().extension() == ".cpp")
                files.push_back(file.path());
    std::sort(files.begin(), files.end());
    std::vector<TypeDefinition> types;
    for (const std::filesystem::path& path : files) {
        std::ifstream stream(path);
        const std::string text{std::istreambuf_iterator<char>(stream), {}};
        for (TypeDefinition& type : types_in(text, std::filesystem::relative(path, root).string()))
            types.push_back(std::move(type));
    }
    return types;
}

std::vector<std::string> doubles(const std::vector<TypeDefinition>& types) {
    std::map<std::string, std::vector<std::string>> places;
    for (const TypeDefinition& type : types) places[full_name(type.scope, type.name)].push_back(type.place);
    std::vector<std::string> found;
    for (const auto& [name, at] : places) {
        if (at.size() < 2) continue;
        std::string line = name + ": " + at.front();
        for (std::size_t i = 1; i < at.size(); ++i) line += ", " + at[i];
        found.push_back(std::move(line));
    }
    return found;
}

std::vector<std::string> hiding(const std::vector<TypeDefinition>& types) {
    std::map<std::string, const TypeDefinition*> all;
    for (const TypeDefinition& type : types) all[full_name(type.scope, type.name)] = &type;
    std::vector<std::string> found;
    for (const TypeDefinition& type : types) {
        std::vector<std::string> outer = type.scope;
        while (!outer.empty()) {
            outer.pop_back();
            const auto other = all.find(full_name(outer, type.name));
            if (other == all.end()) continue;
            found.push_back(full_name(type.scope, type.name) + " (" + type.place + ") hides " + other->first +
                            " (" + other->second->place + ")");
        }
    }
    return found;
}

}  // namespace rematlas::test
