package main

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain lets this binary be its own worker: "worker fake RESULT".
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "worker" && os.Args[2] == "fake" {
		if err := fakeWorker(os.Args[3]); err != nil {
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "worker" {
		if err := work(os.Args[2], os.Args[3:]); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// fakeWorker pretends to take a millisecond for each step.
func fakeWorker(result string) error {
	if result == "broken" {
		return errors.New("no such library")
	}
	value := 1.0
	if result == "wrong" {
		value = 1.1
	}
	return newLink(os.Stdin, os.Stdout).serve(reply{Values: map[string][]float64{"": {value}}, Version: "1"},
		func(c command) (reply, error) {
			if result == "stuck" {
				<-context.Background().Done()
			}
			return reply{Seconds: float64(c.steps) / 1000}, nil
		})
}

func fakeSubject(t *testing.T, names ...string) subject {
	t.Helper()
	return subject{name: "fake", unit: "ms", cases: []string{""}, setup: func(context.Context, settings, string) (field, error) {
		f := field{reference: map[string][]float64{"": {1}}, tolerance: 1e-3}
		for _, n := range names {
			argv, err := self("fake", n)
			if err != nil {
				return f, err
			}
			f.contenders = append(f.contenders, contender{name: n, argv: argv})
		}
		f.contenders[0].name = ours
		return f, nil
	}}
}

var quick = settings{threads: []int{1, 2}, rounds: 3, processes: 2, block: 20 * time.Millisecond}

// Contenders that fail or compute other values are listed and left out.
func TestMeasure(t *testing.T) {
	r, err := quick.measure(t.Context(), fakeSubject(t, "right", "peer", "wrong", "broken"))
	if err != nil {
		t.Fatal(err)
	}
	var got []key
	for _, x := range r.Rows {
		got = append(got, x.key)
		if math.Abs(x.Median-1) > 1e-9 || x.Samples != 6 || len(x.Processes) != 2 {
			t.Errorf("row %+v: expected 6 samples of 1 ms from 2 processes", x)
		}
	}
	want := []key{{"", 1, ours}, {"", 1, "peer"}, {"", 2, ours}, {"", 2, "peer"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
	if len(r.Missing) != 2 || !strings.Contains(r.Missing[0], "float64 reference 1") || !strings.Contains(r.Missing[1], "broken ended") {
		t.Errorf("left out: %q", r.Missing)
	}
	if !r.Checked {
		t.Error("expected a checked result")
	}
}

func TestMeasureRefusesOursWhereWrong(t *testing.T) {
	if _, err := quick.measure(t.Context(), fakeSubject(t, "wrong")); err == nil {
		t.Error("our result differs from the reference: expected an error")
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{4, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}} {
		if got := median(c.in); got != c.want {
			t.Errorf("median(%v) = %v, expected %v", c.in, got, c.want)
		}
	}
}

func TestCompare(t *testing.T) {
	of := func(name string, v float64) row { return row{key: key{name, 1, ours}, Median: v} }
	old := &result{Subject: "s", Unit: "ms", Rows: []row{of("a", 1), of("b", 1), of("gone", 1)}}
	now := &result{Subject: "s", Unit: "ms", Rows: []row{of("a", 1.04), of("b", 1.06), of("new", 9)}}
	var w bytes.Buffer
	if n := now.compare(&w, old); n != 1 || strings.Count(w.String(), "SLOWER") != 1 {
		t.Errorf("%d are slower, expected 1:\n%s", n, &w)
	}
	old.Unit, now.Unit = "GB/s", "GB/s"
	old.Rows[0].Median = 1.2
	if n := now.compare(&w, old); n != 1 {
		t.Errorf("rates: %d are slower, expected 1:\n%s", n, &w)
	}
}

func TestRecordAndTables(t *testing.T) {
	r, err := quick.measure(t.Context(), fakeSubject(t, "right", "peer"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r.Subject = "growth"
	r.Rows[0].Case, r.Rows[2].Case = "128x512x2", "64x512x2"
	if err := r.write(dir); err != nil {
		t.Fatal(err)
	}
	back, err := readResult(dir, "growth")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r.Rows, back.Rows, cmp.AllowUnexported(row{})); d != "" {
		t.Errorf("rows (-written +read):\n%s", d)
	}
	doc := filepath.Join(dir, "doc.md")
	if err := writeTables(dir, doc); err == nil {
		t.Error("no document: expected an error")
	}
	if err := os.WriteFile(doc, []byte("a\n"+tablesBegin+"old\n"+tablesEnd+"z\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeTables(dir, doc); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(b); !strings.HasPrefix(s, "a\n<!--") || !strings.HasSuffix(s, "-->\nz\n") || strings.Contains(s, "old") || !strings.Contains(s, "| 128x512x2 | 1 |") {
		t.Errorf("document:\n%s", s)
	}
	if _, err := os.Stat(filepath.Join(dir, "growth.svg")); err != nil {
		t.Error(err)
	}
}

// Run a step of the loop subject in a real worker: the parent gets consistent results.
func TestTrainWorker(t *testing.T) {
	sub := subject{name: "loop", unit: "us", cases: []string{""}, setup: func(ctx context.Context, s settings, dir string) (field, error) {
		f, err := s.trainField(ctx, "loop", dir)
		f.check = nil
		return f, err
	}}
	s := quick
	s.block, s.threads = time.Millisecond, []int{1}
	r, err := s.measure(t.Context(), sub)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 1 || r.Rows[0].Median <= 0 || r.Rows[0].Samples != 6 {
		t.Errorf("rows %+v: expected one with 6 samples", r.Rows)
	}
}

// The sparse model and stock Gorgonia agree with our training.
func TestReferencesAgree(t *testing.T) {
	dir := t.TempDir()
	w := workloads["sparse_linear"]
	if _, err := w.give(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	want, err := sparseReference(dir)
	if err != nil {
		t.Fatal(err)
	}
	f, err := quick.trainField(t.Context(), "sparse_linear", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c, err := start(t.Context(), f.contenders[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	j := job{field: &field{reference: want, tolerance: 1e-4}}
	if err := j.correct(c); err != nil {
		t.Error(err)
	}
}

func TestMatmulWorker(t *testing.T) {
	f, err := matmulField(t.Context(), settings{python: "none"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c, err := start(t.Context(), f.contenders[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	if err := (job{field: &f}).correct(c); err != nil {
		t.Error(err)
	}
	r, err := c.run(2, "8x8x8")
	if err != nil || r.Seconds <= 0 {
		t.Errorf("run: %+v, %v", r, err)
	}
	if len(f.missing) == 0 {
		t.Error("OpenBLAS is not there: expected that to be told")
	}
}

func TestParse(t *testing.T) {
	for _, bad := range [][]string{{"-subject", "none"}, {"-threads", "0"}, {"-threads", "x"}, {"-rounds", "0"}, {"-processes", "0"}, {"-nothing"}} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%v: expected an error", bad)
		}
	}
	s, err := parse([]string{"-subject", "mlp,loop", "-threads", "1,2"})
	if err != nil || len(s.subjects) != 2 || len(s.threads) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestLinkRefusesUnknownCommands(t *testing.T) {
	for _, line := range []string{"walk 3\n", "run\n", "run x\n", "run 1 a b\n"} {
		if _, _, err := newLink(strings.NewReader(line), &bytes.Buffer{}).next(); err == nil {
			t.Errorf("%q: expected an error", line)
		}
	}
}

// The last error output of a contender is reported, even if it closes standard output first.
func TestComplaintsAreWhole(t *testing.T) {
	_, err := start(t.Context(), contender{name: "broken", argv: []string{"sh", "-c", "exec >&-; sleep 0.2; echo out of luck >&2; exit 3"}}, 1)
	if err == nil || !strings.Contains(err.Error(), "broken ended: out of luck") {
		t.Errorf("got %v, expected what it said", err)
	}
}

// A contender that hangs ends the run, and the error says where it was.
func TestStuckContender(t *testing.T) {
	argv, err := self("fake", "stuck")
	if err != nil {
		t.Fatal(err)
	}
	w, err := start(t.Context(), contender{name: "stuck", argv: argv}, 1)
	if err != nil {
		t.Fatal(err)
	}
	w.limit = time.Millisecond
	if _, err = w.run(1, ""); err == nil || !strings.Contains(err.Error(), "stuck did not answer within 1ms") || !strings.Contains(err.Error(), "fakeWorker") {
		t.Errorf("got %v, expected where it was", err)
	}
}

// A contender only runs and is checked in its own cases.
func TestContenderOfSomeCases(t *testing.T) {
	sub := fakeSubject(t, "right", "peer")
	sub.cases = []string{"", "other"}
	setup := sub.setup
	sub.setup = func(ctx context.Context, s settings, dir string) (field, error) {
		f, err := setup(ctx, s, dir)
		f.contenders[1].cases = []string{"other"}
		return f, err
	}
	s := quick
	s.threads = []int{1}
	r, err := s.measure(t.Context(), sub)
	if err != nil {
		t.Fatal(err)
	}
	var got []key
	for _, x := range r.Rows {
		got = append(got, x.key)
	}
	if d := cmp.Diff([]key{{"", 1, ours}, {"other", 1, ours}, {"other", 1, "peer"}}, got); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
}

// Without its module, GoMLX is listed as missing; with -ours it is not looked for.
func TestGoMLXIsLeftOut(t *testing.T) {
	t.Chdir(t.TempDir())
	var f, none field
	f.addGoMLX(t.Context(), settings{}, t.TempDir(), contender{name: "GoMLX"})
	if len(f.contenders) != 0 || len(f.missing) != 1 || !strings.HasPrefix(f.missing[0], "GoMLX: ") {
		t.Errorf("contenders %v, left out: %q", f.contenders, f.missing)
	}
	none.addGoMLX(t.Context(), settings{oursOnly: true}, t.TempDir(), contender{name: "GoMLX"})
	if len(none.missing) != 0 {
		t.Errorf("-ours: left out %q, expected nothing", none.missing)
	}
}

// With -spin PyTorch runs twice, under two names.
func TestSpin(t *testing.T) {
	if cs := (settings{}).torch("torch eager", "x.py"); len(cs) != 1 || len(cs[0].env) != 1 {
		t.Errorf("without -spin: %+v, expected passive waiting alone", cs)
	}
	cs := settings{spin: true}.torch("torch eager", "x.py")
	if len(cs) != 2 || cs[0].name != "torch eager" || len(cs[0].env) != 1 || cs[1].name != "torch eager, spinning" || len(cs[1].env) != 0 {
		t.Errorf("-spin: %+v, expected passive and spinning threads", cs)
	}
}

// TestProcessorTime: the time of a process includes all its threads, whatever its name.
func TestProcessorTime(t *testing.T) {
	got, err := parseStat("7 (a ) b) S 1 7 7 0 -1 4194304 1 2 3 4 150 25 6 7 20 0 4 0 99")
	if err != nil || got != 1.75 {
		t.Errorf("got %v, %v, expected 1.75", got, err)
	}
	for _, text := range []string{"", "7 (a) S 1", "7 (a) S 1 7 7 0 -1 4194304 1 2 3 4 x 25 6"} {
		if _, err := parseStat(text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}
