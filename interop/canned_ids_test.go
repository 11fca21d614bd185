package interop_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/tensor"
)

// manyValues is the number of strings and integers that are hashed and crossed.
const manyValues = 100_000

// TestIDsAgainstTensorFlow hashes and crosses random strings (some empty, very long
// or not UTF-8) and integers.
func TestIDsAgainstTensorFlow(t *testing.T) {
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("skipped: takes a minute (GOESTIMATOR_ACCEPT=1, make parity); recorded digests are compared in inputs/feature always")
	}
	py := peers(t)
	d := manyRandom()
	out := filepath.Join(t.TempDir(), "ids")
	py.run(t, "canned.py", "ids", "-", save(t, filepath.Join(t.TempDir(), "given"), d), out)
	s, i, level := feature.Key("s"), feature.Key("i"), &feature.Identity{Key: "level", Size: 7}
	plan, err := feature.New(feature.Columns{Linear: []feature.Column{
		&feature.HashBucket{Key: "s", Size: 1000003}, &feature.HashBucket{Key: "i", Size: 1000003, DType: tensor.Int64},
		&feature.Crossed{Of: []feature.Column{s, i}, Size: 1 << 30}, &feature.Crossed{Of: []feature.Column{s, i, level}, Size: 1 << 20}}})
	if err != nil {
		t.Fatal(err)
	}
	ours := idsOf(t, plan, d)
	columns := map[string]string{"hash": "s/ids", "hash_ints": "i/ids", "cross": "i_X_s/ids", "cross_long": "i_X_level_X_s/ids"}
	for name, want := range load(t, out) {
		got := ours[columns[name]]
		if got == nil {
			t.Fatalf("no column %s of ours", columns[name])
		}
		wrong := 0
		for k, id := range tensor.Values[int64](want) {
			if got[k] != id {
				if wrong++; wrong < 5 {
					t.Errorf("%s: value %d (%.40q, %d): expected id %d, got %d", name, k, d["strings"].Strings[k], tensor.Values[int64](d["ints"])[k], id, got[k])
				}
			}
		}
		t.Logf("%s: %d of %d ids differ", name, wrong, want.Len())
	}
}

// manyRandom makes random values.
func manyRandom() map[string]*tensor.Tensor {
	r := rand.New(rand.NewPCG(17, 19))
	d := map[string]*tensor.Tensor{"strings": tensor.New(tensor.String, manyValues), "ints": tensor.New(tensor.Int64, manyValues), "levels": tensor.New(tensor.Int64, manyValues)}
	for i := range manyValues {
		var s []byte
		switch r.IntN(20) {
		case 0:
			s = []byte{}
		case 1:
			s = []byte(strings.Repeat(fmt.Sprint(r.IntN(1000)), 1+r.IntN(300)))
		default:
			s = make([]byte, r.IntN(40)) // mostly not UTF-8
			for k := range s {
				s[k] = byte(r.IntN(256))
			}
		}
		d["strings"].Strings[i] = s
		v := r.Int64()
		switch r.IntN(4) {
		case 0:
			v = -v
		case 1:
			v %= 1000
		case 2:
			v = -(v % 1000)
		}
		tensor.Values[int64](d["ints"])[i], tensor.Values[int64](d["levels"])[i] = v, int64(r.IntN(7))
	}
	return d
}

// idsOf returns the first id of each example, or -1 if it has none, by column.
func idsOf(t *testing.T, plan *feature.Plan, d map[string]*tensor.Tensor) map[string][]int64 {
	t.Helper()
	ds, err := inputs.Slices(nil, inputs.NamedTensor{Name: "s", Role: inputs.Feature, Tensor: d["strings"]},
		inputs.NamedTensor{Name: "i", Role: inputs.Feature, Tensor: d["ints"]}, inputs.NamedTensor{Name: "level", Role: inputs.Feature, Tensor: d["levels"]})
	if err != nil {
		t.Fatal(err)
	}
	mapped := inputs.Pipe(ds, inputs.Batch(manyValues, false), plan.Transform(2))
	it, err := mapped.Iterate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	rec, err := it.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	columns, err := inputs.Tensors(rec, mapped.Schema())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]int64{}
	for _, c := range columns {
		ids := make([]int64, manyValues)
		for i := range ids {
			ids[i] = -1
			if c.Offsets[i+1] > c.Offsets[i] {
				ids[i] = tensor.Values[int64](c.Tensor)[c.Offsets[i]]
			}
		}
		out[c.Name] = ids
	}
	return out
}
