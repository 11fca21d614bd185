package bundle

import (
	"encoding/binary"
	"testing"
)

// entryOf encodes an entry's lengths and what follows them.
func entryOf(shared, unshared, value uint64, rest string) []byte {
	b := binary.AppendUvarint(nil, shared)
	b = binary.AppendUvarint(b, unshared)
	b = binary.AppendUvarint(b, value)
	return append(b, rest...)
}

// TestEntryLengths tests each length of an entry at its limit and one beyond it.
// The previous key has spare capacity, so slicing it would not panic.
func TestEntryLengths(t *testing.T) {
	previous := append(make([]byte, 0, 64), "abc"...)
	for name, c := range map[string]struct {
		entry      []byte
		key, value string
		bad        bool
	}{
		"nothing shared":         {entry: entryOf(0, 2, 1, "xyv"), key: "xy", value: "v"},
		"all shared":             {entry: entryOf(3, 0, 1, "v"), key: "abc", value: "v"},
		"all shared and more":    {entry: entryOf(3, 1, 0, "d"), key: "abcd"},
		"more than the key":      {entry: entryOf(4, 0, 1, "v"), bad: true},
		"far more than the key":  {entry: entryOf(1<<63, 0, 1, "v"), bad: true},
		"key to the end":         {entry: entryOf(1, 2, 0, "xy"), key: "axy"},
		"key beyond the end":     {entry: entryOf(1, 3, 0, "xy"), bad: true},
		"value beyond the end":   {entry: entryOf(1, 1, 2, "xy"), bad: true},
		"lengths that wrap":      {entry: entryOf(0, 1<<63, 1<<63, "xy"), bad: true},
		"no length of the value": {entry: []byte{0, 0}, bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			key, value, rest := nextEntry(previous, c.entry)
			if (value == nil) != c.bad {
				t.Fatalf("refused: %v, expected %v", value == nil, c.bad)
			}
			if string(key) != c.key || string(value) != c.value || len(rest) != 0 {
				t.Errorf("got key %q, value %q, rest %q", key, value, rest)
			}
			if string(previous) != "abc" {
				t.Errorf("the key before is now %q", previous)
			}
		})
	}
}
