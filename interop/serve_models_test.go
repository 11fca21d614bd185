package interop_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

var modelTable = flag.String("models-table", "", "write the table of TestServeModels to this file")

// servedRun is one call of a signature, with TensorFlow's response.
type servedRun struct {
	Signature string
	kerasRun
}

// servedKind is a model of serve_models.py, in DIR/<name>/1 and DIR/<name>.json.
type servedKind struct{ family, name string }

// shortKinds are the models of the short form.
var shortKinds = []string{"counter", "control_flow", "static_table", "transformer_ragged", "two_tower"}

// TestServeModels: the program responds like TensorFlow for every signature of a model, or refuses to load the model, with all
// reasons. It may refuse one model in 20.
func TestServeModels(t *testing.T) {
	kinds, dir := savedKinds(t)
	kinds = append(kinds, recordedForests(t, dir)...)
	s := newKindServer(t)
	var results []kindResult
	right := 0
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			r := s.try(t, k, dir)
			results = append(results, r)
			switch why := strings.Join(r.why, "; "); {
			case r.what != answered && r.what != refused, why == "" && r.what == refused:
				t.Errorf("%s: %s", r.what, why)
			case r.what == answered:
				right++
			}
		})
	}
	table := kindTable(results)
	t.Log("\n" + table)
	if 20*right < 19*len(results) {
		t.Errorf("%d of %d kinds are answered, expected 19 of 20", right, len(results))
	}
	if *modelTable != "" {
		if err := os.WriteFile(*modelTable, []byte(table), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// savedKinds makes the models; the long form has all.
func savedKinds(t *testing.T) (kinds []servedKind, dir string) {
	p, dir := peers(t), os.Getenv("GOESTIMATOR_SERVE_MODELS")
	for line := range strings.Lines(p.run(t, "serve_models.py")) {
		name, family, _ := strings.Cut(strings.TrimSpace(line), " ")
		kinds = append(kinds, servedKind{family, name})
	}
	if len(kinds) < 130 {
		t.Fatalf("serve_models.py has %d kinds of models, expected 130", len(kinds))
	}
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		kinds = slices.DeleteFunc(kinds, func(k servedKind) bool { return !slices.Contains(shortKinds, k.name) })
	}
	if dir != "" {
		return kinds, dir
	}
	dir = t.TempDir()
	for some := range slices.Chunk(kinds, 20) {
		args := []string{dir}
		for _, k := range some {
			args = append(args, k.name)
		}
		p.run(t, "serve_models.py", args...)
	}
	return kinds, dir
}

// try serves a model, and compares with TensorFlow's recorded responses.
func (s *kindServer) try(t *testing.T, k servedKind, dir string) kindResult {
	t.Helper()
	if err := s.load(t, k.name, filepath.Join(dir, k.name)); err != nil {
		why := missing(t, filepath.Join(dir, k.name))
		if len(why) == 0 {
			why = []string{err.Error()}
		}
		return kindResult{k, refused, why}
	}
	data, err := os.ReadFile(filepath.Join(dir, k.name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var runs []servedRun
	if err := json.Unmarshal(data, &runs); err != nil {
		t.Fatal(err)
	}
	if len(runs) == 0 {
		t.Fatalf("%s has no requests to compare", k.name)
	}
	for _, r := range runs {
		got, err := s.predict(t, k.name, r)
		if err != nil {
			return kindResult{k, failing, []string{r.Signature + ": " + err.Error()}}
		}
		for alias, want := range r.Outputs {
			if err := like(got[alias], want.tensor(t)); err != nil {
				return kindResult{k, wrong, []string{r.Signature + " " + alias + ": " + err.Error()}}
			}
		}
	}
	return kindResult{k, answered, nil}
}

// like compares an output with TensorFlow's.
func like(got, want *tensor.Tensor) error {
	if got == nil {
		return errors.New("there is no such output")
	}
	return difference(got, want)
}
