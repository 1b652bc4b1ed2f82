// Messages as sounds, in the three mappings of the Pablo environment (Reed et al., "Scalable
// Performance Analysis: The Pablo Performance Analysis Environment", section 7.2): a standard MIDI
// file of format 1 with a track for each rank. A tick is a microsecond of virtual time.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "report/export/exporters.h"

namespace dwell {
namespace {

constexpr uint64_t kNsPerTick = 1000;
constexpr uint64_t kNote_ticks = 50'000;  // a note of fixed duration
constexpr uint32_t kTicksPerQuarter = 10'000;
constexpr uint32_t kUsPerQuarter = 10'000;
constexpr uint64_t kLongestDelta = (1 << 28) - 1;
constexpr uint32_t kLowest = 36;
constexpr uint32_t kPitches = 61;
constexpr uint32_t kChannels = 16;
constexpr uint32_t kDrums = 9;
constexpr uint8_t kVelocity = 80;
constexpr uint8_t kOrgan = 16;  // its notes last as long as they are held
constexpr size_t kPiece = 1 << 14;

std::string big_endian(uint64_t value, int bytes) {
    std::string text;
    for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xff);
    return text;
}

std::string bytes_of(std::initializer_list<uint32_t> values) {
    std::string text;
    for (const uint32_t value : values) text += static_cast<char>(value);
    return text;
}

// All tracks grow at once, but the file has one behind the other: pieces wait in a file of their
// own.
class TrackSpool {
  public:
    TrackSpool(const std::string& path, size_t tracks)
        : path_(path), file_(fopen(path.c_str(), "w+e")), tracks_(tracks) {
        if (file_ == nullptr) {
            fail();
        } else {
            unlink(path.c_str());
        }
    }
    ~TrackSpool() {
        if (file_ != nullptr) fclose(file_);
    }
    TrackSpool(const TrackSpool&) = delete;
    TrackSpool& operator=(const TrackSpool&) = delete;

    void put(size_t number, uint64_t tick, const std::string& event) {
        Track& track = tracks_[number];
        uint64_t delta = tick - std::exchange(track.tick, tick);
        for (; delta > kLongestDelta; delta -= kLongestDelta) {
            put_delta(&track, kLongestDelta);
            track.text += bytes_of({0xff, 0x01, 0});  // an empty text
        }
        put_delta(&track, delta);
        track.text += event;
        if (track.text.size() >= kPiece) store(&track);
    }
    uint64_t tick(size_t number) const { return tracks_[number].tick; }
    uint64_t bytes(size_t number) const {
        return tracks_[number].stored + tracks_[number].text.size();
    }
    void copy(size_t number, OutFile* out) {
        std::string piece;
        for (const auto& [offset, length] : tracks_[number].pieces) {
            piece.resize(length);
            if (fseeko(file_, static_cast<off_t>(offset), SEEK_SET) != 0 ||
                fread(piece.data(), 1, length, file_) != length) {
                return fail();
            }
            out->write(piece);
        }
        out->write(tracks_[number].text);
    }
    const std::string& error() const { return error_; }  // empty: none

  private:
    struct Track {
        uint64_t tick = 0;
        std::string text;
        uint64_t stored = 0;
        std::vector<std::pair<uint64_t, size_t>> pieces;
    };
    static void put_delta(Track* track, uint64_t delta) {
        for (int shift = 21; shift > 0; shift -= 7) {
            if (delta >> shift != 0)
                track->text += static_cast<char>(0x80 | (delta >> shift & 0x7f));
        }
        track->text += static_cast<char>(delta & 0x7f);
    }
    void store(Track* track) {
        if (!error_.empty()) return;
        if (fwrite(track->text.data(), 1, track->text.size(), file_) != track->text.size())
            return fail();
        track->pieces.emplace_back(size_, track->text.size());
        size_ += track->text.size();
        track->stored += track->text.size();
        track->text.clear();
    }
    void fail() { error_ = path_ + ": " + strerror(errno); }
    std::string path_;
    std::FILE* file_;
    std::string error_;
    uint64_t size_ = 0;
    std::vector<Track> tracks_;
};

class MidiWriter {
  public:
    MidiWriter(Timeline* timeline, ExportJob* job)
        : timeline_(*timeline),
          job_(*job),
          tracks_(job->path + ".tracks", timeline->processes().size()),
          offs_(timeline->processes().size()) {}

    Outcome write() {
        const size_t count = timeline_.processes().size();
        if (count >= UINT16_MAX) return refuse(fmt::format("{} tracks", count));
        if (job_.mapping == "transit" && !has_unique_ranks())
            return refuse("a note for each message while several processes have one rank");
        for (uint32_t i = 0; i < count; ++i) begin_track(i);
        TimelineEvent event;
        while (timeline_.next(&event)) add(event);
        for (uint32_t i = 0; i < count; ++i) end_track(i);
        job_.note(other_, "events that are no messages are left out");
        job_.note(strangers_, "messages of partners that were not observed are left out");
        job_.note(crowded_, "messages are left out: too many of one sender at once");
        uint64_t on_their_way = 0;
        for (const auto& [channel, notes] : flying_) on_their_way += notes.size();
        job_.note(on_their_way, "messages were not received: their notes last to the end");
        return write_file();
    }

  private:
    tl::unexpected<std::string> refuse(const std::string& what) const {
        return tl::make_unexpected(job_.path + ": MIDI has no room for " + what);
    }
    bool has_unique_ranks() const {
        std::vector<uint32_t> ranks;
        for (const TimelineProcess& process : timeline_.processes()) ranks.push_back(process.rank);
        std::sort(ranks.begin(), ranks.end());
        return std::adjacent_find(ranks.begin(), ranks.end()) == ranks.end();
    }
    uint32_t pitch_of(uint32_t rank) const {
        const uint64_t ranks = std::max(timeline_.world_size(), rank + 1);
        return kLowest + static_cast<uint32_t>(ranks <= kPitches
                                                   ? rank
                                                   : uint64_t{rank} * (kPitches - 1) / (ranks - 1));
    }

    void begin_track(uint32_t track) {
        const std::string name = fmt::format("rank {}", timeline_.processes()[track].rank);
        tracks_.put(track, 0, bytes_of({0xff, 0x03, static_cast<uint32_t>(name.size())}) + name);
        if (job_.mapping == "speakers") {
            tracks_.put(track, 0, bytes_of({0xb0, 10, 0}));    // channel 0: left
            tracks_.put(track, 0, bytes_of({0xb1, 10, 127}));  // channel 1: right
        } else if (job_.mapping == "transit") {
            for (uint32_t channel = 0; channel < kChannels; ++channel)
                tracks_.put(track, 0, bytes_of({0xc0 | channel, kOrgan}));
        }
    }

    void add(const TimelineEvent& event) {
        const Event& record = event.event;
        const bool sends = record.kind == EventKind::kSend;
        if (!begin_ns_) begin_ns_ = event.ns;
        if (event.kind != TimelineKind::kOther || record.more < 2 ||
            (!sends && record.kind != EventKind::kReceive)) {
            other_ += event.kind == TimelineKind::kEnd ? 0 : 1;
            return;
        }
        const uint32_t track = timeline_.threads()[event.thread].process;
        const uint32_t own = timeline_.processes()[track].rank;
        last_tick_ = (event.ns - *begin_ns_) / kNsPerTick;
        if (job_.mapping == "transit") {
            const uint32_t from = sends ? own : record.what;
            const uint32_t to = sends ? record.what : own;
            if (from == kEventNobody || to == kEventNobody) {
                strangers_ += 1;
            } else if (sends) {
                depart(track, {from, to, record.values[1]});
            } else {
                arrive({from, to, record.values[1]});
            }
        } else if (sends || job_.mapping == "speakers") {
            strike(track, sends ? 0 : 1, own);
        }
    }

    void put_note(uint32_t track, uint64_t tick, bool on, uint32_t channel, uint32_t pitch) {
        tracks_.put(track, tick, bytes_of({(on ? 0x90u : 0x80u) | channel, pitch, kVelocity}));
    }

    // A note that is still heard is struck again.
    void strike(uint32_t track, uint32_t channel, uint32_t rank) {
        Offs& offs = offs_[track];
        release(track, last_tick_);
        if (offs.at[channel] != 0) put_note(track, last_tick_, false, channel, pitch_of(rank));
        put_note(track, last_tick_, true, channel, pitch_of(rank));
        offs.at[channel] = last_tick_ + kNote_ticks;
    }
    // Ends the notes of fixed duration that are over at `tick`.
    void release(uint32_t track, uint64_t tick) {
        Offs& offs = offs_[track];
        const uint32_t pitch = pitch_of(timeline_.processes()[track].rank);
        for (int i = 0; i < 2; ++i) {
            const uint32_t channel =
                offs.at[0] == 0 || (offs.at[1] != 0 && offs.at[1] < offs.at[0]) ? 1 : 0;
            if (offs.at[channel] == 0 || offs.at[channel] > tick) return;
            put_note(track, std::exchange(offs.at[channel], 0), false, channel, pitch);
        }
    }

    // Messages of one pitch that are on their way at once have a channel each.
    using Channel = std::tuple<uint32_t, uint32_t, uint64_t>;  // from, to, communicator and tag
    struct Note {
        uint32_t track;
        uint32_t channel;  // kChannels: none was free
        uint32_t pitch;
    };
    void depart(uint32_t track, const Channel& key) {
        Note note = {track, 0, pitch_of(std::get<0>(key))};
        if (const auto early = early_.find(key); early != early_.end()) {
            if (--early->second == 0) early_.erase(early);  // by clocks that differ
            put_note(track, last_tick_, true, 0, note.pitch);
            put_note(track, last_tick_, false, 0, note.pitch);
            return;
        }
        uint32_t& busy = busy_[note.pitch];
        while (note.channel < kChannels &&
               (note.channel == kDrums || (busy >> note.channel & 1) != 0))
            ++note.channel;
        flying_[key].push_back(note);
        if (note.channel == kChannels) {
            crowded_ += 1;
            return;
        }
        busy |= 1u << note.channel;
        put_note(track, last_tick_, true, note.channel, note.pitch);
    }
    void arrive(const Channel& key) {
        const auto sent = flying_.find(key);
        if (sent == flying_.end()) {
            early_[key] += 1;
            return;
        }
        const Note note = sent->second.front();
        sent->second.pop_front();
        if (sent->second.empty()) flying_.erase(sent);
        if (note.channel == kChannels) return;
        busy_[note.pitch] &= ~(1u << note.channel);
        put_note(note.track, last_tick_, false, note.channel, note.pitch);
    }

    void end_track(uint32_t track) {
        release(track, UINT64_MAX);
        for (const auto& [key, notes] : flying_) {
            for (const Note& note : notes) {
                if (note.track == track && note.channel != kChannels)
                    put_note(track, last_tick_, false, note.channel, note.pitch);
            }
        }
        tracks_.put(track, std::max(last_tick_, tracks_.tick(track)), bytes_of({0xff, 0x2f, 0}));
    }

    Outcome write_file() {
        const size_t count = timeline_.processes().size();
        if (!tracks_.error().empty()) return tl::make_unexpected(tracks_.error());
        OutFile out(job_.path);
        out.write("MThd" + big_endian(6, 4) + big_endian(1, 2) + big_endian(count + 1, 2) +
                  big_endian(kTicksPerQuarter, 2));
        const std::string tempo = bytes_of({0, 0xff, 0x51, 3}) + big_endian(kUsPerQuarter, 3) +
                                  bytes_of({0, 0xff, 0x2f, 0});
        out.write("MTrk" + big_endian(tempo.size(), 4) + tempo);
        std::vector<uint32_t> by_rank(count);
        std::iota(by_rank.begin(), by_rank.end(), 0);
        std::stable_sort(by_rank.begin(), by_rank.end(), [this](uint32_t a, uint32_t b) {
            return timeline_.processes()[a].rank < timeline_.processes()[b].rank;
        });
        for (const uint32_t i : by_rank) {
            if (tracks_.bytes(i) > UINT32_MAX)
                return out.refuse(refuse("a track of more than 4 GiB").value());
            out.write("MTrk" + big_endian(tracks_.bytes(i), 4));
            tracks_.copy(i, &out);
        }
        return tracks_.error().empty() ? out.close() : out.refuse(tracks_.error());
    }

    struct Offs {
        uint64_t at[2] = {};  // by channel; 0: no note
    };
    Timeline& timeline_;
    ExportJob& job_;
    TrackSpool tracks_;
    std::vector<Offs> offs_;
    std::map<Channel, std::deque<Note>> flying_;
    std::map<Channel, uint64_t> early_;  // received before they were sent
    uint32_t busy_[128] = {};            // channels, by pitch
    std::optional<uint64_t> begin_ns_;   // of the first event
    uint64_t last_tick_ = 0;
    uint64_t other_ = 0;
    uint64_t strangers_ = 0;
    uint64_t crowded_ = 0;
};

}  // namespace

Outcome export_midi(Timeline* timeline, ExportJob* job) {
    return MidiWriter(timeline, job).write();
}

}  // namespace dwell
