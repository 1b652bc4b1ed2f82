// Which ends of messages belong together, in logs that have all of them and in logs that lack some.
#include "report/events/message_channels.h"

#include <gtest/gtest.h>

#include "runtime/contract/event_layout.h"

namespace dwell {
namespace {

Event message(EventKind kind, uint32_t partner, uint64_t bytes, uint32_t tag = 7) {
    Event event{};
    event.kind = kind;
    event.what = partner;
    event.more = 2;
    event.values[0] = bytes;
    event.values[1] = event_message(1, tag);
    return event;
}

// Ends of messages from rank 0 to rank 1, noted in the order in which they are told.
class Matches {
  public:
    Matches& send(uint64_t bytes, uint64_t ns, uint32_t tag = 7) {
        return note(0, message(EventKind::kSend, 1, bytes, tag), ns);
    }
    Matches& receive(uint64_t bytes, uint64_t ns, uint32_t tag = 7) {
        return note(1, message(EventKind::kReceive, 0, bytes, tag), ns);
    }
    // '+': has another end. Of all sends, then of all receives, in two passes that give the same.
    std::string ends() {
        matches_.end_of_notes();
        const std::string first = pass();
        EXPECT_EQ(pass(), first);
        return first;
    }
    // Of the next end (--events-filter).
    Matches& number(uint64_t number) {
        number_ = number;
        return *this;
    }
    Matches& lose(uint32_t rank) {
        matches_.note_loss(rank);
        return *this;
    }
    Matches& pause(uint32_t rank) {
        matches_.note_pause(rank);
        return *this;
    }
    Matches& show(uint64_t from, uint64_t to) {
        from_ = from;
        to_ = to;
        return *this;
    }
    MessageMatches& operator*() { return matches_; }

  private:
    Matches& note(uint32_t own, Event record, uint64_t ns) {
        if (number_ != 0) record.values[record.more++] = number_;
        matches_.note(own, record, {ns, true, ns >= from_ && ns < to_});
        noted_.emplace_back(own, record);
        return *this;
    }
    std::string pass() {
        std::string found[2];
        matches_.rewind();
        for (const auto& [own, record] : noted_)
            found[own] += matches_.has_other_end(own, record) ? '+' : '-';
        return found[0] + " " + found[1];
    }
    uint64_t number_ = 0;
    uint64_t from_ = 0;
    uint64_t to_ = UINT64_MAX;
    MessageMatches matches_;
    std::vector<std::pair<uint32_t, Event>> noted_;
};

TEST(MessageMatches, OfWholeChannelsGoByNumber) {
    Matches matches;
    matches.send(8, 10).send(16, 20).receive(8, 30).send(24, 40).receive(16, 50).receive(24, 60);
    EXPECT_EQ(matches.ends(), "+++ +++");
    EXPECT_EQ((*matches).alone() + (*matches).guessed() + (*matches).early(), 0u);
}

TEST(MessageMatches, MayBeReceivedSomewhatEarly) {
    Matches matches;
    matches.send(8, 10).receive(8, 12).receive(8, 27).send(8, 30).send(8, 40).receive(8, 41);
    EXPECT_EQ(matches.ends(), "+++ +++");
    EXPECT_EQ((*matches).early(), 1u);
    EXPECT_EQ((*matches).earliest_ns(), 3u);
}

// By times that are estimated; nothing is missing, so the numbers are right.
TEST(MessageMatches, MayAllBeReceivedSomewhatEarly) {
    Matches matches;
    for (uint32_t tag = 0; tag < 3; ++tag) matches.receive(8, 10 + tag, tag).send(8, 20 + tag, tag);
    EXPECT_EQ(matches.ends(), "+++ +++");
    EXPECT_EQ((*matches).early(), 3u);
    EXPECT_EQ((*matches).earliest_ns(), 10u);
    EXPECT_EQ((*matches).guessed() + (*matches).alone(), 0u);
}

// Two sends of a phase come before the receiver enters it.
TEST(MessageMatches, GoByNumberWhereTheyAreEven) {
    Matches matches;
    for (uint64_t i = 0; i < 3; ++i) {
        matches.pause(0).send(8, 100 * i).pause(1).send(8, 100 * i + 10);
        matches.receive(8, 100 * i + 20).receive(8, 100 * i + 30);
    }
    EXPECT_EQ(matches.ends(), "++++++ ++++++");
    EXPECT_EQ((*matches).guessed(), 6u);
}

// Also where the last send has not been received.
TEST(MessageMatches, TellHowEarlyInChannelsThatGoOn) {
    Matches matches;
    matches.send(8, 10).receive(8, 12).receive(8, 27).send(8, 30).send(8, 40);
    EXPECT_EQ(matches.ends(), "++- ++");
    EXPECT_EQ((*matches).early(), 1u);
    EXPECT_EQ((*matches).earliest_ns(), 3u);
}

TEST(MessageMatches, AreMissingAtTheEndOfAKilledJob) {
    Matches matches;
    for (uint64_t i = 0; i < 5; ++i) matches.send(8, 10 * i);
    for (uint64_t i = 0; i < 3; ++i) matches.receive(8, 100 + i);
    EXPECT_EQ(matches.ends(), "+++-- +++");
    EXPECT_EQ((*matches).alone(), 2u);
    EXPECT_EQ((*matches).guessed(), 0u);
}

// Each send follows the receive of the one before, and the first one is not in the log.
TEST(MessageMatches, GoByTimeWhereTheFirstSendIsMissing) {
    Matches matches;
    matches.lose(0);
    for (uint64_t i = 0; i < 4; ++i) matches.receive(8, 100 * i + 10).send(8, 100 * i + 50);
    EXPECT_EQ(matches.ends(), "+++- -+++");
    EXPECT_EQ((*matches).guessed(), 3u);
    EXPECT_EQ((*matches).alone(), 2u);
    EXPECT_EQ((*matches).early(), 0u);
}

TEST(MessageMatches, GoBySizeWhereSomeInTheMiddleAreMissing) {
    Matches matches;
    for (const uint64_t bytes : {1, 2, 5, 6}) matches.send(bytes, bytes);
    for (const uint64_t bytes : {1, 3, 4, 5, 6}) matches.receive(bytes, 10 + bytes);
    EXPECT_EQ(matches.ends(), "+-++ +--++");
    EXPECT_EQ((*matches).guessed(), 3u);
    EXPECT_EQ((*matches).alone(), 3u);
}

// A send and a receive of other messages are lost, so their numbers agree again.
TEST(MessageMatches, GoByTimeWhereBothEndsAreMissing) {
    Matches matches;
    for (uint64_t i = 0; i < 2; ++i) matches.send(8, 100 * i).receive(8, 100 * i + 10);
    matches.send(8, 200).lose(1);     // its receive is lost
    matches.lose(0).receive(8, 310);  // its send is lost
    matches.send(8, 400).receive(8, 410);
    EXPECT_EQ(matches.ends(), "++-+ ++-+");
    EXPECT_EQ((*matches).guessed(), 3u);
    EXPECT_EQ((*matches).alone(), 2u);
}

// The first receive is missing, so all others have the number of an older send.
TEST(MessageMatches, GoByTimeWhereTheBeginningIsMissing) {
    Matches matches;
    matches.pause(0).send(8, 0).pause(1);
    for (uint64_t i = 1; i < 4; ++i) matches.send(8, 100 * i).receive(8, 100 * i + 10);
    EXPECT_EQ(matches.ends(), "-+++ +++");
    EXPECT_EQ((*matches).guessed(), 3u);
    EXPECT_EQ((*matches).alone(), 1u);
}

// Both ranks have events in the same phases, which the receiver enters somewhat later.
TEST(MessageMatches, GoByNumberWhereTimeAgrees) {
    Matches matches;
    for (uint64_t i = 0; i < 4; ++i) {
        matches.pause(0).send(8, 100 * i);
        if (i != 2) matches.pause(1);
        matches.receive(8, 100 * i + 10);
    }
    EXPECT_EQ(matches.ends(), "++++ ++++");
    EXPECT_EQ((*matches).guessed(), 0u);
}

// Of four messages the window has one whole, and one end of two.
TEST(MessageMatches, AreSplitByWhatIsShown) {
    Matches matches;
    matches.show(100, 200);
    matches.send(8, 50).receive(8, 60).send(8, 90).receive(8, 110).send(8, 120).receive(8, 130);
    matches.send(8, 190).receive(8, 210);
    EXPECT_EQ(matches.ends(), "--+- --+-");
    EXPECT_EQ((*matches).split(), 2u);
    EXPECT_EQ((*matches).alone(), 0u);
}

TEST(MessageMatches, WithNumbersOfTheirOwnMeetTheSameNumber) {
    Matches matches;
    matches.number(1).send(8, 10).number(2).send(8, 20).number(4).send(8, 30);
    matches.number(2).receive(8, 40).number(3).receive(8, 50).number(4).receive(8, 60);
    EXPECT_EQ(matches.ends(), "-++ +-+");
    EXPECT_EQ((*matches).alone(), 2u);
    EXPECT_EQ((*matches).guessed() + (*matches).split() + (*matches).early(), 0u);
}

TEST(MessageMatches, WithNumbersOfTheirOwnAreSplitByWhatIsShown) {
    Matches matches;
    matches.show(15, 45);
    matches.number(1).send(8, 10).number(2).send(8, 20).number(3).send(8, 30);
    matches.number(1).receive(8, 25).number(2).receive(8, 40).number(3).receive(8, 50);
    EXPECT_EQ(matches.ends(), "-+- -+-");
    EXPECT_EQ((*matches).split(), 2u);
    EXPECT_EQ((*matches).alone(), 0u);
}

TEST(MessageMatches, MayHaveATagEach) {
    Matches matches;
    constexpr uint32_t kTags = 150'000;
    for (uint32_t tag = 0; tag < kTags; ++tag) matches.send(8, tag, tag).receive(8, tag + 1, tag);
    matches.send(8, kTags + 1, kTags);
    const std::string all(kTags, '+');
    EXPECT_EQ(matches.ends(), all + "- " + all);
}

// Whole channels are forgotten where there are many. One that is there later may have been among
// them, so its numbers say nothing.
TEST(MessageMatches, AreNotGuessedAfterManyTags) {
    Matches matches;
    constexpr uint32_t kTags = 70'000;
    for (uint32_t tag = 0; tag < kTags; ++tag) matches.send(8, tag, tag).receive(8, tag + 1, tag);
    matches.receive(8, kTags + 1, kTags).send(8, kTags + 2, kTags).receive(8, kTags + 3, kTags);
    const std::string all(kTags, '+');
    EXPECT_EQ(matches.ends(), all + "- " + all + "--");
    EXPECT_EQ((*matches).alone(), 3u);
    EXPECT_EQ((*matches).guessed(), 0u);
}

}  // namespace
}  // namespace dwell
