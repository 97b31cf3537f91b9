#include "viz/paint/path_names.h"

namespace rematlas {

std::string_view operator_name(std::string_view name) {
    const std::size_t colons = name.rfind("::");
    return colons == std::string_view::npos ? name : name.substr(colons + 2);
}

std::string_view module_prefix(std::string_view path, int level) {
    std::size_t end = 0;
    for (int i = 0; i < level; ++i) {
        end = path.find('.', i == 0 ? 0 : end + 1);
        if (end == std::string_view::npos) return path;
    }
    return path.substr(0, end);
}

bool begins_with_number(std::string_view path) {
    return path.substr(0, path.find('.')).find_first_not_of("0123456789") == std::string_view::npos;
}

std::string_view last_parts(const TextRuler& ruler, std::string_view path, const TextStyle& style,
                            double width) {
    if (width < style.size) return {};
    for (bool is_cut = false; ruler.text_width(path, style) > width || (is_cut && begins_with_number(path));
         is_cut = true) {
        const std::size_t dot = path.find('.');
        if (dot == std::string_view::npos) return {};
        path.remove_prefix(dot + 1);
    }
    return path;
}

}  // namespace rematlas
