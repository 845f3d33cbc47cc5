#include "heads/svg.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "files/packed_text.h"
#include "heads/colour.h"
#include "heads/glyphs.h"
#include "heads/markup.h"
#include "heads/png.h"

namespace mha {
namespace {

constexpr std::size_t kMostRectangles = 20000;  // cells that are drawn so; about 60 bytes each

// ` x="1" y="2"`
std::string attributes(std::initializer_list<std::pair<const char*, int>> values) {
  std::string text;
  for (const auto& [name, value] : values) {
    text.append(" ").append(name).append("=\"") += std::to_string(value) + "\"";
  }
  return text;
}

std::string rectangle(int x, int y, int width, int height, Rgb colour) {
  return "<rect" + attributes({{"x", x}, {"y", y}, {"width", width}, {"height", height}}) +
         " fill=\"" + hex(colour) + "\"/>\n";
}

std::string as_rectangles(const Picture& picture, const Picture::Panel& panel) {
  std::string text;
  for (std::size_t row = 0; row < panel.cells.rows; ++row) {
    for (std::size_t col = 0; col < panel.cells.cols;) {
      const std::size_t step = picture.step_of(panel.cells(row, col));
      const std::size_t first = col;
      while (col < panel.cells.cols && picture.step_of(panel.cells(row, col)) == step) ++col;
      text += rectangle(panel.x + static_cast<int>(first) * panel.cell,
                        panel.y + static_cast<int>(row) * panel.cell,
                        static_cast<int>(col - first) * panel.cell, panel.cell,
                        Picture::colour_of_step(step));
    }
  }
  return text;
}

std::string as_image(const Picture& picture, const Picture::Panel& panel) {
  Image image;
  image.width = static_cast<int>(panel.cells.cols);
  image.height = static_cast<int>(panel.cells.rows);
  for (std::size_t step = 0; step <= Picture::kNoKeyStep; ++step) {
    image.palette.push_back(Picture::colour_of_step(step));
  }
  for (const float weight : panel.cells.weights) {
    image.pixels.push_back(static_cast<std::uint8_t>(picture.step_of(weight)));
  }
  return "<image" +
         attributes({{"x", panel.x},
                     {"y", panel.y},
                     {"width", image.width * panel.cell},
                     {"height", image.height * panel.cell}}) +
         " preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\""
         " xlink:href=\"data:image/png;base64," +
         base64(png(image)) + "\"/>\n";
}

std::string as_text(const Picture::Text& text) {
  const char* anchor = text.anchor == Picture::Anchor::start    ? "start"
                       : text.anchor == Picture::Anchor::middle ? "middle"
                                                                : "end";
  std::string element =
      "<text" + attributes({{"x", text.x}, {"y", text.y}}) + " text-anchor=\"" + anchor + "\"";
  if (text.upwards) {
    element += " transform=\"rotate(-90 " + std::to_string(text.x) + " " +
               std::to_string(text.y) + ")\"";
  }
  if (text.size == Picture::Size::title) element += " font-size=\"30\" font-weight=\"bold\"";
  if (text.ink == Picture::Ink::faint) element += " fill=\"#787884\"";
  return element + ">" + escape_markup(text.text) + "</text>\n";
}

}  // namespace

std::string svg(const Picture& picture) {
  // White behind all, whatever the page around it is.
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" "
      "xmlns:xlink=\"http://www.w3.org/1999/xlink\"" +
      attributes({{"width", picture.width / 2}, {"height", picture.height / 2}}) +
      " viewBox=\"0 0 " + std::to_string(picture.width) + " " +
      std::to_string(picture.height) + "\">\n" +
      rectangle(0, 0, picture.width, picture.height, {255, 255, 255});

  std::size_t cells = 0;
  for (const Picture::Panel& panel : picture.panels) cells += panel.cells.weights.size();
  text += "<g shape-rendering=\"crispEdges\">\n";
  for (const Picture::Panel& panel : picture.panels) {
    if (panel.cells.weights.empty()) continue;
    text +=
        cells <= kMostRectangles ? as_rectangles(picture, panel) : as_image(picture, panel);
  }
  constexpr int kScalePieces = 88;
  for (int i = 0; i < kScalePieces; ++i) {
    const Picture::Bar& bar = picture.bar;
    if (bar.width == 0) break;
    const int left = bar.width * i / kScalePieces;
    const int right = bar.width * (i + 1) / kScalePieces;
    text += rectangle(bar.x + left, bar.y, right - left, bar.height,
                      colour_of(static_cast<double>(i) / (kScalePieces - 1)));
  }
  text +=
      "</g>\n<g font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"22\" "
      "fill=\"#222230\" xml:space=\"preserve\">\n";
  for (const Picture::Text& each : picture.texts) text += as_text(each);
  return text + "</g>\n</svg>\n";
}

}  // namespace mha
