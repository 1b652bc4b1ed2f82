"""Messages as sounds: the three mappings of Pablo's section 7.2."""

from kinds_of_events import RANKS, export, kinds_log
from harness import case, check, check_equal, main
from midi_reader import Midi

LATE_S = 0.2
NOTE_S = 0.05
SENT = (6, 4, 4)      # messages of each rank
RECEIVED = (4, 6, 4)


def play(mapping):
    path, _ = export(kinds_log(), "midi", *(("--mapping", mapping) if mapping else ()))
    midi = Midi(path)
    check_equal(midi.format, 1, "format")
    check_equal(len(midi.tracks), RANKS + 1, "tracks: the tempo's, and one for each rank")
    tempo, = [data for _, status, data in midi.tracks[0] if status == 0xff and data[0] == 0x51]
    us_per_tick = int.from_bytes(tempo[1:], "big") / midi.division
    for rank in range(RANKS):
        check_equal(midi.tracks[rank + 1][0][2], b"\x03" + f"rank {rank}".encode(), "name of a track")
    return midi, us_per_tick / 1e6


@case
def senders():
    """A note of one length for each send, the pitch that of its rank."""
    midi, tick_s = play(None)
    pitches = set()
    for rank in range(RANKS):
        notes = midi.notes(rank + 1)
        check_equal(len(notes), SENT[rank], f"notes of rank {rank}")
        pitches.add(tuple({pitch for _, pitch, _, _ in notes}))
        check(all((end - begin) * tick_s <= NOTE_S + 1e-6 for _, _, begin, end in notes), "long notes")
    check_equal(len(pitches), RANKS, "pitches")
    first, second = midi.notes(1)[:2]
    check(abs((first[3] - first[2]) * tick_s - NOTE_S) < 1e-6 or second[2] == first[3],
          "a note ends early, though no other begins")


@case
def speakers():
    """Sends left with the sender's pitch, receives right with the receiver's."""
    midi, _ = play("speakers")
    for rank in range(RANKS):
        pan = {status & 0xf: data[1] for _, status, data in midi.tracks[rank + 1]
               if status & 0xf0 == 0xb0 and data[0] == 10}
        left = [note for note in midi.notes(rank + 1) if pan[note[0]] == 0]
        right = [note for note in midi.notes(rank + 1) if pan[note[0]] == 127]
        check_equal((len(left), len(right)), (SENT[rank], RECEIVED[rank]), f"notes of rank {rank}")
        check_equal(len({pitch for _, pitch, _, _ in left + right}), 1, "pitches of a rank")


@case
def transit():
    """A note lasts from the send to the receipt: 0.2 s for the message that rank 1 takes late."""
    midi, tick_s = play("transit")
    for rank in range(RANKS):
        check_equal(len(midi.notes(rank + 1)), SENT[rank], f"notes of rank {rank}")
    lengths = [(end - begin) * tick_s for _, _, begin, end in midi.notes(1)]
    check(lengths[0] < LATE_S / 2, f"the awaited message is on its way for {lengths[0]} s")
    check(LATE_S * 0.9 < lengths[1] < LATE_S * 2, f"the late one for {lengths[1]} s")


if __name__ == "__main__":
    main()
