#include "viz/report/html.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/base/sizes.h"
#include "viz/paint/axis.h"
#include "viz/paint/xml_text.h"

namespace rematlas {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --page: #fff; --ink: #1f2933; --quiet: #5b6673; --line: #dde3ea; --panel: #f6f8fa;
        --bar: #cfe3f4; }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.5rem 4rem; background: var(--page); color: var(--ink);
       font: 15px/1.5 "DejaVu Sans", Verdana, system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .8rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
.lead { font-size: 1.12rem; margin: .3rem 0; }
.note, figcaption { color: var(--quiet); font-size: .85rem; }
figure { margin: .6rem 0; }
figure svg { width: 100%; height: auto; display: block; }
.on-dark { display: none; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th { text-align: left; color: var(--quiet); font-weight: normal; border-bottom: 1px solid var(--line); }
td { border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th, td { padding: .28rem .6rem .28rem 0; vertical-align: top; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
.facts th { width: 15rem; }
.bar { background: linear-gradient(var(--bar), var(--bar)) right / var(--part) 100% no-repeat; padding: .1rem .25rem; }
@media screen and (prefers-color-scheme: dark) {
  :root { --page: #15191e; --ink: #e3e8ee; --quiet: #9aa6b2; --line: #303841; --panel: #1d232a; --bar: #24445f; }
  .on-light { display: none; } .on-dark { display: block; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10.5px; }
  figure, tr { break-inside: avoid; } h2 { break-after: avoid; }
  .bar { print-color-adjust: exact; }
}
)";

/// An element with text or other elements in it.
std::string element(std::string_view tag, std::string_view content) {
    std::string out = "<";
    out.append(tag).append(">").append(content);
    return out + "</" + std::string(tag.substr(0, tag.find(' '))) + ">";
}

std::string with_value(const std::string& value, const std::string& shown) {
    return element("data value=\"" + value + "\"", xml_text(shown));
}

std::string decimal_percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, share < 0.1 ? "%.2f %%" : "%.1f %%", 100 * share);
    return text;
}

/// As short as it can be and still the same number, whatever the language of the system.
std::string exact(double number) {
    return nlohmann::json(number).dump();
}

}  // namespace

std::string html_text(std::string_view text) {
    return xml_text(text);
}
std::string html_bytes(Bytes bytes) {
    return with_value(std::to_string(bytes.value), format_bytes(bytes));
}
std::string html_time(Nanoseconds time) {
    return with_value(std::to_string(time.value), format_duration(time));
}
std::string html_count(std::size_t count) {
    return with_value(std::to_string(count), std::to_string(count));
}
std::string html_overhead(double overhead) {
    return with_value(exact(overhead), format_overhead(overhead));
}
std::string html_share(double share) {
    return with_value(exact(share), decimal_percent(share));
}
std::string html_bar(double share, std::string_view cell) {
    return element("div class=\"bar\" style=\"--part: " + exact(std::clamp(100 * share, 0.0, 100.0)) + "%\"",
                   cell);
}

HtmlPage::HtmlPage(std::string_view title) {
    out_ =
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
        "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\"/>\n";
    out_ += element("title", xml_text(title)) + "\n" + element("style", kStyle) + "\n</head>\n<body>\n";
    out_ += element("h1", xml_text(title)) + "\n";
}

void HtmlPage::begin_section() {
    if (in_section_) out_ += "</section>\n";
    out_ += "<section>\n";
    in_section_ = true;
}

void HtmlPage::heading(std::string_view text) {
    begin_section();
    out_ += element("h2", xml_text(text)) + "\n";
}

void HtmlPage::lead(const std::vector<std::string>& sentences) {
    for (const std::string& sentence : sentences)
        out_ += element("p class=\"lead\"", xml_text(sentence)) + "\n";
}

void HtmlPage::paragraph(std::string_view text) {
    out_ += element("p", xml_text(text)) + "\n";
}

void HtmlPage::note(std::string_view text) {
    out_ += element("p class=\"note\"", xml_text(text)) + "\n";
}

void HtmlPage::table(const std::vector<HtmlColumn>& columns,
                     const std::vector<std::vector<std::string>>& rows) {
    const auto cell = [&](const char* tag, std::size_t column, const std::string& content) {
        return element(std::string(tag) + (columns[column].number ? " class=\"number\"" : ""), content);
    };
    out_ += "<table>\n<thead><tr>";
    for (std::size_t i = 0; i < columns.size(); ++i)
        out_ += cell("th scope=\"col\"", i, xml_text(columns[i].title));
    out_ += "</tr></thead>\n<tbody>\n";
    for (const std::vector<std::string>& row : rows) {
        out_ += "<tr>";
        for (std::size_t i = 0; i < row.size(); ++i) out_ += cell("td", i, row[i]);
        out_ += "</tr>\n";
    }
    out_ += "</tbody>\n</table>\n";
}

void HtmlPage::facts(const std::vector<std::pair<std::string, std::string>>& rows) {
    out_ += "<table class=\"facts\">\n<tbody>\n";
    for (const auto& [name, value] : rows)
        out_ += "<tr>" + element("th scope=\"row\"", xml_text(name)) + element("td", value) + "</tr>\n";
    out_ += "</tbody>\n</table>\n";
}

void HtmlPage::picture(std::string_view for_light, std::string_view for_dark, std::string_view caption) {
    out_ += "<figure>\n" + element("div class=\"on-light\"", for_light) + "\n";
    out_ += element("div class=\"on-dark\"", for_dark) + "\n";
    out_ += element("figcaption", xml_text(caption)) + "\n</figure>\n";
}

std::string HtmlPage::finish() {
    if (in_section_) out_ += "</section>\n";
    in_section_ = false;
    return std::move(out_) + "</body>\n</html>\n";
}

}  // namespace rematlas
