package bundle

import (
	"bytes"
	"errors"
	"io/fs"
	"testing"

	"github.com/syndtr/goleveldb/leveldb/table"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

func smallBundle(t testing.TB) (index, data []byte) {
	m := atomicfile.NewMem("/d")
	s, _ := tensor.FromStrings([][]byte{[]byte("one"), nil, []byte("three")}, 3)
	save(t, m, "/d/x", 1, map[string]*tensor.Tensor{
		"w": floats(t, []float32{1, 2, 3, 4, 5, 6}, 2, 3), "s": s, "global_step": tensor.Scalar(int64(7))})
	index, err := atomicfile.ReadFile(m, "/d/x.index")
	if err != nil {
		t.Fatal(err)
	}
	data, err = atomicfile.ReadFile(m, "/d/x.data-00000-of-00001")
	if err != nil {
		t.Fatal(err)
	}
	return index, data
}

// check opens and reads everything; the result must be nil or a typed error.
func check(t testing.TB, index, data []byte) error {
	t.Helper()
	m := atomicfile.NewMem("/d")
	for path, b := range map[string][]byte{"/d/x.index": index, "/d/x.data-00000-of-00001": data} {
		if err := atomicfile.WriteFile(m, path, b); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Open(m, "/d/x")
	if err == nil {
		defer r.Close()
		err = r.Verify()
		for _, info := range r.List() {
			_, e := r.Tensor(info.Name)
			if err == nil && e != nil && !errors.Is(e, ErrUnsupported) {
				t.Fatalf("Verify found nothing, yet %s: %v", info.Name, e)
			}
		}
	}
	var ce *CorruptError
	if err != nil && !errors.As(err, &ce) && !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("not a typed error: %v", err)
	}
	return err
}

func TestEveryFlipAndTruncationIsSeen(t *testing.T) {
	index, data := smallBundle(t)
	if err := check(t, index, data); err != nil {
		t.Fatal(err)
	}
	for i := range index {
		for bit := range 8 {
			bad := bytes.Clone(index)
			bad[i] ^= 1 << bit
			if check(t, bad, data) == nil {
				t.Fatalf("index: flip of bit %d at %d is not seen", bit, i)
			}
		}
		if check(t, index[:i], data) == nil {
			t.Fatalf("index: cut at %d is not seen", i)
		}
	}
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 0x04
		if check(t, index, bad) == nil {
			t.Fatalf("data: flip at %d is not seen", i)
		}
		if check(t, index, data[:i]) == nil {
			t.Fatalf("data: cut at %d is not seen", i)
		}
	}
}

func TestCorruptErrorSaysWhere(t *testing.T) {
	index, data := smallBundle(t)
	data[3] ^= 1
	var ce *CorruptError
	if err := check(t, index, data); !errors.As(err, &ce) || ce.Key != "global_step" || ce.Offset != 0 || ce.Want == ce.Got {
		t.Fatalf("got %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	index, data := smallBundle(f)
	f.Add(index, data)
	f.Add(index[len(index)-footerSize:], data)
	f.Fuzz(func(t *testing.T, index, data []byte) { _ = check(t, index, data) })
}

// FuzzEntry tests entries behind the checksums of the index.
func FuzzEntry(f *testing.F) {
	index, data := smallBundle(f)
	pairs, err := parseTable("", index)
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range pairs[1:] {
		f.Add(pairs[0].value, p.key, p.value, data)
	}
	f.Fuzz(func(t *testing.T, head, key, value, data []byte) {
		var b bytes.Buffer
		w := table.NewWriter(&b, tableOptions)
		if w.Append(nil, head) != nil || w.Append(key, value) != nil || w.Close() != nil {
			t.Skip("not a table")
		}
		_ = check(t, b.Bytes(), data)
	})
}
