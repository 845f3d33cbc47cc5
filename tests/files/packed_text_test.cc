#include "files/packed_text.h"

#include <string>

#include "catch.h"
#include "support/unpacked.h"

using namespace mha;

namespace {

std::string packed(const std::string& bytes) {
  return packed_text(std::as_bytes(std::span(bytes)));
}

}  // namespace

TEST_CASE("bytes travel in a text and come back, whatever their number") {
  std::string bytes;
  for (int length = 0; length < 300; ++length) {
    CHECK(unpacked(packed(bytes)) == bytes);
    CHECK(packed(bytes).size() % 4 == 0);
    bytes += static_cast<char>(length * 37);
  }
}

TEST_CASE("the text has no character that HTML or JSON knows") {
  std::string bytes;
  for (unsigned i = 0; i < 10000; ++i) bytes += static_cast<char>(i * i % 251);
  CHECK(packed(bytes).find_first_not_of(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") ==
        std::string::npos);
}

TEST_CASE("bytes that repeat take less room") {
  CHECK(packed(std::string(1'000'000, 'a')).size() < 3000);
}

TEST_CASE("base64 is RFC 4648's") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64("\xFB\xFF\xFE") == "+//+");
}
