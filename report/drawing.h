// Building blocks of pages: SVG shapes, legends, captions, key figures and tables.
#pragma once

#include <string>
#include <vector>

#include "report/markup.h"
#include "report/scale.h"

namespace sailor::report {

// The width of all pictures in SVG coordinates. Pages scale pictures to fit.
inline constexpr double kPictureWidth = 1000;

struct Point {
  double x = 0;
  double y = 0;
};

struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

// The behaviour of a picture on a narrow screen: it scrolls sideways, or it shrinks if it is legible when small.
enum class Narrow { kScrolls, kShrinks };
// An empty <svg>. `name` is the text for screen readers.
Element picture(double height, std::string_view name, Narrow narrow = Narrow::kScrolls);

Element rectangle(const Box& box, std::string_view classes);
Element line(Point from, Point to, std::string_view classes);
Element label(Point at, std::string_view text, std::string_view classes = "");
// The text that a browser shows for the parent element under the pointer.
Element tooltip(std::string_view text);

struct LegendEntry {
  std::string colour;  // a class of the style sheet
  std::string meaning;
};
Element legend(const std::vector<LegendEntry>& entries);

// A picture or table with a caption. It scrolls sideways on narrow screens, also by the keys of a keyboard.
Element figure(std::string_view caption, const Element& content);

// Sentences as a list.
Element bullets(const std::vector<std::string>& sentences);

// One key figure at the top of a page. Its parent is a list of the class "facts". The note may be empty.
Element fact(std::string_view name, const std::string& value, const std::string& note);

struct Column {
  std::string heading;
  bool is_number = false;
};
struct Row {
  std::vector<std::string> cells;
  std::string classes = {};
  std::string link = {};  // where the first cell leads to; empty: nowhere
};
Element table(const std::vector<Column>& columns, const std::vector<Row>& rows);

}  // namespace sailor::report
