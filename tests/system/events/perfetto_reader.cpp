// Reads a trace of Perfetto by its public definition (protos/perfetto/trace) and prints a line of
// JSON for each track and event, for test_perfetto.py. It knows nothing of the writer: what a
// reader would refuse or guess is an error.
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>
#include <stdexcept>
#include <string>

namespace {

using nlohmann::json;
using protozero::pbf_reader;

void require(bool condition, const std::string& text) {
    if (!condition) throw std::runtime_error(text);
}

// InternedData: EventCategory and EventName have an id (1) and a name (2).
using Names = std::map<uint64_t, std::string>;

void intern(pbf_reader entry, Names* names) {
    uint64_t iid = 0;
    std::string name;
    while (entry.next()) {
        if (entry.tag() == 1) {
            iid = entry.get_uint64();
        } else if (entry.tag() == 2) {
            name = entry.get_string();
        } else {
            entry.skip();
        }
    }
    require(iid != 0, "an interned name has id 0");
    const auto [known, is_new] = names->emplace(iid, name);
    require(is_new || known->second == name, "two interned names have one id");
}

std::string name_of(const Names& names, uint64_t iid) {
    const auto found = names.find(iid);
    require(found != names.end(), "id " + std::to_string(iid) + " is used before it is interned");
    return found->second;
}

class Reader {
  public:
    void read(const std::string& bytes) {
        pbf_reader trace(bytes);
        while (trace.next()) {
            require(trace.tag() == 1, "Trace has field " + std::to_string(trace.tag()));
            packet(trace.get_message());
        }
    }

  private:
    void packet(pbf_reader packet) {
        json shown;
        uint64_t flags = 0;
        uint64_t sequence = 0;
        bool has_time = false;
        pbf_reader interned;
        pbf_reader event;
        pbf_reader track;
        bool has_event = false;
        bool has_track = false;
        while (packet.next()) {
            switch (packet.tag()) {
                case 8:
                    shown["ts"] = packet.get_uint64();
                    has_time = true;
                    break;
                case 10:
                    sequence = packet.get_uint32();
                    break;
                case 11:
                    event = packet.get_message();
                    has_event = true;
                    break;
                case 12:
                    interned = packet.get_message();
                    break;
                case 13:
                    flags = packet.get_uint32();
                    break;
                case 60:
                    track = packet.get_message();
                    has_track = true;
                    break;
                default:
                    throw std::runtime_error("TracePacket has field " +
                                             std::to_string(packet.tag()));
            }
        }
        require(has_event != has_track, "a packet is not one track or one event");
        require(sequence != 0, "a packet is of no sequence");
        State& state = states_[sequence];
        // SEQ_INCREMENTAL_STATE_CLEARED, SEQ_NEEDS_INCREMENTAL_STATE
        if ((flags & 1) != 0) state = {true, {}, {}};
        require((flags & 2) == 0 || state.is_valid, "state is needed before it was cleared");
        while (interned.next()) {
            require(interned.tag() == 1 || interned.tag() == 2, "InternedData has other fields");
            intern(interned.get_message(), interned.tag() == 1 ? &state.categories : &state.names);
        }
        if (has_track) {
            describe(track);
            return;
        }
        require(has_time, "an event has no time");
        read_event(event, state, (flags & 2) != 0, &shown);
        std::cout << shown << '\n';
    }

    struct State {
        bool is_valid = false;
        Names categories;
        Names names;
    };

    static json descriptor(pbf_reader reader, bool is_thread) {
        json shown;
        while (reader.next()) {
            if (reader.tag() == 1) {
                shown["pid"] = reader.get_int32();
            } else if (is_thread && reader.tag() == 2) {
                shown["tid"] = reader.get_int32();
            } else if (reader.tag() == (is_thread ? 5U : 6U)) {
                shown["name"] = reader.get_string();
            } else if (!is_thread && reader.tag() == 8) {
                shown["labels"].push_back(reader.get_string());
            } else {
                throw std::runtime_error("a descriptor has field " + std::to_string(reader.tag()));
            }
        }
        return shown;
    }

    // CounterDescriptor: its unit (1: nanoseconds, 2: a number).
    static int32_t counter(pbf_reader reader) {
        int32_t unit = 0;
        while (reader.next()) {
            require(reader.tag() == 3, "CounterDescriptor has other fields");
            unit = reader.get_enum();
        }
        return unit;
    }

    void describe(pbf_reader track) {
        json shown;
        while (track.next()) {
            switch (track.tag()) {
                case 1:
                    shown["track"] = track.get_uint64();
                    break;
                case 2:
                    shown["name"] = track.get_string();
                    break;
                case 3:
                    shown["process"] = descriptor(track.get_message(), false);
                    break;
                case 4:
                    shown["thread"] = descriptor(track.get_message(), true);
                    break;
                case 5:
                    shown["parent"] = track.get_uint64();
                    break;
                case 8:
                    shown["unit"] = counter(track.get_message());
                    break;
                default:
                    throw std::runtime_error("TrackDescriptor has field " +
                                             std::to_string(track.tag()));
            }
        }
        std::cout << shown << '\n';
    }

    static void annotation(pbf_reader reader, json* args) {
        std::string name;
        json value;
        while (reader.next()) {
            if (reader.tag() == 10) {
                name = reader.get_string();
            } else if (reader.tag() == 3) {
                value = reader.get_uint64();
            } else if (reader.tag() == 6) {
                value = reader.get_string();
            } else {
                throw std::runtime_error("DebugAnnotation has field " +
                                         std::to_string(reader.tag()));
            }
        }
        (*args)[name] = value;
    }

    static void read_event(pbf_reader event, const State& state, bool needs_state, json* shown) {
        json& to = *shown;
        to["args"] = json::object();
        to["flows"] = json::array();
        to["ends"] = json::array();
        while (event.next()) {
            switch (event.tag()) {
                case 3:
                    require(needs_state, "an interned category without its flag");
                    to["category"] = name_of(state.categories, event.get_uint64());
                    break;
                case 4:
                    annotation(event.get_message(), &to["args"]);
                    break;
                case 9:
                    to["type"] = event.get_enum();
                    break;
                case 10:
                    require(needs_state, "an interned name without its flag");
                    to["name"] = name_of(state.names, event.get_uint64());
                    break;
                case 11:
                    to["on"] = event.get_uint64();
                    break;
                case 30:
                    to["value"] = event.get_int64();
                    break;
                case 23:
                    to["name"] = event.get_string();
                    break;
                case 47:
                    to["flows"].push_back(event.get_fixed64());
                    break;
                case 48:
                    to["ends"].push_back(event.get_fixed64());
                    break;
                default:
                    throw std::runtime_error("TrackEvent has field " + std::to_string(event.tag()));
            }
        }
    }

    std::map<uint64_t, State> states_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    std::ifstream file(argv[1], std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    try {
        Reader().read(bytes);
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0;
}
