#include "core/base/json_fields.h"

#include <gtest/gtest.h>

#include <functional>

namespace rematlas {
namespace {

using nlohmann::json;

/// Returns the message of the error that `read` throws; empty if it throws none.
std::string complaint(const json& object, const std::function<void(const Fields&)>& read) {
    try {
        read(Fields(object, "ops[3]"));
    } catch (const FieldError& error) {
        return error.message;
    }
    return "";
}

TEST(Fields, read_what_is_there_in_its_type) {
    const json object = {{"n", -7}, {"x", 1.5}, {"b", true}, {"no", false}, {"t", "word"}, {"a", {1, 2}}};
    const Fields fields(object, "");
    EXPECT_EQ(fields.integer("n"), -7);
    EXPECT_EQ(fields.integer_or("n", 3), -7);
    EXPECT_EQ(fields.number("x"), 1.5);
    EXPECT_EQ(fields.number("n"), -7.0);
    EXPECT_TRUE(fields.boolean_or("b", false));
    EXPECT_FALSE(fields.boolean_or("no", true));
    EXPECT_EQ(fields.text("t"), "word");
    EXPECT_EQ(fields.text_or("t", "other"), "word");
    EXPECT_EQ(fields.array("a").size(), 2u);
    EXPECT_EQ(fields.at("a"), json({1, 2}));
}

TEST(Fields, a_field_that_is_null_or_not_there_leaves_what_it_is_otherwise) {
    const json object = {{"null", nullptr}};
    const Fields fields(object, "");
    for (const char* key : {"null", "missing"}) {
        EXPECT_FALSE(fields.has(key));
        EXPECT_EQ(fields.integer_or(key, 3), 3);
        EXPECT_TRUE(fields.boolean_or(key, true));
        EXPECT_FALSE(fields.boolean_or(key, false));
        EXPECT_EQ(fields.text_or(key, "other"), "other");
    }
}

TEST(Fields, errors_name_the_place_the_field_and_what_is_wrong) {
    const json object = {{"n", "seven"}, {"x", "1.5"}, {"b", 1}, {"t", 5}, {"a", json::object()}};
    EXPECT_EQ(complaint(json::array(), [](const Fields&) {}), "ops[3]: is not an object");
    EXPECT_EQ(complaint(object, [](const Fields& f) { f.integer("n"); }), "ops[3]: n is not an integer");
    EXPECT_EQ(complaint(object, [](const Fields& f) { f.number("x"); }), "ops[3]: x is not a number");
    EXPECT_EQ(complaint(object, [](const Fields& f) { f.boolean_or("b", true); }),
              "ops[3]: b is neither true nor false");
    EXPECT_EQ(complaint(object, [](const Fields& f) { f.text("t"); }), "ops[3]: t is not a string");
    EXPECT_EQ(complaint(object, [](const Fields& f) { f.array("a"); }), "ops[3]: a is not a list");
    EXPECT_EQ(complaint(object, [](const Fields& f) { f.at("z"); }), "ops[3]: z is missing");
    EXPECT_EQ(complaint(object, [](const Fields& f) { f.fail("is odd"); }), "ops[3]: is odd");
    try {
        Fields(object, "").fail("is odd");
    } catch (const FieldError& error) {
        EXPECT_EQ(error.message, "is odd");
    }
}

TEST(Fields, an_integer_may_be_written_as_a_number_with_a_point_as_long_as_it_is_exact) {
    const auto read = [](const json& value) { return Fields(json::object(), "").whole(value, "n"); };
    const auto refused = [](const json& value) {
        return complaint(json::object(), [&](const Fields& fields) { fields.whole(value, "n"); });
    };
    EXPECT_EQ(read(3.0), 3);
    EXPECT_EQ(read(-3.0), -3);
    EXPECT_EQ(read(0x1p53), std::int64_t{1} << 53);
    EXPECT_EQ(read(-0x1p53), -(std::int64_t{1} << 53));
    EXPECT_EQ(read(INT64_MAX), INT64_MAX);
    EXPECT_EQ(read(INT64_MIN), INT64_MIN);
    EXPECT_EQ(read(std::uint64_t(INT64_MAX)), INT64_MAX);
    EXPECT_EQ(refused(std::uint64_t(INT64_MAX) + 1), "ops[3]: n is too large");
    for (const json& value :
         {json(3.5), json(0x1p54), json(-0x1p54), json(1e300), json("3"), json(true), json()})
        EXPECT_EQ(refused(value), "ops[3]: n is not an integer") << value;
}

TEST(Fields, the_header_must_be_that_of_the_format_and_its_version) {
    const auto said = [](const json& header) {
        return complaint(header, [](const Fields& fields) { expect_format(fields, "rematlas.graph", 1); });
    };
    EXPECT_EQ(said({{"format", "rematlas.graph"}, {"version", 1}}), "");
    EXPECT_EQ(said({{"version", 1}}), "ops[3]: format is missing: this is no rematlas.graph file");
    EXPECT_EQ(said({{"format", "x"}, {"version", 1}}), "ops[3]: format is 'x', expected 'rematlas.graph'");
    EXPECT_EQ(said({{"format", "rematlas.graph"}, {"version", 2}}),
              "ops[3]: version 2 is not supported, expected 1");
    const std::string shown = said({{"format", std::string(500, 'y')}, {"version", 1}});
    EXPECT_EQ(std::count(shown.begin(), shown.end(), 'y'), 60) << "a long one is cut";
}

}  // namespace
}  // namespace rematlas
