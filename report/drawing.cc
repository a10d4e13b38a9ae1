#include "report/drawing.h"

namespace sailor::report {
namespace {

Element data_cell(const std::string& text, std::string_view classes, std::string_view link) {
  Element cell("td", {{"class", classes}});
  if (link.empty()) return cell.text(text);
  return cell.add(Element("a", {{"href", link}}).text(text));
}

}  // namespace

Element picture(double height, std::string_view name, Narrow narrow) {
  return Element("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                         {"class", narrow == Narrow::kShrinks ? "fluid" : ""},
                         {"viewBox", "0 0 " + coordinate(kPictureWidth) + " " + coordinate(height)},
                         {"role", "img"},
                         {"aria-label", name}});
}

Element rectangle(const Box& box, std::string_view classes) {
  return Element("rect",
                 {{"class", classes}, {"x", box.x}, {"y", box.y}, {"width", box.width}, {"height", box.height}});
}

Element line(Point from, Point to, std::string_view classes) {
  return Element("line", {{"class", classes}, {"x1", from.x}, {"y1", from.y}, {"x2", to.x}, {"y2", to.y}});
}

Element label(Point at, std::string_view text, std::string_view classes) {
  return Element("text", {{"class", classes}, {"x", at.x}, {"y", at.y}}).text(text);
}

Element tooltip(std::string_view text) { return Element("title").text(text); }

Element legend(const std::vector<LegendEntry>& entries) {
  Element list("ul", {{"class", "legend"}});
  for (const LegendEntry& entry : entries) {
    Element swatch("svg", {{"xmlns", "http://www.w3.org/2000/svg"}, {"viewBox", "0 0 14 12"}, {"aria-hidden", "true"}});
    swatch.add(rectangle({0, 0, 14, 12}, entry.colour));
    list.add(Element("li").add(swatch).text(entry.meaning));
  }
  return list;
}

Element figure(std::string_view caption, const Element& content) {
  Element frame("figure");
  if (!caption.empty()) frame.add(Element("figcaption").text(caption));
  frame.add(Element("div", {{"class", "wide"}, {"tabindex", "0"}}).add(content));
  return frame;
}

Element bullets(const std::vector<std::string>& sentences) {
  Element list("ul");
  for (const std::string& sentence : sentences) list.add(Element("li").text(sentence));
  return list;
}

Element table(const std::vector<Column>& columns, const std::vector<Row>& rows) {
  const auto class_of = [&](std::size_t column) { return columns[column].is_number ? "number" : ""; };
  Element head("tr");
  for (std::size_t i = 0; i < columns.size(); ++i) {
    head.add(Element("th", {{"class", class_of(i)}}).text(columns[i].heading));
  }
  Element body("tbody");
  for (const Row& row : rows) {
    Element line("tr", {{"class", row.classes}});
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      line.add(data_cell(row.cells[i], class_of(i), i == 0 ? row.link : ""));
    }
    body.add(line);
  }
  return Element("table").add(Element("thead").add(head)).add(body);
}

Element fact(std::string_view name, const std::string& value, const std::string& note) {
  Element box("div", {{"class", "fact"}});
  box.add(Element("dt").text(name)).add(Element("dd").text(value));
  if (!note.empty()) box.add(Element("dd", {{"class", "note"}}).text(note));
  return box;
}

}  // namespace sailor::report
