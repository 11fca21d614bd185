package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestServe(t *testing.T) {
	var names []string
	var out bytes.Buffer
	err := serve(strings.NewReader("run 2 mlp/1\nrun 1 \nquit\nrun 5 x\n"), &out, reply{Version: "1"}, func(name string) error {
		names = append(names, name)
		return nil
	})
	if err != nil || strings.Join(names, ",") != "mlp/1,mlp/1," || strings.Count(out.String(), "\n") != 3 {
		t.Errorf("error %v, steps of %q, answers:\n%s", err, names, &out)
	}
	if err := serve(strings.NewReader("walk\n"), &out, reply{}, nil); err == nil {
		t.Error("unknown command: expected an error")
	}
	broken := errors.New("broken")
	if err := serve(strings.NewReader("run 1 x\n"), &out, reply{}, func(string) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, expected the step's error", err)
	}
}

// write writes fixtures with two examples and an mlp whose output is its last bias.
func write(t *testing.T, dir string, bias []float32) {
	t.Helper()
	var list []fixtureTensor
	var raw []byte
	add := func(name string, data bool, v any, shape ...int) {
		list = append(list, fixtureTensor{name, shape, len(raw), data})
		var err error
		if raw, err = binary.Append(raw, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	in := 784
	for i, units := range []int{512, 256, 10} {
		add(numbered("dense", i)+"/kernel", false, make([]float32, in*units), in, units)
		if i < 2 {
			add(numbered("dense", i)+"/bias", false, make([]float32, units), units)
		}
		in = units
	}
	add("dense_2/bias", false, bias, 10)
	add("x", true, make([]float32, 2*784), 2, 784)
	add("y", true, []int64{3, 4}, 2)
	b, err := json.Marshal(map[string]any{"tensors": list})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"fixtures.json": b, "fixtures.bin": raw} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPredictor(t *testing.T) {
	dir := t.TempDir()
	bias := []float32{0, 0, 0, 2, 0, 0, 0, 0, 0, 0}
	write(t, filepath.Join(dir, "mlp"), bias)
	b, err := newBackend()
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPredictor(b, dir, "mlp", 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.run()
	if err != nil {
		t.Fatal(err)
	}
	if want := math.Exp(2) / (math.Exp(2) + 9); len(got) != 10 || math.Abs(float64(got[3])-want) > 1e-6 {
		t.Errorf("probabilities %v, expected %v of class 3", got, want)
	}
	if len(p.xs) != 2 || p.at != 1 {
		t.Errorf("%d batches, at %d: expected 2, at 1", len(p.xs), p.at)
	}
}

func TestFixtures(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, make([]float32, 10))
	g, err := readFixtures(dir)
	if err != nil {
		t.Fatal(err)
	}
	if y, shape, err := read[int64](g, "y"); err != nil || len(y) != 2 || y[1] != 4 || len(shape.Shape) != 1 {
		t.Errorf("y: %v %v, %v", y, shape, err)
	}
	if _, _, err := read[float32](g, "z"); err == nil {
		t.Error("no such tensor: expected an error")
	}
	g.raw = g.raw[:len(g.raw)-1]
	if _, _, err := read[int64](g, "y"); err == nil {
		t.Error("cut short: expected an error")
	}
}

func TestRunRefusesArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"train"}, {"walk", "dir"}, {"train", t.TempDir()}} {
		if err := run(args); err == nil {
			t.Errorf("%q: expected an error", args)
		}
	}
}
