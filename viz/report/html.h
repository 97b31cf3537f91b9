// An HTML page that is also well-formed XML: headings, paragraphs, tables, pictures, and a script with its
// data. The page is one file and loads nothing: its policy forbids the browser to load or run anything else.
// A page that is served may call only its own server.
//
//     HtmlPage page("GPT under 2 GiB");
//     page.heading("Figures");
//     page.table({{"Block"}, {"Bytes", true}}, {{html_text(name), html_bytes(bytes)}});
//     write_file(path, page.finish(data));
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "viz/report/page_use.h"

namespace rematlas {

// Texts for the content of a cell or a paragraph. Numbers also carry the exact value for programs: <data
// value="1536">1.50 KiB</data>.
std::string html_text(std::string_view text);
std::string html_bytes(Bytes bytes);
std::string html_time(Nanoseconds time);
std::string html_count(std::size_t count);
std::string html_overhead(double overhead);                 ///< for example "+7.1 %"
std::string html_share(double share);                       ///< for example "12.3 %"
std::string html_bar(double share, std::string_view cell);  ///< the cell, over a bar that fills this share of
                                                            ///< the cell's width

struct HtmlColumn {
    std::string title;
    bool number = false;  ///< aligned to the right
};

class HtmlPage {
  public:
    explicit HtmlPage(std::string_view title, PageUse use = PageUse::file);

    void heading(std::string_view text);
    void lead(const std::vector<std::string>& sentences);  ///< the answer, in large letters
    void note(std::string_view text);                      ///< in small letters
    void table(const std::vector<HtmlColumn>& columns, const std::vector<std::vector<std::string>>& rows);
    /// Adds a list of names, each with its value.
    void facts(const std::vector<std::pair<std::string, std::string>>& rows);
    /// Adds a picture as SVG, in a version for light screens and a version for dark screens. Prints use the
    /// light version.
    void picture(std::string_view for_light, std::string_view for_dark, std::string_view caption);

    /// Returns the page. `data` is passed to the script of reports (resources/report).
    std::string finish(const nlohmann::json& data);

  private:
    void begin_section();

    std::string out_;
    PageUse use_;
    bool in_section_ = false;
};

}  // namespace rematlas
