package inputs

import (
	"bytes"
	"context"
	"testing"
)

// TestStatesAreCanonical: a position has the same state, byte for byte, however
// often the pass was restored before.
func TestStatesAreCanonical(t *testing.T) {
	ctx := context.Background()
	spec := Spec{Format: "glyphs", Count: 300, Shuffle: 70, Repeat: true, BatchSize: 16, Prefetch: 3, Scale: 255}
	ds, err := Open(ctx, spec, Context{Mode: Train, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	open := func() Iterator {
		it, err := ds.Iterate(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return it
	}
	whole, pieces := open(), open()
	defer func() { whole.Close(); pieces.Close() }()
	for i := range 140 {
		for _, it := range []Iterator{whole, pieces} {
			rec, err := it.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			rec.Release()
		}
		a, err := whole.State()
		if err != nil {
			t.Fatal(err)
		}
		b, err := pieces.State()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Fatalf("after batch %d the states differ", i+1)
		}
		if i%7 == 3 || i%32 == 31 || i%32 == 0 {
			pieces.Close()
			pieces = open()
			if err := pieces.Restore(b); err != nil {
				t.Fatal(err)
			}
		}
	}
}
