package networks_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// A pixel influences distant pixels only through the smallest size, and through a transposed convolution or an
// interpolation.
func TestUNetJoinsSizes(t *testing.T) {
	for kernel, bilinear := range map[string]bool{"up_0/conv2d_transpose/kernel": false, "up_0/conv2d/kernel": true} {
		var names []string
		p := modeltest.New(t, models.Options{Mode: models.Predict, Seed: 2}, func(b *models.Builder) []*G.Node {
			y := networks.UNet{Filters: []int{3, 4}, Classes: 2, Bilinear: bilinear}.Logits(b, b.Input("x", tensor.Float32, b.Batch(), 16, 24, 1))
			names = nil
			for _, v := range b.Variables() {
				names = append(names, fmt.Sprint(v.Name, v.Shape))
			}
			return []*G.Node{y}
		})
		x := tensor.New(tensor.Float32, 2, 16, 24, 1)
		tensor.Values[float32](x)[16*24] = 1 // the corner of the second image
		y := p.Host(t, 2, x)[0]
		if !slices.Equal(y.Shape, []int{2, 16, 24, 2}) {
			t.Fatalf("logits of shape %v", y.Shape)
		}
		v := modeltest.Floats(y)
		if one, two := v[:16*24*2], v[16*24*2:]; slices.Equal(one[:6], two[:6]) || !slices.Equal(one[len(one)-24:], two[len(two)-24:]) {
			t.Error("expected a change near the corner, and none far from it")
		}
		want := kernel + fmt.Sprint([]int{2, 2, 3, 4})
		if bilinear {
			want = kernel + fmt.Sprint([]int{2, 2, 4, 3})
		}
		if !slices.Contains(names, want) {
			t.Errorf("bilinear %v: expected a variable %s among %v", bilinear, want, names)
		}
	}
}

func TestTowers(t *testing.T) {
	net := networks.TwoTower{Queries: 5, Candidates: 7, Embedding: 3, Hidden: []int{4}, Width: 6}
	p := modeltest.New(t, models.Options{Mode: models.Predict, Seed: 2}, func(b *models.Builder) []*G.Node {
		ids := []*G.Node{net.Query(b, b.Input("q", tensor.Int64, b.Batch())), net.Candidate(b, b.Input("c", tensor.Int32, b.Batch()))}
		b.Scope("numbers", func() { ids = append(ids, net.QueryOf(b, b.Input("x", tensor.Float32, b.Batch(), 2))) })
		return ids
	})
	ids := []float64{0, 4, 4}
	for _, y := range p.Host(t, 3, modeltest.Tensor(tensor.Int64, ids, 3), modeltest.Tensor(tensor.Int32, ids, 3), modeltest.Tensor(tensor.Float32, []float64{1, -2, 3, 1, 3, 1}, 3, 2)) {
		v := modeltest.Floats(y)
		square := 0.0
		for _, x := range v[:6] {
			square += x * x
		}
		if !slices.Equal(y.Shape, []int{3, 6}) || math.Abs(square-1) > 1e-5 || slices.Equal(v[:6], v[6:12]) || !slices.Equal(v[6:12], v[12:]) {
			t.Errorf("vectors %v", v)
		}
	}
}

func TestWrongPartsAreNamed(t *testing.T) {
	for want, build := range map[string]func(b *models.Builder){
		"multiples of 4": func(b *models.Builder) {
			networks.UNet{Filters: []int{2, 2, 2}, Classes: 1}.Logits(b, b.Input("x", tensor.Float32, 2, 8, 6, 1))
		},
		"a code of 0":                      func(b *models.Builder) { networks.Autoencoder{}.Encode(b, b.Input("x", tensor.Float32, 2, 8)) },
		"two_tower: query":                 func(b *models.Builder) { networks.TwoTower{Width: 2}.Query(b, b.Input("x", tensor.Int32, 2, 8)) },
		"two_tower: a query, vectors of 2": func(b *models.Builder) { networks.TwoTower{Width: 2}.QueryOf(b, b.Input("x", tensor.Float32, 2)) },
		"gpt: 1 nodes of a cache": func(b *models.Builder) {
			small := networks.GPT{Vocabulary: 3, Context: 4, Layers: 1, Heads: 1, Width: 2}
			x := b.Input("x", tensor.Int32, 2)
			small.Step(b, x, x, []*G.Node{x})
		},
		"Heads a multiple of KVHeads": func(b *models.Builder) {
			networks.GPT{Vocabulary: 3, Context: 8, Layers: 1, Heads: 4, Width: 8, KVHeads: 3}.Prefill(b, b.Input("x", tensor.Int32, 2, 8))
		},
		"expected ids, sizes >= 1": func(b *models.Builder) { networks.GPT{}.Prefill(b, b.Input("x", tensor.Int32, 2, 8)) },
	} {
		_, err := models.Build(models.Options{Batch: 2}, func(b *models.Builder) error {
			build(b)
			return b.Err()
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected an error with %q", err, want)
		}
	}
}

// With the cache the logits are the same as for the whole text.
func TestCachedSteps(t *testing.T) {
	plain := networks.GPT{Vocabulary: 9, Context: 6, Layers: 2, Heads: 2, Width: 8}
	llama := plain
	llama.KVHeads, llama.Rotary, llama.RMSNorm, llama.Gated, llama.MLPRatio = 1, 100, true, true, 3
	for name, net := range map[string]networks.GPT{"plain": plain, "llama": llama} {
		t.Run(name, func(t *testing.T) { checkCachedSteps(t, net) })
	}
}

func checkCachedSteps(t *testing.T, net networks.GPT) {
	length := net.Context
	ids := []float64{3, 1, 8, 0, 5, 2, 7, 7, 2, 4, 1, 6}
	whole := modeltest.New(t, models.Options{Mode: models.Predict, Seed: 2}, func(b *models.Builder) []*G.Node {
		return []*G.Node{net.Logits(b, b.Input("ids", tensor.Int32, b.Batch(), length))}
	})
	want := modeltest.Floats(whole.Host(t, 2, modeltest.Tensor(tensor.Int32, ids, 2, length))[0])
	prefill := modeltest.New(t, models.Options{Mode: models.Predict, Seed: 2}, func(b *models.Builder) []*G.Node {
		return net.Prefill(b, b.Input("ids", tensor.Int32, b.Batch(), length))
	})
	step := modeltest.New(t, models.Options{Mode: models.Predict, Seed: 2}, func(b *models.Builder) []*G.Node {
		token, position := b.Input("token", tensor.Int32, b.Batch()), b.Input("position", tensor.Int32, b.Batch())
		var cache []*G.Node
		for _, s := range net.CacheShapes() {
			cache = append(cache, b.Input("cache", tensor.Float32, append([]int{b.Batch()}, s...)...))
		}
		logits, next := net.Step(b, token, position, cache)
		return append([]*G.Node{logits}, next...)
	})
	start := slices.Clone(ids)
	start[2], start[5], start[9] = 8, 0, 0 // ids after a position do not matter
	cache := prefill.Host(t, 2, modeltest.Tensor(tensor.Int32, start, 2, length))
	for at := 2; at < length; at++ {
		other := at - 1 // each row has its own position
		out := step.Host(t, 2, append([]*tensor.Tensor{modeltest.Tensor(tensor.Int32, []float64{ids[at], ids[length+other]}, 2), modeltest.Tensor(tensor.Int32, []float64{float64(at), float64(other)}, 2)}, cache...)...)
		got := modeltest.Floats(out[0])
		for i := range 9 {
			if math.Abs(got[i]-want[at*9+i]) > 1e-5 || math.Abs(got[9+i]-want[(length+other)*9+i]) > 1e-5 {
				t.Fatalf("position %d: logits %v, expected %v and %v", at, got, want[at*9:at*9+9], want[(length+other)*9:(length+other)*9+9])
			}
		}
		cache = out[1:]
	}
}
