package interop_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/models/weights"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/serving/client"
	"github.com/goestimator/goestimator/tensor"
)

var (
	gptMinutes  = flag.Float64("gpt-core-minutes", 0, "CPU time for which TestGPTBesidePyTorch trains each side, on one thread; 0: it is left out")
	gptCompiled = flag.Bool("gpt-compiled", false, "TestGPTBesidePyTorch compiles PyTorch's model, which needs a compiler of C++")
	gptPackages = flag.String("gpt-packages", "", "the folder of the standard library whose source TestGPTBesidePyTorch takes; empty: all of it")
)

// gptCharacters are the characters of texts; the first stands for any other.
const gptCharacters = "\x00\n\t !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"

// gptTraining is a training of a gpt, here and in PyTorch.
type gptTraining struct {
	Vocabulary int     `json:"vocabulary"`
	Context    int     `json:"context"`
	Layers     int     `json:"layers"`
	Heads      int     `json:"heads"`
	Width      int     `json:"width"`
	Batch      int     `json:"batch"`
	Steps      int64   `json:"steps"`
	Rate       float64 `json:"rate"`
	Warmup     int64   `json:"warmup"`
	Decay      int64   `json:"decay"`
	Spread     float64 `json:"spread"`
	Precision  string  `json:"precision"`
	Threads    int     `json:"threads"`
	Compile    bool    `json:"compile"`
	Start      string  `json:"start"`
	Rows       string  `json:"rows"`

	train, held *tensor.Tensor
}

// gptResult is what a training came to.
type gptResult struct {
	Losses  []float64 `json:"losses"`
	Held    float64   `json:"held"`    // loss of the held rows
	Seconds float64   `json:"seconds"` // of CPU time of a step, the median
	Total   float64   `json:"total"`   // without the first two steps
	Version string    `json:"version"`
}

// TestGPTLosses: a gpt that starts from a state dict of PyTorch's goes on as there: the losses of 30 steps on the source of Go's package strings.
func TestGPTLosses(t *testing.T) {
	py := torch(t)
	c := gptTraining{Vocabulary: len(gptCharacters), Context: 48, Layers: 2, Heads: 4, Width: 32, Batch: 4, Steps: 30, Rate: 2e-3, Spread: 0.1, Threads: 1}
	c.begin(t, py, "strings", 3*c.Batch)
	for precision, tolerance := range map[string]float64{"float64": 1e-12, "float32": 1e-5} {
		t.Run(precision, func(t *testing.T) {
			c.Precision = precision
			ours, theirs, _ := c.beside(t, py, c.Steps, c.Steps)
			within(t, "losses", ours.Losses, theirs.Losses, tolerance)
			within(t, "loss of other text", []float64{ours.Held}, []float64{theirs.Held}, tolerance)
			if first, last := theirs.Losses[0], theirs.Losses[29]; last > first-0.5 {
				t.Errorf("losses from %v to %v: the steps show nothing", first, last)
			}
		})
	}
}

// TestGPTBesidePyTorch trains a gpt of 2.7 million parameters here and in PyTorch, from the same weights and on the same batches of the standard
// library's source, for the same CPU time on one thread each and at the same time, and compares the losses of text that neither has seen. Then ours is exported, served
// and asked for a text, in parts.
func TestGPTBesidePyTorch(t *testing.T) {
	if *gptMinutes <= 0 {
		t.Skip("skipped: takes as long as -gpt-core-minutes says, twice")
	}
	py := torch(t)
	c := gptTraining{Vocabulary: len(gptCharacters), Context: 128, Layers: 6, Heads: 6, Width: 192, Batch: 16, Steps: 10, Rate: 2e-3,
		Precision: "float32", Threads: 1, Compile: *gptCompiled}
	c.begin(t, py, *gptPackages, 25*c.Batch)
	held := c.held
	c.held = c.rows(0, nil)
	ours, theirs, _ := c.beside(t, py, c.Steps, c.Steps)
	c.held = held
	budget := *gptMinutes * 60
	ours, theirs, e := c.beside(t, py, int64(budget/ours.Seconds), int64(budget/theirs.Seconds))
	ours.log(t, "here")
	theirs.log(t, fmt.Sprintf("PyTorch %s, compiled %v", theirs.Version, c.Compile))
	if ours.Held > theirs.Held*1.02 {
		t.Errorf("loss of other text %.4f, expected no more than PyTorch's %.4f", ours.Held, theirs.Held)
	}
	c.stream(t, e)
}

// beside trains here and in PyTorch at the same time, each for its number of steps with the rates that belong to them, so that other load on the
// machine slows both.
func (c *gptTraining) beside(t *testing.T, py python, here, there int64) (ours, theirs gptResult, e *estimator.Estimator) {
	t.Helper()
	mine, yours := *c, *c
	mine.last(here)
	yours.last(there)
	e = mine.estimator(t)
	done := t.Run(fmt.Sprint(here, " steps here, ", there, " in PyTorch"), func(t *testing.T) {
		t.Run("here", func(t *testing.T) {
			t.Parallel()
			ours = mine.here(t, e)
		})
		t.Run("PyTorch", func(t *testing.T) {
			t.Parallel()
			theirs = yours.torch(t, py)
		})
	})
	if !done {
		t.FailNow()
	}
	return ours, theirs, e
}

// log reports a training.
func (r gptResult) log(t *testing.T, where string) {
	t.Helper()
	t.Logf("%s: %d steps in %.0f s of CPU time (%.3f a step), loss of the last 20 steps %.4f, of other text %.4f", where, len(r.Losses), r.Total, r.Seconds,
		mean(r.Losses[max(0, len(r.Losses)-20):]), r.Held)
}

// last sets how many steps there are, and the rates that belong to them.
func (c *gptTraining) last(steps int64) {
	c.Steps, c.Warmup = steps, steps/20+1
	c.Decay = max(1, steps-c.Warmup)
}

func mean(x []float64) (m float64) {
	for _, v := range x {
		m += v / float64(len(x))
	}
	return m
}

// begin takes the text, keeps held rows (full batches) out of training, and lets PyTorch write the weights.
func (c *gptTraining) begin(t *testing.T, py python, packages string, held int) {
	t.Helper()
	text := librarySource(t, packages)
	number := [256]byte{}
	for i := range len(gptCharacters) {
		number[gptCharacters[i]] = byte(i)
	}
	for i, b := range text {
		text[i] = number[b]
	}
	each := c.Context + 1
	order := rand.New(rand.NewPCG(3, 5)).Perm(len(text) / each)
	shuffled := make([]byte, 0, len(text))
	for _, i := range order {
		shuffled = append(shuffled, text[i*each:(i+1)*each]...)
	}
	c.held, c.train = c.rows(held, shuffled), c.rows(len(order)-held, shuffled[held*each:])
	c.Start = filepath.Join(t.TempDir(), "start.pt")
	py.run(t, "gpt_torch.py", "start", c.file(t), c.Start)
}

// rows is n texts as a tensor.
func (c *gptTraining) rows(n int, text []byte) *tensor.Tensor {
	return &tensor.Tensor{DType: tensor.Uint8, Shape: []int{n, c.Context + 1}, Bytes: slices.Clone(text[:n*(c.Context+1)])}
}

// librarySource is the text of all Go files below a folder of the standard library.
func librarySource(t *testing.T, packages string) []byte {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src", packages), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		data, err := os.ReadFile(path)
		text = append(text, data...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// file writes c for PyTorch.
func (c *gptTraining) file(t *testing.T) string {
	t.Helper()
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "training.json")
	write(t, path, data)
	return path
}

// torch trains in PyTorch.
func (c *gptTraining) torch(t *testing.T, py python) gptResult {
	t.Helper()
	dir := t.TempDir()
	c.Rows = save(t, filepath.Join(dir, "rows"), map[string]*tensor.Tensor{"train": c.train, "held": c.held})
	out := filepath.Join(dir, "result.json")
	py.within(t, scriptTime+time.Duration(float64(time.Hour)**gptMinutes/5), "gpt_torch.py", "train", c.file(t), out)
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var r gptResult
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// gptNames are PyTorch's names of the variables.
var gptNames = []weights.Rule{
	{Name: "token_embedding/embeddings", Previous: "tokens.weight"},
	{Name: "position_embedding/embeddings", Previous: "positions.weight"},
	{Name: "final_normalization/gamma", Previous: "norm.weight"},
	{Name: "final_normalization/beta", Previous: "norm.bias"},
	{Name: `block_(\d+)/layer_normalization/gamma`, Previous: "blocks.$1.norm1.weight"},
	{Name: `block_(\d+)/layer_normalization/beta`, Previous: "blocks.$1.norm1.bias"},
	{Name: `block_(\d+)/layer_normalization_1/gamma`, Previous: "blocks.$1.norm2.weight"},
	{Name: `block_(\d+)/layer_normalization_1/beta`, Previous: "blocks.$1.norm2.bias"},
	{Name: `block_(\d+)/multi_head_attention/attention_output/kernel`, Previous: "blocks.$1.out.weight", Layout: "torch"},
	{Name: `block_(\d+)/multi_head_attention/attention_output/bias`, Previous: "blocks.$1.out.bias"},
	{Name: `block_(\d+)/multi_head_attention/(\w+)/kernel`, Previous: "blocks.$1.$2.weight", Layout: "torch"},
	{Name: `block_(\d+)/multi_head_attention/(\w+)/bias`, Previous: "blocks.$1.$2.bias", Layout: "torch"},
	{Name: `block_(\d+)/dense/kernel`, Previous: "blocks.$1.up.weight", Layout: "torch"},
	{Name: `block_(\d+)/dense/bias`, Previous: "blocks.$1.up.bias"},
	{Name: `block_(\d+)/dense_1/kernel`, Previous: "blocks.$1.down.weight", Layout: "torch"},
	{Name: `block_(\d+)/dense_1/bias`, Previous: "blocks.$1.down.bias"},
}

func (c *gptTraining) net() networks.GPT {
	return networks.GPT{Vocabulary: c.Vocabulary, Context: c.Context, Layers: c.Layers, Heads: c.Heads, Width: c.Width}
}

// modelFn is a copy of the model_fn in examples/gpt.
func (c *gptTraining) modelFn(mc *estimator.ModelContext, features models.Features, _ models.Labels) (*estimator.Spec, error) {
	ids := ops.Cast(mc, features.Only(), tensor.Int32)
	logits := c.net().Logits(mc, ops.Slice(mc, ids, []int{0, 0}, []int{-1, c.Context}))
	following := ops.Reshape(mc, ops.Slice(mc, ids, []int{0, 1}, []int{-1, -1}), -1)
	spec := &estimator.Spec{Loss: losses.SparseSoftmaxCrossEntropy(mc, following, ops.Reshape(mc, logits, -1, c.Vocabulary), losses.Options{})}
	if mc.Mode() == models.Train {
		rate := optimizers.Warmup{Steps: c.Warmup, Then: optimizers.Cosine{Initial: c.Rate, Alpha: 0.1, Steps: c.Decay}}
		adam := optimizers.AdamW(c.Rate, optimizers.WithSchedule(rate), optimizers.WithWeightDecay(0.1), optimizers.WithBeta2(0.99),
			optimizers.WithClipGlobalNorm(1), optimizers.WithNoDecay("bias|gamma|beta|embeddings"))
		spec.TrainOp = adam.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

func (c *gptTraining) estimator(t *testing.T) *estimator.Estimator {
	t.Helper()
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(t.TempDir()), runconfig.SaveSummarySteps(0), runconfig.LogStepCountSteps(0),
		runconfig.Session(runconfig.SessionConfig{Precision: c.Precision, IntraOpThreads: c.Threads}))
	if err != nil {
		t.Fatal(err)
	}
	e, err := estimator.New(estimator.ModelFunc(c.modelFn), estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
		estimator.WithWarmStart(estimator.WarmStart{From: c.Start, Map: gptNames}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// batches are rows in their order, once or again and again.
func (c *gptTraining) batches(rows *tensor.Tensor, again bool) estimator.InputFn {
	return estimator.InputFunc(func(context.Context, inputs.Context) (inputs.Dataset, error) {
		n := rows.Shape[0]
		if again {
			n -= n % c.Batch
		}
		part := &tensor.Tensor{DType: rows.DType, Shape: []int{n, rows.Shape[1]}, Bytes: rows.Bytes[:n*rows.Shape[1]]}
		ds, err := inputs.Slices(nil, inputs.NamedTensor{Name: "text", Role: inputs.Feature, Tensor: part})
		if err != nil {
			return nil, err
		}
		if again {
			return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(c.Batch, true)), nil
		}
		return inputs.Pipe(ds, inputs.Batch(c.Batch, false)), nil
	})
}

// here trains ours.
func (c *gptTraining) here(t *testing.T, e *estimator.Estimator) gptResult {
	t.Helper()
	h := &cpuHook{}
	if _, err := e.Train(t.Context(), c.batches(c.train, true), estimator.MaxSteps(c.Steps), estimator.WithHooks(h)); err != nil {
		t.Fatal(err)
	}
	r := gptResult{Losses: h.losses, Total: h.at[len(h.at)-1] - h.at[1]}
	var steps []float64
	for i := range h.at[1:] {
		steps = append(steps, h.at[i+1]-h.at[i])
	}
	slices.Sort(steps)
	r.Seconds = steps[len(steps)/2]
	if c.held.Shape[0] == 0 {
		return r
	}
	res, err := e.Evaluate(t.Context(), c.batches(c.held, false))
	if err != nil {
		t.Fatal(err)
	}
	r.Held, _ = res.Scalar("loss")
	return r
}

// cpuHook keeps the loss, and this process' CPU time, after every step.
type cpuHook struct {
	lossHook
	at []float64
}

func (h *cpuHook) AfterRun(ctx context.Context, r hooks.Run) error {
	h.at = append(h.at, cpuSeconds())
	return h.lossHook.AfterRun(ctx, r)
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// stream exports and serves the model, and asks it for a text: the parts make what the Estimator writes.
func (c *gptTraining) stream(t *testing.T, e *estimator.Estimator) {
	t.Helper()
	dir, g := t.TempDir(), estimator.Generator{Model: c.net(), Characters: gptCharacters}
	if _, err := e.ExportGenerator(t.Context(), filepath.Join(dir, "gpt"), g); err != nil {
		t.Fatal(err)
	}
	w, err := e.TextWriter(g)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	const prompt, length = "func (b *Buffer) ", 100
	want, err := w.Text(t.Context(), prompt, estimator.Sampling{MaxNewTokens: length, Temperature: 0.7, TopK: 10, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := client.Dial(serve(t, "--model", "gpt="+filepath.Join(dir, "gpt")).GRPC, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got []string
	for part, err := range s.Generate(t.Context(), client.Model{Name: "gpt"}, client.Generation{Prompt: prompt, MaxNewTokens: length, Temperature: 0.7, TopK: 10, Seed: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, part)
	}
	t.Logf("%d parts: %s%s", len(got), prompt, strings.Join(got, ""))
	if text := strings.Join(got, ""); text != want || len(got) < 2 {
		t.Errorf("served: %q in %d parts, expected %q", text, len(got), fmt.Sprint(want))
	}
}
