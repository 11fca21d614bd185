package interop_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/serving/client"
)

// generation is a request for texts, with the signature's inputs by name.
type generation struct {
	Prompt      []string  `json:"prompt"`
	Bytes       []int32   `json:"max_new_tokens"`
	TopK        []int32   `json:"top_k"`
	Temperature []float32 `json:"temperature"`
	Seed        []int64   `json:"seed"`
}

// TestGeneratedTexts exports a language model trained on Go's package sort, and requests texts. TensorFlow's loader generates
// the same texts as goestimator serve, with and without sampling, and the client streams them in parts.
func TestGeneratedTexts(t *testing.T) {
	py := peers(t)
	work := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./examples/gpt", "-packages", "sort", "-width", "32", "-context", "48", "-steps", "150", "-write", "8", "-export", work)
	cmd.Dir = testkit.Root()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found, err := filepath.Glob(filepath.Join(work, "gpt", "*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("exports %q, %v", found, err)
	}
	long := strings.Repeat("func (x IntSlice) Len() int { return len(x) }\n", 3)
	asked := []generation{
		{[]string{"func ", "", long}, []int32{40, 3, 20}, []int32{0, 0, 0}, []float32{0, 0, 0}, []int64{0, 0, 0}},
		{[]string{"func ", "func ", "\x7f\x00"}, []int32{30, 40, 47}, []int32{5, 0, 1}, []float32{0.8, 2, 1}, []int64{1, -7, 1 << 40}},
		{[]string{"func "}, []int32{48}, []int32{0}, []float32{0}, []int64{0}},
		{[]string{"func "}, []int32{-1}, []int32{0}, []float32{0}, []int64{0}},
	}
	data, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(work, "asked.json"), data)
	var theirs [][]any
	if err := json.Unmarshal([]byte(py.run(t, "generate.py", found[0], filepath.Join(work, "asked.json"))), &theirs); err != nil {
		t.Fatal(err)
	}
	c, err := client.Dial(serve(t, "--model", "gpt="+filepath.Join(work, "gpt")).GRPC, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i, q := range asked {
		p, err := c.Predict(t.Context(), client.Model{Name: "gpt"}, client.Inputs{"prompt": q.Prompt, "max_new_tokens": q.Bytes, "top_k": q.TopK, "temperature": q.Temperature, "seed": q.Seed})
		if len(theirs[i]) == 2 && theirs[i][0] == "error" {
			if err == nil || theirs[i][1] != true || !strings.Contains(err.Error(), "expected 0..47") {
				t.Errorf("request %d: TensorFlow %v, the server %v", i, theirs[i], err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		ours, err := client.Output[[]string](p, "text")
		if err != nil {
			t.Fatal(err)
		}
		for k, text := range ours {
			if text != theirs[i][k] || len(text) != int(q.Bytes[k]) {
				t.Errorf("request %d, text %d: TensorFlow %q, the server %q", i, k, theirs[i][k], text)
			}
		}
	}
	want, parts := theirs[1][0].(string), []string(nil)
	for part, err := range c.Generate(t.Context(), client.Model{Name: "gpt"}, client.Generation{Prompt: "func ", MaxNewTokens: 30, TopK: 5, Temperature: 0.8, Seed: 1, Part: 8}) {
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	if strings.Join(parts, "") != want || !slices.EqualFunc(parts, []int{8, 8, 8, 6}, func(s string, n int) bool { return len(s) == n }) {
		t.Errorf("streamed %q, expected %q", parts, want)
	}
}
