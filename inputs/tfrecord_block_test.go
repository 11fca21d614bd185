package inputs

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/internal/format/tfexample"
	"github.com/goestimator/goestimator/internal/format/tfrecord"
)

// blockColumns has every kind of column that a feature can be read into.
var blockColumns = []ColumnSpec{
	{Name: "f", Default: 1.5}, {Name: "d", DType: "float64"}, {Name: "i", DType: "int64", Default: -1}, {Name: "k", DType: "int32", Default: 3}, {Name: "u", DType: "uint8", Default: 7}, {Name: "b", DType: "bool", Default: true},
	{Name: "s", DType: "string", Default: "none"}, {Name: "w", Vocabulary: []string{"a", "b"}, Default: "b"}, {Name: "v", Shape: []int{2}, Default: 0.5}, {Name: "t", DType: "string", Shape: []int{2}, Default: "x"},
	{Name: "n", DType: "int64", Shape: []int{3}, Default: 0}, {Name: "m", Shape: []int{4}, Default: 0.25}, {Name: "r", Ragged: true}, {Name: "p", Ragged: true, Vocabulary: []string{"a", "b"}},
}

// TestTFRecordBlocks: files read the same in blocks and record by record, from any record on, whatever they contain.
func TestTFRecordBlocks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var file []byte
		n := rapid.IntRange(0, 40).Draw(rt, "records")
		odd := rapid.IntRange(0, 60).Draw(rt, "odd") // the record that differs from the others; none if it is past the last
		for i := range n {
			data := drawnExample(rt)
			if i == odd {
				data = unusual(rt, data)
			}
			file = tfrecord.Append(file, data)
			if i == odd && rapid.Bool().Draw(rt, "damage") {
				file[len(file)-1-rapid.IntRange(0, len(data)+15).Draw(rt, "byte")] ^= 1
			}
		}
		file = file[:len(file)-rapid.SampledFrom([]int{0, 0, 0, 1, 17}).Draw(rt, "cut")%max(len(file), 1)]
		if rapid.IntRange(0, 9).Draw(rt, "many blocks") == 0 && n > 0 {
			whole, _ := tfrecord.Size(file)
			if whole > 200 && whole <= int64(len(file)) { // there would be very many shorter ones
				file = append([]byte(strings.Repeat(string(file[:whole]), 2*blockBytes/int(whole))), file...)
			}
		}
		sameExamples(t, rt, file, int64(rapid.SampledFrom([]int{0, 0, 1, n / 2, n}).Draw(rt, "skip")), rapid.Bool().Draw(rt, "leave out"))
	})
}

func drawnExample(t *rapid.T) []byte {
	features := map[string]any{"d": []float32{2}, "other": []int64{1}}
	word := rapid.SampledFrom([]string{"a", "b", "", " 5", "5", "1e3", "-7", "true", "nan", strings.Repeat("long", 100)})
	for _, c := range blockColumns {
		length := 1
		if len(c.Shape) > 0 {
			length = c.Shape[0]
		}
		if c.Ragged || rapid.IntRange(0, 200).Draw(t, "wrong length") == 0 {
			length = rapid.IntRange(0, 4).Draw(t, "length")
		}
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			delete(features, c.Name)
		case 1:
			features[c.Name] = nil
		case 2, 3, 4:
			features[c.Name] = rapid.SliceOfN(rapid.Float32(), length, length).Draw(t, "floats")
		case 5, 6:
			features[c.Name] = rapid.SliceOfN(rapid.Int64Range(-3, 300), length, length).Draw(t, "ints")
		default:
			features[c.Name] = rapid.SliceOfN(word, length, length).Draw(t, "words")
			if c.DType != "string" && len(c.Vocabulary) == 0 && rapid.IntRange(0, 20).Draw(t, "words for numbers") > 0 {
				features[c.Name] = rapid.SliceOfN(rapid.SampledFrom([]string{"0", "1"}), length, length).Draw(t, "digits")
			}
		}
	}
	var b testing.B
	data := serialized(&b, features)
	if rapid.IntRange(0, 3).Draw(t, "another order") == 0 {
		return shuffledFeatures(t, data)
	}
	return data
}

// shuffledFeatures returns an example with its features in random order.
func shuffledFeatures(t *rapid.T, data []byte) []byte {
	left, _ := tfexample.ReadPlain(data)
	var entries [][]byte
	for left.More() {
		rest := left.Rest
		left.Next()
		entries = append(entries, rest[:len(rest)-len(left.Rest)])
	}
	return ofEntries(rapid.Permutation(entries).Draw(t, "order")...)
}

// ofEntries returns an example made of entries of its features.
func ofEntries(entries ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), bytes.Join(entries, nil))
}

// floatsEntry returns the entry of a feature with a list of floats; size is the length of the name as a varint.
func floatsEntry(name string, size, list []byte) []byte {
	entry := append(append(protowire.AppendTag(nil, 1, protowire.BytesType), size...), name...)
	feature := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), list)
	entry = protowire.AppendBytes(protowire.AppendTag(entry, 2, protowire.BytesType), feature)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), entry)
}

// unusual returns an example in a form that writers do not use, or unchanged.
func unusual(t *rapid.T, data []byte) []byte {
	second := drawnExample(t)
	switch rapid.IntRange(0, 5).Draw(t, "form") {
	case 0: // features in two parts
		return append(data, second...)
	case 1: // an unknown field
		return protowire.AppendVarint(protowire.AppendTag(data, 9, protowire.VarintType), 5)
	case 2: // unpacked floats
		var list, feature, entry, features []byte
		list = protowire.AppendFixed32(protowire.AppendTag(list, 1, protowire.Fixed32Type), 0x40000000)
		feature = protowire.AppendBytes(protowire.AppendTag(feature, 2, protowire.BytesType), list)
		entry = protowire.AppendString(protowire.AppendTag(entry, 1, protowire.BytesType), "d")
		entry = protowire.AppendBytes(protowire.AppendTag(entry, 2, protowire.BytesType), feature)
		features = protowire.AppendBytes(protowire.AppendTag(features, 1, protowire.BytesType), entry)
		return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), features)
	case 3:
		return nil
	case 4: // too long for a block
		b := protowire.AppendTag(data, 9, protowire.BytesType)
		return protowire.AppendBytes(b, make([]byte, longestFramed))
	}
	return data[:rapid.IntRange(0, len(data)).Draw(t, "end")]
}

// TestTFRecordForms: features with another layout than in earlier examples are not mistaken for these: a word as long as a float, another number of
// floats, or none, in any order.
func TestTFRecordForms(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var file []byte
		for range rapid.IntRange(2, 12).Draw(rt, "records") {
			features := map[string]any{"d": []float32{2}, "v": []float32{rapid.Float32().Draw(rt, "v"), 1}}
			switch rapid.IntRange(0, 3).Draw(rt, "kind") {
			case 0:
				features["f"] = []string{"0001"}
			case 1:
				features["g"] = []float32{3} // belongs to no column
			default:
				features["f"] = []float32{rapid.Float32().Draw(rt, "f")}
			}
			file = tfrecord.Append(file, shuffledFeatures(rt, serialized(t, features)))
		}
		sameExamples(t, rt, file, 0, false)
	})
}

// TestTFRecordOddEntries: a list without packed values may end where a column's values would; the length of a name may take more bytes than needed.
func TestTFRecordOddEntries(t *testing.T) {
	number := []byte{10, 4, 0, 0, 0x80, 0x3f}
	unpacked := []byte{13, 0, 0, 0x80, 0x3f}
	d, m := floatsEntry("d", []byte{1}, number), floatsEntry("m", []byte{1}, nil)
	examples := [][][]byte{
		{floatsEntry("m", []byte{1}, unpacked), d}, // m ends after 16 bytes, as many as its values have in the column
		{m, d},
		{d, floatsEntry("f", []byte{1}, number)},
		{d, floatsEntry("f", []byte{0x81, 0}, number), floatsEntry("other", []byte{5}, bytes.Repeat(number, 20))},
	}
	rapid.Check(t, func(rt *rapid.T) {
		var file []byte
		for _, entries := range rapid.Permutation(examples).Draw(rt, "examples") {
			file = tfrecord.Append(file, ofEntries(entries...))
		}
		sameExamples(t, rt, file, 0, true)
	})
}

// sameExamples compares reading a file in blocks with reading it record by record.
func sameExamples(t *testing.T, rt *rapid.T, file []byte, skip int64, leaveOut bool) {
	format := func() *exampleFormat {
		o := ArrowOptions{Columns: blockColumns, Allocator: checked(t)}
		if leaveOut {
			o.Damaged = &Damaged{Log: slog.New(slog.DiscardHandler)}
		}
		f, err := newExampleFormat(o)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	inRows, inBlocks := format(), format()
	name := write(t, "t.tfrecord", file)
	slow, err := inRows.openRows(context.Background(), name)
	fast, err2 := inBlocks.openBlocks(context.Background(), name)
	if err != nil || err2 != nil {
		rt.Fatal(err, err2)
	}
	if skip > 0 {
		err, err2 := slow.skip(context.Background(), skip), fast.skip(context.Background(), skip)
		if fmt.Sprint(err) != fmt.Sprint(err2) {
			rt.Fatalf("skip %d: in blocks %v, record by record %v", skip, err2, err)
		}
		if err != nil {
			slow.close()
			fast.close()
			return
		}
	}
	want, end := csvRows(t, slow, 0)
	got, end2 := csvRows(t, fast, 100)
	if end != end2 || len(got) != len(want) {
		rt.Fatalf("skip %d: in blocks %d rows and %s\nrecord by record %d and %s", skip, len(got), end2, len(want), end)
	}
	if leaveOut && inRows.damaged.Count() != inBlocks.damaged.Count() {
		rt.Fatalf("in blocks %d records are left out, record by record %d", inBlocks.damaged.Count(), inRows.damaged.Count())
	}
	for i := range want {
		if got[i] != want[i] {
			rt.Fatalf("skip %d: row %d: in blocks %s, record by record %s", skip, i, got[i], want[i])
		}
	}
}

// TestRecordFramesAreSmall: a block has about the requested size even if its records are long, and a long record ends the blocks.
func TestRecordFramesAreSmall(t *testing.T) {
	file := bytes.Repeat(tfrecord.Append(nil, make([]byte, 100_000)), 200)
	file = append(file, tfrecord.Append(nil, make([]byte, longestFramed+1))...)
	frames := &recordFrames{in: bytes.NewReader(file), most: maxBlockRows}
	records := 0
	for frames.more() {
		block, err := frames.next(nil, blockBytes)
		if err == errNotFramed {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if cap(block) > 2*(blockBytes+longestFramed) {
			t.Fatalf("a block takes %d bytes", cap(block))
		}
		n, _, whole := eachRecord(block, maxBlockRows, func([]byte) bool { return true })
		if !whole {
			t.Fatal("a block has a part of a record")
		}
		records += int(n)
	}
	if records != 200 {
		t.Errorf("%d records, expected 200 before the long one", records)
	}
}

// TestEmptyTextsAreNotNull: texts of a block that are all empty are values, not nulls.
func TestEmptyTextsAreNotNull(t *testing.T) {
	ds := openTFRecord(t, []ColumnSpec{{Name: "s", DType: "string", Shape: []int{2}}}, records(t, map[string]any{"s": []string{"", ""}}))
	it, err := ds.Iterate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	rec, err := it.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	if got := rec.Column(0).ValueStr(0); got != `["",""]` {
		t.Errorf("got %s", got)
	}
}
