// Text for a terminal: widths, cutting, units, colours, and a canvas that keeps every line within
// its width.
#ifndef DWELL_REPORT_FIGURES_TEXT_STYLE_H_
#define DWELL_REPORT_FIGURES_TEXT_STYLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dwell {

enum class Style { kPlain, kTitle, kName, kHot, kWarm, kDim, kComputation, kTransfer, kBlocked };

// The characters that differ between UTF-8 and ASCII.
struct Glyphs {
    std::string_view ellipsis, branch, last_branch, trunk, arrow, both_ways, dot, chain, micro,
        rule;
};
const Glyphs& glyphs(bool utf8);

// Columns of `text`: combining marks take none, wide East Asian characters two.
int display_width(std::string_view text);

// `text` without control characters and broken UTF-8; in ASCII mode other characters become '?'.
std::string printable(std::string_view text, bool utf8);

// At most `width` columns: a longer text loses its middle, or its left end, or all of it if no more
// than a letter would be left.
std::string cut_middle(const std::string& text, int width, bool utf8);
std::string cut_left(const std::string& text, int width, bool utf8);
std::string pad_left(const std::string& text, int width);   // right-aligned
std::string pad_right(const std::string& text, int width);  // left-aligned

// Three significant digits and a unit. At most 8 columns each.
std::string time_text(double ns, bool utf8);
std::string bytes_text(double bytes);
std::string count_text(uint64_t count);             // 1234567 -> "1.23 M" from 100 000 on
std::string share_text(double part, double whole);  // "18.5 %"; "-" if the whole is 0
std::string ratio_text(double part, double whole);  // "2.10"
// A bar of up to `width` columns for a share between 0 and 1.
std::string bar_text(double share, int width, bool utf8);

// One line under construction. Pieces may have styles; widths count columns.
class Line {
  public:
    Line& add(std::string text, Style style = Style::kPlain);
    Line& pad_to(int column);
    int width() const { return width_; }

  private:
    friend class TextCanvas;
    struct Piece {
        std::string text;
        Style style;
    };
    std::vector<Piece> pieces_;
    int width_ = 0;
};

class TextCanvas {
  public:
    TextCanvas(int width, bool utf8, bool color) : width_(width), utf8_(utf8), color_(color) {}

    int width() const { return width_; }
    bool utf8() const { return utf8_; }
    const Glyphs& signs() const { return glyphs(utf8_); }

    void put(const Line& line);  // cut at the width
    void blank() { out_ += '\n'; }
    // A heading, with an explanation at the right if it fits, else on a line of its own.
    void title(const std::string& text, const std::string& explanation = "");
    // Words wrapped at the width; lines after the first start at column `indent`.
    void paragraph(const std::string& text, int indent, Style style = Style::kPlain);
    // Items joined by dots, wrapped between items.
    void items(const std::vector<std::string>& items, int indent, Style style = Style::kPlain);
    std::string take() { return std::move(out_); }

  private:
    int width_;
    bool utf8_;
    bool color_;
    std::string out_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_FIGURES_TEXT_STYLE_H_
