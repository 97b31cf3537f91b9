"""Tests `rematlas inspect` on snapshots written by Python's own pickle. A simulated allocator with a fixed
seed makes the snapshots. Each test computes the expected values from the dictionary of the snapshot, in the
simplest way."""

import json
import os
import pickle
import random
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["REMATLAS_PROGRAM"]
ROUND, SEGMENT = 512, 8192
PLACES = 6


def frames_of(place, shared):
    """Returns a stack of frames. Equal frames are one object, as in torch's snapshots."""
    return [
        shared.setdefault(("/v/site-packages/torch/nn/functional.py", 12, "linear"), {}),
        shared.setdefault((f"/home/me/naïve_{place}.py", 10 + place, "forward"), {}),
        shared.setdefault(("/home/me/train.py", 99, "<module>"), {}),
    ]


class Allocator:
    """A simulated allocator of one device. It has the segments with their blocks, and all events so far."""

    def __init__(self, device, chance, shared):
        self.device, self.chance, self.shared = device, chance, shared
        self.segments, self.events = [], []
        self.next_address = 0x7F0000000000 + (device << 36)

    def note(self, action, address, size, frames):
        place = "device_free" if action == "oom" else "addr"
        event = {
            "action": action,
            place: address,
            "size": size,
            "stream": 0,
            "time_us": 1_700_000_000_000_000 + 7 * len(self.events),
            "compile_context": "N/A",
            "user_metadata": f"step {len(self.events) // 50}",
        }
        if self.chance.random() < 0.9:
            event["frames"] = frames
        self.events.append(event)

    def alloc(self):
        requested, place = self.chance.randint(1, 6000), self.chance.randrange(PLACES)
        size = -(-requested // ROUND) * ROUND
        frames = frames_of(place, self.shared)
        for segment in self.segments:
            for at, block in enumerate(segment["blocks"]):
                if block["state"] == "inactive" and block["size"] >= size:
                    return self.take(segment, at, requested, size, frames)
        total = max(SEGMENT, size)
        block = {"address": self.next_address, "size": total, "requested_size": 0, "state": "inactive"}
        segment = {"device": self.device, "address": self.next_address, "total_size": total, "stream": 0}
        segment |= {"segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": [block]}
        self.segments.append(segment)
        self.note("segment_alloc", self.next_address, total, frames)
        self.next_address += 2 * total
        return self.take(segment, 0, requested, size, frames)

    def take(self, segment, at, requested, size, frames):
        block = segment["blocks"][at]
        if block["size"] > size:
            rest = block | {"address": block["address"] + size, "size": block["size"] - size, "frames": []}
            segment["blocks"].insert(at + 1, rest)
        block |= {"size": size, "requested_size": requested, "state": "active_allocated", "frames": frames}
        self.note("alloc", block["address"], requested, frames)

    def free(self):
        held = [b for s in self.segments for b in s["blocks"] if b["state"] == "active_allocated"]
        if held:
            block = self.chance.choice(held)
            block["state"] = "active_awaiting_free"
            self.note("free_requested", block["address"], block["requested_size"], frames_of(0, self.shared))
            if self.chance.random() < 0.7:
                self.complete(block)

    def complete(self, block):
        block["state"] = "inactive"
        self.note("free_completed", block["address"], block["requested_size"], [])

    def complete_some(self):
        waiting = [b for s in self.segments for b in s["blocks"] if b["state"] == "active_awaiting_free"]
        if waiting:
            self.complete(self.chance.choice(waiting))

    def empty_cache(self):
        for segment in [s for s in self.segments if all(b["state"] == "inactive" for b in s["blocks"])]:
            self.segments.remove(segment)
            self.note("segment_free", segment["address"], segment["total_size"], [])

    def play(self, count):
        ways = [self.alloc] * 10 + [self.free] * 8 + [self.complete_some, self.empty_cache]
        while len(self.events) < count:
            self.chance.choice(ways)()
            if self.chance.random() < 0.01:
                self.note("oom", 4096, 1 << 30, frames_of(1, self.shared))


def snapshot_of(seed, count, kept):
    chance, shared = random.Random(seed), {}
    devices = [Allocator(device, chance, shared) for device in range(2)]
    for device in devices:
        device.play(count)
    for (file, line, name), frame in shared.items():
        frame |= {"name": name, "filename": file, "line": line}
    return {
        "segments": [segment for device in devices for segment in device.segments],
        "device_traces": [device.events[-kept:] for device in devices],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": 2**64 - 1, "gc": 0.8},
        "external_annotations": [{"stage": "START", "name": "backward", "device": 0, "time_us": 3}],
    }


def place_of(frames):
    for frame in frames:
        if "/site-packages/torch/" not in frame["filename"]:
            return f"{os.path.basename(frame['filename'])}:{frame['line']} {frame['name']}"
    return None


def blocks_of(events, final):
    """Returns begin, end, bytes and place of each block. Searches all events anew for each block."""
    blocks, frames_at_end = [], {block["address"]: block["frames"] for block in final}
    for at, event in enumerate(events):
        address = event.get("addr")
        if event["action"] == "alloc":
            ends = [
                later
                for later in range(at + 1, len(events))
                if events[later]["action"] == "free_requested" and events[later]["addr"] == address
            ]
            frames = event.get("frames") or ([] if ends else frames_at_end[address])
            place = place_of(frames) or "no frames recorded"
            blocks.append((at + 1, ends[0] if ends else None, event["size"], place))
        elif event["action"] == "free_requested":
            earlier = [e["action"] for e in events[:at] if e.get("addr") == address]
            if "alloc" not in earlier and "free_requested" not in earlier:
                blocks.append((0, at, event["size"], "allocated before the trace begins"))
    for block in final:
        if not any(e["action"] == "alloc" and e["addr"] == block["address"] for e in events):
            blocks.append((0, None, block["requested_size"], place_of(block["frames"])))
    return blocks


def figures_of(snapshot, device):
    events = snapshot["device_traces"][device]
    segments = [s for s in snapshot["segments"] if s["device"] == device]
    inside = [b for s in segments for b in s["blocks"]]
    blocks = blocks_of(events, [b for b in inside if b["state"] == "active_allocated"])
    alive = [
        [b for b in blocks if b[0] <= moment and (b[1] is None or moment <= b[1])]
        for moment in range(len(events) + 1)
    ]
    allocated = [sum(b[2] for b in there) for there in alive]
    reserved = [sum(s["total_size"] for s in segments)]
    for event in reversed(events):
        sign = {"segment_alloc": 1, "segment_free": -1}.get(event["action"], 0)
        reserved.insert(0, reserved[0] - sign * event["size"])
    peak = allocated.index(max(allocated))
    shares = {}
    for block in alive[peak]:
        shares[block[3]] = shares.get(block[3], 0) + block[2]
    free = [b["size"] for b in inside if b["state"] == "inactive"]
    return {
        "events": len(events),
        "peak": (peak, allocated[peak], max(reserved)),
        "ends": (allocated[0], allocated[-1], reserved[-1]),
        "alive": shares,
        "free": (sum(free), max(free, default=0)),
        "oom": [at + 1 for at, event in enumerate(events) if event["action"] == "oom"],
    }


def answer_of(path, device):
    ran = subprocess.run([PROGRAM, "inspect", path, "--json"], capture_output=True, text=True)
    if ran.returncode != 0:
        raise AssertionError(ran.stderr)
    told = json.loads(ran.stdout)["devices"][device]
    return {
        "events": told["events"],
        "peak": (told["peak_event"], told["peak_allocated_bytes"], told["peak_reserved_bytes"]),
        "ends": (
            told["allocated_at_begin_bytes"],
            told["allocated_at_end_bytes"],
            told["reserved_at_end_bytes"],
        ),
        "alive": {share["name"]: share["bytes"] for share in told["alive_at_peak"]},
        "free": (told["segments"]["inactive_bytes"], told["segments"]["largest_free_bytes"]),
        "oom": [failure["event"] for failure in told["out_of_memory"]],
    }


class Snapshots(unittest.TestCase):
    def test_figures_are_those_of_the_dictionary(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "snapshot.pickle")
            for seed in range(24):
                snapshot = snapshot_of(seed, 300, 40 + 15 * seed)
                with open(path, "wb") as file:
                    pickle.dump(snapshot, file, protocol=2 + seed % 4)
                for device in range(2):
                    with self.subTest(seed=seed, device=device):
                        self.assertEqual(answer_of(path, device), figures_of(snapshot, device))

    def test_an_object_is_refused_and_not_made(self):
        with tempfile.TemporaryDirectory() as folder:
            path, made = os.path.join(folder, "snapshot.pickle"), os.path.join(folder, "made")

            class Trap:
                def __reduce__(self):
                    return os.mkdir, (made,)

            for protocol in range(2, 6):
                with open(path, "wb") as file:
                    pickle.dump({"segments": [Trap()], "device_traces": []}, file, protocol=protocol)
                ran = subprocess.run([PROGRAM, "inspect", path], capture_output=True, text=True)
                self.assertEqual(ran.returncode, 2)
                self.assertRegex(
                    ran.stderr, r"^rematlas: .*snapshot.pickle: byte \d+: the pickle instruction .*GLOBAL"
                )
                self.assertFalse(os.path.exists(made))


if __name__ == "__main__":
    unittest.main()
