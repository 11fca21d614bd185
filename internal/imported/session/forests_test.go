package session_test

import (
	"archive/tar"
	"bytes"
	"compress/bzip2"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// recordedTensor is a tensor as interop/python/served.py records it.
type recordedTensor struct {
	DType string
	Shape []int
	Data  json.RawMessage
}

func (r recordedTensor) tensor(t *testing.T) *tensor.Tensor {
	t.Helper()
	var texts [][]byte
	var text []byte
	into := any(&text)
	if r.DType == "string" {
		into = &texts
	}
	if err := json.Unmarshal(r.Data, into); err != nil { // encoding/json decodes base64
		t.Fatal(err)
	}
	if r.DType == "string" {
		x, err := tensor.FromStrings(texts, r.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	d, err := tensor.ParseDType(r.DType)
	if err != nil {
		t.Fatal(err)
	}
	x := tensor.New(d, r.Shape...)
	copy(x.Bytes, text)
	return x
}

// unpack writes the files of an archive into a new directory.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir, r := t.TempDir(), tar.NewReader(bzip2.NewReader(f))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		data, err := io.ReadAll(r)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o777)
		}
		if err == nil {
			err = os.WriteFile(path, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestForests: TensorFlow Decision Forests models answer bit for bit as the library does; see interop/python/forests.py.
func TestForests(t *testing.T) {
	testkit.NotConcurrent(t)
	recordedModels(t, "testdata/forests.tar.bz2", 40, func(_ string, got, want *tensor.Tensor) error { return identical(got, want) })
}

// TestBoostedTrees: tf.estimator's boosted trees answer as TensorFlow 2.8 does, the last version that has them, with the same bits for
// logits. See interop/python/boosted_trees.py.
func TestBoostedTrees(t *testing.T) {
	recordedModels(t, "testdata/boosted_trees.tar.bz2", 3, func(output string, got, want *tensor.Tensor) error {
		switch {
		case want.DType == tensor.String:
			if got == nil || !slices.EqualFunc(got.Strings, want.Strings, bytes.Equal) {
				return fmt.Errorf("got %v, expected %q", got, want.Strings)
			}
			return nil
		case strings.HasPrefix(output, "pro") || output == "logistic": // functions of the logits, whose last digits differ in TensorFlow 2.8
			return close32(got, want)
		}
		return identical(got, want)
	})
}

// recordedModels compares the answers of the models in an archive, at least that many, with recorded ones.
func recordedModels(t *testing.T, archive string, least int, compare func(output string, got, want *tensor.Tensor) error) {
	dir := unpack(t, archive)
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(names) < least {
		t.Fatalf("%d models, expected %d: %v", len(names), least, err)
	}
	for _, file := range names {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			m, err := session.Open(context.Background(), filepath.Join(dir, name, "1"), session.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var runs []struct {
				Signature       string
				Inputs, Outputs map[string]recordedTensor
			}
			if err := json.Unmarshal(data, &runs); err != nil || len(runs) == 0 {
				t.Fatalf("%d runs: %v", len(runs), err)
			}
			for i, r := range runs {
				in := map[string]*tensor.Tensor{}
				for alias, x := range r.Inputs {
					in[alias] = x.tensor(t)
				}
				out := call(t, m, r.Signature, in)
				for alias, want := range r.Outputs {
					if err := compare(alias, out[alias], want.tensor(t)); err != nil {
						t.Errorf("run %d of %s: %s: %v", i, r.Signature, alias, err)
					}
				}
			}
		})
	}
}

// close32 compares probabilities.
func close32(got, want *tensor.Tensor) error {
	if got == nil || got.DType != want.DType || fmt.Sprint(got.Shape) != fmt.Sprint(want.Shape) {
		return fmt.Errorf("got %v, expected %v of shape %v", got, want.DType, want.Shape)
	}
	for i := range want.Len() {
		if g, w := got.Float(i), want.Float(i); !(math.Abs(g-w) <= 1e-6) {
			return fmt.Errorf("element %d is %v, expected %v", i, g, w)
		}
	}
	return nil
}

// identical compares tensors bit for bit; all NaNs are equal.
func identical(got, want *tensor.Tensor) error {
	if got == nil || got.DType != want.DType || fmt.Sprint(got.Shape) != fmt.Sprint(want.Shape) {
		return fmt.Errorf("got %v, expected %v of shape %v", got, want.DType, want.Shape)
	}
	for i := range want.Len() {
		if g, w := got.Float(i), want.Float(i); g != w && !(math.IsNaN(g) && math.IsNaN(w)) {
			return fmt.Errorf("element %d is %v, expected %v", i, g, w)
		}
	}
	return nil
}
