#include "heads/page.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "catch.h"
#include "files/json.h"
#include "heads/cells.h"
#include "support/error_of.h"
#include "support/temp_folder.h"
#include "support/unpacked.h"

using namespace mha;

namespace {

using Labels = std::vector<std::string>;

// Maps of random weights, a row's sum 1; the same at each call.
MapGrid random_grid(std::size_t layers, std::size_t heads, std::size_t n) {
  MapGrid grid;
  grid.stack = layers > 1;
  for (std::size_t layer = 0; layer < layers; ++layer) grid.layers.push_back(layer);
  for (std::size_t head = 0; head < heads; ++head) {
    grid.heads.push_back("head " + std::to_string(head));
  }
  for (std::size_t i = 0; i < n; ++i) grid.queries.push_back(std::to_string(i));
  grid.keys = grid.queries;
  grid.map = [n](std::size_t layer, std::size_t head) {
    std::mt19937 generator(static_cast<unsigned>(100 * layer + head));
    std::uniform_real_distribution<float> weight(0.0F, 2.0F / static_cast<float>(n));
    Tensor<float> map({n, n});
    std::ranges::generate(map.values(), [&] { return weight(generator); });
    return map;
  };
  return grid;
}

struct Page {
  PageContents contents;
  std::string html;
};

Page page_of(const MapGrid& grid, std::size_t limit = 20'000'000) {
  const TempFolder folder;
  WholeFile file(folder / "maps.html");
  const PageContents contents = write_page(file, grid, limit);
  file.commit();
  return {contents, read_file(folder / "maps.html")};
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// What stands in the element with that id.
std::string element(const std::string& html, const std::string& id) {
  const std::size_t at = html.find(" id=\"" + id + "\">");
  REQUIRE(at != std::string::npos);
  const std::size_t begin = html.find('>', at) + 1;
  return html.substr(begin, html.find("</", begin) - begin);
}

JsonNode about_of(const Page& page) {
  return parse_json(Bytes::own(element(page.html, "about")), "about");
}

}  // namespace

TEST_CASE("a page holds labels, names and each map") {
  MapGrid grid = random_grid(2, 3, 4);
  grid.title = "the cat sat down";
  grid.layers = {5, 7};
  grid.queries = {"the", "cat", "sat", "down"};
  const Page page = page_of(grid);
  CHECK(page.contents.left_out == 0);
  CHECK(page.contents.bits == WeightBits::sixteen);
  const JsonNode about = about_of(page);
  CHECK(about.find("title")->text == "the cat sat down");
  CHECK(about.find("stack")->number == 1.0);
  CHECK(about.find("layers")->numbers == std::vector<double>{5, 7});
  CHECK(about.find("heads")->strings == Labels{"head 0", "head 1", "head 2"});
  CHECK(about.find("queries")->strings == Labels{"the", "cat", "sat", "down"});
  CHECK(about.find("keys")->strings == Labels{"0", "1", "2", "3"});
  CHECK(about.find("bits")->number == 16.0);
  CHECK(about.find("colours")->strings.size() == 256);
  CHECK(unpacked(element(page.html, "map-0-0")).size() == 4 * 4 + 2 * 16);
  CHECK(element(page.html, "map-1-2") ==
        packed_map(grid.map(1, 2).matrix(), WeightBits::sixteen).text);
}

TEST_CASE("a page names a largest weight that six decimals would make zero") {
  MapGrid grid = random_grid(1, 1, 2);
  grid.map = [](std::size_t, std::size_t) {
    Tensor<float> map({2, 2});
    std::ranges::fill(map.values(), 2e-7F);
    return map;
  };
  const JsonNode about = about_of(page_of(grid));
  CHECK(about.find("largest")->number == static_cast<double>(2e-7F));
  CHECK(about.find("largest_error")->number < 1e-9);
}

TEST_CASE("a page has the scale of other pictures") {
  CHECK(about_of(page_of(random_grid(1, 1, 32))).find("power")->number == 1.0);
  const double power = about_of(page_of(random_grid(1, 1, 64))).find("power")->number;
  CHECK(std::abs(power - static_cast<double>(scale_power(64))) < 1e-7);
}

TEST_CASE("a page asks for nothing and runs nothing but its own script") {
  const std::string html = page_of(random_grid(1, 1, 2)).html;
  CHECK(html.find("default-src 'none'; script-src 'sha256-") != std::string::npos);
  CHECK(html.find("unsafe") == std::string::npos);
  CHECK(html.find("src=\"") == std::string::npos);
  CHECK(html.find("url(") == std::string::npos);
  CHECK(html.find("<link") == std::string::npos);
  CHECK(html.find("@data@") == std::string::npos);
  CHECK(html.find("https:") == std::string::npos);
  CHECK(html.ends_with("</html>\n"));
}

TEST_CASE("labels and title are text, whatever they hold") {
  const std::string plain = page_of(random_grid(1, 2, 2)).html;
  const std::string hostile =
      GENERATE(as<std::string>(), "</script><img src=x onerror=alert(1)>", "<!--<script>",
               "\"quoted' \\", "a\xE2\x80\xA8z", "line\nfeed\r\t\x01", "\xFF\xC3(", "it's");
  MapGrid grid = random_grid(1, 2, 2);
  grid.title = hostile;
  grid.heads[1] = hostile;
  grid.queries[0] = hostile;
  grid.keys[1] = hostile;
  const Page page = page_of(grid);
  CHECK(count_of(page.html, "<") == count_of(plain, "<"));
  CHECK(count_of(page.html, "\n") == count_of(plain, "\n"));
  const JsonNode about = about_of(page);
  const std::string& shown = about.find("title")->text;
  CHECK(about.find("queries")->strings == Labels{shown, "1"});
  CHECK(about.find("keys")->strings == Labels{"0", shown});
  CHECK(about.find("heads")->strings == Labels{"head 0", shown});
  if (hostile.find('<') != std::string::npos) CHECK(shown == hostile);
}

TEST_CASE("weights take eight bits where sixteen would not do") {
  const MapGrid grid = random_grid(1, 4, 100);
  const std::size_t wide = page_of(grid).html.size();
  const Page narrow = page_of(grid, wide - 10);
  CHECK(narrow.contents.bits == WeightBits::eight);
  CHECK(narrow.contents.left_out == 0);
  CHECK(narrow.html.size() < wide - 40'000);
  CHECK(about_of(narrow).find("bits")->number == 8.0);
  CHECK(about_of(narrow).find("largest_error")->number > 1e-5);
  CHECK(page_of(grid, wide + 10).contents.bits == WeightBits::sixteen);
}

TEST_CASE("what no page has room for is left out, the last maps first") {
  const MapGrid grid = random_grid(2, 4, 100);
  const std::size_t limit = 100'000;
  const Page page = page_of(grid, limit);
  CHECK(page.contents.bits == WeightBits::eight);
  CHECK(page.contents.left_out > 0);
  CHECK(page.html.size() <= limit);
  CHECK(page.html.size() > limit - 20'000);
  const std::size_t there = 8 - page.contents.left_out;
  CHECK(count_of(page.html, "octet-stream\" id=\"map-") == there);
  CHECK(page.html.find("map-0-" + std::to_string(there - 1) + "\"") != std::string::npos);
}

TEST_CASE("a page without room for one map is refused") {
  const std::size_t limit = GENERATE(0, 1000, 50'000);
  CHECK(error_of([&] {
          page_of(random_grid(1, 2, 200), limit);
        }).starts_with("a page has no room for a map of 200 queries and 200 keys in its "));
}
