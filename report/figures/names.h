// Names as the text report shows them: of procedures, without what only compilers need, and cut
// where they are too long for their place.
#ifndef DWELL_REPORT_FIGURES_NAMES_H_
#define DWELL_REPORT_FIGURES_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace dwell {

constexpr int kAllOfIt = 1 << 20;  // columns of a text that is not cut

// A C++ name without return type and parameters; others unchanged. Template arguments are cut one
// by one where they are long: instances of a template stay apart.
std::string short_name(std::string_view name, bool utf8);

// What follows the last scope of a qualified name.
std::string inner_name(const std::string& name);

// A qualified name, and what is left of it as its scopes go one by one.
std::vector<std::string> ever_shorter(const std::string& name);

// A name of a procedure, or several joined by glyphs().chain: what is too long loses its outer
// scopes (a::b::c becomes b::c), then the names between the first and the last, then its middle.
std::string cut_name(const std::string& text, int width, bool utf8);

// A place, "heat.c:88", "A::f+0x2b" or "heat.c": its line or offset is never cut, but left out with
// the rest where it does not fit.
std::string cut_place(const std::string& text, int width, bool utf8);

// Columns for texts that stand in one line and want these: none gets more than it wants, and those
// that want more than their part share what the others leave.
std::vector<int> share_room(const std::vector<int>& wanted, int room);

}  // namespace dwell

#endif  // DWELL_REPORT_FIGURES_NAMES_H_
