// Tests that no two types of one namespace have the same name. If two had, the linker would silently merge
// their functions, and the program would run the destructor of one type on an object of the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/structure/type_names.h"

namespace rematlas::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<TypeDefinition>& types_of_the_program() {
    static const std::vector<TypeDefinition> types =
        types_under(REMATLAS_SOURCE_DIR, {"core", "runtime", "viz", "app"});
    return types;
}

std::vector<std::string> names_in(std::string_view text) {
    std::vector<std::string> names;
    for (const TypeDefinition& type : types_in(text, "a.cpp")) {
        std::string full;
        for (const std::string& space : type.scope) full += space + "::";
        names.push_back(full + type.name);
    }
    return names;
}

/// Returns the types in the texts of two files, a.h and b.cpp.
std::vector<TypeDefinition> types_of(std::string_view a, std::string_view b) {
    std::vector<TypeDefinition> types = types_in(a, "a.h");
    for (TypeDefinition& type : types_in(b, "b.cpp")) types.push_back(std::move(type));
    return types;
}

TEST(Names, NoTypeIsDefinedTwiceInOneNamespace) {
    EXPECT_THAT(doubles(types_of_the_program()), IsEmpty());
}

TEST(Names, NoTypeHidesOneOfAnOuterNamespace) {
    EXPECT_THAT(hiding(types_of_the_program()), IsEmpty());
}

TEST(Names, AllFilesAreRead) {
    const auto has = [](std::string_view name, std::string_view folder) {
        return std::any_of(
            types_of_the_program().begin(), types_of_the_program().end(),
            [&](const TypeDefinition& type) { return type.name == name && type.place.starts_with(folder); });
    };
    EXPECT_GT(types_of_the_program().size(), 500u);
    EXPECT_TRUE(has("Graph", "core/graph/"));
    EXPECT_TRUE(has("Result", "core/base/"));
    EXPECT_TRUE(has("CopyQueue", "runtime/transfers/"));
    EXPECT_TRUE(has("Executor", "runtime/replay/"));
    EXPECT_TRUE(has("DrawnLane", "viz/paint/"));
    EXPECT_TRUE(has("Session", "app/explorer/"));
    EXPECT_TRUE(has("Commands", "app/cli/"));
}

TEST(Names, ADoubleIsSeen) {
    const auto seen = [](std::string_view a, std::string_view b) { return doubles(types_of(a, b)); };
    EXPECT_THAT(seen("namespace r {\nclass Step {};\n}", "namespace r {\n\nstruct Step { int i; };\n}"),
                ElementsAre("r::Step: a.h:2, b.cpp:3"));
    EXPECT_THAT(seen("namespace r { enum class Lane { in, out }; }",
                     "namespace r { class Lane final : Base<2> {}; }"),
                ElementsAre("r::Lane: a.h:1, b.cpp:1"));
    EXPECT_THAT(
        seen("namespace r { using Progress = std::function<void()>; }", "namespace r { class Progress {}; }"),
        ElementsAre("r::Progress: a.h:1, b.cpp:1"));
    EXPECT_THAT(seen("namespace r::x { struct A {}; }", "namespace r { namespace x { union A {}; } }"),
                ElementsAre("r::x::A: a.h:1, b.cpp:1"));
    EXPECT_THAT(seen("struct A {};", "namespace { struct A {}; struct A {}; }"),
                ElementsAre("(b.cpp)::A: b.cpp:1, b.cpp:1"));
    EXPECT_THAT(seen("namespace r { template <class T, int N = (1 > 0)> class [[nodiscard]] A {}; }",
                     "namespace r { template <class T> requires Fits<T> struct A {}; }"),
                ElementsAre("r::A: a.h:1, b.cpp:1"));
}

TEST(Names, WhatIsNoDoubleIsNot) {
    const auto seen = [](std::string_view a, std::string_view b) { return doubles(types_of(a, b)); };
    EXPECT_THAT(
        seen("namespace r { struct A {}; }", "namespace r { struct A; enum class B : int; class A; }"),
        IsEmpty());
    EXPECT_THAT(
        seen("namespace r { struct A {}; }", "namespace r::x { struct A {}; } namespace s { struct A {}; }"),
        IsEmpty());
    EXPECT_THAT(
        seen("namespace r { namespace { struct A {}; } }", "namespace r { namespace { struct A {}; } }"),
        IsEmpty());
    EXPECT_THAT(seen("template <class T> struct A {};",
                     "template <> struct A<int> {}; template <class T> struct A<T*> {};"),
                IsEmpty());
    EXPECT_THAT(seen("struct A { struct B {}; using C = int; };",
                     "struct D { struct B {}; }; struct A::E {}; void f() { struct B {}; using C = int; }"),
                IsEmpty());
    EXPECT_THAT(seen("struct A {};",
                     "// struct A {};\n/* struct A {}; */ auto s = \"struct A {};\", R\"x(struct A {};)x\";"),
                IsEmpty());
    EXPECT_THAT(seen("struct A {};",
                     "#define A struct A {}; \\\n struct A {};\nstruct A* f() { return {}; } struct A a{};"),
                IsEmpty());
    EXPECT_THAT(
        seen("struct A {};", "using ::A; using namespace r; namespace fs = std::filesystem; typedef A B;"),
        IsEmpty());
}

TEST(Names, AreReadBetweenAllThatIsNone) {
    EXPECT_THAT(names_in(R"x(
        #include <vector>
        namespace a::b {
        constexpr long kMost = 300'000'000; constexpr char kBrace = '{', kQuote = '\'';
        bool operator<(const X& x, const X& y) { return x.i < y.i; }
        X::X(int i) : i_{i}, j_(2) { if (i) { go(); } }
        const auto lambda = [](int i) { return i > 0; };
        extern "C" { int c(int); struct InC {}; }
        extern "C" int one(int i) { return i; }
        struct Named { int i; } named{3};
        enum { none, some };
        namespace { enum class Hidden : char { x }; }
        inline namespace c { class alignas(8) Inlined {}; }
        struct Last final : Base<decltype(f(2))> { Last() : Base{} {} };
        }
        using Outside = int;
    )x"),
                ElementsAre("a::b::InC", "a::b::Named", "a::b::(a.cpp)::Hidden", "a::b::c::Inlined",
                            "a::b::Last", "Outside"));
}

TEST(Names, OneThatHidesAnOuterOneIsSeen) {
    EXPECT_THAT(hiding(types_of("namespace r { struct Plan {}; }", "namespace r::x { struct Plan {}; }")),
                ElementsAre("r::x::Plan (b.cpp:1) hides r::Plan (a.h:1)"));
    EXPECT_THAT(
        hiding(types_of("namespace r { struct Plan {}; }", "namespace r { namespace { class Plan {}; } }")),
        ElementsAre("r::(b.cpp)::Plan (b.cpp:1) hides r::Plan (a.h:1)"));
    EXPECT_THAT(hiding(types_of("namespace r::x { struct Plan {}; }", "namespace r::y { struct Plan {}; }")),
                IsEmpty());
}

TEST(Names, BracesThatDoNotMatchAreAnError) {
    EXPECT_ANY_THROW(types_in("namespace r { struct A {};", "a.h"));
    EXPECT_ANY_THROW(types_in("namespace r { void f() { if (x) { }", "a.h"));
    EXPECT_ANY_THROW(types_in("namespace r { } }", "a.h"));
}

}  // namespace
}  // namespace rematlas::test
