package inputs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fractions writes a file of integers in which every nth value is a fraction.
func fractions(t *testing.T, n int, every int) string {
	t.Helper()
	var data []byte
	for i := range n {
		x := float64(i)
		if every > 0 && i%every == every-1 {
			x += .5
		}
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
	}
	return write(t, "x.npy", npyFile("<f8", fmt.Sprintf("(%d,)", n), data))
}

// TestNumPyWithoutDamagedRows: values that do not fit the column's type are left out and counted once, at any position, and other rows stay in order.
func TestNumPyWithoutDamagedRows(t *testing.T) {
	const n, every = 700, 50
	var want []int64
	for i := range int64(n) {
		if i%every != every-1 {
			want = append(want, i)
		}
	}
	spec := Spec{Format: "npy", Files: []string{fractions(t, n, every)}, Columns: []ColumnSpec{{Name: "x", DType: "int64"}}, OnError: "skip", BatchSize: 64, Epochs: 1, Delimiter: ","}
	total := &Damaged{}
	ds := must[Dataset](t)(Open(t.Context(), spec, Context{Mode: Eval, Damaged: total, Allocator: checked(t)}))
	if d := cmp.Diff(want, column[int64](t, ds, "x")); d != "" {
		t.Error(d)
	}
	if total.Count() != n/every || total.First() == nil || !strings.Contains(total.First().Error(), `x.npy: column "x": row 50 of the file: value "49.5" is not an int64 number`) {
		t.Errorf("%d rows were left out, the first: %v", total.Count(), total.First())
	}
	checkDataset(t, ds)
	if total.Count() != n/every {
		t.Errorf("%d rows count after more passes", total.Count())
	}
	spec.Shuffle = 100
	shuffled := column[int64](t, must[Dataset](t)(Open(t.Context(), spec, Context{Mode: Train, Seed: 3})), "x")
	slices.Sort(shuffled)
	if !slices.Equal(shuffled, want) {
		t.Errorf("%d shuffled rows, expected %d", len(shuffled), len(want))
	}
	spec.Shuffle, spec.MaxErrors = 0, 5
	if err := readAll(spec, Context{Mode: Eval}); !errors.Is(err, ErrTooManyDamaged) {
		t.Errorf("max_errors: got %v", err)
	}
	spec.MaxErrors, spec.Files = 0, []string{fractions(t, 3, 1)}
	if err := readAll(spec, Context{Mode: Eval}); !errors.Is(err, ErrEmpty) {
		t.Errorf("no good row: got %v", err)
	}
}
