// Tests how the window recognizes files that users take for models, and its messages about these files. Like
// the archives that PyTorch writes, the archives here are not compressed.
#include "app/explorer/files/model_file.h"

#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <random>

#include "core/base/files.h"
#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

using Kind = ModelFile::Kind;

/// Returns a zip archive reduced to the parts that the code reads: its signature, names and contents.
std::string archive(const std::vector<std::pair<std::string, std::string>>& entries) {
    std::string bytes;
    for (const auto& [name, content] : entries)
        bytes += std::string("PK\x03\x04") + "........" + name + content;
    return bytes;
}

const std::string pickled_weights =
    "\x80\x02"
    "ccollections\nOrderedDict\nq\x01)Rq\x02X\x06weightctorch._utils\n_rebuild_tensor_"
    "v2\nctorch\nFloatStorage\n";

class ModelFiles : public testing::Test {
  protected:
    ModelFile look(const char* name, const std::string& content) const {
        EXPECT_TRUE(write_file(path(name), content));
        return look_at_model(path(name));
    }
    std::filesystem::path path(const char* name) const { return folder.filePath(name).toStdString(); }
    QTemporaryDir folder;
};

TEST_F(ModelFiles, AreToldApartByTheirContent) {
    const std::string script =
        archive({{"net/data.pkl", "x"}, {"net/code/__torch__.py", "y"}, {"net/constants.pkl", "z"}});
    EXPECT_EQ(look("net.pt", script).kind, Kind::torch_script);
    EXPECT_EQ(look("net.bin", script).kind, Kind::torch_script) << "whatever it is called";
    EXPECT_EQ(look("w.pt", archive({{"w/data.pkl", pickled_weights}, {"w/data/0", "...."}})).kind,
              Kind::weights);
    EXPECT_EQ(look("e.pt2", archive({{"e/archive_format", "pt2"}, {"e/data.pkl", ""}})).kind,
              Kind::exported_program);
    EXPECT_EQ(look("o.pt2", archive({{"serialized_exported_program.json", "{}"}})).kind,
              Kind::old_exported_program);
    EXPECT_EQ(look("w.safetensors", std::string("\x40\0\0\0\0\0\0\0{\"weight\":{}}", 21)).kind,
              Kind::safetensors);
    EXPECT_EQ(look("m.onnx", "\x08\x07\x12\x07pytorch").kind, Kind::onnx);
    EXPECT_EQ(look("m.h5", "\x89HDF\r\n").kind, Kind::keras);
    EXPECT_EQ(look("m.gguf", "GGUF....").kind, Kind::gguf);
    EXPECT_EQ(look("m.py", "import torch\n").kind, Kind::python);
    EXPECT_EQ(look("empty.pt", "").kind, Kind::unknown);
    EXPECT_EQ(look_at_model(path("absent.pt")).kind, Kind::unreadable);
    EXPECT_EQ(look_at_model(folder.path().toStdString()).kind, Kind::unreadable);
}

TEST_F(ModelFiles, OfAPickledModuleTheClassIsNamed) {
    const std::string pickle =
        "\x80\x02"
        "cmy_package.nets\nBigNet\nq\x01)\x81q\x02}q\x03X\x08trainingcollections\nOrderedDict\n";
    const ModelFile file = look("m.pt", archive({{"m/data.pkl", pickle}}));
    EXPECT_EQ(file.kind, Kind::pickled_module);
    EXPECT_EQ(file.class_name, "my_package.nets.BigNet");
    EXPECT_EQ(look("n.pt", archive({{"n/data.pkl",
                                     "\x80\x02"
                                     "c__main__\nN\nq\x01)"}}))
                  .class_name,
              "__main__.N");
    EXPECT_TRUE(help_with(file, path("m.pt")).what.contains("my_package.nets.BigNet"));
}

TEST_F(ModelFiles, RandomBytesAreNothingKnown) {
    std::mt19937 random(1);
    std::string bytes(1 << 20, 0);
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_EQ(look("random.pt", bytes).kind, Kind::unknown);
    EXPECT_EQ(look("cs.pt", std::string(1 << 20, 'c')).kind, Kind::unknown);
}

TEST_F(ModelFiles, GetLinesThatNameThem) {
    const ModelHelp weights = help_with({Kind::weights}, path("w.pth"));
    EXPECT_TRUE(weights.script_lines.contains("load_state_dict(torch.load(\"w.pth\", weights_only=True))"));
    EXPECT_TRUE(weights.script_lines.contains("torch.jit.script(model).save(\"w.torchscript.pt\")"));
    EXPECT_TRUE(weights.function_lines.contains("return model, (x,), {}"));
    EXPECT_EQ(weights.command, "python3 -m rematlas capture capture_me:step -o w.graph.json");
    EXPECT_TRUE(help_with({Kind::safetensors}, path("w.safetensors"))
                    .script_lines.contains("load_file(\"w.safetensors\")"));
    const ModelHelp python = help_with({Kind::python}, path("nets.py"));
    EXPECT_TRUE(python.script_lines.isEmpty());
    EXPECT_EQ(python.command, "python3 -m rematlas capture nets:step -o nets.graph.json");
}

}  // namespace
}  // namespace rematlas::explorer
