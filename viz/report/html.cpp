#include "viz/report/html.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/base/sizes.h"
#include "viz/paint/axis.h"
#include "viz/paint/xml_text.h"
#include "viz/report/page_policy.h"
#include "viz/report/page_style.h"
#include "viz/report/report_files.h"

namespace rematlas {
namespace {

/// Returns an element that contains text or other elements.
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

/// Returns the script for the page. The two CDATA lines are for parsers of XML; a parser of HTML treats them
/// as comments of the script.
std::string script_in_page(PageUse use) {
    return "//<![CDATA[\n" + report_script(use) + "//]]>";
}

/// Returns JSON in which no name can end the surrounding element or begin another one.
std::string inert_json(const nlohmann::json& data) {
    const std::string text = data.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    std::string inert;
    inert.reserve(text.size());
    for (const char c : text) {
        if (c == '<')
            inert += "\\u003c";
        else if (c == '>')
            inert += "\\u003e";
        else if (c == '&')
            inert += "\\u0026";
        else
            inert += c;
    }
    return inert;
}

/// Returns the shortest text that is exactly this number, in the same form for every language of the system.
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
    const long percent = std::lround(100 * std::clamp(share, 0.0, 1.0));
    return element("div class=\"bar part-" + std::to_string(percent) + "\"", cell);
}

HtmlPage::HtmlPage(std::string_view title, PageUse use) : use_(use) {
    const std::string style = page_style(use);
    out_ =
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
        "<meta charset=\"utf-8\"/>\n<meta http-equiv=\"Content-Security-Policy\" content=\"";
    out_ += page_policy(style, script_in_page(use), use);
    out_ += "\"/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n";
    out_ += element("title", xml_text(title)) + "\n" + element("style", style) + "\n</head>\n<body>\n";
    out_ += element("h1", xml_text(title)) + "\n<main id=\"summary\">\n";
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

std::string HtmlPage::finish(const nlohmann::json& data) {
    if (in_section_) out_ += "</section>\n";
    in_section_ = false;
    out_ += "</main>\n";
    out_ += element("script type=\"application/json\" id=\"data\"", inert_json(data)) + "\n";
    out_ += element("script", script_in_page(use_)) + "\n";
    return std::move(out_) + "</body>\n</html>\n";
}

}  // namespace rematlas
