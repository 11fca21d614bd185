package feature

import (
	"bytes"
	"strings"
	"testing"
)

func FuzzReadVocabulary(f *testing.F) {
	f.Add([]byte("a\nb\r\nc"), 0)
	f.Add([]byte("a\n\nb"), 0)
	f.Add([]byte("a\na\n"), 2)
	f.Add([]byte("\xff\x00\n"), 1)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		values, err := ReadVocabulary(bytes.NewReader(data), max(size, 0))
		if err != nil {
			return
		}
		if len(values) == 0 || size > 0 && len(values) != size {
			t.Fatalf("%d entries, size %d", len(values), size)
		}
		seen := map[string]bool{}
		for _, v := range values {
			if v == "" || seen[v] || strings.ContainsAny(v, "\r\n") {
				t.Fatalf("entry %q", v)
			}
			seen[v] = true
		}
		again, err := ReadVocabulary(strings.NewReader(strings.Join(values, "\n")), 0)
		if err != nil || len(again) != len(values) {
			t.Fatalf("written and read again: %d entries, %v", len(again), err)
		}
	})
}

func FuzzBuild(f *testing.F) {
	f.Add("embedding", "job", 10, 3)
	f.Add("crossed", "job", 10, 0)
	f.Add("vocabulary", "job", 0, -1)
	f.Fuzz(func(t *testing.T, kind, key string, buckets, dimension int) {
		def := float64(buckets) / 2
		base := Spec{Type: "hash_bucket", Name: "base", Key: "base", Buckets: 5}
		for _, s := range []Spec{
			{Type: kind, Key: key, Buckets: buckets},
			{Type: kind, Key: key, Buckets: buckets, Default: &def},
			{Type: kind, Of: "base", Dimension: dimension},
			{Type: kind, Of: key, Dimension: dimension},
			{Type: kind, Key: key, Vocabulary: []string{key, kind}, OOVBuckets: buckets, DType: key},
			{Type: kind, Keys: []CrossPart{{Key: key}, {Key: kind}}, Buckets: buckets},
			{Type: kind, Columns: []string{key, "base"}, Dimension: dimension},
			{Type: kind, Key: key, Shape: []int{buckets, dimension}, Sequence: true},
		} {
			set, err := Build([]Spec{base, s})
			if err != nil {
				continue
			}
			columns, err := set.Columns(set.Names()...)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range columns { // must not panic
				_, _ = New(Columns{Linear: []Column{c}})
				_, _ = New(Columns{Dense: []Column{c}})
				_, _ = New(Columns{Sequence: []Column{c}})
			}
		}
	})
}
