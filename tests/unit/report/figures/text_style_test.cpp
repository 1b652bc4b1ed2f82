// Numbers, names and places as reports show them.
#include "report/figures/text_style.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report/figures/figures.h"
#include "report/figures/names.h"

namespace dwell {
namespace {

TEST(TextStyle, ThreeDigitsAndUnits) {
    EXPECT_EQ(time_text(999, true), "999 ns");
    EXPECT_EQ(time_text(999.6, true), "1.00 µs");
    EXPECT_EQ(time_text(12'345, false), "12.3 us");
    EXPECT_EQ(time_text(999'600'000, true), "1.00 s");
    EXPECT_EQ(bytes_text(1023), "1023 B");
    EXPECT_EQ(bytes_text(1536), "1.50 KiB");
    EXPECT_EQ(bytes_text(1024.0 * 1024 * 31.25), "31.2 MiB");
    EXPECT_EQ(count_text(99'999), "99999");
    EXPECT_EQ(count_text(1'234'567), "1.23 M");
}

TEST(TextStyle, CutsAndNames) {
    EXPECT_EQ(cut_middle("abcdefghij", 5, true), "ab…ij");
    EXPECT_EQ(cut_middle("abcdefghij", 10, true), "abcdefghij");
    EXPECT_EQ(display_width("größe"), 5);
    EXPECT_EQ(display_width("日本"), 4);
    EXPECT_EQ(printable("a\033[31mb\n", true), "a?[31mb?");
    EXPECT_EQ(short_name("void ns::f<int, std::vector<int> >(int)", false),
              "ns::f<int, vector<int>>");
    EXPECT_EQ(short_name("Grid<(a::Shape)1, 3>::step<'c'>() const", true),
              "Grid<(a::Shape)1, 3>::step<'c'>");
    EXPECT_EQ(short_name("(anonymous namespace)::helper(int)", true), "(anon)::helper");
    EXPECT_EQ(short_name("solve_", true), "solve_");
    EXPECT_EQ(short_name("main program", true), "main program");
    EXPECT_EQ(cut_name("ns::Grid::step", 14, true), "ns::Grid::step");
    EXPECT_EQ(cut_name("ns::Grid::step", 13, true), "Grid::step");
    // The class explains the member.
    EXPECT_EQ(cut_name("ns::Viscoplastic::stress", 18, true), "Visc…astic::stress");
    EXPECT_EQ(cut_name("Viscoplastic::stress", 11, true), "stress");
    EXPECT_EQ(cut_name("ns::Grid<a::b>::step", 9, true), "step");
    EXPECT_EQ(cut_name("ns::Grid<float>::step", 13, true), "Grid::step");
    EXPECT_EQ(cut_name("ns::step<float, a::Grid<int>>", 12, true), "step<…>");
    // What Python puts into such brackets is no template argument.
    const std::string generator = short_name("Mesh.statistics.<locals>.<genexpr>", true);
    EXPECT_EQ(generator, "Mesh.statistics.<genexpr>");
    EXPECT_EQ(cut_name(generator, 20, true), "Mesh.stat….<genexpr>");
    EXPECT_EQ(cut_name("main › a::run › b::go › step", 18, true), "main › … › step");
    EXPECT_EQ(cut_name("abcdefghij", 5, true), "ab…ij");
    EXPECT_EQ(cut_name("main › step", 8, true), "… › step");
    EXPECT_EQ(cut_place("stencils.cpp:1829", 17, true), "stencils.cpp:1829");
    EXPECT_EQ(cut_place("stencils.cpp:1829", 12, true), "ste…cpp:1829");
    EXPECT_EQ(cut_place("stencils.cpp:1829", 6, true), ":1829");
    EXPECT_EQ(cut_place("stencils.cpp:1829", 4, true), "");
    EXPECT_EQ(cut_place("a::Grid::step+0x2bb", 10, true), "step+0x2bb");
    // One letter would be no name.
    EXPECT_EQ(cut_middle("abcdefghij", 3, true), "a…j");
    EXPECT_EQ(cut_middle("abcdefghij", 2, true), "…");
    EXPECT_EQ(cut_middle("abcdefghij", 0, true), "");
}

TEST(TextStyle, OperatorsAndLambdas) {
    const std::string call = "sim::Kernel<double, 3>::operator()(std::vector<int> const&) const";
    EXPECT_EQ(short_name(call, true), "sim::Kernel<double, 3>::operator()");
    EXPECT_EQ(cut_name(short_name(call, true), 30, true), "Kernel<double, 3>::operator()");
    EXPECT_EQ(cut_name(short_name(call, true), 20, true), "Kernel::operator()");
    EXPECT_EQ(cut_name(short_name(call, true), 16, true), "Kernel:…erator()");
    EXPECT_EQ(short_name("bool operator< <int>(A<int> const&, A<int> const&)", true),
              "operator<<int>");
    EXPECT_EQ(short_name("std::ostream& ns::operator<<(std::ostream&, X)", true), "ns::operator<<");
    EXPECT_EQ(short_name("A::operator->() const", true), "A::operator->");
    EXPECT_EQ(
        short_name("It<int*, V<int> >::difference_type ns::operator-<int*, V<int> >(It)", true),
        "ns::operator-<int*, V<int>>");
    EXPECT_EQ(short_name("A::operator std::vector<int>() const", true),
              "A::operator std::vector<int>");
    EXPECT_EQ(short_name("operator new(unsigned long)", true), "operator new");
    EXPECT_EQ(short_name("void my_operator(int)", true), "my_operator");
    EXPECT_EQ(
        short_name("auto run<double, 3>(int, int)::{lambda(double)#1}::operator()(double) const",
                   true),
        "run<double, 3>::{lambda(double)#1}");
    EXPECT_EQ(short_name("outer(int) const::{lambda()#2}", true), "outer::{lambda()#2}");
    for (const std::string lambda :
         {"chem::solve(chem::Rates const&, int)::{lambda}::operator()",
          "chem::solve(chem::Rates const&, int)::$_12::operator()(int)"}) {
        const std::string shown = short_name(lambda, true);
        EXPECT_EQ(shown, "chem::solve::{lambda}");
        EXPECT_EQ(cut_name(shown, 15, true), "solve::{lambda}");
        EXPECT_EQ(cut_name(shown, 14, true), "s…ve::{lambda}");
    }
    EXPECT_EQ(cut_name("heat::add<double>::{lambda(double&, int)#1}", 21, true), "add::{lambda#1}");
    EXPECT_EQ(cut_name("each_cell<{lambda(double&, int)#1}>", 21, true), "each_cell<{lambda#1}>");
    EXPECT_EQ(cut_name("each_cell<{lambda(double&, int)#1}>", 12, true), "each_cell<…>");
    // Arguments that were cut keep their brackets in pairs, so that the name can be cut again.
    const std::string kernel = short_name(
        "a::Kernel<double, std::function<bool (double, double)>, "
        "std::allocator<double> >::operator()(int) const",
        true);
    EXPECT_EQ(cut_name(kernel, 20, true), "Kernel::operator()");
    EXPECT_EQ(cut_name("a…b…c", 4, true), "a…c");
}

TEST(TextStyle, SampledPlacesOfNoShareAreNotNamed) {
    SampledPlaces places;
    places.samples = 1000;
    places.lines = {{"relax", "heat.c", 7, 6}, {"relax", "heat.c", 9, 4}};
    EXPECT_EQ(places_text(places, 3, 80, true), "relax heat.c:7 1 %");
    places.lines.erase(places.lines.begin());
    EXPECT_EQ(places_text(places, 3, 80, true), "");
    places.lines = {{"relax", "heat.c", 7, 800}, {"relax", "", 0, 120}, {"relax", "heat.c", 9, 80}};
    EXPECT_EQ(places_text(places, 3, 80, true), "relax heat.c:7 80 %, :9 8 %");
}

TEST(TextStyle, PlacesWithoutLineNameTheirFunction) {
    const auto place_of = [](const std::string& place) {
        ProfileNode node;
        node.file = place;
        return place_text(node, true);
    };
    EXPECT_EQ(place_of("void send<ns::Vector<float> >(int, long)+0xd5"),
              "send<Vector<float>>+0xd5");
    EXPECT_EQ(place_of("ns::(anonymous namespace)::step(int)+0x2b"), "ns::(anon)::step+0x2b");
    EXPECT_EQ(place_of("ns::operator/(ns::A, ns::A)+0x2"), "ns::operator/+0x2");
    EXPECT_EQ(place_of("libsolve.so.7+0x4e4310"), "libsolve.so.7+0x4e4310");
}

TEST(TextStyle, WordsThatBelongTogetherStayInOneLine) {
    const auto wrapped = [](const std::string& text, int width) {
        TextCanvas canvas(width, true, false);
        canvas.paragraph(text, 0);
        return canvas.take();
    };
    EXPECT_EQ(wrapped("estimated; 1 note in it", 13), "estimated;\n1 note in it\n");
    EXPECT_EQ(wrapped("some 4.46 M entries", 16), "some\n4.46 M entries\n");
    EXPECT_EQ(wrapped("waits for rank 12 in", 15), "waits for\nrank 12 in\n");
    EXPECT_EQ(wrapped("of it 53.1 % of all", 10), "of it\n53.1 % of\nall\n");
    EXPECT_EQ(wrapped("from a.c:12 b to", 12), "from a.c:12\nb to\n");  // not a number
}

TEST(TextStyle, WhatIsBeyondTheWidthIsSeenToBeMissing) {
    TextCanvas canvas(12, true, false);
    canvas.put(Line().add("  17.5 %").add("   8.13 M"));
    EXPECT_EQ(canvas.take(), "  17.5 %   …\n");
    canvas.put(Line().add("abcdefgh").add("ijklmnop"));
    EXPECT_EQ(canvas.take(), "abcdefghijk…\n");
    canvas.put(Line().add("abcdefghijkl").add("   "));
    EXPECT_EQ(canvas.take(), "abcdefghijkl\n");
}

TEST(TextStyle, RoomIsShared) {
    EXPECT_EQ(share_room({5, 6, 7}, 30), (std::vector<int>{5, 6, 7}));
    EXPECT_EQ(share_room({50, 4, 30}, 30), (std::vector<int>{13, 4, 13}));
    EXPECT_EQ(share_room({10, 20}, 15), (std::vector<int>{7, 8}));
}

}  // namespace
}  // namespace dwell
