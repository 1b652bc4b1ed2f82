// Rows, columns, alarms, keys and pictures of a small job whose figures are known.
#include "report/top/top_rows.h"

#include "report/figures/text_style.h"
#include "report/top/top_json.h"
#include "report/top/top_state.h"
#include "report/top/top_text.h"

namespace dwell {
namespace {

// app: main (own 100) calls step at a.c:7; step (own 300) has MPI_Send (200, no waiting) and
// MPI_Recv (400, of it 250 waiting); main has fwrite (50).
class SmallJob {
  public:
    SmallJob() {
        add(SiteKind::kProgram, "app", "", 0, kNoNode, 1050, 0);
        add(SiteKind::kProcedure, "main", "/src/a.c", 3, 0, 1050, 100);
        add(SiteKind::kCall, "step", "/src/a.c", 7, 1, 900, 0);
        add(SiteKind::kProcedure, "step", "/src/a.c", 20, 2, 900, 300);
        const uint32_t send = add(SiteKind::kCommunication, "MPI_Send", "/src/a.c", 22, 3, 200, 0);
        const uint32_t receive =
            add(SiteKind::kCommunication, "MPI_Recv", "/src/b.c", 5, 3, 400, 0);
        add(SiteKind::kIo, "fwrite", "/src/a.c", 9, 1, 50, 0);
        at(send).totals.count = 4;
        at(send).totals.bytes_sent = 4000;
        at(receive).totals.count = 4;
        at(receive).totals.blocked_ns = 250;
        snapshot.profile = &profile;
        snapshot.unix_ns = snapshot.figures_unix_ns = 5'000'000'000;
        snapshot.start_unix_ns = 1'000'000'000;
        snapshot.ranks.resize(2);
        snapshot.ranks[1].rank = 1;
        profile.world_size = 2;
        sum_up();
    }
    LiveNode& at(uint32_t node) { return snapshot.nodes[node]; }
    void sum_up() {
        snapshot.sums = {};
        snapshot.sums.total_ns = snapshot.nodes[0].totals.time_ns;
        snapshot.sums.computation_ns = 400;
        snapshot.sums.transfer_ns = at(4).totals.time_ns + 150;
        snapshot.sums.blocked_ns = 250;
        snapshot.sums.io_ns = 50;
    }

    Profile profile;
    LiveSnapshot snapshot;

  private:
    uint32_t add(SiteKind kind, const char* name, const char* file, int line, uint32_t parent,
                 uint64_t time_ns, uint64_t computation_ns) {
        const auto index = static_cast<uint32_t>(profile.nodes.size());
        ProfileNode node;
        node.kind = kind;
        node.name = name;
        node.file = file;
        node.line = line;
        node.parent = parent;
        if (parent != kNoNode) profile.nodes[parent].children.push_back(index);
        profile.nodes.push_back(node);
        LiveNode live;
        live.id = 100 + index;
        live.totals.time_ns = time_ns;
        live.computation_ns = computation_ns;
        snapshot.nodes.push_back(live);
        return index;
    }
};

std::vector<std::string> names(const TopTable& table) {
    std::vector<std::string> names;
    for (const TopRow& row : table.rows) names.push_back(row.name + " " + row.place);
    return names;
}

class TopRows : public ::testing::Test {
  protected:
    void SetUp() override { model.take(job.snapshot); }
    TopTable table(const TopChoice& choice) const { return model.table(choice); }

    SmallJob job;
    TopModel model;
};
using Names = std::vector<std::string>;

TEST_F(TopRows, AddUpTheHierarchy) {
    const TopTable all = table({});
    EXPECT_EQ(names(all), (Names{"app ", "main a.c:3", "step a.c:7", "MPI_Recv b.c:5",
                                 "MPI_Send a.c:22", "fwrite a.c:9"}));
    EXPECT_EQ(all.whole_ns, 1050u);
    const RowFigures& step = all.rows[2].figures;
    EXPECT_EQ(figure(step, TopColumn::kTime), 900u);
    EXPECT_EQ(figure(step, TopColumn::kSelf), 300u);
    EXPECT_EQ(figure(step, TopColumn::kWait), 250u);
    EXPECT_EQ(figure(step, TopColumn::kTransfer), 350u);
    EXPECT_EQ(figure(step, TopColumn::kSent), 4000u);
    const RowFigures& main = all.rows[1].figures;
    EXPECT_EQ(figure(main, TopColumn::kIo), 50u);
    EXPECT_EQ(figure(main, TopColumn::kComputation), 400u);
    EXPECT_EQ(all.rows[3].depth, 3);
}

TEST_F(TopRows, ShowTheCostliestLines) {
    TopChoice choice;
    choice.lines = true;
    EXPECT_EQ(names(table(choice)), (Names{"MPI_Recv b.c:5", "step a.c:20", "MPI_Send a.c:22",
                                           "main a.c:3", "fwrite a.c:9"}));
    choice.sort = TopColumn::kSent;
    EXPECT_EQ(names(table(choice))[0], "MPI_Send a.c:22");
    choice.sort = TopColumn::kName;
    EXPECT_EQ(names(table(choice))[0], "MPI_Recv b.c:5");
    EXPECT_EQ(names(table(choice))[2], "fwrite a.c:9");
}

TEST_F(TopRows, AreFilteredWithTheRowsAround) {
    TopChoice choice;
    choice.filter = "mpi_recv B.C";
    const TopTable some = table(choice);
    EXPECT_EQ(names(some), (Names{"app ", "main a.c:3", "step a.c:7", "MPI_Recv b.c:5"}));
    EXPECT_TRUE(some.rows[2].only_around);
    EXPECT_FALSE(some.rows[3].only_around);
    choice.filter = "nothing of this";
    EXPECT_TRUE(table(choice).rows.empty());
}

TEST_F(TopRows, AreFilteredBelowTheDepth) {
    TopChoice choice;
    choice.depth = 2;
    choice.filter = "mpi_recv";
    EXPECT_EQ(names(table(choice)), (Names{"app ", "main a.c:3", "step a.c:7", "MPI_Recv b.c:5"}));
}

TEST_F(TopRows, FoldWhatTookNextToNoTime) {
    for (const uint32_t node : {0u, 1u}) job.at(node).totals.time_ns = 4'000'000;
    job.snapshot.figures_unix_ns += 1;
    job.sum_up();
    model.take(job.snapshot);
    TopChoice choice;
    EXPECT_EQ(table(choice).rows.size(), 6u);
    choice.folds_small = true;  // step: 900 of 4 000 000
    EXPECT_EQ(names(table(choice)), (Names{"app ", "main a.c:3", "step a.c:7", "fwrite a.c:9"}));
    EXPECT_TRUE(table(choice).rows[2].is_folded);
}

TEST_F(TopRows, FoldBelowADepthAndOneByOne) {
    TopChoice choice;
    choice.depth = 2;
    EXPECT_EQ(names(table(choice)), (Names{"app ", "main a.c:3"}));
    EXPECT_TRUE(table(choice).rows[1].is_folded);
    choice.turned.insert(101);  // main
    EXPECT_EQ(names(table(choice)), (Names{"app ", "main a.c:3", "step a.c:7", "fwrite a.c:9"}));
    choice.depth = 0;
    EXPECT_EQ(names(table(choice)), (Names{"app ", "main a.c:3"}));
}

TEST_F(TopRows, ShowRatesOfTheLastInterval) {
    TopChoice choice;
    choice.rates = true;
    EXPECT_EQ(figure(table(choice).rows[0].figures, TopColumn::kTime), 1050u);  // none before
    for (const uint32_t node : {0u, 1u, 2u, 3u, 4u}) job.at(node).totals.time_ns += 60;
    job.at(4).totals.count += 1;
    job.snapshot.figures_unix_ns += 1000;
    job.sum_up();
    model.take(job.snapshot);
    const TopTable since = table(choice);
    EXPECT_EQ(since.interval_ns, 1000u);
    EXPECT_EQ(since.whole_ns, 60u);
    EXPECT_EQ(figure(since.rows[0].figures, TopColumn::kTime), 60u);
    EXPECT_EQ(figure(since.rows[3].figures, TopColumn::kCalls), 1u);
    EXPECT_EQ(since.rows[3].name, "MPI_Send");
    EXPECT_EQ(figure(since.rows[4].figures, TopColumn::kTime), 0u);
    // After a reset there is no interval.
    job.snapshot.resets = 1;
    job.snapshot.figures_unix_ns += 1000;
    model.take(job.snapshot);
    EXPECT_FALSE(model.has_rates());
}

// A call of 60 ns that was open for 50 ns before is recorded in an interval of 10 ns.
TEST_F(TopRows, OfAnIntervalAreAtMostItsRecordedTime) {
    job.at(0).open_ns = 50;
    job.snapshot.figures_unix_ns += 1000;
    model.take(job.snapshot);
    job.at(0).open_ns = 0;
    for (const uint32_t node : {0u, 1u, 2u, 3u, 4u}) job.at(node).totals.time_ns += 60;
    job.snapshot.figures_unix_ns += 1000;
    job.sum_up();
    model.take(job.snapshot);
    TopChoice choice;
    choice.rates = true;
    EXPECT_EQ(figure(table(choice).job, TopColumn::kTime), 60u);
    EXPECT_EQ(table(choice).whole_ns, 60u);
}

// Nothing ends: of 30 ns in the interval all are open, however long that was so before.
TEST_F(TopRows, OfAnIntervalAreOpenWhereNothingIsRecorded) {
    job.at(0).open_ns = 500;
    job.snapshot.figures_unix_ns += 1000;
    model.take(job.snapshot);
    job.at(0).open_ns = 530;
    job.snapshot.figures_unix_ns += 1000;
    model.take(job.snapshot);
    TopChoice choice;
    choice.rates = true;
    EXPECT_EQ(table(choice).whole_ns, 30u);
    EXPECT_EQ(figure(table(choice).job, TopColumn::kOpen), 30u);
}

// Snapshots of hosts are read more often than they are written.
TEST_F(TopRows, TheSameFiguresAreNoInterval) {
    for (const uint32_t node : {0u, 1u}) job.at(node).totals.time_ns += 60;
    job.snapshot.figures_unix_ns += 1000;
    job.sum_up();
    model.take(job.snapshot);
    job.snapshot.unix_ns += 500;
    model.take(job.snapshot);
    EXPECT_EQ(model.interval_ns(), 1000u);
}

TEST_F(TopRows, RaiseAlarms) {
    const TopTable all = table({});
    const auto raised = [&](const char* text) {
        const std::optional<TopAlarm> alarm = parse_alarm(text);
        EXPECT_TRUE(alarm.has_value()) << text;
        return alarm && is_raised(*alarm, all.job, all.whole_ns);
    };
    EXPECT_TRUE(raised("wait>23%"));  // 250 of 1050: 23.8 %
    EXPECT_TRUE(raised("wait > 23.7"));
    EXPECT_FALSE(raised("wait>24%"));
    EXPECT_TRUE(raised("computation<40%"));
    EXPECT_FALSE(raised("io>5%"));
    for (const char* text : {"", "wait", "wait>", "wait>x%", "wait=3%", "name>3%", "calls>3%",
                             "wait>-1%", "wait>nan", "wait>3%%", "waits>3%"}) {
        EXPECT_FALSE(parse_alarm(text).has_value()) << text;
    }
}

TEST_F(TopRows, AreJsonWithTheNamesOfTheProfile) {
    const std::string text = top_json(job.snapshot, model, {}, {*parse_alarm("wait>1%")}, false);
    EXPECT_EQ(text.find('\n'), text.size() - 1);
    EXPECT_NE(text.find("\"name\":\"MPI_Recv\",\"file\":\"/src/b.c\",\"line\":5"),
              std::string::npos);
    EXPECT_NE(text.find("\"blocked_ns\":250"), std::string::npos);
    EXPECT_NE(text.find("\"raised\":true"), std::string::npos);
    job.profile.nodes[5].name = "a\033[2Jb\xff";
    const std::string other = top_json(job.snapshot, model, {}, {}, false);
    EXPECT_EQ(other.find('\033'), std::string::npos);
}

class TopPicture : public TopRows {
  protected:
    std::vector<std::string> draw(int width, int height, bool utf8 = true) {
        std::vector<std::string> lines;
        for (const TopLine& line :
             state.picture(job.snapshot, model, height, {width, utf8}, &selected)) {
            lines.push_back(line.text);
        }
        return lines;
    }
    TopWish press(int key) { return state.press(key, job.snapshot); }

    TopState state{{}, {}};
    int selected = -1;
};

bool holds(const std::vector<std::string>& lines, const std::string& text) {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
        return line.find(text) != std::string::npos;
    });
}

TEST_F(TopPicture, FitsAnyTerminal) {
    job.profile.nodes[4].name = "f\033[2J\n\xff" + std::string(300, 'x');
    for (int width : {1, 5, 20, 40, 80, 200}) {
        for (int height : {1, 2, 3, 5, 10, 24, 60}) {
            for (const bool utf8 : {true, false}) {
                const std::vector<std::string> lines = draw(width, height, utf8);
                EXPECT_LE(lines.size(), static_cast<size_t>(height));
                for (const std::string& line : lines) {
                    EXPECT_LE(display_width(line), width) << line;
                    EXPECT_EQ(line.find('\033'), std::string::npos);
                    EXPECT_EQ(line.find('\n'), std::string::npos);
                }
            }
        }
    }
}

TEST_F(TopPicture, KeysMoveFoldSortAndEnd) {
    EXPECT_TRUE(holds(draw(100, 24), "MPI_Recv b.c:5"));
    EXPECT_EQ(selected, 3);  // below two lines of head and the titles
    press(kKeyDown);
    press(kKeyDown);
    draw(100, 24);
    EXPECT_EQ(selected, 5);
    press(kKeyLeft);
    EXPECT_FALSE(holds(draw(100, 24), "MPI_Recv"));
    press(kKeyRight);
    EXPECT_TRUE(holds(draw(100, 24), "MPI_Recv"));
    press('l');
    EXPECT_TRUE(holds(draw(100, 24), "step a.c:20"));
    press('t');
    press('s');
    EXPECT_EQ(state.choice().sort, TopColumn::kSelf);
    press('S');
    press('S');
    EXPECT_EQ(state.choice().sort, TopColumn::kName);
    EXPECT_EQ(press('q'), TopWish::kEnd);
    EXPECT_EQ(press('j'), TopWish::kJobs);
}

TEST_F(TopPicture, FilterIsTyped) {
    press('/');
    for (const char key : {'q', 'x', 's', 'e', 'n', 'd'}) press(key);
    EXPECT_TRUE(holds(draw(80, 24), "filter: qxsend_"));
    for (int i = 0; i < 6; ++i) press(kKeyErase);
    press('f');
    press('w');
    press(kKeyEnter);
    const std::vector<std::string> lines = draw(80, 24);
    EXPECT_TRUE(holds(lines, "fwrite a.c:9"));
    EXPECT_FALSE(holds(lines, "MPI_Send"));
    press(kKeyEscape);
    EXPECT_TRUE(holds(draw(80, 24), "MPI_Send"));
}

TEST_F(TopPicture, RanksAreTurned) {
    EXPECT_EQ(press(']'), TopWish::kReading);
    EXPECT_EQ(state.rank(), 0u);
    press(']');
    EXPECT_EQ(state.rank(), 1u);
    press(']');
    EXPECT_EQ(state.rank(), 0u);
    press('[');
    EXPECT_EQ(state.rank(), 1u);
    press('a');
    EXPECT_EQ(state.rank(), kAllRanks);
    EXPECT_EQ(press('p'), TopWish::kReading);
    EXPECT_TRUE(state.shows_ranks());
    EXPECT_TRUE(holds(draw(80, 24), "rank      time"));
}

TEST_F(TopPicture, RanksAreScrolled) {
    job.snapshot.ranks.resize(64);
    for (uint32_t rank = 0; rank < 64; ++rank) job.snapshot.ranks[rank].rank = rank;
    press('p');
    // The first line of ranks follows the title.
    const auto first_rank = [this] {
        const std::vector<std::string> lines = draw(80, 24);
        const auto title = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
            return line.find("rank      time") != std::string::npos;
        });
        return title + 1 < lines.end() ? std::atoi((title + 1)->c_str()) : -1;
    };
    EXPECT_EQ(first_rank(), 0);
    press(kKeyEnd);
    EXPECT_GT(first_rank(), 40);
    EXPECT_TRUE(holds(draw(80, 24), "    63   "));
}

TEST_F(TopPicture, LevelsAreFoldedAndUnfolded) {
    draw(100, 24);
    press('+');  // all are unfolded already
    EXPECT_EQ(state.choice().depth, 0);
    press('-');
    EXPECT_EQ(state.choice().depth, 3);
    EXPECT_FALSE(holds(draw(100, 24), "MPI_Recv"));
    press('+');
    EXPECT_TRUE(holds(draw(100, 24), "MPI_Recv"));
    press('+');
    EXPECT_EQ(state.choice().depth, 0);
}

TEST_F(TopPicture, SaysThatNothingMoves) {
    Position waits;
    waits.state = 'S';
    waits.since_unix_ns = job.snapshot.unix_ns - 3'000'000'000;
    job.snapshot.positions.threads.push_back(waits);
    EXPECT_TRUE(holds(draw(100, 24), "; nothing has moved for 3.00 s"));
    job.snapshot.positions.threads[0].since_unix_ns = job.snapshot.unix_ns - 1'000'000'000;
    EXPECT_FALSE(holds(draw(100, 24), "moved"));
}

TEST_F(TopPicture, SaysHowTheJobEnded) {
    job.snapshot.is_final = true;
    EXPECT_TRUE(holds(draw(100, 24), "ended without MPI_Finalize"));
    job.snapshot.ended_well = true;
    EXPECT_TRUE(holds(draw(100, 24), "ended: these are its final figures"));
}

}  // namespace
}  // namespace dwell
