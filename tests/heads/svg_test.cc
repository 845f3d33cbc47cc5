#include "heads/svg.h"

#include <string>
#include <vector>

#include "catch.h"
#include "files/packed_text.h"
#include "heads/colour.h"
#include "heads/grid.h"
#include "heads/markup.h"
#include "heads/png.h"

using namespace mha;

namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

bool has(const std::string& text, const std::string& part) { return count(text, part) > 0; }

// Whether every tag that opens is closed, in order, and no < or & stands elsewhere.
bool well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < xml.size();) {
    if (xml[at] == '&') {
      const std::size_t end = xml.find(';', at);
      if (end == xml.npos || end - at > 6) return false;
      at = end + 1;
      continue;
    }
    if (xml[at] != '<') {
      ++at;
      continue;
    }
    const std::size_t end = xml.find('>', at);
    if (end == xml.npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.starts_with("?")) continue;
    if (tag.find('<') != tag.npos || count(tag, "\"") % 2 != 0) return false;
    if (tag.starts_with("/")) {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (!tag.ends_with("/")) {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  return open.empty();
}

}  // namespace

TEST_CASE("a map is rectangles, neighbours of one colour in one") {
  MapGrid grid = grid_of({Rows{{0, 0, 0, 1}, {1, 0, 0, 0}}});
  const Picture picture = picture_of(grid);
  const std::string text = svg(picture);
  CHECK(well_formed(text));
  // Paper, two runs a row, 88 of the scale.
  CHECK(count(text, "<rect ") == 1 + 4 + 88);
  const Picture::Panel& panel = picture.panels[0];
  const auto number = [](int value) { return "\"" + std::to_string(value) + "\""; };
  CHECK(has(text, "<rect x=" + number(panel.x) + " y=" + number(panel.y) +
                      " width=" + number(3 * panel.cell) + " height=" + number(panel.cell) +
                      " fill=\"" + hex(colour_of(0)) + "\"/>"));
  CHECK(has(text, "<rect x=" + number(panel.x + 3 * panel.cell) + " y=" + number(panel.y) +
                      " width=" + number(panel.cell) + " height=" + number(panel.cell) +
                      " fill=\"" + hex(colour_of(1)) + "\"/>"));
  CHECK(has(text, "viewBox=\"0 0 " + std::to_string(picture.width) + " " +
                      std::to_string(picture.height) + "\""));
}

TEST_CASE("labels are text, on both axes, with the axes' names") {
  MapGrid grid = diagonal(2);
  grid.queries = {"猫", "it"};
  grid.keys = {"the", "cat"};
  grid.title = "a & b";
  const std::string text = svg(picture_of(grid));
  CHECK(well_formed(text));
  for (const char* label : {">猫<", ">it<", ">the<", ">cat<", ">query<", ">key<", ">head 0<",
                            ">a &amp; b<", ">1.00<"}) {
    INFO(label);
    CHECK(count(text, label) == 1);
  }
  CHECK(count(text, "rotate(-90 ") == 3);  // two keys and "query"
}

TEST_CASE("a hostile label stays text") {
  MapGrid grid = diagonal(2, 2);
  const std::string hostile =
      GENERATE(as<std::string>{}, "<script>", "\"/><x", "</text>", "&lt;", "]]>", "\x1b[31m",
               std::string("\0", 1), "\xFF", "\uFFFE");
  grid.queries[0] = grid.keys[0] = grid.title = grid.heads[1] = hostile;
  const std::string text = svg(picture_of(grid));
  CHECK(well_formed(text));
  CHECK(count(text, "<text ") == picture_of(grid).texts.size());
  CHECK(!has(text, "<script"));
  for (const char c : text) CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
}

TEST_CASE("nothing outside the file is asked for and nothing runs") {
  const std::string text = svg(picture_of(diagonal(200)));
  CHECK(count(text, "http") == 2);  // the two names of XML's spaces
  CHECK(count(text, "href=") == 1);
  CHECK(has(text, "xlink:href=\"data:image/png;base64,iVBORw0KGgo"));
  for (const char* what : {"<script", "onload", "url(", "<foreignObject", "<use", "@import"}) {
    CHECK(!has(text, what));
  }
}

TEST_CASE("many cells are an image a map, a pixel a cell") {
  const Picture picture = picture_of(diagonal(150, 2));
  const std::string text = svg(picture);
  CHECK(well_formed(text));
  CHECK(count(text, "<image ") == 2);
  CHECK(text.size() < 60'000);
  Image image{150, 150, {}, {}};
  for (std::size_t step = 0; step <= Picture::kNoKeyStep; ++step) {
    image.palette.push_back(Picture::colour_of_step(step));
  }
  for (int i = 0; i < 150 * 150; ++i) image.pixels.push_back(i % 151 == 0 ? 219 : 0);
  CHECK(has(text, base64(png(image))));
}

TEST_CASE("maps of nothing have a file, too") {
  MapGrid grid = diagonal(2);
  grid.keys.clear();
  grid.map = [](std::size_t, std::size_t) { return Tensor<float>::zeros({2, 0}); };
  CHECK(well_formed(svg(picture_of(grid))));
}
