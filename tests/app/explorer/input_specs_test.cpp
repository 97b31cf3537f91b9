#include "app/explorer/files/input_specs.h"

#include <gtest/gtest.h>

#include <QFile>
#include <QTemporaryDir>

namespace rematlas::explorer {
namespace {

void write(const QString& path, const QByteArray& content) {
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(content);
}

TEST(InputSpecs, AcceptsTheFormsTheCaptureKnows) {
    EXPECT_EQ(*checked_input_spec(" f32[8, 3, 224, 224] "), "f32[8,3,224,224]");
    EXPECT_EQ(*checked_input_spec("i64[8,256]<4096"), "i64[8,256]<4096");
    EXPECT_EQ(*checked_input_spec("f32[]"), "f32[]");
    for (const char* fixed : {"int:-3", "float:0.5", "bool:true", "str:mean of all", "none"})
        EXPECT_EQ(*checked_input_spec(fixed), fixed);
    EXPECT_EQ(*checked_input_specs("f32[2]\n\ni64[3]<5; bool[1]"),
              (QStringList{"f32[2]", "i64[3]<5", "bool[1]"}));
}

TEST(InputSpecs, NamesWhatIsWrong) {
    for (const char* wrong : {"f32", "f32[2", "f32[-1]", "f32[0]", "f32[2,]", "f32[a]", "f32[99999999999]",
                              "[2]", "i64[2]<", "x f32[2]", "int:", "int:2.5", "bool:1"}) {
        const Result<QString> spec = checked_input_spec(wrong);
        ASSERT_FALSE(spec) << wrong;
        EXPECT_FALSE(spec.error().message.empty());
    }
    EXPECT_NE(checked_input_spec("float[2]").error().message.find("float"), std::string::npos);
    EXPECT_FALSE(checked_input_specs("f32[2]\n f32"));
    EXPECT_TRUE(checked_input_specs(" \n ; ")->isEmpty()) << "an exported program has inputs of its own";
}

TEST(InputSpecs, AreReadFromBesideTheModel) {
    QTemporaryDir folder;
    const std::string model = folder.filePath("net.pt").toStdString();
    EXPECT_FALSE(specs_beside(model));
    write(folder.filePath("net.json"),
          R"({"inputs": ["f32[2,3]", {"dtype": "i64", "shape": [4, 5], "below": 7}]})");
    const auto specs = specs_beside(model);
    ASSERT_TRUE(specs);
    EXPECT_EQ(*specs, (QStringList{"f32[2,3]", "i64[4,5]<7"}));
}

TEST(InputSpecs, IgnoreAFileOfAnotherKind) {
    QTemporaryDir folder;
    const std::string model = folder.filePath("net.pt").toStdString();
    for (const char* other : {"not json", "[]", R"({"inputs": 3})", R"({"inputs": ["f32"]})",
                              R"({"inputs": [{"dtype": 1, "shape": []}]})"}) {
        write(folder.filePath("net.json"), other);
        EXPECT_FALSE(specs_beside(model)) << other;
    }
}

}  // namespace
}  // namespace rematlas::explorer
