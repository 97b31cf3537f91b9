#include "core/base/base64.h"

#include <gtest/gtest.h>

namespace rematlas {
namespace {

// The test vectors of RFC 4648, section 10.
TEST(Base64, EncodesTheKnownVectors) {
    EXPECT_EQ(base64_encode(""), "");
    EXPECT_EQ(base64_encode("f"), "Zg==");
    EXPECT_EQ(base64_encode("fo"), "Zm8=");
    EXPECT_EQ(base64_encode("foo"), "Zm9v");
    EXPECT_EQ(base64_encode("foobar"), "Zm9vYmFy");
}

TEST(Base64, DecodesWhatItEncodes) {
    std::string bytes;
    for (int i = 0; i < 259; ++i) {
        EXPECT_EQ(base64_decode(base64_encode(bytes)), bytes);
        bytes += static_cast<char>(i * 37);
    }
}

TEST(Base64, RefusesOtherText) {
    EXPECT_FALSE(base64_decode("Zg="));
    EXPECT_FALSE(base64_decode("Zg==Zg=="));
    EXPECT_FALSE(base64_decode("Z!=="));
}

}  // namespace
}  // namespace rematlas
