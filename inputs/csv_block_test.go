package inputs

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// csvVariants are formats with the special cases of reading in blocks.
var csvVariants = map[string]CSVOptions{
	"plain": {Columns: []ColumnSpec{{Name: "x", Default: 0}, {Name: "y", DType: "string"}, {Name: "z", DType: "int64", Shape: []int{2}}}},
	"header": {Header: true, Comment: "#", MissingValues: []string{"?"}, Columns: []ColumnSpec{{Name: "z", DType: "float64"}, {Name: "x", DType: "int32", Default: -1},
		{Name: "y", Vocabulary: []string{"a", "b"}}}},
	"tabs":         {Delimiter: "tab", Columns: []ColumnSpec{{Name: "x"}, {Name: "b", DType: "bool", Default: true}, {Name: "u", DType: "uint8"}, {Name: "i", Role: Ignore}}},
	"commas":       {Delimiter: ";", Decimal: ",", MissingValues: []string{"-1"}, Columns: []ColumnSpec{{Name: "x", Default: 5.5}, {Name: "y", DType: "float64"}}},
	"no labels":    {Unlabeled: true, Columns: []ColumnSpec{{Name: "l", Role: Label, Vocabulary: []string{"a"}}, {Name: "x"}, {Name: "y", DType: "string"}}},
	"words":        {MissingValues: []string{"NA"}, Columns: []ColumnSpec{{Name: "w", Vocabulary: []string{"EU", "NA", ""}, Default: "EU"}, {Name: "x", Default: 7}}},
	"strict label": {Columns: []ColumnSpec{{Name: "x"}, {Name: "l", Role: Label, Vocabulary: []string{"a", "b c"}}}},
}

// csvRows returns the rows of a reader as text, and the error that ends them. It checks that all memory was released.
func csvRows(t *testing.T, r rowReader, limit int) (rows []string, end string) {
	t.Helper()
	defer func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}()
	for {
		rec, err := r.read(context.Background(), limit)
		if err != nil {
			again, err2 := r.read(context.Background(), limit)
			if again != nil || err2 == nil || err2.Error() != err.Error() {
				t.Errorf("after %v: %v", err, err2)
			}
			return rows, err.Error()
		}
		for i := range rec.NumRows() {
			rows = append(rows, rowText(rec, int(i)))
		}
		rec.Release()
	}
}

func rowText(rec arrow.Record, row int) string {
	var b strings.Builder
	for _, c := range rec.Columns() {
		one := array.NewSlice(c, int64(row), int64(row+1)) // ValueStr of a list panics at NaN
		fmt.Fprintf(&b, "%v|", one)
		one.Release()
	}
	return b.String()
}

// sameCSV checks that a file reads the same in blocks and row by row, from any row on.
func sameCSV(t *testing.T, name string, o CSVOptions, skip int64) {
	t.Helper()
	o.Allocator = checked(t)
	f, err := newCSVFormat(o)
	if err != nil {
		t.Fatal(err)
	}
	slow, err := f.open(context.Background(), name)
	fast, err2 := f.openBlocks(context.Background(), name)
	if fmt.Sprint(err) != fmt.Sprint(err2) {
		t.Fatalf("in blocks %v, row by row %v", err2, err)
	}
	if err != nil {
		return
	}
	if skip > 0 {
		err, err2 := slow.skip(context.Background(), skip), fast.skip(context.Background(), skip)
		if fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("skip %d: in blocks %v, row by row %v", skip, err2, err)
		}
		if err != nil {
			slow.close()
			fast.close()
			return
		}
	}
	want, end := csvRows(t, slow, 0)
	got, end2 := csvRows(t, fast, 100)
	if end != end2 {
		t.Fatalf("skip %d: in blocks %d rows and %s\nrow by row %d and %s", skip, len(got), end2, len(want), end)
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("skip %d: row %d of %d and %d: in blocks %v, row by row %v", skip, i, len(got), len(want), got[min(i, len(got)):min(i+1, len(got))], want[min(i, len(want)):min(i+1, len(want))])
		}
	}
}

func FuzzCSVBlocks(f *testing.F) {
	for _, text := range []string{"1,a,2,3\n", "x,y,z\n1,\"a\",2\n", "\"\n", "1;a\n", "\ufeffx,y\n,,\n", "1, a ,nan,0x1p-2\n", "1,\"a\"\"\r\nb\",2,3\r\n\r\n2, \"x\" ,4,5", "# c\n\nz,y,x\n#\"\n1.5,a,?\n",
		"1.234,5;1e3\n-1;,5\n;\n", "1,a,+2,3\r", "1,a\n2,\"b c\"\n3,d\n", "1\ttrue\t255\t\n 2\t\t0\tx\n", "1,\u00a0\"a\",2,3\n", "1,a\r,2,3\n", "1.5\n", "1,a,2,99999999999999999999\n",
		"a,1,x\na,2,y\n", "1,x\n2,y\n", "\r\n \n1,a,2,3", "NA,1\nEU,NA\n,3\nother,\n", "1,\" a\",2,3,\n", "1,a,2,3\n\"b"} {
		f.Add([]byte(text), uint8(0))
		f.Add([]byte(text), uint8(1))
	}
	f.Fuzz(func(t *testing.T, text []byte, skip uint8) {
		name := write(t, "f.csv", text)
		for variant, o := range csvVariants {
			sameCSV(t, name, o, int64(skip%8))
			if t.Failed() {
				t.Fatal(variant)
			}
		}
	})
}

// longCSV returns a file of many blocks, with every kind of cell, and with an invalid row before row wrong.
func longCSV(rows, wrong int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for i := range rows {
		if i == wrong {
			b.WriteString("1,a\"b,2,3\n")
		}
		text := fmt.Sprintf("word %d", r.IntN(100))
		switch r.IntN(8) {
		case 0:
			text = fmt.Sprintf("\"two\r\nlines, and \"\"%d\"\" \"", i)
		case 1:
			text = fmt.Sprintf("\"%s\"", strings.Repeat("long\n", 1+r.IntN(40)))
		}
		fmt.Fprintf(&b, "%v,%s, %d,%d", r.NormFloat64(), text, i, r.Int64())
		b.WriteString([]string{"\n", "\r\n", " \n", "\n\n"}[r.IntN(4)])
	}
	return b.Bytes()
}

// TestCSVBlocks reads a file of many blocks, valid or with a wrong row, from the beginning and from a later row.
func TestCSVBlocks(t *testing.T) {
	const rows, bad = 16_000, 12_000
	o := csvVariants["plain"]
	text := longCSV(rows, -1)
	if len(text) < 4*blockBytes {
		t.Fatalf("%d bytes are few blocks", len(text))
	}
	sound := write(t, "sound.csv", text)
	for _, skip := range []int64{0, 1, rows / 2, rows - 1, rows, rows + 1} {
		sameCSV(t, sound, o, skip)
	}
	if testing.Short() {
		return // the rest uses the same goroutines
	}
	wrong := write(t, "wrong.csv", longCSV(rows, bad))
	for _, skip := range []int64{0, bad - 1, bad, bad + 1} {
		sameCSV(t, wrong, o, skip)
	}
	sameCSV(t, write(t, "cut.csv.gz", packed(t, text)[:200_000]), o, 0)
	o.Comment = "w"
	sameCSV(t, sound, o, 7)
}

// TestCSVBlocksStop: a pass that ends early leaves nothing behind, even while blocks are being read.
func TestCSVBlocksStop(t *testing.T) {
	name := write(t, "t.csv", longCSV(20_000, -1))
	o := csvVariants["plain"]
	o.Allocator = checked(t)
	f, err := newCSVFormat(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, reads := range []int{0, 1, 2, 5, 140} {
		r, err := f.openBlocks(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		for range reads {
			rec, err := r.read(context.Background(), 128)
			if err != nil {
				t.Fatal(err)
			}
			rec.Release()
		}
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if rec, err := r.read(ended, 1<<20); err == nil {
			rec.Release() // it was ready already
		}
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCSVBlocksEmptyLines: blank lines do not reserve memory for rows.
func TestCSVBlocksEmptyLines(t *testing.T) {
	var most largestAllocation
	most.Allocator = memory.NewGoAllocator()
	o := CSVOptions{Allocator: &most, Columns: []ColumnSpec{{Name: "x", DType: "float64", Shape: []int{1000}}}}
	f, err := newCSVFormat(o)
	if err != nil {
		t.Fatal(err)
	}
	row := strings.Repeat("1,", 999) + "1\n"
	r, err := f.openBlocks(context.Background(), write(t, "t.csv", []byte(row+strings.Repeat("\n", 1<<20)+row)))
	if err != nil {
		t.Fatal(err)
	}
	if rows, end := csvRows(t, r, 0); len(rows) != 2 || end != "EOF" {
		t.Errorf("%d rows, %s", len(rows), end)
	}
	if size := most.size.Load(); size > 9*blockBytes {
		t.Errorf("%d bytes at once for blocks of %d", size, blockBytes)
	}
}

type largestAllocation struct {
	memory.Allocator
	size atomic.Int64
}

func (l *largestAllocation) Allocate(size int) []byte {
	for n := l.size.Load(); int64(size) > n && !l.size.CompareAndSwap(n, int64(size)); n = l.size.Load() {
	}
	return l.Allocator.Allocate(size)
}
