#include "core/planning/fits_file.h"

#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/base/json_fields.h"

namespace rematlas {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostFitsBytes = std::int64_t{1} << 50;
constexpr double kMostOverhead = 1e9;

Bytes bytes_in(const Fields& fields, const char* key) {
    return Bytes(fields.integer(key, 0, kMostFitsBytes));
}

std::optional<Bytes> bytes_if(const Fields& fields, const char* key) {
    if (!fields.has(key)) return std::nullopt;
    return bytes_in(fields, key);
}

std::optional<double> overhead_if(const Fields& fields, const char* key) {
    if (!fields.has(key)) return std::nullopt;
    const double overhead = fields.number(key);
    if (!(overhead >= 0 && overhead <= kMostOverhead)) fields.fail(std::string(key) + " is out of range");
    return overhead;
}

FitsWay read_way(const Fields& fields) {
    FitsWay way{.name = fields.text("way"), .fits = fields.boolean_or("fits", false)};
    if (way.name != "plain" && way.name != "recompute" && way.name != "offload")
        fields.fail("way '" + way.name.substr(0, 60) + "' is not known");
    way.overhead = overhead_if(fields, "overhead");
    way.peak = bytes_if(fields, "peak_bytes");
    if (way.fits && !way.peak) fields.fail("peak_bytes is missing");
    way.needed = bytes_if(fields, "needed_bytes");
    if (fields.has("largest")) way.largest = fields.integer("largest");
    way.largest_overhead = overhead_if(fields, "largest_overhead");
    return way;
}

FitsCard read_card(const json& object, const std::string& place) {
    const Fields fields(object, place);
    FitsCard card{.id = fields.text("card"), .name = fields.text_or("name", fields.text("card"))};
    card.memory = bytes_in(fields, "memory_bytes");
    card.room = fields.has("room_bytes") ? bytes_in(fields, "room_bytes") : card.memory;
    std::size_t number = 0;
    for (const json& way : fields.array("ways"))
        card.ways.push_back(read_way(Fields(way, place + ".ways[" + std::to_string(number++) + "]")));
    return card;
}

FitsAnswer answer_from(const Fields& file) {
    expect_format(file, "rematlas.fits", 1);
    FitsAnswer fits{.name = file.text_or("name", ""), .varies = file.text_or("varies", "")};
    std::size_t number = 0;
    for (const json& card : file.array("cards"))
        fits.cards.push_back(read_card(card, "cards[" + std::to_string(number++) + "]"));
    if (fits.cards.empty()) file.fail("cards is empty");
    return fits;
}

}  // namespace

Result<FitsAnswer> parse_fits(std::string_view text, std::string_view name) {
    return read_object(text, name, answer_from);
}

Result<FitsAnswer> read_fits(const std::filesystem::path& path) {
    return parsed_file(path, parse_fits);
}

}  // namespace rematlas
