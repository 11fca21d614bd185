package estimator_test

import (
	"context"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

const rhyme = "\x00\n abcdefghijklmnopqrstuvwxyz"

// rhymes is a small text model that has memorized a sentence.
func rhymes(t *testing.T, net networks.GPT) (*estimator.Estimator, estimator.Generator) {
	t.Helper()
	model := func(mc *estimator.ModelContext, f models.Features, _ models.Labels) (*estimator.Spec, error) {
		ids := ops.Cast(mc, f.Only(), tensor.Int32)
		logits := net.Logits(mc, ops.Slice(mc, ids, []int{0, 0}, []int{-1, net.Context}))
		following := ops.Reshape(mc, ops.Slice(mc, ids, []int{0, 1}, []int{-1, -1}), -1)
		spec := &estimator.Spec{Loss: losses.SparseSoftmaxCrossEntropy(mc, following, ops.Reshape(mc, logits, -1, net.Vocabulary), losses.Options{})}
		if mc.Mode() == models.Train {
			spec.TrainOp = optimizers.Adam(0.01).Minimize(mc, spec.Loss)
		}
		return spec, nil
	}
	input := func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		text := strings.Repeat("the quick brown fox jumps over the lazy dog\n", 3)
		var rows []uint8
		for i := range 44 {
			for _, c := range []byte(text[i : i+net.Context+1]) {
				rows = append(rows, uint8(strings.IndexByte(rhyme, c)))
			}
		}
		all, err := inputs.Slices(ic.Allocator, inputs.Slice("text", inputs.Feature, rows, net.Context+1))
		return inputs.Pipe(all, inputs.Shuffle(44, 1), inputs.Repeat(0), inputs.Batch(22, true)), err
	}
	e, err := estimator.New(estimator.ModelFunc(model), estimator.WithModelDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	if _, err := e.Train(t.Context(), estimator.InputFunc(input), estimator.MaxSteps(120)); err != nil {
		t.Fatal(err)
	}
	return e, estimator.Generator{Model: net, Characters: rhyme}
}

// asked are requests: prompts of several lengths, some longer than the context, and all ways to draw.
type asked struct {
	prompt      string
	n, k        int32
	temperature float32
	seed        int64
}

func requests() []asked {
	return []asked{
		{"the qu", 16, 0, 0, 1}, {"", 5, 0, 0, 1}, {"brown fox jumps over the lazy dog\nthe quick b", 10, 0, 0, 1}, {"f", 23, 0, 0, 0},
		{"fox", 12, 3, 2, 7}, {"fox", 12, 3, 2, 8}, {"dog\n", 20, 0, 3, -1 << 62}, {"?~ \xff", 9, 1, 5, 3}, {"lazy", 0, 0, 1, 1},
	}
}

func TestWritesTexts(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains a network for seconds")
	}
	plain := networks.GPT{Vocabulary: len(rhyme), Context: 24, Layers: 2, Heads: 2, Width: 32}
	llama := plain
	llama.KVHeads, llama.Rotary, llama.RMSNorm, llama.Gated = 1, 1e4, true, true
	for name, net := range map[string]networks.GPT{"plain": plain, "llama": llama} {
		t.Run(name, func(t *testing.T) { checkWrites(t, net) })
	}
}

func checkWrites(t *testing.T, net networks.GPT) {
	e, g := rhymes(t, net)
	w, err := e.TextWriter(g)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	text := func(r asked) string {
		t.Helper()
		s, err := w.Text(t.Context(), r.prompt, estimator.Sampling{MaxNewTokens: int(r.n), Temperature: r.temperature, TopK: int(r.k), Seed: r.seed})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if got := text(asked{prompt: "the qu", n: 60}); got != "ick brown fox jumps over the lazy dog\nthe quick brown fox ju" {
		t.Errorf("wrote %q", got) // beyond the context
	}
	dir, err := e.ExportGenerator(t.Context(), t.TempDir(), g)
	if err != nil {
		t.Fatal(err)
	}
	answers := generate(t, dir, requests())
	for i, r := range requests() {
		if want := text(r); answers[i] != want || len(want) != int(r.n) {
			t.Errorf("%+v: the export wrote %q, the Estimator %q", r, answers[i], want)
		}
		if r.prompt == "" || r.n < 4 || len(r.prompt) > 20 {
			continue
		}
		first := generate(t, dir, []asked{{r.prompt, r.n / 2, r.k, r.temperature, r.seed}})[0] // the first part of the text, alone in its batch
		if rest := generate(t, dir, []asked{{r.prompt + first, r.n - r.n/2, r.k, r.temperature, r.seed}})[0]; len(r.prompt)+int(r.n) <= 24 && first+rest != answers[i] {
			t.Errorf("%+v: in parts %q and %q, at once %q", r, first, rest, answers[i])
		}
	}
	for _, n := range []int32{24, -1, 1 << 30} {
		if _, err := answer(t, dir, []asked{{prompt: "fox", n: n}}); err == nil || !strings.Contains(err.Error(), "expected 0..23") {
			t.Errorf("%d new tokens: %v", n, err)
		}
	}
	if answers[4] == answers[5] {
		t.Errorf("two seeds wrote %q", answers[4])
	}
}

// generate sends requests to an exported model.
func generate(t *testing.T, dir string, all []asked) (texts []string) {
	t.Helper()
	out, err := answer(t, dir, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range out.Strings {
		texts = append(texts, string(s))
	}
	return texts
}

// answer returns the response of an exported model, or its error.
func answer(t *testing.T, dir string, all []asked) (*tensor.Tensor, error) {
	t.Helper()
	m, err := savedmodel.Read(dir, savedmodel.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.MetaGraph("serve")
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Load(t.Context(), g, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := len(all)
	in := map[string]*tensor.Tensor{"prompt:0": tensor.New(tensor.String, n), "max_new_tokens:0": tensor.New(tensor.Int32, n),
		"temperature:0": tensor.New(tensor.Float32, n), "top_k:0": tensor.New(tensor.Int32, n), "seed:0": tensor.New(tensor.Int64, n)}
	for i, r := range all {
		in["prompt:0"].Strings[i] = []byte(r.prompt)
		tensor.Values[int32](in["max_new_tokens:0"])[i], tensor.Values[int32](in["top_k:0"])[i] = r.n, r.k
		tensor.Values[float32](in["temperature:0"])[i], tensor.Values[int64](in["seed:0"])[i] = r.temperature, r.seed
	}
	out, err := s.Run(t.Context(), in, []string{s.Signatures()["generate"].GetOutputs()["text"].GetName()})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

func TestGeneratorsAreChecked(t *testing.T) {
	e, err := estimator.New(estimator.ModelFunc(nil), estimator.WithModelDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	net := networks.GPT{Vocabulary: 3, Context: 4, Layers: 1, Heads: 1, Width: 4}
	for want, g := range map[string]estimator.Generator{
		"no model":                      {},
		"2 characters for a model of 3": {Model: net, Characters: "ab"},
		"could not find trained model":  {Model: net, Characters: "abc"},
	} {
		if _, err := e.TextWriter(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a writer: %v, expected %q", err, want)
		}
		if _, err := e.ExportGenerator(t.Context(), t.TempDir(), g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("an export: %v, expected %q", err, want)
		}
	}
}
