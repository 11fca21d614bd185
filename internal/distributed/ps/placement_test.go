package ps

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

// recorded is the output of interop/python/partitioners.py with TensorFlow 2.15.
type recorded struct {
	Shapes     [][]int
	Partitions []struct {
		recordedPartitioner
		DType      string
		Partitions []int // for each of Shapes; 0 where TensorFlow divides by zero
	}
	Variables [][2]any // name and shape, in the order of creation
	Sharded   []struct {
		recordedPartitioner
		Places [][3]any // name, shape and task of each shard
	}
	Sizes      [][][]int // shapes of variables of a model
	RoundRobin [][]int   `json:"round_robin"` // their tasks
	Greedy     [][]int
}

type recordedPartitioner struct {
	Kind   string
	Shards int
	Bytes  int64
}

func (r recordedPartitioner) partitioner() Partitioner {
	switch r.Kind {
	case "fixed_shards":
		return FixedShards(r.Shards)
	case "min_size":
		return MinSize{Bytes: r.Bytes, Shards: r.Shards}
	case "max_size":
		return MaxSize{Bytes: r.Bytes, Shards: r.Shards}
	}
	return NoPartitions{}
}

func readRecorded(t *testing.T) (r recorded) {
	t.Helper()
	text, err := os.ReadFile("testdata/partitions.json")
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil || len(r.Partitions) == 0 || len(r.Sharded) == 0 || len(r.Sizes) == 0 {
		t.Fatalf("recorded partitions: %v", err)
	}
	return r
}

// planOf is a plan of variables without training.
func planOf(t *testing.T, c Config, list ...*models.Variable) *Plan {
	t.Helper()
	p, err := NewPlan(list, c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPartitionsOfTensorFlow: a variable has as many parts as with TensorFlow's partitioners.
func TestPartitionsOfTensorFlow(t *testing.T) {
	testkit.NotConcurrent(t)
	r := readRecorded(t)
	types := map[string]tensor.DType{"float32": tensor.Float32, "int64": tensor.Int64, "bool": tensor.Bool}
	for _, c := range r.Partitions {
		for i, want := range c.Partitions {
			want = max(want, 1)
			v := &models.Variable{Name: "v", DType: types[c.DType], Shape: r.Shapes[i]}
			if p := planOf(t, Config{Servers: 2, Partitioner: c.partitioner()}, v); p.Variables[0].Parts != want {
				t.Errorf("%+v of %s%v: %d parts, expected %d", c.recordedPartitioner, c.DType, v.Shape, p.Variables[0].Parts, want)
			}
		}
	}
}

// TestRoundRobinOfTensorFlow: names, rows and tasks of shards equal ParameterServerStrategyV2's.
func TestRoundRobinOfTensorFlow(t *testing.T) {
	r := readRecorded(t)
	var list []*models.Variable
	for _, v := range r.Variables {
		list = append(list, &models.Variable{Name: v[0].(string), DType: tensor.Float32, Shape: shapeFrom(v[1])})
	}
	for _, c := range r.Sharded {
		p := planOf(t, Config{Servers: 3, Placement: RoundRobin, Partitioner: c.partitioner()}, list...)
		var got, want []string
		for _, u := range p.Units() {
			v := p.Variables[u.Variable]
			name := v.Name
			if v.Parts > 1 {
				name = fmt.Sprintf("%s/part_%d", name, u.Part)
			}
			got = append(got, fmt.Sprint(name, p.shapeOf(u), " on ", u.Server))
		}
		for _, x := range c.Places {
			want = append(want, fmt.Sprint(x[0], shapeFrom(x[1]), " on ", x[2]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v:\ngot      %q\nexpected %q", c.recordedPartitioner, got, want)
		}
	}
}

func shapeFrom(v any) []int {
	out := []int{}
	for _, x := range v.([]any) {
		out = append(out, int(x.(float64)))
	}
	return out
}

// TestPlacementOfTensorFlow: both rules equal the strategies of replica_device_setter, for
// variables sorted by size.
func TestPlacementOfTensorFlow(t *testing.T) {
	r := readRecorded(t)
	for i, shapes := range r.Sizes {
		var list []*models.Variable
		for n, shape := range shapes {
			list = append(list, &models.Variable{Name: fmt.Sprint("v", n), DType: tensor.Float32, Shape: shape})
		}
		for placement, want := range map[Placement][]int{RoundRobin: r.RoundRobin[i], BySize: r.Greedy[i]} {
			var got []int
			for _, u := range planOf(t, Config{Servers: 3, Placement: placement}, list...).Units() {
				got = append(got, u.Server)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s of %v: tasks %v, expected %v", placement, shapes, got, want)
			}
		}
	}
}

// TestEveryPlan: for any variables, parts cover the rows in order, are as even as possible, and
// are on existing servers.
func TestEveryPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		servers := rapid.IntRange(1, 5).Draw(t, "servers")
		partitioners := []Partitioner{nil, FixedShards(rapid.IntRange(-1, 9).Draw(t, "shards")), MinSize{Bytes: rapid.Int64Range(0, 99).Draw(t, "least"), Shards: 4}, MaxSize{Bytes: rapid.Int64Range(0, 99).Draw(t, "most")}}
		c := Config{Servers: servers, Partitioner: rapid.SampledFrom(partitioners).Draw(t, "partitioner"), Placement: rapid.SampledFrom([]Placement{"", BySize, RoundRobin}).Draw(t, "placement")}
		var list []*models.Variable
		for i := range rapid.IntRange(1, 4).Draw(t, "variables") {
			shape := rapid.SliceOfN(rapid.IntRange(0, 12), 0, 3).Draw(t, "shape")
			list = append(list, &models.Variable{Name: fmt.Sprint("v", i), DType: tensor.Float32, Shape: shape})
		}
		p, err := NewPlan(list, c)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range p.Variables {
			lo, hi := p.unitsOf(i)
			next := 0
			for _, u := range p.Units()[lo:hi] {
				if u.Lo != next || u.Server < 0 || u.Server >= servers || v.Parts > 1 && u.Hi-u.Lo < v.rows()/v.Parts {
					t.Fatalf("%v in %d parts: %+v, expected row %d on a server of %d", v.Shape, v.Parts, u, next, servers)
				}
				next = u.Hi
			}
			if next != v.rows() {
				t.Fatalf("%v: parts of %d rows", v.Shape, next)
			}
		}
	})
}
