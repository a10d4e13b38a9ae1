// Figure: what all pictures and tables of a page are framed by.
#pragma once

#include <string>
#include <vector>

#include "report/markup.h"
#include "report/scale.h"

namespace sailor::report {

// The width of all pictures, in their own coordinates; pages scale them to fit.
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

// `name` is what a screen reader says. On narrow screens a picture scrolls sideways, unless it is still plain when
// small.
enum class Narrow { kScrolls, kShrinks };
Element picture(double height, std::string_view name, Narrow narrow = Narrow::kScrolls);

Element rectangle(const Box& box, std::string_view classes);
Element line(Point from, Point to, std::string_view classes);
Element label(Point at, std::string_view text, std::string_view classes = "");
// What a pointer that rests on an element is told.
Element tooltip(std::string_view text);

struct LegendEntry {
  std::string colour;  // a class of the style sheet
  std::string meaning;
};
Element legend(const std::vector<LegendEntry>& entries);

// Picture or table under its caption, scrolling sideways on narrow screens.
Element figure(std::string_view caption, const Element& content);

// One figure of those that a page begins with, in a list of the class "facts"; the note may be empty.
Element fact(std::string_view name, const std::string& value, const std::string& note);

struct Column {
  std::string heading;
  bool is_number = false;
};
struct Row {
  std::vector<std::string> cells;
  std::string classes = {};
};
Element table(const std::vector<Column>& columns, const std::vector<Row>& rows);

}  // namespace sailor::report
