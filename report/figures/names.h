// Names in the text report: procedure names without the parts that only compilers need, cut to the
// available room.
#ifndef DWELL_REPORT_FIGURES_NAMES_H_
#define DWELL_REPORT_FIGURES_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace dwell {

constexpr int kAllOfIt = 1 << 20;  // columns of a text without limit

// A C++ name without return type and parameters; others unchanged. Long template arguments are cut
// one by one, so that instances of a template remain distinct.
std::string short_name(std::string_view name, bool utf8);

// The part after the last scope of a qualified name.
std::string inner_name(const std::string& name);
// "A::f" for "A<int>::f".
std::string bare_name(const std::string& name);

// A qualified name, and the rest after each removed scope.
std::vector<std::string> ever_shorter(const std::string& name);

// One procedure name, or several joined by glyphs().chain. A text that is too long loses its outer
// scopes (a::b::c becomes b::c), then the names between first and last, then its middle.
std::string cut_name(const std::string& text, int width, bool utf8);

// A place, "heat.c:88", "A::f+0x2b" or "heat.c". Its line or offset is never cut: if it does not
// fit, the whole place is left out.
std::string cut_place(const std::string& text, int width, bool utf8);

// Divides the columns of one line among texts: none gets more than it wants, and texts that want
// more than their share divide the columns that the others leave.
std::vector<int> share_room(const std::vector<int>& wanted, int room);

}  // namespace dwell

#endif  // DWELL_REPORT_FIGURES_NAMES_H_
