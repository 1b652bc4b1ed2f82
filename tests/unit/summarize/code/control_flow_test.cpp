// Tests control flow in compiled machine code of fixtures/ways.cpp: paths that the source allows
// must be found, and others must not.
#include "summarize/code/control_flow.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tests/unit/support/fixture_binary.h"

namespace dwell {
namespace {

struct Compiler {
    std::string command;
    std::string options;
    bool stripped = false;
};
void PrintTo(const Compiler& compiler, std::ostream* out) {
    *out << compiler.command << " " << compiler.options << (compiler.stripped ? " stripped" : "");
}

// Compiled once for all tests.
class Binary {
  public:
    explicit Binary(const Compiler& with) {
        const std::string whole = folder_ / "whole.so";
        const std::string path = folder_ / "ways.so";
        error_ = run(with.command + " -fno-inline " + with.options + " -shared -fPIC -o '" + whole +
                     "' '" + fixture("ways.cpp") + "' && cp '" + whole + "' '" + path + "'");
        if (error_.empty() && with.stripped) error_ = run("strip '" + path + "'");
        file_.open(path, "", folder_ / "debug");
        flow_ = std::make_unique<ControlFlow>(&file_);
        for (const std::string procedure :
             {"straight", "looped", "in_turn", "guarded", "chosen", "chosen_in_turn", "gives_up",
              "seldom", "always", "sometimes", "computed", "_Z6caughti"}) {
            for (const std::string call : {"MPI_Send", "MPI_Recv"}) {
                const uint64_t address = return_from(procedure, call, 0);
                if (address != 0) flow_->add_communication(address);
            }
        }
    }

    const Disassembly& code(const std::string& procedure) {
        const auto [entry, is_new] = codes_.try_emplace(procedure);
        if (is_new) {
            entry->second = std::make_unique<Disassembly>(folder_ / "whole.so", procedure);
        }
        return *entry->second;
    }
    uint64_t return_from(const std::string& procedure, const std::string& call, int n) {
        // GCC moves cold code elsewhere.
        const uint64_t found = code(procedure).return_from(call, n);
        return found != 0 ? found : code(procedure + ".cold").return_from(call, n);
    }
    const std::string& error() const { return error_; }
    ControlFlow* flow() { return flow_.get(); }

  private:
    ScratchFolder folder_;
    std::string error_;
    DebugFile file_;
    std::unique_ptr<ControlFlow> flow_;
    std::map<std::string, std::unique_ptr<Disassembly>> codes_;
};

class ControlFlowTest : public testing::TestWithParam<Compiler> {
  protected:
    void SetUp() override {
        const Compiler& with = GetParam();
        if (!have_command(with.command)) GTEST_SKIP() << "no " << with.command;
#ifndef __x86_64__
        GTEST_SKIP() << "only x86-64 is read";
#endif
        static std::map<std::string, std::unique_ptr<Binary>> binaries;
        std::unique_ptr<Binary>& known = binaries[testing::PrintToString(with)];
        if (!known) known = std::make_unique<Binary>(with);
        binary_ = known.get();
        flow_ = binary_->flow();
        ASSERT_EQ(binary_->error(), "");
    }

    uint64_t return_from(const std::string& procedure, const std::string& call, int n = 0) const {
        return binary_->return_from(procedure, call, n);
    }

    // "inside leaves reenters", with the possible ones only.
    std::string ways(const std::string& procedure, const std::string& left,
                     const std::string& reached, int nth_left = 0, int nth_reached = 0) {
        const uint64_t from = return_from(procedure, left, nth_left);
        const uint64_t to = return_from(procedure, reached, nth_reached);
        EXPECT_NE(from, 0u) << procedure << " " << left;
        EXPECT_NE(to, 0u) << procedure << " " << reached;
        const Ways found = flow_->ways({{from}, {to}});
        if (!found.known) return "unknown";
        std::string text;
        if (found.inside) text += "inside ";
        if (found.leaves) text += "leaves ";
        if (found.reenters) text += "reenters ";
        return text;
    }

    Binary* binary_ = nullptr;
    ControlFlow* flow_ = nullptr;
};

TEST_P(ControlFlowTest, StraightCode) {
    EXPECT_EQ(ways("straight", "MPI_Send", "MPI_Recv"), "inside ");
    EXPECT_EQ(ways("straight", "MPI_Recv", "MPI_Send"), "leaves reenters ");
    EXPECT_EQ(ways("straight", "MPI_Send", "MPI_Send"), "reenters ");
}

TEST_P(ControlFlowTest, Loops) {
    EXPECT_EQ(ways("looped", "MPI_Send", "MPI_Send"), "inside leaves reenters ");
    EXPECT_EQ(ways("in_turn", "MPI_Send", "MPI_Recv"), "inside ");
    EXPECT_EQ(ways("in_turn", "MPI_Recv", "MPI_Send"), "inside leaves reenters ");
}

TEST_P(ControlFlowTest, Conditions) {
    EXPECT_EQ(ways("guarded", "MPI_Send", "MPI_Recv"), "inside leaves reenters ");
    EXPECT_EQ(ways("guarded", "MPI_Recv", "MPI_Send"), "leaves reenters ");
}

TEST_P(ControlFlowTest, JumpTables) {
    EXPECT_EQ(ways("chosen", "MPI_Send", "MPI_Recv"), "leaves reenters ");
    EXPECT_EQ(ways("chosen", "MPI_Recv", "MPI_Send"), "leaves reenters ");
    EXPECT_EQ(ways("chosen_in_turn", "MPI_Send", "MPI_Recv"), "inside leaves reenters ");
    EXPECT_EQ(ways("chosen_in_turn", "MPI_Recv", "MPI_Send"), "inside leaves reenters ");
}

TEST_P(ControlFlowTest, CallsThatDoNotReturn) {
    EXPECT_EQ(ways("gives_up", "MPI_Send", "MPI_Recv"), "inside ");
    EXPECT_EQ(ways("gives_up", "MPI_Recv", "MPI_Send"), "leaves reenters ");
}

TEST_P(ControlFlowTest, CodeThatWasMovedAway) {
    EXPECT_EQ(ways("seldom", "MPI_Send", "MPI_Recv"), "inside leaves ");
    EXPECT_EQ(ways("seldom", "MPI_Recv", "MPI_Send"), "leaves reenters ");
}

TEST_P(ControlFlowTest, CalleesThatCommunicate) {
    EXPECT_EQ(ways("around_always", "always", "always", 0, 1), "inside ");
    EXPECT_EQ(ways("around_always", "always", "always", 1, 0), "leaves reenters ");
    EXPECT_EQ(ways("around_sometimes", "sometimes", "sometimes", 0, 1), "inside leaves reenters ");
}

// No jump table is known, so everything is possible.
TEST_P(ControlFlowTest, ComputedJumps) {
    EXPECT_EQ(ways("computed", "MPI_Send", "MPI_Recv"), "leaves reenters ");
}

TEST_P(ControlFlowTest, Exceptions) {
    EXPECT_EQ(ways("_Z6caughti", "MPI_Send", "MPI_Recv"), "inside leaves ");
    EXPECT_EQ(ways("_Z6caughti", "MPI_Recv", "MPI_Send"), "leaves reenters ");
}

// Only calls that leave the module are communication.
TEST_P(ControlFlowTest, CallsInTheModule) {
    const uint64_t call = return_from("around_sometimes", "sometimes", 1);
    flow_->add_communication(call);
    EXPECT_EQ(ways("around_sometimes", "sometimes", "sometimes", 0, 1), "inside leaves reenters ");
    const uint64_t start = binary_->code("around_sometimes").start();
    EXPECT_TRUE(flow_->calls_in(start, binary_->code("straight").start()).empty());
}

// A call outside of a part proves that the part was left.
TEST_P(ControlFlowTest, Parts) {
    const uint64_t send = return_from("in_turn", "MPI_Send");
    const uint64_t receive = return_from("in_turn", "MPI_Recv");
    const uint64_t outside = return_from("in_turn", "work", 1);  // between the two
    const auto is_outside = [&](uint64_t address) {
        return address < outside && outside <= address + 7;
    };
    auto found = flow_->ways_of_part({{send}, {receive}}, is_outside);
    EXPECT_FALSE(found.stays);
    EXPECT_TRUE(found.leaves);
    found = flow_->ways_of_part({{receive}, {send}}, is_outside);
    EXPECT_TRUE(found.stays);
    EXPECT_FALSE(found.leaves);
}

std::vector<Compiler> compilers() {
    std::vector<Compiler> all;
    for (const char* const command : {"g++", "clang++"}) {
        for (const char* const options : {"-O0", "-O2", "-O3 -march=skylake-avx512"}) {
            all.push_back({command, options});
        }
        all.push_back({command, "-O2", true});
    }
    all.push_back({"g++", "-O2 -fno-plt -fcf-protection=none"});
    return all;
}

std::string name_of(const testing::TestParamInfo<Compiler>& info) {
    std::string name;
    for (const char c : testing::PrintToString(info.param)) {
        if (c == '+') name += 'x';
        if (isalnum(c) != 0) name += c;
    }
    return name;
}

INSTANTIATE_TEST_SUITE_P(Compilers, ControlFlowTest, testing::ValuesIn(compilers()), name_of);

}  // namespace
}  // namespace dwell
