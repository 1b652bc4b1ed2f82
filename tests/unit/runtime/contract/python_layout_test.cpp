// Line tables, texts and file names of CPython, decoded as in the interpreter.
#include "runtime/contract/python_layout.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "summarize/model/script_name.h"

namespace dwell {
namespace {

// Tables as Objects/locations.md describes them; the lines are known by that alone.
uint8_t head(int kind, int units) { return static_cast<uint8_t>(128 | kind << 3 | (units - 1)); }

int line_at(const std::vector<uint8_t>& table, int64_t offset) {
    return python_line(table.data(), static_cast<int64_t>(table.size()), 100, offset);
}

TEST(PythonLine, EveryKindOfEntry) {
    const std::vector<uint8_t> table = {
        head(0, 1),
        0x12,  // short form, same line: bytes 0 and 1
        head(11, 2),
        1,
        2,  // one line further: 2 to 5
        head(13, 1),
        2 * 5,  // no column, 5 lines further: 6 and 7
        head(14, 8),
        2 * 30 | 1,
        0,
        1,
        1,            // long form, 30 lines back: 8 to 23
        head(15, 1),  // no place: 24 and 25
        head(13, 1),
        64 | (2 * 100 & 63),
        2 * 100 >> 6,  // two bytes of number, 100 lines further
    };
    EXPECT_EQ(line_at(table, 0), 100);
    EXPECT_EQ(line_at(table, 2), 101);
    EXPECT_EQ(line_at(table, 5), 101);
    EXPECT_EQ(line_at(table, 6), 106);
    EXPECT_EQ(line_at(table, 8), 76);
    EXPECT_EQ(line_at(table, 23), 76);
    EXPECT_EQ(line_at(table, 24), 0);
    EXPECT_EQ(line_at(table, 26), 176);
}

// Before the first instruction, behind the last, in an empty table and in a truncated one.
TEST(PythonLine, Outside) {
    const std::vector<uint8_t> table = {head(11, 1), 1, 2};
    EXPECT_EQ(line_at(table, -2), 101);
    EXPECT_EQ(line_at(table, 2), 100);
    EXPECT_EQ(line_at({}, 0), 100);
    EXPECT_EQ(line_at({head(14, 1)}, 0), 100);
    EXPECT_NE(line_at({head(14, 1), 127, 127}, 0), 0);
}

std::string utf8(const std::vector<uint32_t>& points, size_t room) {
    std::string text(room, '?');
    char* const end = put_python_text(reinterpret_cast<const char*>(points.data()), 4,
                                      static_cast<int64_t>(points.size()), text.data(), room);
    text.resize(static_cast<size_t>(end - text.data()));
    return text;
}

TEST(PythonText, BecomesUtf8) {
    EXPECT_EQ(utf8({'a', 0xe4, 0x20ac, 0x1d11e, '\n'}, 40), "aä€𝄞 ");
    EXPECT_EQ(utf8({'a', 'b', 'c', 'd', 'e'}, 6), "abc");  // no character is cut
    const char latin[] = "\xe9t\xe9";
    std::string text(20, '?');
    text.resize(static_cast<size_t>(put_python_text(latin, 1, 3, text.data(), 20) - text.data()));
    EXPECT_EQ(text, "été");
}

TEST(PythonText, OwnFiles) {
    const auto is_own = [](const std::string& file) {
        return is_python_own(file.data(), file.size());
    };
    EXPECT_TRUE(is_own("<frozen importlib._bootstrap>"));
    EXPECT_TRUE(is_own("<frozen runpy>"));
    EXPECT_FALSE(is_own("<frozen os>"));
    EXPECT_FALSE(is_own("<string>"));
    EXPECT_FALSE(is_own(""));
}

TEST(ScriptName, IsWhatPythonRuns) {
    constexpr char kPython[] = "/usr/bin/python3.11";
    EXPECT_EQ(shown_program(kPython, "python3 halo.py 40"), "halo.py");
    EXPECT_EQ(shown_program(kPython, "python3 -u -X dev -W ignore /home/me/halo.py -v"), "halo.py");
    EXPECT_EQ(shown_program(kPython, "python3 -m mpi4py halo.py"), "halo.py");
    EXPECT_EQ(shown_program(kPython, "python3 -m solver.main 4"), "solver.main");
    EXPECT_EQ(shown_program(kPython, "python3 -msolver.main 4"), "solver.main");
    EXPECT_EQ(shown_program(kPython, "python3 -c pass 4"), "python3.11");
    EXPECT_EQ(shown_program(kPython, "python3 -cpass 4"), "python3.11");
    EXPECT_EQ(shown_program(kPython, "python3"), "python3.11");
    EXPECT_EQ(shown_program(kPython, ""), "python3.11");
    EXPECT_EQ(shown_program("/home/me/jacobi", "./jacobi halo.py"), "jacobi");
}

}  // namespace
}  // namespace dwell
