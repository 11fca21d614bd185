package inputs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// streamSpec returns a spec that reads standard input.
func streamSpec(format string) Spec {
	s := DefaultSpec()
	s.Format, s.Files, s.BatchSize = format, []string{StdinFile}, 2
	s.Columns = []ColumnSpec{{Name: "x"}, {Name: "id", Role: Label, DType: "int64"}}
	return s
}

func openStream(t *testing.T, s Spec, text io.Reader) Dataset {
	t.Helper()
	ds, err := Open(context.Background(), s, Context{Mode: Train, Stdin: NewStream(text), Allocator: checked(t)})
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

func TestStreamRows(t *testing.T) {
	csv := streamSpec("csv")
	header := csv
	header.Header = true
	for name, c := range map[string]struct {
		spec Spec
		text string
	}{
		"csv": {csv, "1,7\n2,8\n3,9\n"}, "last line without an end": {csv, "1,7\n2,8\n3,9"}, "header": {header, "id,x\n7,1\n8,2\n9,3\n"}, "mark": {csv, "\ufeff1,7\n2,8\n3,9\n"},
		"gzip": {csv, string(zipped(t, []byte("1,7\n2,8\n3,9\n")))}, "jsonl": {streamSpec("jsonl"), `{"x":1,"id":7}` + "\n\n" + `{"x":2,"id":8}` + "\n" + `{"x":3,"id":9}`},
	} {
		if d := cmp.Diff([][]int64{{7, 8}, {9}}, ids(t, openStream(t, c.spec, strings.NewReader(c.text)))); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestStreamDoesNotReadAhead: rows are delivered as soon as they arrive.
func TestStreamDoesNotReadAhead(t *testing.T) {
	for format, row := range map[string]string{"csv": "%d,%d\n", "jsonl": `{"x":%d,"id":%d}` + "\n"} {
		in, out := io.Pipe()
		s := streamSpec(format)
		s.BatchSize, s.Prefetch = 1, 0
		ds := openStream(t, s, in)
		it := iterate(t, ds)
		for i := range 5 {
			written := make(chan error, 1)
			go func() { _, err := fmt.Fprintf(out, row, i, i); written <- err }()
			if next(t, it, ds.Schema()) == "" {
				t.Fatalf("%s: the end at row %d", format, i)
			}
			if err := <-written; err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStreamInterrupted: waiting for rows ends with the context and loses no rows; a closed pass leaves the stream.
func TestStreamInterrupted(t *testing.T) {
	in, out := io.Pipe()
	s := streamSpec("csv")
	s.Prefetch = 0
	ds := openStream(t, s, in)
	it := iterate(t, ds)
	ctx, cancel := context.WithCancel(context.Background())
	begun := make(chan struct{})
	go func() {
		_, _ = io.WriteString(out, "1,7\n")
		close(begun)
	}()
	go func() { <-begun; cancel() }()
	if _, err := it.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	go func() { _, _ = io.WriteString(out, "2,8\n") }()
	if got := next(t, it, ds.Schema()); !strings.Contains(got, "[2]") {
		t.Errorf("got %s, expected the row from before the interruption and the next", got)
	}
	if _, err := it.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	_ = out.CloseWithError(io.EOF) // ends the read that is still running
}

func TestStreamComesOnce(t *testing.T) {
	in := NewStream(strings.NewReader("1,7\n2,8\n3,9\n"))
	open := func(resume string) Iterator {
		s := streamSpec("csv")
		s.Resume = resume
		ds, err := Open(context.Background(), s, Context{Stdin: in})
		if err != nil {
			t.Fatal(err)
		}
		return iterate(t, ds)
	}
	first := open("")
	if _, err := first.Next(context.Background()); err != nil {
		t.Fatal(err)
	}
	state, err := first.State()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open("").Next(context.Background()); !errors.Is(err, ErrNoResume) {
		t.Errorf("a second pass: got %v", err)
	}
	for resume, want := range map[string]string{"skip": "c", "restart": "a", "": ""} {
		in = NewStream(strings.NewReader("1,7\n2,8\n5,10\n"))
		it := open(resume)
		err := it.Restore(state)
		if resume == "" {
			if !errors.Is(err, ErrNoResume) {
				t.Errorf("error: got %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", resume, err)
		}
		rec, err := it.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if rows := rec.NumRows(); (rows == 1) != (want == "c") {
			t.Errorf("%s: got a batch of %d rows", resume, rows)
		}
		rec.Release()
	}
}

func TestStreamErrors(t *testing.T) {
	csv, jsonl := streamSpec("csv"), streamSpec("jsonl")
	for _, c := range []struct {
		spec Spec
		text string
		want string
	}{
		{csv, "", "no row in standard input"}, {csv, "1,7\n2,x\n", `standard input:2:3: column "id": value "x"`}, {csv, "1;7\n", "cells are separated by ';'"},
		{csv, "1,7\n\"2,8\n", "standard input:2:6: a quote is not closed before here"}, {csv, `{"x":1}`, "this is JSON"}, {csv, "PAR1\x00\x00", "this is a Parquet file"}, {csv, "x,id\n1,2\n", "set header: true"},
		{jsonl, `{"x":1,"id":7}` + "\n{", "standard input:2: line ends within"}, {jsonl, "1,7\n", "this is text"}, {csv, string(zipped(t, []byte("1,7\n"))[:20]), "standard input"},
	} {
		it := iterate(t, openStream(t, c.spec, strings.NewReader(c.text)))
		var err error
		for err == nil {
			rec, e := it.Next(context.Background())
			if err = e; err == nil {
				rec.Release()
			}
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, expected %q", c.text, err, c.want)
		}
	}
}

func TestStreamSkipsDamagedRows(t *testing.T) {
	for format, text := range map[string]string{"csv": "1,7\nx,8\n\"\n3,9\n", "jsonl": `{"x":1,"id":7}` + "\n{\n" + `{"x":3}` + "\n" + `{"x":3,"id":9}`} {
		s := streamSpec(format)
		s.OnError = "skip"
		count := silent()
		ds, err := Open(context.Background(), s, Context{Mode: Train, Stdin: NewStream(strings.NewReader(text)), Damaged: count})
		if err != nil {
			t.Fatal(err)
		}
		if got := flat(ids(t, ds)); count.Count() != 2 || cmp.Diff([]int64{7, 9}, got) != "" {
			t.Errorf("%s: %d rows left out, the others %v", format, count.Count(), got)
		}
	}
}

func TestStreamSpecs(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		"- (standard input) alone":             func(s *Spec) { s.Files = append(s.Files, "more.csv") },
		"is for the formats csv, jsonl, arrow": func(s *Spec) { s.Format = "parquet" },
		"repeat":                               func(s *Spec) { s.Repeat = true },
		"split.time":                           func(s *Spec) { s.Split = SplitSpec{Folds: 2, Part: "train", Time: "x"} },
		"epochs":                               func(s *Spec) { s.Epochs = 2 },
		"expected one of error, skip, restart": func(s *Spec) { s.Resume = "later" },
		"all rows of files can be read again":  func(s *Spec) { s.Files, s.Resume = []string{"a.csv"}, "skip" },
	} {
		s := streamSpec("csv")
		change(&s)
		if _, err := Open(context.Background(), s, Context{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	s := streamSpec("csv")
	if _, err := Open(context.Background(), s, Context{NumPipelines: 2}); err == nil || !strings.Contains(err.Error(), "shard: off") {
		t.Errorf("two workers: got %v", err)
	}
}

// TestStreamBreaks: a failure of the producer reaches the consumer after the rows before it, and not as an end of the data.
func TestStreamBreaks(t *testing.T) {
	for format, text := range map[string]string{"csv": "1,7\n2,8\n3", "jsonl": `{"x":1,"id":7}` + "\n" + `{"x":2,"id":8}` + "\n{"} {
		it := iterate(t, openStream(t, streamSpec(format), io.MultiReader(strings.NewReader(text), iotest.ErrReader(errBroken))))
		rec, err := it.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rec.Release()
		if _, err := it.Next(t.Context()); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), stdinName) {
			t.Errorf("%s: got %v", format, err)
		}
	}
}

// TestStreamFailsAlike: if a text cannot be read, every further read returns the same error.
func TestStreamFailsAlike(t *testing.T) {
	packed := zipped(t, []byte("1,7\n"))
	for name, text := range map[string]io.Reader{"damaged": strings.NewReader(string(packed[:5])), "broken": iotest.ErrReader(errBroken)} {
		s := streamSpec("csv")
		s.Header, s.Prefetch = true, 0
		it := iterate(t, openStream(t, s, text))
		_, first := it.Next(t.Context())
		_, second := it.Next(t.Context())
		if first == nil || second == nil || first.Error() != second.Error() || errors.Is(second, ErrNoResume) {
			t.Errorf("%s: got %v, then %v", name, first, second)
		}
	}
}
