// Random sends and receives, compared with a model of MPI's matching (channels.h).
#include <algorithm>
#include <deque>
#include <random>

#include "runtime/exchange/channels.h"
#include "tests/unit/support/channel_pair.h"

namespace dwell {
namespace {

// Messages and receives in random order, matched as MPI does (MPI-3.1 3.5): a message goes to the
// receive posted first that it matches; a receive takes the oldest message that matches.
struct Model {
    struct Message {
        uint32_t id;
        uint32_t comm;
        int tag;
    };
    struct Receive {
        uint32_t comm;
        int tag;
        uint32_t post_order;
        Message matched;  // id 0: not yet
        bool detached = false;
    };
    std::deque<Message> unexpected;
    std::deque<Receive> posted;

    static bool fits(const Receive& receive, const Message& message) {
        return receive.matched.id == 0 && receive.comm == message.comm &&
               (receive.tag == message.tag || receive.tag == MPI_ANY_TAG);
    }
    void arrive(const Message& message) {
        for (Receive& receive : posted) {
            if (!fits(receive, message)) continue;
            receive.matched = message;
            return;
        }
        unexpected.push_back(message);
    }
    void post(Receive receive) {
        for (auto at = unexpected.begin(); at != unexpected.end(); ++at) {
            if (!fits(receive, *at)) continue;
            receive.matched = *at;
            unexpected.erase(at);
            break;
        }
        posted.push_back(receive);
    }
    // How many messages were sent after the oldest incomplete one.
    uint32_t oldest(uint32_t last) const {
        uint32_t least = last;
        if (!unexpected.empty()) least = std::min(least, unexpected.front().id);
        for (const Receive& receive : posted) {
            if (receive.matched.id != 0) least = std::min(least, receive.matched.id);
        }
        return last - least;
    }
    // Removes and returns a matched receive.
    Receive complete_one(uint64_t random) {
        size_t which = random % posted.size();
        while (posted[which].matched.id == 0) which = (which + 1) % posted.size();
        const Receive done = posted[which];
        posted.erase(posted.begin() + static_cast<std::ptrdiff_t>(which));
        return done;
    }
    size_t matched() const {
        size_t count = 0;
        for (const Receive& receive : posted) count += receive.matched.id != 0;
        return count;
    }
};

// One random sequence of messages.
struct Course {
    uint64_t seed;
    std::mt19937_64 random{seed};
    Model model{};
    uint32_t id = 0;  // of the last message
    int known = 0;    // receives that got their own entry
};

class RandomMessages : public ChannelPair {
  protected:
    // Runs `take_step` 5000 times in each of 200 sequences, and check() after each.
    template <typename Step, typename Check>
    void take_courses(Step take_step, Check check) {
        for (uint64_t seed = 1; seed <= 200; ++seed) {
            start_anew();
            Course course{seed};
            for (int step = 0; step < 5000; ++step) {
                take_step(&course);
                if (HasFatalFailure()) FAIL() << "seed " << seed << " step " << step;
            }
            check(course);
        }
    }

    // Limits the number and the age of incomplete messages.
    void run(uint64_t seed, size_t most_open, uint32_t oldest, bool all_known) {
        std::mt19937_64 random(seed);
        Model model;
        uint32_t id = 0;
        int unknown = 0;
        int known = 0;
        for (int step = 0; step < 20'000; ++step) {
            const uint64_t what = random() % 3;
            const uint32_t comm = all_known && random() % 4 == 0 ? kOther : kWorld;
            const int tag = static_cast<int>(random() % (all_known ? 3 : 2));
            if (what == 0 && model.unexpected.size() + model.matched() < most_open &&
                model.oldest(id) < oldest) {
                send(++id, tag, comm);
                model.arrive({id, comm, tag});
            } else if (what == 1 && model.posted.size() < kPosted) {
                const int wanted = all_known && random() % 4 == 0 ? MPI_ANY_TAG : tag;
                model.post({comm, wanted, post(&b_, comm, wanted), {0, 0, 0}});
            } else if (what == 2 && model.matched() != 0) {
                const Model::Receive done = model.complete_one(random());
                const uint32_t got = receive(done.matched.tag, done.comm, done.post_order);
                if (got == 0) {
                    ++unknown;
                    continue;
                }
                ++known;
                ASSERT_EQ(got, done.matched.id) << "seed " << seed << " step " << step;
            } else if (what == 2 && model.posted.size() > 4) {
                unpost(&b_, model.posted.front().post_order);  // none of them has its message
                model.posted.pop_front();
            }
        }
        EXPECT_GT(known, all_known ? 1000 : 100);
        if (all_known) {
            EXPECT_EQ(unknown, 0);
        }
    }
};

// A ring has kRingEntries places, of which the receiver frees eight at a time.
TEST_F(RandomMessages, AreAllKnownWhileTheRingHasRoom) {
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        start_anew();
        run(seed, 6, 20, true);
        if (HasFatalFailure()) return;
    }
}

// A dropped run distinguishes two kinds of messages.
TEST_F(RandomMessages, AreNeverTakenForOthersWhenItHasNone) {
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        start_anew();
        run(seed, 60, UINT32_MAX, false);
        if (HasFatalFailure()) return;
    }
}

// More receives than kPosted, some of them freed: the entry of another message is labelled as
// guessed, and is not older than the own one.
TEST_F(RandomMessages, AreLabelledAsGuessedIfTooManyArePosted) {
    const auto take_step = [this](Course* course) {
        auto& [seed, random, model, id, known] = *course;
        const uint64_t what = random() % 8;
        const int tag = static_cast<int>(random() % 3);
        if (what < 3 && model.unexpected.size() + model.matched() < 8) {
            send(++id, tag);
            model.arrive({id, kWorld, tag});
        } else if (what < 6 && model.posted.size() < 40) {
            const int wanted = random() % 8 == 0 ? MPI_ANY_TAG : tag;
            model.post({kWorld, wanted, post(&b_, kWorld, wanted), {0, 0, 0}});
        } else if (what == 6 && model.matched() != 0) {
            const Model::Receive done = model.complete_one(random());
            const uint32_t got = receive(done.matched.tag, done.comm, done.post_order);
            if (got == 0) return;
            known += !guessed_;
            ASSERT_TRUE(guessed_ ? got >= done.matched.id : got == done.matched.id)
                << got << " for " << done.matched.id;
        } else if (what == 7 && seed % 4 == 0 && random() % 16 == 0 && !model.posted.empty()) {
            Model::Receive* detached = &model.posted[random() % model.posted.size()];
            if (detached->matched.id != 0) return;
            leave_posted(&b_, detached->post_order, detached->comm, detached->tag);
            detached->detached = true;
        }
        std::erase_if(model.posted, [](const Model::Receive& receive) {
            return receive.detached && receive.matched.id != 0;
        });
    };
    take_courses(take_step, [](const Course& course) {
        EXPECT_GT(course.known, course.seed % 4 == 0 ? 0 : 20) << "seed " << course.seed;
    });
}

// With unseen and freed receives: a receive gets its own entry, none, or that of a later message
// that was sent before the receive ended.
TEST_F(RandomMessages, AreNeverTakenForEarlierOnes) {
    const auto take_step = [this](Course* course) {
        auto& [seed, random, model, id, known] = *course;
        const int tag = static_cast<int>(random() % 2);
        if (random() % 2 == 0 && model.unexpected.size() < (seed % 2 == 0 ? 8 : 50)) {
            send(++id, tag);
            model.arrive({id, kWorld, tag});
            return;
        }
        const auto at = std::find_if(model.unexpected.begin(), model.unexpected.end(),
                                     [=](const auto& message) { return message.tag == tag; });
        if (at == model.unexpected.end()) return;
        const uint32_t own = at->id;
        model.unexpected.erase(at);
        if (random() % 50 == 0) {
            mark_unsynchronised();
            return;
        }
        const uint32_t got = receive(tag);
        ASSERT_TRUE(got == 0 || got >= own) << got << " for " << own;
        known += got == own;
    };
    take_courses(take_step, [](const Course& course) {
        EXPECT_GT(course.known, 100) << "seed " << course.seed;
    });
}

}  // namespace
}  // namespace dwell
