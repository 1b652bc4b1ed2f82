// The screen of `dwell where`, from positions that are made here.
#include "report/live/where_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/figures/text_style.h"

namespace dwell {
namespace {

constexpr int64_t kOneSecond_ns = 1'000'000'000;
constexpr int64_t kNow = 1'700'000'100 * kOneSecond_ns;

Position at(uint32_t rank, std::vector<std::string> path, bool in_call = true) {
    Position position;
    position.rank = rank;
    position.state = 'R';
    position.is_in_call = in_call;
    position.since_unix_ns = kNow - 8 * kOneSecond_ns;
    position.path = std::move(path);
    return position;
}

// The hang of the manual: rank 2 in a receive, five others in an allreduce.
Positions hang() {
    Positions all;
    all.world_size = 6;
    all.program = "hang";
    all.host = "node1";
    all.start_unix_ns = kNow - 10 * kOneSecond_ns;
    for (uint32_t rank = 0; rank < 6; ++rank) {
        if (rank == 2) {
            all.threads.push_back(at(2, {"main", "MPI_Recv hang.c:8"}));
            all.threads.back().waits.ranks = {0};
            all.threads.back().partner = "rank 0, tag 1";
        } else {
            all.threads.push_back(at(rank, {"main", "step hang.c:30", "MPI_Allreduce hang.c:5"}));
            all.threads.back().waits.ranks = {2};
            all.threads.back().partner = "rank 2, which has not come";
        }
    }
    return all;
}

std::string text_of(const Positions& positions, int width = 80, bool ascii = false) {
    WhereOptions options;
    options.width = width;
    options.ascii = ascii;
    return where_text(positions, kNow, options);
}

std::string in_one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::string single;
    for (const char one : text) {
        if (one != ' ' || single.empty() || single.back() != ' ') single += one;
    }
    return single;
}

// Of a job that has ended, times count until its end.
TEST(WhereText, OfADeadJobSaysWhereItWas) {
    Positions all = hang();
    for (Position& position : all.threads) {
        position.state = '\0';
        position.end_unix_ns = kNow - 3 * kOneSecond_ns;
    }
    const std::string text = text_of(all);
    EXPECT_NE(text.find("for 7.00 s; it has ended"), std::string::npos) << text;
    EXPECT_NE(text.find("for 5.00 s, waits for"), std::string::npos) << text;
}

// Ranks 0 and 1 wait for each other, and rank 2 computed when the job was killed.
TEST(WhereText, OfADeadJobNamesOnlyWhoWasHeld) {
    Positions all = hang();
    all.threads.resize(3);
    for (uint32_t rank = 0; rank < 3; ++rank) {
        Position& one = all.threads[rank] = at(rank, {"main", "MPI_Recv hang.c:8"}, rank != 2);
        one.state = '\0';
        one.end_unix_ns = kNow;
        if (rank != 2) one.waits.ranks = {1 - rank};
    }
    const std::string text = in_one_line(text_of(all));
    EXPECT_NE(text.find("Ranks 0,1 could not go on: rank 0 waits for rank 1"), std::string::npos)
        << text;
    EXPECT_EQ(text.find("Nobody"), std::string::npos) << text;
}

TEST(WhereText, NamesTheCircleWithTheOddOneFirst) {
    EXPECT_NE(in_one_line(text_of(hang()))
                  .find("Nobody can go on: rank 2 waits for rank 0 in MPI_Recv hang.c:8; ranks "
                        "0,1,3-5 wait for rank 2 in MPI_Allreduce hang.c:5."),
              std::string::npos)
        << text_of(hang());
}

TEST(WhereText, IsATreeOfPathsWithRanksAtTheRight) {
    const std::string text = text_of(hang());
    EXPECT_NE(text.find("main "), std::string::npos);
    EXPECT_EQ(text.find("main "), text.rfind("main "));
    EXPECT_LT(text.find("MPI_Recv hang.c:8  "), text.find("MPI_Allreduce hang.c:5  ")) << text;
    EXPECT_NE(text.find(" ranks 0,1,3-5\n"), std::string::npos) << text;
}

TEST(WhereText, SaysNothingOfACircleWhileSomethingMoves) {
    Positions moving = hang();
    moving.threads[0].moved = true;
    const std::string text = text_of(moving);
    EXPECT_EQ(text.find("go on"), std::string::npos);
    EXPECT_NE(text.find("rank 0 moved in the last second"), std::string::npos) << text;
}

TEST(WhereText, SaysNothingOfACircleWhereARankIsStopped) {
    Positions all = hang();
    all.threads[2].state = 'T';
    const std::string text = in_one_line(text_of(all));
    EXPECT_EQ(text.find("can go on"), std::string::npos) << text;
    EXPECT_NE(text.find("Others wait for rank 2, which is stopped in MPI_Recv hang.c:8."),
              std::string::npos)
        << text;
}

TEST(WhereText, NamesTheRankThatTheOthersWaitFor) {
    Positions all = hang();
    all.threads[2] = at(2, {}, false);
    all.threads[2].last = "MPI_Barrier hang.c:3";
    all.threads[2].samples = {{"hang.c:21", 90}, {"hang.c:22", 7}};
    const std::string computes = in_one_line(text_of(all));
    EXPECT_NE(computes.find("Others wait for rank 2, which computes at hang.c:21, after "
                            "MPI_Barrier hang.c:3."),
              std::string::npos)
        << computes;
    all.threads[2].samples.clear();
    all.threads[2].state = 'S';
    const std::string sleeps = in_one_line(text_of(all));
    EXPECT_NE(sleeps.find("rank 2, which is asleep after MPI_Barrier"), std::string::npos)
        << sleeps;
}

TEST(WhereText, NamesWhoWaitsWhereMostCompute) {
    Positions all = hang();
    for (Position& one : all.threads) {
        if (one.rank != 2) one = at(one.rank, {}, false);
    }
    const std::string text = in_one_line(text_of(all));
    EXPECT_NE(text.find("Rank 2 waits for rank 0, which computes outside of MPI."),
              std::string::npos)
        << text;
}

TEST(WhereText, AnEndedRankIsNamedAndItsTimeIsNoRest) {
    Positions all = hang();
    all.threads[0].state = '\0';
    all.threads[0].since_unix_ns = kNow - kOneSecond_ns / 100;
    all.gone = {0};
    const std::string text = in_one_line(text_of(all));
    EXPECT_NE(text.find("nothing has moved for 8.00 s; rank 0 has ended"), std::string::npos)
        << text;
}

TEST(WhereText, KeepsItsWidth) {
    Positions many = hang();
    for (uint32_t rank = 6; rank < 1000; rank += 2) {
        many.threads.push_back(at(
            rank, {"main", std::string(300, 'x') + "::step heat.cpp:30", "MPI_Wait heat.cpp:7"}));
        many.threads.back().requests = {"receive from rank 1, tag 7", "send to rank 2, tag 8"};
        many.threads.back().pending = 5;
    }
    for (const int width : {40, 60, 80, 120, 200}) {
        std::istringstream lines(text_of(many, width));
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LE(display_width(line), width) << line;
        }
    }
}

TEST(WhereText, HasNoControlCharacters) {
    Positions hostile = hang();
    hostile.program = "/tmp/a\x1b[31mb\nc";
    hostile.host = "\xff\xfe";
    hostile.threads[0].path = {"main\a", "\x1b]0;title\x07 f.c:1"};
    hostile.threads[1].system_call = "read of /tmp/\x1b[2J";
    for (const bool ascii : {false, true}) {
        const std::string text = text_of(hostile, 80, ascii);
        for (const char one : text) {
            EXPECT_TRUE(one == '\n' || static_cast<unsigned char>(one) >= 32) << text;
            EXPECT_TRUE(!ascii || static_cast<unsigned char>(one) < 127) << text;
        }
    }
}

TEST(WhereText, SaysWhatIsKnownOfARankOutsideOfMpi) {
    Positions one = hang();
    one.threads = {at(0, {}, false)};
    one.threads[0].last = "MPI_Barrier x.c:9";
    one.threads[0].samples = {{"x.c:12", 90}, {"x.c:13", 7}};
    EXPECT_NE(in_one_line(text_of(one))
                  .find("computing for 8.00 s, left MPI_Barrier x.c:9 last, at "
                        "x.c:12 (90 of 97 samples), x.c:13 (7 of 97 samples)"),
              std::string::npos)
        << text_of(one);
}

TEST(WhereText, SaysThatAProcessIsStoppedOrNotVisible) {
    Positions two = hang();
    two.threads = {at(0, {"main"}), at(1, {"main"})};
    two.threads[0].state = 'T';
    two.threads[1].state = kNotVisible;
    const std::string text = in_one_line(text_of(two));
    EXPECT_NE(text.find(", stopped"), std::string::npos) << text;
    EXPECT_NE(text.find("or pid namespace"), std::string::npos) << text;
    EXPECT_EQ(text.find("ended"), std::string::npos) << text;
}

TEST(WhereText, NamesThreadsOfARank) {
    Positions threads = hang();
    threads.threads.clear();
    for (uint32_t thread = 0; thread < 4; ++thread) {
        threads.threads.push_back(at(0, {"main", "barrier x.c:3"}, false));
        threads.threads.back().thread = thread;
        threads.threads.back().in_openmp = true;
    }
    EXPECT_NE(text_of(threads).find("rank 0 threads 0-3"), std::string::npos) << text_of(threads);
}

TEST(WhereJson, HoldsEachThread) {
    Positions positions = hang();
    positions.threads[0].path = {"\xff broken"};
    const auto json = nlohmann::json::parse(where_json(positions, kNow));
    EXPECT_EQ(json["threads"].size(), 6u);
    EXPECT_EQ(json["stuck"], nlohmann::json({0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(json["threads"][2]["waits_for"], nlohmann::json::array({0}));
    EXPECT_EQ(json["threads"][2]["for_ns"], 8 * kOneSecond_ns);
}

}  // namespace
}  // namespace dwell
