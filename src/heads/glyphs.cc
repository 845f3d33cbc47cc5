#include "heads/glyphs.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/label.h"

namespace mha {
namespace {

// Strokes are parted by blanks; a point is a digit, x, and a letter, y, with e on the
// baseline, m on top of small letters, q of capitals. A stroke with a - in front goes
// straight from point to point; others of more than two points are quadratic B-splines of
// them, closed where the last is the first.
struct Drawn {
  std::string_view character;
  std::string_view strokes;
};
constexpr std::array kDrawn = {
    Drawn{" ", ""},
    Drawn{"!", "4i4q 4e4e"},
    Drawn{"\"", "2n2q 6n6q"},
    Drawn{"#", "2e3q 5e6q 0i8i 0m8m"},
    Drawn{"$", "7o7q1q1k7k7e1e1g 4c4s"},
    Drawn{"%", "1e7q 0m0q3q3m0m 5e5i8i8e5e"},
    Drawn{"&", "8e2m2q6q6m0j0e6e8j"},
    Drawn{"'", "4n4q"},
    Drawn{"(", "6r3n3f6b"},
    Drawn{")", "2r5n5f2b"},
    Drawn{"*", "4k4q 1l7p 1p7l"},
    Drawn{"+", "4f4n 0j8j"},
    Drawn{",", "4e3b"},
    Drawn{"-", "1j7j"},
    Drawn{".", "4e4e"},
    Drawn{"/", "1c7q"},
    Drawn{"0", "1e1q7q7e1e 3i5m"},
    Drawn{"1", "-1n4q4e 1e7e"},
    Drawn{"2", "1n1q7q7n 7n7k1e 1e7e"},
    Drawn{"3", "1o1q7q7k4k 4k7k7e1e1g"},
    Drawn{"4", "-6e6q1h8h"},
    Drawn{"5", "-7q2q1k 1k2m7m7e1e1f"},
    Drawn{"6", "1e1l7l7e1e 1i1q6q"},
    Drawn{"7", "-1q7q3e"},
    Drawn{"8", "1k1q7q7k1k 1e1k7k7e1e"},
    Drawn{"9", "1j1q7q7j1j 7m7e2e"},
    Drawn{":", "4f4f 4l4l"},
    Drawn{";", "4l4l 4e3b"},
    Drawn{"<", "-7n1j7f"},
    Drawn{"=", "0l8l 0h8h"},
    Drawn{">", "-1n7j1f"},
    Drawn{"?", "1o1q7q7k4k 4k4i 4e4e"},
    Drawn{"@", "7e0e0q8q8i 3h3m6m6h3h 6m6i 6i6g8g8i"},
    Drawn{"A", "-0e4q8e 1i7i"},
    Drawn{"B", "-4k1k1q4q 4q7q7k4k 4k8k8e4e -4e1e1k"},
    Drawn{"C", "7n7q1q1e7e7h"},
    Drawn{"D", "-3q1q1e3e 3q7q7e3e"},
    Drawn{"E", "-7q1q1e7e 1k6k"},
    Drawn{"F", "-7q1q1e 1k6k"},
    Drawn{"G", "7n7q1q1e7e7i -4k7k7i"},
    Drawn{"H", "1e1q 7e7q 1k7k"},
    Drawn{"I", "2q6q 4q4e 2e6e"},
    Drawn{"J", "-3q6q6h 6h6e1e1h"},
    Drawn{"K", "1e1q 1i7q 3k7e"},
    Drawn{"L", "-1q1e7e"},
    Drawn{"M", "-0e0q4i8q8e"},
    Drawn{"N", "-1e1q7e7q"},
    Drawn{"O", "1e1q7q7e1e"},
    Drawn{"P", "-1e1q4q 4q8q8j4j 4j1j"},
    Drawn{"Q", "1e1q7q7e1e 5h8d"},
    Drawn{"R", "-1e1q4q 4q8q8j4j 4j1j 4j7e"},
    Drawn{"S", "7o7q1q1k7k7e1e1g"},
    Drawn{"T", "0q8q 4q4e"},
    Drawn{"U", "1q1i 1i1e7e7i 7i7q"},
    Drawn{"V", "-0q4e8q"},
    Drawn{"W", "-0q2e4m6e8q"},
    Drawn{"X", "1e7q 1q7e"},
    Drawn{"Y", "-0q4j8q 4j4e"},
    Drawn{"Z", "-1q7q1e7e"},
    Drawn{"[", "-6r3r3b6b"},
    Drawn{"\\", "1q7c"},
    Drawn{"]", "-2r5r5b2b"},
    Drawn{"^", "-1m4q7m"},
    Drawn{"_", "0c8c"},
    Drawn{"`", "3q5n"},
    Drawn{"a", "1e1m7m7e1e 7e7m"},
    Drawn{"b", "1e1m7m7e1e 1e1q"},
    Drawn{"c", "7k7m1m1e7e7g"},
    Drawn{"d", "1e1m7m7e1e 7e7q"},
    Drawn{"e", "1i7i 7i7m1m1e7e7g"},
    Drawn{"f", "3e3n 3n3q7q 1m7m"},
    Drawn{"g", "1e1m7m7e1e 7m7d 7d7a1a1b"},
    Drawn{"h", "1e1q 1j1m7m7j 7j7e"},
    Drawn{"i", "-2m4m4e 1e7e 4p4p"},
    Drawn{"j", "-2m5m5d 5d5a1a 5p5p"},
    Drawn{"k", "1e1q 1h6m 3j7e"},
    Drawn{"l", "-2q4q4e 1e7e"},
    Drawn{"m", "0e0m 0k0m4m4k 4k4e 4k4m8m8k 8k8e"},
    Drawn{"n", "1e1m 1j1m7m7j 7j7e"},
    Drawn{"o", "1e1m7m7e1e"},
    Drawn{"p", "1e1m7m7e1e 1a1m"},
    Drawn{"q", "1e1m7m7e1e 7a7m"},
    Drawn{"r", "2e2m 2j2m7m7k"},
    Drawn{"s", "7l7m1m1i7i7e1e1f"},
    Drawn{"t", "3p3h 3h3e7e 1m7m"},
    Drawn{"u", "1m1h 1h1e7e7h 7m7e"},
    Drawn{"v", "-1m4e7m"},
    Drawn{"w", "-0m2e4k6e8m"},
    Drawn{"x", "1e7m 1m7e"},
    Drawn{"y", "1m4e 7m2a"},
    Drawn{"z", "-1m7m1e7e"},
    Drawn{"{", "6r4r4j2j 2j4j4b6b"},
    Drawn{"|", "4b4r"},
    Drawn{"}", "2r4r4j6j 6j4j4b2b"},
    Drawn{"~", "0j2m6g8j"},
    Drawn{"·", "4j4j"},
    Drawn{"×", "1f7l 1l7f"},
    Drawn{"…", "0e0e 4e4e 8e8e"},
    Drawn{"Ġ", "7n7q1q1e7e7i -4k7k7i 4t4t"},  // how GPT-2 writes a blank
    Drawn{"▁", "-0e0c8c8e"},                  // and SentencePiece
};

struct Point {
  float x, y;
};
Point middle(Point a, Point b) { return {(a.x + b.x) / 2.0F, (a.y + b.y) / 2.0F}; }

std::vector<Point> points_of(std::string_view stroke) {
  std::vector<Point> points;
  for (std::size_t i = 0; i + 1 < stroke.size(); i += 2) {
    points.push_back(
        {static_cast<float>(stroke[i] - '0'), static_cast<float>(stroke[i + 1] - 'e')});
  }
  return points;
}

// From `from` to `to`, towards `control` first.
void add_curve(std::vector<Point>& way, Point from, Point control, Point to) {
  constexpr int kPieces = 8;
  for (int i = 1; i <= kPieces; ++i) {
    const float t = static_cast<float>(i) / kPieces;
    const float a = (1.0F - t) * (1.0F - t);
    const float b = 2.0F * t * (1.0F - t);
    const float c = t * t;
    way.push_back(
        {a * from.x + b * control.x + c * to.x, a * from.y + b * control.y + c * to.y});
  }
}

std::vector<Point> spline(const std::vector<Point>& points) {
  const std::size_t last = points.size() - 1;
  const bool closed = points[0].x == points[last].x && points[0].y == points[last].y;
  std::vector<Point> way = {closed ? middle(points[0], points[1]) : points[0]};
  for (std::size_t i = 1; i < last; ++i) {
    const bool ends = !closed && i + 1 == last;
    add_curve(way, way.back(), points[i],
              ends ? points[last] : middle(points[i], points[i + 1]));
  }
  if (closed) add_curve(way, way.back(), points[0], way.front());
  return way;
}

void add_stroke(std::vector<PenStroke>& all, std::string_view stroke) {
  const bool straight = stroke.starts_with('-');
  if (straight) stroke.remove_prefix(1);
  std::vector<Point> way = points_of(stroke);
  if (!straight && way.size() > 2) way = spline(way);
  for (std::size_t i = 0; i + 1 < way.size(); ++i) {
    all.push_back({way[i].x, way[i].y, way[i + 1].x, way[i + 1].y});
  }
}

std::vector<PenStroke> box(std::size_t columns) {
  const float right = static_cast<float>(columns) * kGlyphAdvance - 2.0F;
  return {{0, 0, right, 0},
          {right, 0, right, kGlyphHeight},
          {right, kGlyphHeight, 0, kGlyphHeight},
          {0, kGlyphHeight, 0, 0}};
}

}  // namespace

std::vector<PenStroke> pen_strokes(std::string_view character) {
  std::vector<PenStroke> all;
  const auto drawn = std::ranges::find(kDrawn, character, &Drawn::character);
  if (drawn == kDrawn.end()) {
    const std::size_t columns = display_width(character);
    return columns == 0 ? all : box(columns);
  }
  std::string_view rest = drawn->strokes;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    add_stroke(all, rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return all;
}

bool has_letters_of(std::string_view text) {
  while (!text.empty()) {
    const std::string_view character = text.substr(0, character_bytes(text));
    if (std::ranges::find(kDrawn, character, &Drawn::character) == kDrawn.end() &&
        display_width(character) > 0) {
      return false;
    }
    text.remove_prefix(character.size());
  }
  return true;
}

}  // namespace mha
